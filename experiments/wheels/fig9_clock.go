package wheels

import (
	"context"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// fig9Timing is the time of a set and cancel: a row of the live part.
type fig9Timing struct {
	Kernel string        // or runtime
	N      int           // outstanding
	NS     stat.Interval // per set and cancel, median, fastest and slowest round
}

// fig9Runtime is the Go runtime in the place of a kernel.
var fig9Runtime = fig9Kernel{name: "runtime", about: "Go runtime, AfterFunc and Stop", linear: -1}

// fig9Clock times the iterations by the machine's clock.
func fig9Clock(ctx context.Context, p *fig9Plan) (*experiments.Outcome, error) {
	// The numbers of Fig. 9 are timed against each other, and each of those beyond alone.
	all, err := fig9Measure(ctx, p, p.Outstanding)
	if err != nil {
		return nil, err
	}
	for _, n := range p.Beyond {
		more, err := fig9Measure(ctx, p, []int{n})
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return fig9Timed(p, all)
}

// fig9Measure times the kernels with each of the numbers of timers, in interleaved rounds, and the
// runtime.
func fig9Measure(ctx context.Context, p *fig9Plan, counts []int) (all []fig9Timing, err error) {
	var pieces []testbed.Piece
	for i := range fig9Kernels {
		k := &fig9Kernels[i]
		for _, n := range counts {
			if !slices.Contains(p.counts(k), n) {
				continue
			}
			b, err := k.open(n, false)
			if err != nil {
				return nil, err
			}
			pieces = append(pieces, func() int {
				b.iterate(p.Iterations)
				return p.Iterations
			})
			all = append(all, fig9Timing{Kernel: k.name, N: n})
		}
	}
	ofRuntime, err := fig9MeasureRuntime(ctx, p, counts)
	if err != nil {
		return nil, err
	}
	ns, err := testbed.TimeRounds(ctx, p.Rounds, pieces)
	if err != nil {
		return nil, err
	}
	for i, rounds := range ns {
		all[i].NS = testbed.MedianOf(rounds)
	}
	return append(all, ofRuntime...), nil
}

// fig9MeasureRuntime times the Go runtime's timers. The runtime has one facility for all, so the
// numbers are timed one after another.
func fig9MeasureRuntime(ctx context.Context, p *fig9Plan, counts []int) (all []fig9Timing, err error) {
	var timers []*time.Timer
	defer func() {
		for _, t := range timers {
			t.Stop()
		}
	}()
	for _, n := range counts {
		for i := len(timers); i < n; i++ {
			timers = append(timers, time.AfterFunc(time.Hour+time.Duration(i)*time.Millisecond, func() {}))
		}
		ns, err := testbed.TimeRounds(ctx, p.Rounds, []testbed.Piece{func() int {
			for range p.Iterations {
				time.AfterFunc(time.Hour+time.Duration(n)*time.Millisecond, func() {}).Stop()
			}
			return p.Iterations
		}})
		if err != nil {
			return nil, err
		}
		k := &fig9Runtime
		all = append(all, fig9Timing{Kernel: k.name, N: n, NS: testbed.MedianOf(ns[0])})
	}
	return all, nil
}
