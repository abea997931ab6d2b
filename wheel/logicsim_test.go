package wheel

import (
	"math"
	"slices"
	"testing"
)

func TestLogicsimOverflow(t *testing.T) {
	// §IV-B: "as time increases within a cycle and we travel down the array it becomes more
	// likely that event records will be inserted in the overflow list. Other implementations
	// reduce (but do not completely avoid) this effect by rotating the wheel halfway through the
	// array." A timer of j ticks, started i ticks after the turn, overflows if i+j ≥ N.
	const N = 16
	for _, scheme := range []string{"logicsim", "logicsim-half"} {
		f := paperWheel(t, scheme, Config{Slots: N})
		s := f.(*logicsim)
		timer := f.New(0)
		overflowed := 0
		for now := Time(0); now < 4*N; now++ {
			f.Advance(now, 0, nothing)
			since := now % N
			if scheme == "logicsim-half" {
				since = now % (N / 2)
			}
			for j := Time(1); j <= 2*N; j++ {
				f.Schedule(timer, now+j)
				over := s.nodes[timer].where == listOverflow
				if over != (since+j >= N) {
					t.Errorf("%s: a timer of %d ticks started at %d overflows: %v", scheme, j, now, over)
				}
				if over && j <= N/2 {
					overflowed++
				}
				if err := f.check(); err != nil {
					t.Fatal(err)
				}
			}
			f.Stop(timer)
		}
		// Of the intervals up to half the array, interval j overflows from j of N positions at
		// wrap, and from none at half.
		want := 4 * (N / 2) * (N/2 + 1) / 2
		if scheme == "logicsim-half" {
			want = 0
		}
		if overflowed != want {
			t.Errorf("%s: %d of the intervals up to N/2 overflow, want %d", scheme, overflowed, want)
		}
	}
}

func TestLogicsimExaminesTheOverflowListAtEachTurn(t *testing.T) {
	// §IV-B: "When it wraps to 0, the number of cycles is incremented, and the overflow list is
	// checked; any elements due to occur in the current cycle are removed from the overflow list
	// and inserted into the array of lists."
	const N, n, cycles = 16, 100, 5
	for _, c := range []struct {
		scheme string
		turns  uint64 // up to the one that brings all timers in reach
	}{{"logicsim", cycles}, {"logicsim-half", 2*cycles - 1}} {
		f := paperWheel(t, c.scheme, Config{Slots: N})
		for i := range Time(n) {
			f.Schedule(f.New(0), cycles*N+i%(N/2))
		}
		for f.Len() > 0 {
			f.Advance(f.Now()+1, 0, nothing)
		}
		want := Counts{Starts: n, Expiries: n, TickVisits: c.turns*n + n, Moves: n, Wakeups: c.turns + N/2}
		if c.scheme == "logicsim" {
			want.Wakeups-- // the last turn is also a tick with expiries
		}
		if got := f.Counts(); got != want {
			t.Errorf("%s: %+v, want %+v", c.scheme, got, want)
		}
	}
}

func TestLogicsimOverAnyGap(t *testing.T) {
	// One Advance examines the overflow list about twice per expiry, however many turns the gap
	// has.
	for _, scheme := range []string{"logicsim", "logicsim-half"} {
		for _, slots := range []int{2, 4, 4096} {
			f := paperWheel(t, scheme, Config{Slots: slots})
			want := []Time{1, 1 << 30, 1<<30 + 1, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
			for _, at := range want {
				f.Schedule(f.New(0), at)
			}
			f.Advance(1<<40, 0, nothing)
			if c := f.Counts(); c.Expiries != 3 || c.TickVisits > 30 {
				t.Errorf("%s, %d slots: %+v", scheme, slots, c)
			}
			var got []Time
			f.Advance(math.MaxInt64, 0, func(Timer) { got = append(got, f.Now()) })
			if !slices.Equal(got, want[3:]) || f.Counts().TickVisits > 60 {
				t.Errorf("%s, %d slots: expired at %v, want %v; %+v", scheme, slots, got, want[3:], f.Counts())
			}
		}
	}
}
