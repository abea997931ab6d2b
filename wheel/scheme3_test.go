package wheel

import (
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Table II: START O(log n), STOP O(log n), PER TICK BOOKKEEPING O(1).
func TestScheme3TableII(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for _, n := range []int{1, 10, 1000, 100_000} {
		f := MustNew("scheme3", Config{Tick: 1, Count: true})
		levels := uint64(bits.Len(uint(n + 1))) // of a heap of n+1 entries
		timers := make([]Timer, n)
		for i := range timers {
			timers[i] = f.New(0)
			f.Schedule(timers[i], Time(1000+r.IntN(1_000_000)))
		}
		x := f.New(0)

		f.ResetCounts()
		f.Schedule(x, 500)
		if c := f.Counts(); c.StartVisits != levels-1 || c.Comparisons != levels-1 || c.Moves != levels-1 {
			t.Errorf("n=%d: START of the earliest: %+v, want %d visits and moves", n, c, levels-1)
		}
		f.ResetCounts()
		f.Stop(x)
		if c := f.Counts(); c.StopVisits > 2*(levels-1) || c.Comparisons > 2*(levels-1) || c.Moves > levels {
			t.Errorf("n=%d: STOP of the root: %+v, want at most %d visits", n, c, 2*(levels-1))
		}
		f.Schedule(x, 2_000_000)
		f.ResetCounts()
		f.Stop(x)
		if c := f.Counts(); c != (Counts{Stops: 1}) {
			t.Errorf("n=%d: STOP of the last entry: %+v, want no visit", n, c)
		}
		f.ResetCounts()
		for now := Time(1); now <= 100; now++ {
			f.Advance(now, 0, nil)
		}
		if c := f.Counts(); c != (Counts{TickVisits: 100}) {
			t.Errorf("n=%d: 100 idle ticks: %+v, want a visit for each", n, c)
		}
		f.ResetCounts()
		f.Advance(3_000_000, 0, func(Timer) {})
		if c := f.Counts(); c.TickVisits != uint64(n) || c.Comparisons > 2*levels*uint64(n) {
			t.Errorf("n=%d: to the end: %+v, want %d visits, 2 comparisons a level and timer at most", n, c, n)
		}
	}
}

// The heap's array follows the arena, so that START never grows it.
func TestScheme3StartDoesNotAllocate(t *testing.T) {
	const n = 1000
	f := MustNew("scheme3", Config{Tick: 1})
	f.Reserve(n)
	timers := make([]Timer, n)
	for i := range timers {
		timers[i] = f.New(0)
	}
	start := Time(0)
	if got := testing.AllocsPerRun(50, func() {
		start += n
		for i, x := range timers {
			f.Schedule(x, start+Time(i*7919%n+1))
		}
		f.Advance(start+n/2, 0, func(Timer) {})
		for _, x := range timers {
			f.Stop(x)
		}
	}); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
