package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel"
)

// costs are what the model of many processors rests on, in ns, measured on this machine.
type costs struct {
	pair     float64 // START and STOP of a timer of a shard, with its lock, which is free
	transfer float64 // of a cache line from another processor
	wake     float64 // of a thread that sleeps
	miss     float64 // a load from memory
}

// others is the ns of a processor's other work between two pairs: a segment of 100 flows.
const others = 600

// processors measures the costs and models many processors that start and stop timers.
func processors(ctx context.Context, quick bool) (all result, err error) {
	c, err := measureCosts(ctx)
	if err != nil {
		return all, err
	}
	all.notes = append(all.notes, fmt.Sprintf("Model of many processors from measured costs: START and STOP %.0f ns, a "+
		"cache line of another processor %.0f, "+
		"a wake-up %.0f, a load from memory %.0f; %d ns of other work for each "+
		"pair.", c.pair, c.transfer, c.wake, c.miss, others))
	f := figure.Figure{Name: "speed-processors", Title: "What shards gain with many processors: a model",
		X: figure.Axis{Label: "processors", Log: true}, Y: figure.Axis{Label: "work of one processor, times", Log: true}}
	for _, way := range []struct {
		name    string
		shards  func(processors int) int
		foreign float64
	}{
		{"a shard each, own timers", func(n int) int { return n }, 0},
		{"a shard each, one timer in ten of another", func(n int) int { return n }, 0.1},
		{"a shard each, timers of any", func(n int) int { return n }, 1},
		{"one lock", func(int) int { return 1 }, 1},
	} {
		s := figure.Series{Name: way.name, Kind: figure.Line}
		line := "- " + way.name + ":"
		for _, n := range []int{1, 2, 8, 32, 128} {
			gain := c.model(n, way.shards(n), way.foreign) / c.model(1, 1, 0)
			s.Add(float64(n), gain)
			line += fmt.Sprintf(" %d gain %.3g;", n, gain)
		}
		f.Series = append(f.Series, s)
		all.notes = append(all.notes, line)
	}
	all.figures = append(all.figures, f)
	return all, nil
}

// model returns the pairs a second of n processors. Each works, then takes the lock of a shard for
// START and STOP: its own, or any in the share foreign of cases. A lock that another processor held
// last, and the record behind it, come from its cache. A processor that waits longer than a
// wake-up sleeps, and pays for one.
func (c *costs) model(n, shards int, foreign float64) float64 {
	const pairs = 2000 // of each processor
	r := rand.New(rand.NewPCG(1, uint64(n)))
	clock, done := make([]float64, n), make([]int, n)
	free, last := make([]float64, shards), make([]int, shards)
	for i := range last {
		last[i] = i
	}
	end := 0.0
	for range pairs * n {
		next := 0
		for i := range clock {
			if done[i] < pairs && (done[next] == pairs || clock[i] < clock[next]) {
				next = i
			}
		}
		shard := next % shards
		if r.Float64() < foreign {
			shard = r.IntN(shards)
		}
		start, hold := max(clock[next], free[shard]), c.pair
		if start-clock[next] > c.wake {
			start += c.wake
		}
		if last[shard] != next {
			hold += 2 * c.transfer
		}
		last[shard], free[shard] = next, start+hold
		clock[next] = start + hold + 2*others*r.Float64()
		done[next]++
		end = max(end, clock[next])
	}
	return float64(pairs*n) / end * 1e9
}

func measureCosts(ctx context.Context) (c costs, err error) {
	s, err := wheel.NewSharded(1, wheel.Default, wheel.Config{Tick: time.Millisecond})
	if err != nil {
		return c, err
	}
	timers := make([]wheel.ShardTimer, 64)
	for i := range timers {
		timers[i] = s.New(0, uint64(i))
	}
	const ops = 4096
	c.pair = least(ctx, 50, ops, func() {
		for i := range ops {
			s.Schedule(timers[i%len(timers)], wheel.Time(time.Second)+wheel.Time(i))
			s.Stop(timers[i%len(timers)])
		}
	})[0]
	c.transfer = pingPong(ctx)
	const wakes = 256
	c.wake = least(ctx, 40, 2*wakes, func() {
		// Each goroutine has a thread, so that a message wakes one.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		to, back := make(chan bool), make(chan bool)
		var other sync.WaitGroup
		other.Go(func() {
			runtime.LockOSThread()
			for range to {
				back <- true
			}
		})
		for range wakes {
			to <- true
			<-back
		}
		close(to)
		other.Wait()
	})[0]
	// A random cycle through 128 MiB.
	order := rand.New(rand.NewPCG(1, 1)).Perm(1 << 21)
	next := make([]int32, 16<<21) // a cache line for each
	for i, from := range order {
		next[16*from] = int32(16 * order[(i+1)%len(order)])
	}
	at := int32(0)
	c.miss = least(ctx, 50, ops, func() {
		for range ops {
			at = next[at]
		}
	})[0]
	runtime.KeepAlive(at)
	return c, ctx.Err()
}

// pingPong returns half the time of a round trip of a cache line between two processors that spin:
// 0 on a machine with one.
func pingPong(ctx context.Context) float64 {
	if runtime.GOMAXPROCS(0) < 2 {
		return 0
	}
	const rounds = 2000
	var turns []float64
	for range 100 {
		if ctx.Err() != nil {
			break
		}
		var line atomic.Int64
		var other sync.WaitGroup
		other.Go(func() {
			for i := int64(1); i < 2*rounds; i += 2 {
				for line.Load() != i {
				}
				line.Store(i + 1)
			}
		})
		start := time.Now()
		for i := int64(0); i < 2*rounds; i += 2 {
			line.Store(i + 1)
			for line.Load() != i+2 {
			}
		}
		turns = append(turns, float64(time.Since(start))/(2*rounds))
		other.Wait()
	}
	return slices.Min(append(turns, 1e9))
}
