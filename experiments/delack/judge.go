package delack

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

var words = experiments.Words{
	Question: "What do delayed ACKs do to timers: how late are they, at what rate do they come, and when are timeouts " +
		"spurious?",
	Found: "A heartbeat of 200 ms delays an ACK by {mean} in the mean, and a sender that waits for each ACK locks to " +
		"it. A tail is spurious just if its timer expires before RTT + delay. Without a floor, and with a longer timeout " +
		"after odd bursts alone, {odd-rule} have a spurious retransmission.",
}

// instant is what counts as the same instant: the finest tick.
const instant = time.Microsecond

const (
	computed = "computed from the definition of the timers"
	psaras   = "Psaras and Tsaoussidis, Computer Networks 53, 2009, summary"
	bbf80d7  = "Linux commit bbf80d7, and definition"
	notOdd   = "the plan has no odd_bursts"
)

var none = experiments.Exactly(0, "").Saying("none")

// law returns a claim from the definition of the timers.
func law(name, text string) experiments.Claim {
	return experiments.Claim{Name: name, Text: text, Class: experiments.Law, Tag: experiments.Computed, Source: computed}
}

// offs is a measure of how many of all are off.
func offs(off, of int, what string) experiments.Measure {
	return judge.Said("%d of %d %s", off, of, what).Judging(float64(off))
}

func spurious(r *Row) int { return r.Spurious }
func tailsOf(r *Row) int  { return r.Tails }

// unless returns a reason if a plan has none of something.
func unless(n int, reason string) string {
	if n > 0 {
		return ""
	}
	return reason
}

func outcome(p *Plan, cells []Cell) *experiments.Outcome {
	out, all := &experiments.Outcome{}, rows(p, cells)
	odd := judge.Where(all, func(r *Row) bool { return r.Kind == kindOdd })
	out.Judge(p.arrivalClaims(cells)...)
	out.Judge(p.tailClaims(all)...)
	out.Judge(p.oddClaims(odd)...)
	out.Tables = append(out.Tables, p.delayTable(cells))
	if len(odd) > 0 {
		out.Figures = append(out.Figures, p.oddFigure(odd))
	}
	return out
}

