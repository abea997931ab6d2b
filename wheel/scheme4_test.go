package wheel

import (
	"math"
	"testing"
)

func TestScheme4IntervalsUpToMaxInterval(t *testing.T) {
	// §V: "Array of lists used by Scheme 4 for timer intervals up to MaxInterval": 1 to 8 here,
	// from any position.
	for now := range Time(20) {
		f := paperWheel(t, "scheme4", Config{Slots: 8})
		f.Advance(now, 0, nothing)
		s := f.(*scheme4)
		for j := Time(1); j <= 12; j++ {
			timer := f.New(uint64(j))
			f.Schedule(timer, now+j)
			if inWheel := s.nodes[timer].where != listOverflow; inWheel != (j <= 8) {
				t.Errorf("at %d, an interval of %d ticks is in the wheel: %v", now, j, inWheel)
			}
		}
		next := Time(1)
		f.Advance(now+12, 0, func(timer Timer) {
			if f.Owner(timer) != uint64(next) || f.Now() != now+next {
				t.Errorf("timer of %d ticks, started at %d, expires at %d", f.Owner(timer), now, f.Now())
			}
			next++
		})
		if err := f.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestScheme4WithinItsRange(t *testing.T) {
	// §V: "Thus the latency for START_TIMER is O(1). The cost of PER_TICK_BOOKKEEPING is O(1)
	// except when timers expire, but this is the best possible." So only expiring timers are
	// visited.
	f := paperWheel(t, "scheme4", Config{Slots: 256})
	for i := range Time(1000) {
		f.Schedule(f.New(0), 1+i%256)
	}
	for range 300 {
		f.Advance(f.Now()+1, 0, nothing)
	}
	want := Counts{Starts: 1000, Expiries: 1000, TickVisits: 1000, Wakeups: 256}
	if got := f.Counts(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestScheme4OverflowList(t *testing.T) {
	// §V: "Timers greater than this value are implemented using, say, Scheme 2." They stay in the
	// list until they expire.
	f := paperWheel(t, "scheme4", Config{Slots: 4})
	s := f.(*scheme4)
	var timers []Timer
	for i := range Time(10) {
		timer := f.New(0)
		c := counted(f, func() { f.Schedule(timer, 100+i%5) })
		want := uint64(i) // all earlier ones are due no later
		if i >= 5 {
			want = uint64(2*(i-5) + 1)
		}
		if c.StartVisits != want {
			t.Errorf("START %d passed %d records, want %d", i, c.StartVisits, want)
		}
		timers = append(timers, timer)
	}
	f.Advance(99, 0, nothing)
	for _, timer := range timers {
		if s.nodes[timer].where != listOverflow {
			t.Errorf("timer %d has left the list one tick before it expires", timer)
		}
	}
	var order []Timer
	f.Advance(104, 0, func(timer Timer) { order = append(order, timer) })
	for i, timer := range order {
		if want := timers[i/2+i%2*5]; timer != want {
			t.Errorf("expiry %d is of timer %d, want %d", i, timer, want)
		}
	}
	if c := f.Counts(); c.Moves != 0 || len(order) != 10 {
		t.Errorf("%d expiries, %d moves", len(order), c.Moves)
	}
}

func TestScheme4OverAnyGap(t *testing.T) {
	f := paperWheel(t, "scheme4", Config{Slots: 2})
	f.Schedule(f.New(0), 1)
	f.Schedule(f.New(0), math.MaxInt64-1)
	f.Schedule(f.New(0), math.MaxInt64)
	if n, _ := f.Advance(math.MaxInt64, 0, nothing); n != 3 {
		t.Errorf("%d expiries, want 3", n)
	}
	if got, want := f.Counts().Wakeups, uint64(3); got != want {
		t.Errorf("%d wake-ups, want %d", got, want)
	}
}
