package frontier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// round is a flight of a connection, drawn before the timers run.
type round struct {
	sent wheel.Time
	rtts []time.Duration // of each segment, to its ACK; the first also has one if it is lost
	lost int             // lost transmissions of the first segment, in a row
}

// path draws the rounds of connections.
type path struct {
	plan    *Plan
	process string
	rng     *rand.Rand
	median  time.Duration // of the round trips of idle paths

	base  time.Duration // the round trip of an idle path
	level float64       // factor on base, of shifts
	queue time.Duration // added to it, of bloat
	full  time.Duration // the queue drains at this length
	rise  time.Duration // growth per round
	bad   bool          // of bursts: the lossy state
}

// Parameters of the processes. They are constants, not keys of the plan: they were set before
// anything was measured.
const (
	sigma        = 0.2  // standard deviation of the logarithm of each round trip
	wideSigma    = 0.4  // the same for lognormal
	spikeChance  = 0.01 // probability per round
	spikeLeast   = 500 * time.Millisecond
	spikeMost    = 3 * time.Second
	shiftChance  = 0.02 // probability per round; the new level is 1 to 4
	shiftMost    = 4.0
	bloatMost    = 1500 * time.Millisecond // a queue drains at a length from a tenth of this up
	bloatRounds  = 30                      // rounds until it is full
	burstEnds    = 0.4                     // probability per transmission to leave the bad state
	burstLoss    = 0.5                     // probability per transmission in the bad state
	delackChance = 0.3                     // probability per segment
	delackMost   = 200 * time.Millisecond
	within       = 0.1 // greatest spread within a flight, as a share of the idle round trip
)

// connection draws the rounds of one connection.
func (w *path) connection() []round {
	p := w.plan
	w.base = min(max(times(w.median, stat.Exp(p.Spread*stat.Normal(w.rng))), p.LeastRTT), p.MostRTT)
	w.level, w.queue, w.bad = 1, 0, false
	w.refill()
	at := wheel.Time(w.between(0, time.Second)) // the phase of the ticks
	flight := 1 + w.rng.IntN(p.Flight)
	rounds := make([]round, p.Rounds)
	for i := range rounds {
		rtt := w.next()
		r := round{sent: at, rtts: make([]time.Duration, flight)}
		for k := range r.rtts {
			r.rtts[k] = rtt
			if k > 0 {
				r.rtts[k] += w.between(0, times(w.base, within))
			}
			if w.process == "delack" && w.rng.Float64() < delackChance {
				r.rtts[k] += w.between(0, delackMost)
			}
		}
		r.lost = w.losses()
		rounds[i] = r
		at = at.Add(rtt)
	}
	return rounds
}

// next draws the round trip of a round.
func (w *path) next() time.Duration {
	s := sigma
	if w.process == "lognormal" {
		s = wideSigma
	}
	rtt := times(w.base, stat.Exp(s*stat.Normal(w.rng)))
	switch w.process {
	case "spikes":
		if w.rng.Float64() < spikeChance {
			rtt += w.between(spikeLeast, spikeMost)
		}
	case "shifts":
		if w.rng.Float64() < shiftChance {
			w.level = 1 + float64((shiftMost-1)*w.rng.Float64())
		}
		rtt = times(rtt, w.level)
	case "bloat":
		if w.queue += w.rise; w.queue > w.full {
			w.queue = 0
			w.refill()
		}
		rtt += w.queue
	}
	return rtt
}

// refill draws the greatest length of the queue.
func (w *path) refill() {
	w.full = w.between(bloatMost/10, bloatMost)
	w.rise = w.full / bloatRounds
}

// losses draws the number of lost transmissions of a segment.
func (w *path) losses() (n int) {
	if w.process != "bursts" {
		for chance := w.plan.Loss; n < 8 && w.rng.Float64() < chance; n++ {
			chance = w.plan.Again
		}
		return n
	}
	// Gilbert's model changes state with each transmission. It loses the plan's share of all
	// transmissions.
	begins := burstEnds * w.plan.Loss / (burstLoss - w.plan.Loss)
	for n < 8 {
		if w.bad {
			w.bad = w.rng.Float64() >= burstEnds
		} else {
			w.bad = w.rng.Float64() < begins
		}
		if !w.bad || w.rng.Float64() >= burstLoss {
			break
		}
		n++
	}
	return n
}

// between draws a span from the uniform distribution.
func (w *path) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)+1))
}

// times multiplies a span.
func times(d time.Duration, x float64) time.Duration { return time.Duration(float64(d) * x) }

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	configs := p.configs()
	add := func(name string, of Cell, median time.Duration, stream uint64) {
		all = append(all, experiments.Cell[Cell]{
			Name: name, Cost: 6e-8 * float64(p.Connections*p.Rounds*len(configs)),
			Run: func(context.Context) (Cell, error) {
				w := path{plan: p, process: of.Process, median: median,
					rng: rand.New(rand.NewPCG(uint64(of.Seed), 0xe10+stream<<16))}
				timers := make([]timer, len(configs))
				for k, c := range configs {
					timers[k] = c.timer()
				}
				c := of
				c.Rounds, c.Tallies = p.Connections*p.Rounds, make([]Tally, len(configs))
				for range p.Connections {
					rounds := w.connection()
					for k := range configs {
						c.Tallies[k].follow(&timers[k], configs[k].sampling, rounds)
					}
				}
				return c, nil
			},
		})
	}
	for i, process := range p.Processes {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
			add(fmt.Sprintf("process=%s seed=%d", process, seed), Cell{Process: process, Seed: seed}, p.RTT, uint64(i))
		}
	}
	for _, rtt := range p.otherRTTs() {
		for i, process := range p.Processes {
			for seed := p.FirstSeed; seed < p.FirstSeed+p.OtherSeeds; seed++ {
				add(fmt.Sprintf("process=%s rtt=%v seed=%d", process, rtt, seed),
					Cell{Process: process, RTT: rtt, Seed: seed}, rtt, uint64(i))
			}
		}
	}
	return all
}

// follow runs a timer over the rounds of a connection and counts its timeouts.
func (t *Tally) follow(timer *timer, s sampling, rounds []round) {
	p := &timer.policy
	e := timer.made.New()
	for i := range rounds {
		r := &rounds[i]
		due := p.Deadline(r.sent, e.RTO())
		if r.lost > 0 {
			for k := range r.lost {
				if k > 0 {
					e.Backoff()
					due = p.Deadline(due, e.RTO())
				}
				t[good]++
			}
			wait := due.Sub(r.sent)
			t[waited] += wait.Seconds()
			t[normalised] += float64(wait) / float64(r.rtts[0])
			continue // Karn's algorithm: no sample
		}
		if r.sent.Add(r.rtts[0]) > due {
			t[bad]++
		}
		timed, expected := r.rtts[:1], 1
		if s != first {
			timed = r.rtts
		}
		if s == diluted {
			expected = len(timed)
		}
		for k, rtt := range timed {
			e.Sample(tcptimers.Sample{RTT: p.Measure(r.sent, r.sent.Add(rtt)), Round: k == 0, Expected: expected})
		}
	}
}

// add adds the counts of another tally.
func (t *Tally) add(o Tally) {
	for i := range t {
		t[i] += o[i]
	}
}
