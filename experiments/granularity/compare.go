package granularity

import (
	"math"
	"slices"
	"time"

	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

// table holds the rows of a plan by place and setting, each in the order of the seeds.
type table struct {
	plan *Plan
	rows map[key][]Row
}

type key struct {
	Place
	Setting
}

func tableOf(p *Plan, rows []Row) *table {
	t := &table{p, map[key][]Row{}}
	for _, g := range judge.By(rows, func(r *Row) key { return key{r.Place, r.Setting} }) {
		t.rows[g.Key] = g.Rows
	}
	return t
}

// at returns the rows of a setting at a place.
func (t *table) at(place Place, s Setting) []Row { return t.rows[key{place, s}] }

func meanTime(r *Row) float64 { return judge.Ms(r.Mean) }
func waited(r *Row) float64   { return judge.Ms(r.Waited) }

// gain returns by which share a quantity is lower with a setting than with another, with its
// interval over seeds, in percent.
func (t *table) gain(place Place, from, to Setting, of func(*Row) float64) stat.Interval {
	before, after := judge.Values(t.at(place, from), of), judge.Values(t.at(place, to), of)
	saved := make([]float64, len(before))
	for i := range before {
		saved[i] = before[i] - after[i]
	}
	return judge.Ratio(saved, before).Times(100)
}

// share is what a factor buys at a place, in percent of the time with all old ends.
type share struct {
	Value, First, Last stat.Interval
	values             []float64 // by seed, ms
}

// shares returns what the first n factors buy at a place, in the order of their bits: all six, or
// the first five under one recovery.
func (t *table) shares(place Place, n int, set func(changes uint) Setting) []share {
	means := make([][]float64, 1<<n)
	for changes := range means {
		means[changes] = judge.Values(t.at(place, set(uint(changes))), meanTime)
	}
	parts := make([][3][]float64, n)
	for seed := range t.plan.Seeds {
		for i, c := range judge.Contributions(n, func(set uint) float64 { return means[set][seed] }) {
			for k, x := range []float64{c.Value, c.First, c.Last} {
				parts[i][k] = append(parts[i][k], x)
			}
		}
	}
	all := make([]share, n)
	for i, p := range parts {
		of := func(k int) stat.Interval { return judge.Ratio(p[k], means[0]).Times(100) }
		all[i] = share{of(0), of(1), of(2), p[0]}
	}
	return all
}

// p99 returns the 99 % quantile of the times of all seeds, in ms; NaN where none were kept.
func p99(rows []Row) float64 {
	var slow []time.Duration
	n := 0
	for i := range rows {
		slow, n = append(slow, rows[i].Slowest...), n+rows[i].Objects
	}
	if len(slow) == 0 {
		return math.NaN()
	}
	slices.Sort(slow)
	return judge.Ms(slow[max(0, len(slow)-slowest(n))])
}

// totals adds up rows.
func totals(rows []Row) (sum Run) {
	for i := range rows {
		r := &rows[i].Run
		sum.Sent, sum.Lost, sum.Spurious, sum.Repaired = sum.Sent+r.Sent, sum.Lost+r.Lost, sum.Spurious+r.Spurious,
			sum.Repaired+r.Repaired
		sum.Waited, sum.Operations, sum.Unfinished = sum.Waited+r.Waited, sum.Operations+r.Operations,
			sum.Unfinished+r.Unfinished
	}
	return sum
}

func (r *Run) wait() float64       { return judge.Ms(r.Waited) / float64(max(r.Repaired, 1)) }
func (r *Run) spurious() float64   { return 1000 * float64(r.Spurious) / float64(max(r.Sent, 1)) }
func (r *Run) operations() float64 { return float64(r.Operations) / float64(max(r.Sent, 1)) }

// randomAt is where most claims look: responses under random loss.
func randomAt(rtt time.Duration) Place {
	return Place{Part: partEnds, Work: responses, Path: "random", RTT: rtt}
}

// stacksAt is where whole stacks are compared.
func stacksAt(rtt time.Duration) Place {
	return Place{Part: partStacks, Work: responses, Path: "random", RTT: rtt}
}

// The changes that the claims and the table of steps make, without delayed ACKs.
const (
	changedTick  = 1 << 0
	changedFloor = 1<<1 | 1<<2 // on the timeout, and on the variation
	changedTimer = 1 << 3
	changedAcks  = 1 << 4
)

// pair is a timer per segment next to another at a place of the map.
type pair struct {
	Place
	recovery string
	floor    time.Duration
	gain     stat.Interval // in the wait for a repair, next to one timer that ACKs restart, %
	restart  stat.Interval // the same, next to RTO restart
	time     stat.Interval // in the time of a write, next to one timer
	added    float64       // wait of one timer beyond that of RTO restart, in round trips
	one, own Run           // all seeds
}

// pays reports whether the timer per segment repairs at least 5 % sooner, beyond chance.
func (m *pair) pays() bool { return m.gain.Value >= worth && m.gain.Lo > 0 }

// costs reports whether the timer per segment repairs at least 5 % later, beyond chance.
func (m *pair) costs() bool { return m.gain.Value <= -worth && m.gain.Hi < 0 }

// worth is the least gain that counts, in percent: that of the issue.
const worth = 5

// pairs returns the map.
func (t *table) pairs() (all []pair) {
	p := t.plan
	for _, u := range p.units() {
		for _, at := range u.places {
			if at.Part != partMap {
				continue
			}
			for _, recovery := range recoveries {
				for _, floor := range p.MapFloors {
					of := func(timers string) Setting {
						s := p.under(63, recovery)
						s.Floor, s.Timers = floor, timers
						return s
					}
					one, early, own := of("restart"), of("rto-restart"), of("per-segment")
					m := pair{Place: at, recovery: recovery, floor: floor, gain: t.gain(at, one, own, waited),
						restart: t.gain(at, early, own, waited), time: t.gain(at, one, own, meanTime),
						one: totals(t.at(at, one)), own: totals(t.at(at, own))}
					second := totals(t.at(at, early))
					m.added = (m.one.wait() - second.wait()) / (at.RTT.Seconds() * 1e3)
					all = append(all, m)
				}
			}
		}
	}
	return all
}
