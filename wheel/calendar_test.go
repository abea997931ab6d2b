package wheel

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDayWidth(t *testing.T) {
	for _, c := range []struct {
		ticks []uint64
		want  uint64
	}{
		{nil, 1},
		{[]uint64{5}, 1},
		{[]uint64{5, 5, 5}, 1},                              // all at once
		{[]uint64{10, 20, 30, 40}, 30},                      // three times the distance
		{[]uint64{10, 20, 30, 40, 1000}, 30},                // the last is above twice the average of 247
		{[]uint64{0, 10, 20, 60}, 30},                       // twice the average of 20 is left out
		{[]uint64{0, 10, 20, 59}, 59},                       // less is not: 3·59/3
		{[]uint64{0, 0, 0, 1, 1, 1}, 1},                     // an average of 1/5
		{[]uint64{1, 1 << 63}, maxWidth},                    // no overflow
		{[]uint64{1, 1 << 62, 1 << 63}, maxWidth},           //
		{[]uint64{1<<63 - 2, 1<<63 - 1, 1 << 63}, 3},        //
		{[]uint64{1, 2, 3, 1 << 62, 1<<62 + 1, 1 << 63}, 3}, // 2^62 > 2·2^63/5
	} {
		if got := dayWidth(c.ticks); got != c.want {
			t.Errorf("dayWidth(%d) = %d, want %d", c.ticks, got, c.want)
		}
	}
}

func TestCalendarResizes(t *testing.T) {
	// Brown: the number of days doubles when there are more than two timers per day, and halves
	// when there are fewer than half a timer per day (less 2).
	f := paperWheel(t, "calendar", Config{})
	s := f.(*calendar)
	var timers []Timer
	want := 2
	for n := 1; n <= 1000; n++ {
		timer := f.New(0)
		c := counted(f, func() { f.Schedule(timer, 1000+10*Time(n)) })
		timers = append(timers, timer)
		resized := uint64(0)
		if n > 2*want {
			want, resized = 2*want, uint64(n)
		}
		if s.buckets() != want || c.Moves != resized {
			t.Fatalf("%d timers on %d days, %d moves, want %d days, %d moves", n, s.buckets(), c.Moves, want, resized)
		}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
	}
	if s.width != 30 {
		t.Errorf("timers 10 ticks apart on days of %d, want three times the distance", s.width)
	}
	for n := 999; n >= 0; n-- {
		timer := timers[n]
		c := counted(f, func() { f.Stop(timer) })
		resized := uint64(0)
		if n < want/2-2 {
			want, resized = want/2, uint64(n)
		}
		if s.buckets() != want || c.Moves != resized {
			t.Fatalf("%d timers on %d days, %d moves, want %d days, %d moves", n, s.buckets(), c.Moves, want, resized)
		}
		if err := f.check(); err != nil {
			t.Fatal(err)
		}
	}
	if s.buckets() != 4 { // 4/2-2 = 0
		t.Errorf("an empty calendar has %d days, want 4", s.buckets())
	}
}

func TestCalendarResizesWithoutAllocating(t *testing.T) {
	for _, slots := range []int{2, 64, 4096} {
		f := MustNew("calendar", Config{Tick: 1, Slots: slots})
		f.Reserve(3000)
		timers := make([]Timer, 3000)
		for i := range timers {
			timers[i] = f.New(0)
		}
		now := Time(0)
		n := testing.AllocsPerRun(100, func() {
			for i, timer := range timers {
				f.Schedule(timer, now+1+Time(i*i%9973))
			}
			for _, timer := range timers[:1000] {
				f.Stop(timer)
			}
			now += 10_000
			f.Advance(now, 0, nothing)
		})
		if n != 0 {
			t.Errorf("%d days to begin with: %v allocations, want none", slots, n)
		}
		if err := f.check(); err != nil {
			t.Error(err)
		}
	}
}

func TestCalendarHoldIsConstant(t *testing.T) {
	// Brown, "hold" operations: a timer that expires is started again after a random interval.
	// Visits per hold must not grow with the number of timers, from 10² to 10⁴. (A queue that is
	// filled at once does worse for triangular intervals: the few timers next due are then far
	// apart, and the width derived from them stays.)
	for _, d := range []struct {
		name     string
		interval func(r *rand.Rand) float64
	}{
		{"exponential", func(r *rand.Rand) float64 { return r.ExpFloat64() }},
		{"uniform 0 to 2", func(r *rand.Rand) float64 { return 2 * r.Float64() }},
		{"uniform 0.9 to 1.1", func(r *rand.Rand) float64 { return 0.9 + 0.2*r.Float64() }},
		{"triangular", func(r *rand.Rand) float64 { return 1.5 * math.Sqrt(r.Float64()) }},
	} {
		for _, n := range []int{100, 1000, 10_000} {
			random := rand.New(rand.NewPCG(uint64(n), 1988))
			f := paperWheel(t, "calendar", Config{})
			start := func(timer Timer) { f.Schedule(timer, f.Now()+1+Time(1e9*d.interval(random))) }
			for range n { // time passes, so that the last resize sees the steady state
				start(f.New(0))
				f.Advance(f.Now()+Time(4e9)/Time(n), 0, start)
			}
			holds := 0
			c := counted(f, func() {
				for holds < 10_000 {
					k, _ := f.Advance(math.MaxInt64, 1000, start)
					holds += k
				}
			})
			if perHold := float64(c.Visits()) / float64(holds); perHold > 3 {
				t.Errorf("%s, %d timers: %.2f visits per hold, want at most 3", d.name, n, perHold)
			}
		}
	}
}
