package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

const (
	locksClockOps    = 20_000 // of each goroutine in a round
	locksClockRounds = 5
)

// locksWay is a number of goroutines and of locks.
type locksWay struct {
	scheme          string
	workers, shards int
}

// piece has goroutines start and stop a timer each, next to the timers that run.
func (p *locksPlan) piece(w locksWay) (piece, error) {
	s, err := wheel.NewSharded(w.shards, w.scheme, wheel.Config{Tick: 1})
	if err != nil {
		return piece{}, err
	}
	r := rand.New(rand.NewPCG(1, 0xe7))
	for i := range p.Running {
		s.Schedule(s.New(i%w.shards, uint64(i)), wheel.Time(1+r.IntN(p.Longest)))
	}
	timers := make([]wheel.ShardTimer, w.workers)
	for i := range timers {
		timers[i] = s.New(i%w.shards, uint64(i))
	}
	return piece{ops: w.workers * locksClockOps, run: func() {
		var all sync.WaitGroup
		for i := range w.workers {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(i), 7))
				for range locksClockOps {
					s.Schedule(timers[i], wheel.Time(1+r.IntN(p.Longest)))
					s.Stop(timers[i])
				}
			})
		}
		all.Wait()
	}}, nil
}

// locksClock has as many goroutines start and stop timers as there are processors, at least 2. It
// claims nothing: the gain depends on the machine.
func locksClock(ctx context.Context, p *locksPlan) (*experiments.Outcome, error) {
	workers := max(2, runtime.GOMAXPROCS(0))
	var ways []locksWay
	var pieces []piece
	for _, scheme := range p.Schemes {
		for _, w := range []locksWay{{scheme, 1, 1}, {scheme, workers, 1}, {scheme, workers, workers}} {
			work, err := p.piece(w)
			if err != nil {
				return nil, err
			}
			ways, pieces = append(ways, w), append(pieces, work)
		}
	}
	ns, err := timeRounds(ctx, locksClockRounds, pieces)
	if err != nil {
		return nil, err
	}
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "rate", Title: fmt.Sprintf("Million pairs of START and STOP per second with %d timers running, %d processors", p.Running, runtime.GOMAXPROCS(0)),
		Columns: []string{"scheme", "goroutines", "locks", "million pairs/s", "slowest round", "fastest", "relative to one goroutine"},
	}
	fig := figure.Figure{
		Name: "rate", Title: "What processors gain on this machine",
		X: figure.Axis{Label: "scheme", Ticks: p.Schemes}, Y: figure.Axis{Label: "million pairs of START and STOP per second"},
		Series:  []figure.Series{{Name: "one goroutine"}, {Name: fmt.Sprintf("%d goroutines, one lock", workers)}, {Name: fmt.Sprintf("%d goroutines, a lock each", workers)}},
		Caption: "Medians of rounds. The second bar shows the cost of a common lock, the third the gain of a lock each.",
	}
	alone := 0.0
	for i, m := range medians(ns) {
		w := ways[i]
		rate := 1e3 / m.Value
		if w.workers == 1 {
			alone = rate
		}
		table.Add(w.scheme, w.workers, w.shards, rate, 1e3/m.Hi, 1e3/m.Lo, rate/alone)
		s := &fig.Series[i%3]
		s.Kind, s.Group = figure.Bars, i%3+1
		s.AddInterval(float64(i/3), stat.Interval{Value: rate, Lo: 1e3 / m.Hi, Hi: 1e3 / m.Lo})
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
	return out, nil
}
