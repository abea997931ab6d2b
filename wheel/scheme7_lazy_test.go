package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLazyHierarchyExpiresWhereStartPutsIt(t *testing.T) {
	// Level 0 begins at the current tick: a timer of up to M-1 ticks never moves, from any tick.
	f := paperWheel(t, "scheme7-lazy", Config{Slots: 64})
	timer := f.New(0)
	for now := Time(0); now < 1000; now += 7 {
		f.Advance(now, 0, nothing)
		for j := Time(1); j < 64; j++ {
			c := counted(f, func() {
				f.Schedule(timer, f.Now()+j)
				f.Advance(f.Now()+j, 0, nothing)
			})
			if c.Expiries != 1 || c.Moves != 0 || c.TickVisits != 1 || c.Wakeups != 1 {
				t.Fatalf("%d ticks from %d: %+v, want one visit", j, now, c)
			}
		}
	}
}

func TestLazyHierarchyRearmsInPlace(t *testing.T) {
	// A timer that is extended again and again is looked at once per interval, not once per START.
	f := paperWheel(t, "scheme7-lazy", Config{Slots: 64})
	timer := f.New(0)
	for range 10_000 {
		f.Schedule(timer, f.Now()+1000)
		f.Advance(f.Now()+1, 0, nothing)
	}
	if c := f.Counts(); c.Starts != 10_000 || c.TickVisits > 25 || c.Expiries != 0 {
		t.Errorf("%+v, want 10,000 starts and at most 2 to 3 visits per 1,000 ticks", c)
	}
	// A stopped timer is looked at a last time.
	f.Stop(timer)
	if c := counted(f, func() { f.Advance(f.Now()+10_000, 0, nothing) }); c.TickVisits != 1 || c.Expiries != 0 {
		t.Errorf("after Stop: %+v, want one visit", c)
	}
}

func TestLazyHierarchyBeyondTheLastLevel(t *testing.T) {
	// Two levels of four slots reach 16 ticks. A timer beyond is looked at when the last level wraps
	// around to it, on level 1, and on level 0.
	f := paperWheel(t, "scheme7-lazy", Config{Slots: 4, Levels: 2})
	f.Schedule(f.New(0), 16*10+5)
	for f.Len() > 0 {
		f.Advance(f.Now()+1, 0, nothing)
	}
	want := Counts{Starts: 1, Expiries: 1, TickVisits: 3, Moves: 2, Migrations: 2, Wakeups: 3}
	if got := f.Counts(); got != want {
		t.Errorf("tick by tick: %+v, want %+v", got, want)
	}
}

func TestLazyHierarchyOverAnyGap(t *testing.T) {
	for _, cfg := range []Config{{Slots: 2, Levels: 1}, {Slots: 2}, {Slots: 8, Levels: 2}, {Slots: lazySlots}, {}} {
		f := paperWheel(t, "scheme7-lazy", cfg)
		want := []Time{3, 1 << 40, 1<<40 + 1, math.MaxInt64 - 1, math.MaxInt64}
		for _, at := range want {
			f.Schedule(f.New(0), at)
		}
		var got []Time
		f.Advance(math.MaxInt64, 0, func(Timer) { got = append(got, f.Now()) })
		if !slices.Equal(got, want) || f.Counts().TickVisits > 100 {
			t.Errorf("%+v: expired at %v, want %v; %+v", cfg, got, want, f.Counts())
		}
	}
}

// The short paths of START, taken when nothing is counted, place timers as the long one does.
func TestLazyHierarchyShortPaths(t *testing.T) {
	calls := 20_000
	if testing.Short() {
		calls = 2_000
	}
	for _, cfg := range []Config{{Tick: 1000}, {Tick: 7, Slots: 8}, {Tick: 20_000, Slots: lazySlots}, {Tick: 1 << 24}} {
		rng := rand.New(rand.NewPCG(7, 7))
		short := MustNew("scheme7-lazy", cfg).(*lazyHierarchy)
		cfg.Count = true
		long := MustNew("scheme7-lazy", cfg).(*lazyHierarchy)
		for range 64 {
			short.New(0)
			long.New(0)
		}
		for range calls {
			timer := Timer(1 + rng.IntN(64))
			at := short.Now() + Time(rng.Int64N(int64(cfg.Tick)<<rng.IntN(14)))
			if rng.IntN(4) == 0 {
				at = short.Now() + Time(rng.IntN(4))*Time(cfg.Tick)
			}
			short.Schedule(timer, at)
			long.Schedule(timer, at)
			if rng.IntN(8) == 0 {
				at = short.Now() + Time(rng.Int64N(int64(cfg.Tick)<<rng.IntN(6)))
				n, _ := short.Advance(at, 0, nothing)
				if m, _ := long.Advance(at, 0, nothing); m != n {
					t.Fatalf("%+v: %d expire, counting %d", cfg, n, m)
				}
			}
			if !slices.Equal(short.nodes, long.nodes) || short.inner != long.inner {
				t.Fatalf("%+v: the lists differ at %v", cfg, short.Now())
			}
		}
	}
}