// arrivalClaims are about bursts at random instants, and senders that wait for each ACK.
func (p *Plan) arrivalClaims(cells []Cell) []experiments.Claim {
	of := func(keep func(c *Cell) bool) []Cell {
		return judge.Where(cells, func(c *Cell) bool { return c.Kind == kindArrivals && keep(c) })
	}
	random := of(func(c *Cell) bool { return c.odd() && c.Delay == 0 })
	timed := of(func(c *Cell) bool { return c.odd() && c.Delay > 0 })
	pairs := of(func(c *Cell) bool { return !c.odd() })
	wait := judge.Where(cells, func(c *Cell) bool { return c.Kind == kindWait })
	beat := ms(p.Heartbeat)
	beyond := judge.Count(random, func(c *Cell) bool { return !(c.Least > 0 && ms(c.Greatest) <= beat) })
	uneven := judge.Count(random, func(c *Cell) bool { return c.KS <= 0.01 })
	interval := func(of func(*Cell) float64) experiments.Measure {
		return experiments.MeasuredWithin(judge.Student(judge.Values(random, of)), "ms")
	}

	even := law("even", "a heartbeat delays the ACKs of random segments by an even share of a beat")
	even.Published = judge.Say("(0, %v] ms", beat)
	even.Unless = unless(len(random), "the plan has no odd bursts")
	even.Measured = judge.Said("%d of %d samples differ at p ≤ 0.01, %d exceed a beat", uneven, len(random), beyond)
	even.Expected = experiments.Whether(beyond == 0 && float64(uneven) <= max(0.05*float64(len(random)), 1),
		"at most 5 %%, and none")

	mean := law("mean", "half a beat in the mean")
	mean.Published, mean.Basis = judge.Say("%v ms", beat/2), "2 % of half a beat, set for this project"
	mean.Measured = interval(func(c *Cell) float64 { return ms(c.Mean) })
	mean.Expected = experiments.Within(0.5*beat, 0.02*beat, "ms").OrDiffers(experiments.Within(0.5*beat, 0.1*beat, "ms"))

	p99 := law("p99", "99 % of a beat at the 99th percentile")
	p99.Published, p99.Basis = judge.Say("%v ms", 0.99*beat), "a percentile either way"
	p99.Measured = interval(func(c *Cell) float64 { return ms(c.P99) })
	p99.Expected = experiments.Between(0.98*beat, beat, "ms").OrDiffers(experiments.Between(0.95*beat, beat, "ms"))

	fixed := law("fixed", "a timer per connection delays it by its interval")
	var delays []string
	for _, g := range judge.By(timed, func(c *Cell) time.Duration { return c.Delay }) {
		delays = append(delays, experiments.Number(ms(g.Key)))
	}
	fixed.Published = strings.Join(delays, " and ") + " ms"
	fixed.Unless = unless(len(timed), "the plan has no odd bursts to a peer with a timer")
	fixed.Measured = offs(judge.Count(timed, func(c *Cell) bool {
		return !(c.Least >= c.Delay && c.Greatest < c.Delay+instant)
	}), len(timed), "runs off")
	fixed.Expected = none

	at := law("pairs", "the ACK of an even burst leaves at once")
	at.Published, at.Source = "0", "RFC 5681 §4.2: an ACK for at least every second full-sized segment"
	at.Unless = unless(len(pairs), "the plan has no even bursts")
	at.Measured = offs(judge.Count(pairs, func(c *Cell) bool { return c.Greatest > 0 }), len(pairs), "runs off")
	at.Expected = none

	lock := law("lock", "a sender that waits for each ACK locks to the heartbeat; with a timer its period is RTT + delay")
	lock.Published = judge.Say("%v ms·⌈RTT/%v ms⌉", beat, beat)
	least := slices.Min(p.WaitRTTs)
	var rates []string
	for _, c := range wait {
		if c.RTT == least && c.Seed == p.FirstSeed {
			rates = append(rates, experiments.Number(math.Floor(1e5/c.Period.Seconds()+0.5)/1e5))
		}
	}
	off := judge.Count(wait, func(c *Cell) bool { return (c.Period - p.law(c)).Abs() > instant })
	lock.Measured = judge.Said("%d of %d runs off; %v segments/s at %v", off, len(wait), rates,
		least).Judging(float64(off))
	lock.Expected = experiments.Exactly(0, "").Saying("none; 5.0, 4.98 and 24.4 segments/s at 1 ms")
	return []experiments.Claim{even, mean, p99, fixed, at, lock}
}

// tailClaims are about spurious retransmissions of tails.
func (p *Plan) tailClaims(all []Row) []experiments.Claim {
	remedies := judge.Where(all, func(r *Row) bool { return r.Kind == kindRemedy })
	tails := judge.Where(all, func(r *Row) bool { return r.Kind == kindGrid || r.Kind == kindRemedy })
	lone := judge.Where(all, func(r *Row) bool {
		return r.Kind == kindGrid && !r.Second && r.Burst == 1 && r.Delay > 0
	})

	rule := law("rule", "a tail has a spurious retransmission just if its timer expires before RTT + delay")
	rule.Published = "RTO < RTT + delay"
	rule.Measured = offs(judge.Sum(tails, func(r *Row) int { return r.Against }), judge.Sum(tails, tailsOf), "tails off")
	rule.Expected = none

	above := judge.Sum(judge.Where(lone, func(r *Row) bool { return r.Floor > r.Delay }), spurious)
	below := judge.Where(lone, func(r *Row) bool { return r.Floor < r.Delay })
	kept := judge.Sum(below, tailsOf) - judge.Sum(below, spurious)
	diagonal := law("diagonal", "with the floor on the variation, lone segments have spurious retransmissions below the "+
		"diagonal, where the floor is less than the delay, and never above it")
	diagonal.Unless = unless(len(below), "the plan has no lone segments with a floor below the delay")
	diagonal.Measured = judge.Said("%d spurious above; %d of %d not spurious below", above, kept, judge.Sum(below,
		tailsOf))
	diagonal.Expected = experiments.Whether(above == 0 && kept == 0, "none")

	first := judge.Where(remedies, func(r *Row) bool { return !r.Second })
	remedy := law("remedy", "none is spurious where the peer delays by a tick less than the floor on the variation")
	remedy.Published, remedy.Source = "0", bbf80d7
	remedy.Measured = judge.Said("%d of %d", judge.Sum(first, spurious), judge.Sum(first, tailsOf))
	remedy.Expected = experiments.Whether(judge.Sum(first, spurious) == 0, "none")

	second := judge.Where(remedies, func(r *Row) bool { return r.Second })
	late, of := judge.Sum(second, spurious), judge.Sum(second, tailsOf)
	timeout := law("remedy-timeout", "none is spurious where the peer delays by a tick less than the floor on the timeout")
	timeout.Published, timeout.Source = "0", bbf80d7
	timeout.Measured = judge.Said("%d of %d", late, of)
	timeout.Expected = experiments.Whether(late == 0, "none").OrDiffers(experiments.Whether(late < of, "not all"))
	return []experiments.Claim{rule, diagonal, remedy, timeout}
}

