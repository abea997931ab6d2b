package wheel

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// digitsBelow returns how many base-2^shift digits of tick are not zero below the highest that
// differs from now: the migrations of a timer started at now.
func digitsBelow(tick, now uint64, shift int) (n uint64) {
	for level := range (bits.Len64(tick^now) - 1) / shift {
		if tick>>(level*shift)&(1<<shift-1) != 0 {
			n++
		}
	}
	return n
}

func TestScheme7MigratesOncePerDigit(t *testing.T) {
	// §VI-B: "Of course, if the minutes remaining were zero, we could go directly to the second
	// array": a timer due at the very beginning of a slot expires in place.
	random := rand.New(rand.NewPCG(7, 7))
	f := paperWheel(t, "scheme7", Config{Slots: 8})
	timer := f.New(0)
	for range 1000 {
		at := f.Now() + 1 + Time(random.Int64N(1<<random.IntN(14)))
		want := digitsBelow(uint64(at), uint64(f.Now()), 3)
		c := counted(f, func() {
			f.Schedule(timer, at)
			for f.Len() > 0 {
				f.Advance(f.Now()+1+Time(random.IntN(1<<14)), 0, nothing)
			}
		})
		if c.Migrations != want || c.Moves != want || c.TickVisits != want+1 || c.Wakeups != want+1 {
			t.Fatalf("up to tick %d: %+v, want %d migrations", at, c, want)
		}
	}
}

func TestScheme7ChoosesTheCheapestTickOfARange(t *testing.T) {
	// Against all ticks of the range: none has fewer migrations, and none with as few is later.
	random := rand.New(rand.NewPCG(7, 3))
	s := MustNew("scheme7", Config{Tick: 1, Slots: 4}).(*scheme7)
	for range 5000 {
		s.cur = random.Uint64N(1 << 14)
		lo := s.cur + 1 + random.Uint64N(1<<random.IntN(14))
		hi := lo + random.Uint64N(1<<random.IntN(8))
		want := hi
		for tick := hi; tick >= lo; tick-- {
			if digitsBelow(tick, s.cur, 2) < digitsBelow(want, s.cur, 2) {
				want = tick
			}
		}
		if got := s.choose(lo, hi); got != want {
			t.Fatalf("choose(%d, %d) at %d = %d with %d migrations, want %d with %d", lo, hi, s.cur,
				got, digitsBelow(got, s.cur, 2), want, digitsBelow(want, s.cur, 2))
		}
	}
}

func TestScheme7BeyondTheLastLevel(t *testing.T) {
	// Config.Levels: "Timers beyond the last level wait in its farthest slot, which is looked at
	// again when it comes up": with two levels of four slots, every 16 ticks.
	f := paperWheel(t, "scheme7", Config{Slots: 4, Levels: 2})
	f.Schedule(f.New(0), 16*10+5)
	for f.Len() > 0 {
		f.Advance(f.Now()+1, 0, nothing)
	}
	// Ten looks. The last brings it to level 1, the visit there to level 0, where it expires.
	want := Counts{Starts: 1, Expiries: 1, TickVisits: 12, Moves: 11, Migrations: 1, Wakeups: 12}
	if got := f.Counts(); got != want {
		t.Errorf("tick by tick: %+v, want %+v", got, want)
	}
}

func TestScheme7OverAnyGap(t *testing.T) {
	for _, cfg := range []Config{{Slots: 2, Levels: 1}, {Slots: 2}, {Slots: 8, Levels: 2}, {Slots: 1 << 16}, {}} {
		f := paperWheel(t, "scheme7", cfg)
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

func TestScheme7Levels(t *testing.T) {
	// "Default: as many as cover 2^63 ticks, at most 8", and none that no tick would reach.
	for _, c := range []struct {
		cfg  Config
		want uint8
	}{
		{Config{Slots: 256}, 8}, {Config{Slots: 2}, 8}, {Config{Slots: 512}, 8}, {Config{Slots: 1024}, 7},
		{Config{Slots: 1 << 16}, 4}, {Config{Slots: 1 << 16, Levels: 8}, 4}, {Config{Slots: 256, Levels: 3}, 3},
	} {
		if got := MustNew("scheme7", c.cfg).(*scheme7).levels; got != c.want {
			t.Errorf("%+v: %d levels, want %d", c.cfg, got, c.want)
		}
	}
}
