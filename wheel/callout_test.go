package wheel

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// diffs returns the differences in the callout list, from the head.
func (s *callout) diffs() (d []uint64) {
	for t := s.lists[listFirst].head; t != 0; t = s.nodes[t].next {
		d = append(d, s.diff[t])
	}
	return d
}

// §VII: "the first callout in the list stores the number of ticks from now until expiration, and
// each subsequent callout in the list stores the number of ticks between its own expiration and
// the expiration of its predecessor."
func TestCalloutDifferences(t *testing.T) {
	f := MustNew("callout", Config{Tick: 1}).(*callout)
	want := func(what string, want ...uint64) {
		t.Helper()
		if got := f.diffs(); !slices.Equal(got, want) {
			t.Errorf("%s: differences %v, want %v", what, got, want)
		}
		if err := f.check(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	a, b, c, d := f.New(0), f.New(0), f.New(0), f.New(0)
	f.Schedule(a, 10)
	f.Schedule(b, 30)
	want("two", 10, 20)
	f.Schedule(c, 25)
	want("one between them", 10, 15, 5)
	f.Schedule(d, 25)
	want("one of the same tick", 10, 15, 0, 5)
	f.Advance(7, 0, nil)
	want("7 ticks later", 3, 15, 0, 5)
	f.Stop(c)
	want("the second stopped", 3, 15, 5)
	f.Stop(a)
	want("the first stopped", 18, 5)
	f.Schedule(c, 1<<62)
	f.Schedule(a, 12)
	want("one far away and a new first", 5, 13, 5, 1<<62-30)
	f.Advance(27, 0, func(Timer) {})
	want("past two at once", 3, 1<<62-30)
	f.Stop(c)
	want("the last stopped", 3)
	f.Advance(1<<62, 0, func(Timer) {})
	want("past all")
	f.Schedule(a, 1<<62+5)
	want("started after a gap", 5)
}

// Table II for the list that Scheme 6 replaced: START O(n), STOP by handle O(1), PER TICK
// BOOKKEEPING O(1).
func TestCalloutCounts(t *testing.T) {
	for _, n := range []int{1, 10, 1000} {
		f := MustNew("callout", Config{Tick: 1, Count: true})
		r := rand.New(rand.NewPCG(4, 4))
		for range n {
			f.Schedule(f.New(0), Time(1000+r.IntN(1000)))
		}
		x := f.New(0)
		f.ResetCounts()
		f.Schedule(x, 2000)
		f.Stop(x)
		if c := f.Counts(); c != (Counts{Starts: 1, Stops: 1, StartVisits: uint64(n), Comparisons: uint64(n)}) {
			t.Errorf("n=%d: START behind all, STOP: %+v, want n visits and comparisons", n, c)
		}
		f.ResetCounts()
		f.Schedule(x, 200)
		f.Stop(x)
		if c := f.Counts(); c != (Counts{Starts: 1, Stops: 1, Comparisons: 1}) {
			t.Errorf("n=%d: START in front of all, STOP: %+v, want one comparison", n, c)
		}
		f.ResetCounts()
		for now := Time(1); now <= 100; now++ {
			f.Advance(now, 0, nil)
		}
		if c := f.Counts(); c != (Counts{TickVisits: 100}) {
			t.Errorf("n=%d: 100 idle ticks: %+v, want a visit for each", n, c)
		}
	}
}

// Fig. 9 in exact counts: "one process created a number of outstanding timers set for random
// times far in the future [...]. It then created one more timer and repeatedly set it for a
// random time farther in the future than the others, causing repeated calls to untimeout and
// timeout (or unsetcallout and setcallout, depending on which kernel was being used)." Each
// iteration looks at all n others twice on the old list, to insert and to find. With the hash table
// and with handles, n does not matter.
func TestFig9(t *testing.T) {
	if testing.Short() {
		t.Skip("same counts without the race detector, in a tenth of the time")
	}
	iterations := 1000
	if long {
		iterations = 10_000 // as in the paper
	}
	for n := uint64(0); n <= 1000; n += 100 {
		c := fig9(MustNew("callout", Config{Count: true}), int(n), iterations)
		if c.StartVisits != n*uint64(iterations) || c.StopVisits != n*uint64(iterations) || c.TickVisits != 0 {
			t.Errorf("old list, n=%d: %+v, want %d visits to insert and as many to find", n, c, n*uint64(iterations))
		}
	}
	for _, scheme := range Schemes() {
		if scheme == "callout" || uncounted[scheme] {
			continue
		}
		for _, n := range []int{0, 500, 1000} {
			const iterations = 100 // counts are exact, so fewer iterations suffice
			c := fig9(MustNew(scheme, Config{Count: true}), n, iterations)
			if c.Starts != iterations || c.Stops != iterations {
				t.Fatalf("%s, n=%d: %+v, want %d iterations", scheme, n, c, iterations)
			}
			// With at least as many chains as callouts, a chain has one callout on average.
			own := MustNew(scheme, Config{Count: true})
			handle := fig9Handle(own, n, iterations)
			if found := c.StopVisits - handle.StopVisits; found > 4*iterations {
				t.Errorf("%s with hash table, n=%d: %d visits to find, want at most 4 each", scheme, n, found)
			}
			if scheme != "scheme1" && scheme != Default {
				continue
			}
			if c.StartVisits != 0 || handle.StartVisits != 0 || handle.StopVisits != 0 {
				t.Errorf("%s, n=%d: with hash table %+v, with handles %+v, want no visits but to find",
					scheme, n, c, handle)
			}
		}
	}
}

// fig9 runs the benchmark of Fig. 9 with timeout and untimeout. It returns the counts of its
// iterations.
func fig9(f Facility, n, iterations int) Counts {
	r := rand.New(rand.NewPCG(9, uint64(n)))
	c := NewCallouts(f)
	for i := range n {
		c.Timeout(uint32(i%7), uint64(i), Time(1e15+r.Int64N(1e15)))
	}
	c.Timeout(7, 42, Time(2e15+r.Int64N(1e15)))
	c.ResetCounts()
	for range iterations {
		c.Untimeout(7, 42)
		c.Timeout(7, 42, Time(2e15+r.Int64N(1e15)))
	}
	return c.Counts()
}

// fig9Handle is fig9 with setcallout and unsetcallout.
func fig9Handle(f Facility, n, iterations int) Counts {
	r := rand.New(rand.NewPCG(9, uint64(n)))
	for range n {
		f.Schedule(f.New(0), Time(1e15+r.Int64N(1e15)))
	}
	x := f.New(0)
	f.Schedule(x, Time(2e15+r.Int64N(1e15)))
	f.ResetCounts()
	for range iterations {
		f.Stop(x)
		f.Schedule(x, Time(2e15+r.Int64N(1e15)))
	}
	return f.Counts()
}