// oddClaims are about bursts of odd and even sizes under the rule of Psaras and Tsaoussidis.
func (p *Plan) oddClaims(odd []Row) []experiments.Claim {
	policy := func(rows []Row, name string) []Row {
		return judge.Where(rows, func(r *Row) bool { return r.Policy == name })
	}
	wait := func(r *Row) float64 { return ms(r.Cell.Wait) }
	bare, rule := policy(odd, ruleNone), policy(odd, ruleOdd)

	bursts := law("odd-bursts", "without a floor each odd burst has a spurious retransmission, and no even one")
	bursts.Class, bursts.Unless = experiments.Check, unless(len(bare), notOdd)
	bursts.Measured = offs(judge.Sum(bare, func(r *Row) int {
		if r.odd() {
			return r.Tails - r.Spurious
		}
		return r.Spurious
	}), judge.Sum(bare, tailsOf), "bursts off")
	bursts.Expected = none

	none := experiments.Claim{
		Name: "odd-rule", Class: experiments.Check, Source: psaras, Tag: experiments.FromPrint,
		Text:      "without a floor and with a longer timeout after odd bursts alone, no timeout is spurious",
		Published: "extend the timeout after odd bursts, and have no floor",
		Unless:    unless(len(rule), notOdd),
		Measured:  offs(judge.Sum(rule, spurious), judge.Sum(rule, tailsOf), "bursts"), Expected: none,
	}

	evens := judge.Where(odd, func(r *Row) bool { return !r.odd() })
	slower := 0.0 // what the rule costs even bursts, relative to a floor; at most
	for _, g := range judge.By(evens, func(r *Row) time.Duration { return r.Delay }) {
		slower = max(slower, judge.Mean(policy(g.Rows, ruleOdd), wait)/judge.Mean(policy(g.Rows, ruleFloor), wait))
	}
	off := judge.Count(rule, func(r *Row) bool {
		more := r.Cell.Wait - r.Without
		if r.odd() {
			more -= r.Delay + p.Tick
		}
		return more.Abs() >= p.Tick
	})
	cost := law("odd-cost", "a lost last segment waits longer under that rule by the delay and a tick in odd bursts, and "+
		"no longer in even ones")
	cost.Class, cost.Unless = experiments.Check, unless(min(len(rule), len(evens)), notOdd)
	cost.Measured = judge.Said("%d of %d bursts off; even bursts wait %v %% of what a floor of %v costs, at most", off,
		len(rule), 100*slower, p.OddFloor).Judging(float64(off))
	cost.Expected = bursts.Expected
	return []experiments.Claim{bursts, none, cost, p.clockClaim(evens, wait)}
}

