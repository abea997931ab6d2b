package frontier

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// captured is the name of the process of round trips from captures.
const captured = "captured"

// leastSamples is the fewest round trips of a direction that is used.
const leastSamples = 10

// capturedCells returns a cell for each capture of the plan's directory.
func capturedCells(p *Plan) (all []experiments.Cell[Cell]) {
	if p.Captures == "" {
		return nil
	}
	add := func(name string, seed int, run func() (Cell, error)) {
		all = append(all, experiments.Cell[Cell]{Name: "capture=" + name, Cost: 0.5, Run: func(context.Context) (Cell,
			error) {
			c, err := run()
			c.Process, c.Seed = captured, seed
			return c, err
		}})
	}
	names, err := testbed.CaptureFiles(p.Captures)
	if err == nil && len(names) == 0 {
		err = errors.New("no captures")
	}
	if err != nil {
		add(p.Captures, 0, func() (Cell, error) { return Cell{}, fmt.Errorf("captures: %w", err) })
	}
	for i, name := range names {
		short, err := filepath.Rel(p.Captures, name)
		if err != nil {
			short = name
		}
		add(short, i+1, func() (Cell, error) { return p.capturedRounds(name, i) })
	}
	return all
}

// capturedRounds runs all estimators over the round trips of a capture, with losses drawn again for
// each repetition.
func (p *Plan) capturedRounds(name string, number int) (Cell, error) {
	configs := p.configs()
	c := Cell{Tallies: make([]Tally, len(configs))}
	connections, err := roundTrips(name)
	if err != nil {
		return c, err
	}
	timers := make([]timer, len(configs))
	for k := range configs {
		timers[k] = configs[k].timer()
	}
	losses := path{plan: p, rng: rand.New(rand.NewPCG(uint64(number), 0xe10c))}
	for range p.Repeats {
		for _, rounds := range connections {
			c.Rounds += len(rounds)
			for i := range rounds {
				rounds[i].lost = losses.losses()
			}
			for k := range configs {
				c.Tallies[k].follow(&timers[k], configs[k].sampling, rounds)
			}
		}
	}
	return c, nil
}

// roundTrips returns the flights of each direction of each connection of a capture, with the round
// trips that the sender could measure. A flight is the segments that left before the ACK of its
// first.
func roundTrips(name string) (connections [][]round, err error) {
	in, err := capture.Open(name)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	open := map[*track.Flow][]round{}
	samples := map[*track.Flow]int{}
	t := track.New(track.Config{
		Event: func(e *track.Event) {
			if e.Kind == track.RTTSample && e.Seen > e.At {
				open[e.Flow] = addSample(open[e.Flow], e.At, e.Seen.Sub(e.At))
				samples[e.Flow]++
			}
		},
		Done: func(c *track.Conn) {
			if c.Flows == nil {
				return
			}
			for i := range c.Flows {
				f := &c.Flows[i]
				if samples[f] >= leastSamples {
					connections = append(connections, open[f])
				}
				delete(open, f)
				delete(samples, f)
			}
		},
	})
	err = testbed.Packets(in, t.Add)
	t.Close()
	return connections, err
}

// addSample adds a round trip to the last flight, or begins another.
func addSample(rounds []round, sent wheel.Time, rtt time.Duration) []round {
	if n := len(rounds); n > 0 {
		last := &rounds[n-1]
		if sent < last.sent.Add(last.rtts[0]) {
			last.rtts = append(last.rtts, rtt)
			return rounds
		}
	}
	return append(rounds, round{sent: sent, rtts: []time.Duration{rtt}})
}
