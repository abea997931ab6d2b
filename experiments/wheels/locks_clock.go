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
)

const (
	locksClockOps    = 20_000 // of each goroutine in a round
	locksClockRounds = 5
)

// locksClock has goroutines start and stop timers, as many as there are processors, 2 at least. It claims nothing: what is gained
// depends on the machine.
func locksClock(ctx context.Context, p *locksPlan) (*experiments.Outcome, error) {
	workers := max(2, runtime.GOMAXPROCS(0))
	type way struct {
		scheme          string
		workers, shards int
	}
	var ways []way
	var pieces []piece
	for _, scheme := range p.Schemes {
		for _, w := range []way{{scheme, 1, 1}, {scheme, workers, 1}, {scheme, workers, workers}} {
			s, err := wheel.NewSharded(w.shards, scheme, wheel.Config{Tick: 1})
			if err != nil {
				return nil, err
			}
			r := rand.New(rand.NewPCG(1, 0xe7))
			for i := range p.Running {
				s.Schedule(s.New(i%w.shards, uint64(i)), wheel.Time(1+r.IntN(p.Longest)))
			}
			timers := make([]wheel.ShardTimer, w.workers)
			for i := range timers {
				timers[i] = s.New(i%w.shards, uint64(i))
			}
			ways = append(ways, w)
			pieces = append(pieces, piece{ops: w.workers * locksClockOps, run: func() {
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
			}})
		}
	}
	ns, err := timeRounds(ctx, locksClockRounds, pieces)
	if err != nil {
		return nil, err
	}
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "rate", Title: fmt.Sprintf("Million pairs of START and STOP per second beside %d timers, %d processors", p.Running, runtime.GOMAXPROCS(0)),
		Columns: []string{"scheme", "goroutines", "locks", "million pairs/s", "slowest round", "fastest", "times as many as one goroutine"},
	}
	fig := figure.Figure{
		Name: "rate", Title: "What processors gain on this machine",
		X: figure.Axis{Label: "scheme", Ticks: p.Schemes}, Y: figure.Axis{Label: "million pairs of START and STOP per second"},
		Series:  []figure.Series{{Name: "one goroutine"}, {Name: fmt.Sprintf("%d goroutines, one lock", workers)}, {Name: fmt.Sprintf("%d goroutines, a lock each", workers)}},
		Caption: "Medians of rounds. The second bar shows what a common lock costs, the third what locks of their own give back.",
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
		s.X, s.Y = append(s.X, float64(i/3)), append(s.Y, rate)
		s.Lo, s.Hi = append(s.Lo, 1e3/m.Hi), append(s.Hi, 1e3/m.Lo)
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
	return out, nil
}
