package wheel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// §IV-A: "unbalanced binary trees easily degenerate into a linear list; this can happen, for
// instance, if a set of equal timer intervals are inserted."
func TestTreeDegeneratesForEqualIntervals(t *testing.T) {
	const n = 1000
	f := MustNew("scheme3-tree", Config{Tick: 1, Count: true})
	for i := range n {
		f.Advance(Time(i), 0, nil)
		f.Schedule(f.New(0), Time(i).Add(10*n))
		if got, want := f.Counts().StartVisits, uint64(i*(i+1)/2); got != want {
			t.Fatalf("%d timers started, %d visits, want %d: all earlier ones, each time", i+1, got, want)
		}
	}
}

// For intervals in random order START is O(log n) on average: building a tree of n records takes
// 2(n+1)H(n) - 4n comparisons (Knuth, vol. 3, §6.2.2), which is 1.39 n log2 n plus smaller terms.
func TestTreeStartIsLogarithmicForRandomIntervals(t *testing.T) {
	const n, trees = 4096, 20
	r := rand.New(rand.NewPCG(3, 3))
	visits := uint64(0)
	for range trees {
		f := MustNew("scheme3-tree", Config{Tick: 1, Count: true})
		for _, at := range r.Perm(n) {
			f.Schedule(f.New(0), Time(at+1))
		}
		visits += f.Counts().StartVisits
	}
	h := 0.
	for i := 1; i <= n; i++ {
		h += 1 / float64(i)
	}
	want := 2*(n+1)*h - 4*n
	if got := float64(visits) / trees; math.Abs(got/want-1) > 0.05 {
		t.Errorf("%.0f visits to start %d timers, want %.0f", got, n, want)
	}
}

// Table II: STOP is O(1) for unbalanced trees, and so is PER TICK BOOKKEEPING: no search from the
// root, and a walk to the successor that is short on average, whatever n.
func TestTreeTableII(t *testing.T) {
	for _, n := range []int{1, 10, 1000, 100_000} {
		r := rand.New(rand.NewPCG(3, uint64(n)))
		f := MustNew("scheme3-tree", Config{Tick: 1, Count: true})
		timers := make([]Timer, n)
		for i, at := range r.Perm(n) {
			timers[i] = f.New(0)
			f.Schedule(timers[i], Time(1000+at))
		}
		f.ResetCounts()
		for now := Time(1); now <= 100; now++ {
			f.Advance(now, 0, nil)
		}
		if c := f.Counts(); c != (Counts{TickVisits: 100}) {
			t.Errorf("n=%d: 100 idle ticks: %+v, want a visit for each", n, c)
		}
		f.ResetCounts()
		for _, x := range timers[:n/2] {
			f.Stop(x)
		}
		if c := f.Counts(); c.StopVisits > uint64(n) || c.Comparisons != 0 || c.Moves > c.Stops {
			t.Errorf("n=%d: half stopped: %+v, want at most 2 visits each", n, c)
		}
		f.ResetCounts()
		f.Advance(1_000_000, 0, func(Timer) {})
		if c := f.Counts(); c.TickVisits > 2*c.Expiries || c.Expiries != uint64(n-n/2) {
			t.Errorf("n=%d: the others expired: %+v, want at most 2 visits each", n, c)
		}
	}
}

// Nothing recurses: a tree that is a list of 10^6 records is walked, stopped in and emptied like
// any other. The test links the lists by hand, because START would need half a trillion visits to
// make them.
func TestTreeDegenerateDoesNotRecurse(t *testing.T) {
	const n = 1_000_000
	for _, side := range []string{"left", "right"} {
		f := MustNew("scheme3-tree", Config{Tick: 1}).(*scheme3Tree)
		f.Reserve(n)
		for range n {
			f.New(0)
		}
		f.root, f.running = 1, n
		for i := uint32(1); i <= n; i++ {
			nd := &f.nodes[i]
			nd.where, nd.aux = whereTree, i-1
			switch {
			case side == "right":
				nd.tick, nd.prev = uint64(i), (i+1)%(n+1)
			default:
				nd.tick, nd.next = uint64(n+1-i), (i+1)%(n+1)
			}
		}
		f.first = 1
		if side == "left" {
			f.first = n
		}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
		f.Stop(n / 2)
		f.Stop(1)
		last, expired := Time(0), 0
		f.Advance(n, 0, func(x Timer) {
			if now := f.Now(); now <= last {
				t.Fatalf("%s: timer %d expired at %d after one at %d", side, x, now, last)
			}
			last = f.Now()
			expired++
		})
		if expired != n-2 || f.check() != nil {
			t.Errorf("%s: %d expired, check %v, want %d and nil", side, expired, f.check(), n-2)
		}
	}
}