// clockClaim compares even bursts towards the peer with the longest delay, by the clock of the
// sender's round trips.
func (p *Plan) clockClaim(evens []Row, wait func(r *Row) float64) experiments.Claim {
	evens = judge.Where(evens, func(r *Row) bool { return r.Delay == slices.Max(p.Delays) })
	clocks := judge.By(judge.Where(evens, func(r *Row) bool { return r.Policy == ruleNone || r.Clock > 0 }),
		func(r *Row) time.Duration { return r.Clock })
	floor := judge.Mean(judge.Where(evens, func(r *Row) bool { return r.Policy == ruleFloor }), wait)
	bare, hidden := math.NaN(), 0
	var coarse []string
	for _, c := range clocks {
		waits := judge.Mean(c.Rows, wait)
		if c.Key == 0 {
			bare = waits
		} else {
			coarse = append(coarse, judge.Say("%v with a clock of %v", floor/waits, c.Key))
		}
		for _, finer := range clocks {
			if finer.Key < c.Key && judge.Mean(finer.Rows, wait) >= waits {
				hidden++
			}
		}
	}
	return experiments.Claim{
		Name: "odd-clocks", Class: experiments.Check, Source: psaras, Tag: experiments.FromPrint,
		Text:      fmt.Sprintf("a coarser clock hides the cost of a floor of %v", p.OddFloor),
		Published: "a coarse clock hides what the floor costs",
		Unless: unless(min(len(p.OddClocks), len(evens)),
			"the plan has no odd_clocks, or no even burst in odd_bursts"),
		Measured: judge.Said("%v times the wait without a floor, %v", floor/bare, coarse),
		Expected: experiments.Whether(hidden == 0, "less with each coarser clock"),
	}
}

type place struct {
	delay time.Duration
	burst int
}

func (p *Plan) delayTable(cells []Cell) experiments.Table {
	t := experiments.Table{Name: "delays", Title: "Delay of the last ACK of a burst; means over seeds", Columns: []string{
		"receiver", "segments", "bursts", "least, ms", "mean, ms", "p99, ms", "greatest, ms"}}
	arrivals := judge.Where(cells, func(c *Cell) bool { return c.Kind == kindArrivals })
	for _, g := range judge.By(arrivals, func(c *Cell) place { return place{delay: c.Delay, burst: c.Burst} }) {
		t.Add(p.peer(&g.Rows[0]), g.Key.burst, len(g.Rows)*p.Arrivals,
			slices.Min(judge.Values(g.Rows, func(c *Cell) float64 { return ms(c.Least) })),
			judge.Mean(g.Rows, func(c *Cell) float64 { return ms(c.Mean) }),
			judge.Mean(g.Rows, func(c *Cell) float64 { return ms(c.P99) }),
			slices.Max(judge.Values(g.Rows, func(c *Cell) float64 { return ms(c.Greatest) })))
	}
	return t
}

func (p *Plan) oddFigure(odd []Row) figure.Figure {
	delay := slices.Max(p.Delays)
	f := figure.Figure{
		Name: "odd", Title: fmt.Sprintf("The wait for the last segment of a burst, if it is lost; ACKs wait %v", delay),
		Caption: fmt.Sprintf("Without a floor each odd burst has a spurious retransmission, if nothing is lost. A floor of "+
			"%v avoids it and costs each loss. A longer timeout after odd bursts avoids it too, and costs odd bursts alone.",
			p.OddFloor),
		X: figure.Axis{Label: "segments of the burst"}, Y: figure.Axis{Label: "until its retransmission, ms", Log: true},
	}
	for _, name := range []string{ruleNone, ruleOdd, ruleFloor} {
		rows := judge.Where(odd, func(r *Row) bool { return r.Delay == delay && r.Policy == name })
		f.Series = append(f.Series, judge.Curve(name, figure.Line, rows, func(r *Row) float64 { return float64(r.Burst) },
			func(rows []Row) float64 { return judge.Mean(rows, func(r *Row) float64 { return ms(r.Cell.Wait) }) }))
	}
	return f
}
