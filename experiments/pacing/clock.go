package pacing

import (
	"context"
	"runtime"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// Timing is the time of a released packet on this machine: a row of the live part.
type Timing struct {
	Queue  string        `json:"queue" help:"what holds the release times and the retransmission timers"`
	Flows  int           `json:"flows"`
	Packet stat.Interval `json:"packet" unit:"ns" help:"of a packet: median, fastest, slowest round"`
	Ratio  stat.Interval `json:"ratio" help:"of its time to that of one-wheel in the same round, likewise"`
	Bytes  float64       `json:"bytes" unit:"bytes" help:"of memory for a flow, with all that the queues hold"`
}

var timed = declared.Judge[Plan, Timing](files, "clock")

// clockSpan is the time that a piece lets pass, and ends with it.
const clockSpan = 20 * time.Millisecond

// clock times the queues of the plan against each other.
func clock(ctx context.Context, p *Plan) (*experiments.Outcome, error) {
	var all []Timing
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
			all = append(all, Timing{queue, flows, middle(ns[i]), middle(ratios), bytes[i] / float64(flows)})
		}
	}
	return timed(p, all)
}

// middle returns the median, with the least and the greatest.
func middle(all []float64) stat.Interval {
	return stat.Interval{Value: stat.Median(all), Lo: stat.Quantile(all, 0), Hi: stat.Quantile(all, 1)}
}

// heapBytes returns the memory in use.
func heapBytes() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// timeRounds returns the nanoseconds of a packet, by queue and round, and the memory of each queue.
// Rounds are interleaved, so that other programs meet all queues alike.
func (p *Plan) timeRounds(ctx context.Context, flows int) (ns [][]float64, bytes []float64, err error) {
	pacers := make([]*pacer, len(p.Queues))
	for i, queue := range p.Queues {
		before := heapBytes()
		if pacers[i], err = p.newPacer(queue, flows, false); err != nil {
			return nil, nil, err
		}
		pacers[i].run(wheel.Time(p.RTO+pacers[i].gap), p.Tick)
		bytes = append(bytes, max(heapBytes()-before, 0))
	}
	ns = make([][]float64, len(p.Queues))
	for range p.Rounds {
		for i, w := range pacers {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			sent, begin := w.packets, time.Now()
			w.run(w.now.Add(max(clockSpan, w.gap)), p.Tick)
			ns[i] = append(ns[i], float64(time.Since(begin))/float64(max(w.packets-sent, 1)))
		}
	}
	return ns, bytes, nil
}
