package frontier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/tcptimers"
)

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
	all = append(all, capturedCells(p)...)
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
