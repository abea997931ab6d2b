package pacing

import (
	"context"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// timing is the time of a released packet on this machine: the median of interleaved rounds, with
// the fastest and the slowest.
type timing struct {
	queue  string
	flows  int
	packet stat.Interval // ns
	ratio  stat.Interval // of its time to that of oneWheel in the same round
	bytes  float64       // of memory for a flow, with all that the queues hold
}

// clockSpan is the time that a piece lets pass, and ends with it.
const clockSpan = 20 * time.Millisecond

// clock times the queues of the plan against each other.
func clock(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	var all []timing
	for _, flows := range p.Flows {
		ns, bytes, err := p.timeRounds(ctx, flows)
		if err != nil {
			return nil, err
		}
		one := ns[slices.Index(p.Queues, oneWheel)]
		for i, queue := range p.Queues {
			ratios := make([]float64, len(one))
			for round, took := range ns[i] {
				ratios[round] = took / one[round]
			}
			all = append(all, timing{queue, flows, testbed.MedianOf(ns[i]), testbed.MedianOf(ratios), bytes[i] / float64(flows)})
		}
	}
	return judgeClock(p, all), nil
}

// timeRounds returns the nanoseconds of a packet, by queue and round, and the memory of each queue.
func (p *Plan) timeRounds(ctx context.Context, flows int) (ns [][]float64, bytes []float64, err error) {
	pieces := make([]testbed.Piece, len(p.Queues))
	for i, queue := range p.Queues {
		before := testbed.HeapBytes()
		w, err := p.newPacer(queue, flows, false)
		if err != nil {
			return nil, nil, err
		}
		w.run(wheel.Time(p.RTO+w.gap), p.Tick)
		bytes = append(bytes, max(float64(testbed.HeapBytes())-float64(before), 0))
		pieces[i] = func() int {
			sent := w.packets
			w.run(w.now.Add(max(clockSpan, w.gap)), p.Tick)
			return int(w.packets - sent)
		}
	}
	ns, err = testbed.TimeRounds(ctx, p.Rounds, pieces)
	return ns, bytes, err
}
