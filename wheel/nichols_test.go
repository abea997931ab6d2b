package wheel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// roundingErrors returns the largest errors of rounding to multiples of g, relative to the
// interval requested and to the interval set, for intervals from g ticks to below g² that begin
// at one of the given positions in a slot.
func roundingErrors(r Rounding, g uint64, positions uint64) (ofRequested, ofSet float64) {
	for now := range positions {
		for interval := g; interval < g*g; interval++ {
			tick := now + interval
			set := r.between(tick, tick/g*g, g) - now
			err := math.Abs(float64(set) - float64(interval))
			ofRequested = max(ofRequested, err/float64(interval))
			ofSet = max(ofSet, err/float64(set))
		}
	}
	return ofRequested, ofSet
}

func TestNicholsPrecision(t *testing.T) {
	// §VI-B: "a loss in precision of up to 50% (e.g., a 1 min and 30 s timer that is rounded to 1
	// min)". The bounds are those of the type's comment, for slots of any width; 60 is the
	// paper's minute.
	for _, g := range []uint64{4, 16, 60, 256} {
		G := float64(g)
		for _, c := range []struct {
			r                  Rounding
			positions          uint64
			ofRequested, ofSet float64
		}{
			{RoundUp, 1, (G - 1) / (G + 1), (G - 1) / (2 * G)},
			{RoundNearest, 1, 1. / 3, (G/2 - 1) / G},
			{RoundDown, 1, (G - 1) / (2*G - 1), (G - 1) / G},
			{RoundUp, g, (G - 1) / G, (G - 1) / (2*G - 1)},
			{RoundNearest, g, 1. / 2, (G/2 - 1) / (G/2 + 1)},
			{RoundDown, g, (G - 1) / G, G - 1},
		} {
			ofRequested, ofSet := roundingErrors(c.r, g, c.positions)
			if math.Abs(ofRequested-c.ofRequested) > 1e-9 || math.Abs(ofSet-c.ofSet) > 1e-9 {
				t.Errorf("%v to %d from %d positions: %.4f of the interval requested, %.4f of the set, want %.4f, %.4f",
					c.r, g, c.positions, ofRequested, ofSet, c.ofRequested, c.ofSet)
			}
		}
	}
	minute := uint64(60)
	if got := RoundDown.between(90, 60, minute); got != 60 {
		t.Errorf("90 s down to minutes = %d s, want 60", got)
	}
	if got := RoundNearest.between(90, 60, minute); got != 120 {
		t.Errorf("90 s to the nearest minute = %d s, want 120: a half rounds up", got)
	}
}

func TestNicholsErrorsByLevel(t *testing.T) {
	// For all intervals of three levels from all positions: the error is within the bounds for
	// the slot width of the level (with one migration, of the next finer level) and on the side
	// that Rounding says. No timer is due now, and each expires at Deadline.
	const M = 8
	for _, scheme := range []string{"scheme7-nomigration", "scheme7-onemigration"} {
		for rounding := RoundUp; rounding <= RoundDown; rounding++ {
			t.Run(fmt.Sprintf("%s/%v", scheme, rounding), func(t *testing.T) {
				f := paperWheel(t, scheme, Config{Slots: M, Rounding: rounding})
				timer := f.New(0)
				for now := Time(0); now < 2*M*M; now++ {
					f.Advance(now, 0, nothing)
					for interval := Time(1); interval < M*M*M; interval++ {
						width := Time(1) // of a slot, to which the interval is rounded
						for width*M <= interval {
							width *= M
						}
						if scheme == "scheme7-onemigration" && width > 1 {
							width /= M
						}
						f.Schedule(timer, now+interval)
						at, _ := f.Deadline(timer)
						late := at - now - interval
						lo, hi := 1-width, width-1
						switch rounding {
						case RoundUp:
							lo = 0
						case RoundNearest:
							lo, hi = -(width-1)/2, width/2
						case RoundDown:
							hi = 0
						}
						if late < lo || late > hi || at%width != 0 || at <= now {
							t.Fatalf("%d ticks from %d set to %d: %d late, want %d to %d and a multiple of %d",
								interval, now, at, late, lo, hi, width)
						}
					}
				}
			})
		}
	}
}

func TestNicholsExpireAtTheirDeadline(t *testing.T) {
	// Timers expire in the order of ticks, and of STARTs within a tick, over levels, rotations
	// and migrations. None migrates more often than the scheme's name says.
	for _, c := range []struct {
		scheme     string
		migrations uint64
	}{{"scheme7-nomigration", 0}, {"scheme7-onemigration", 1}} {
		for rounding := RoundUp; rounding <= RoundDown; rounding++ {
			for _, levels := range []int{1, 2, 0} {
				random := rand.New(rand.NewPCG(uint64(rounding), uint64(levels)))
				f := paperWheel(t, c.scheme, Config{Slots: 4, Levels: levels, Rounding: rounding})
				starts, expiries := uint64(0), 0
				deadlines := map[uint64]Time{}
				var last Time
				var lastOwner uint64
				for f.Now() < 20_000 {
					for range random.IntN(6) {
						starts++
						timer := f.New(starts)
						f.Schedule(timer, f.Now()+1+Time(random.Int64N(1<<(1+random.IntN(12)))))
						deadlines[starts], _ = f.Deadline(timer)
					}
					f.Advance(f.Now()+Time(random.IntN(100)), 0, func(timer Timer) {
						if f.Now() < last || f.Now() == last && f.Owner(timer) < lastOwner {
							t.Errorf("start %d expires at %d, after start %d at %d",
								f.Owner(timer), f.Now(), lastOwner, last)
						}
						last, lastOwner = f.Now(), f.Owner(timer)
						if last != deadlines[lastOwner] {
							t.Errorf("start %d expires at %d, Deadline said %d", lastOwner, last, deadlines[lastOwner])
						}
						expiries++
					})
					if err := f.check(); err != nil {
						t.Fatal(err)
					}
				}
				if got := f.Counts(); got.Migrations > starts*c.migrations || got.Moves != got.Migrations ||
					c.migrations == 1 && levels != 1 && got.Migrations == 0 {
					t.Errorf("%s, %d levels: %d migrations of %d timers", c.scheme, levels, got.Migrations, starts)
				}
				if expiries < 500 {
					t.Errorf("%s, %d levels: only %d expiries", c.scheme, levels, expiries)
				}
			}
		}
	}
}

func TestNicholsVisits(t *testing.T) {
	// Without migration a timer is visited once. If rounding up puts it more than a rotation
	// ahead, its slot passes over it once before.
	f := paperWheel(t, "scheme7-nomigration", Config{Slots: 8})
	for now := range Time(64) {
		for _, interval := range []Time{1, 7, 8, 20, 63, 64, 100, 300, 511} {
			f.Advance(f.Now()|1023+1, 0, nothing)
			f.Advance(f.Now()+now, 0, nothing)
			timer := f.New(0)
			c := counted(f, func() {
				f.Schedule(timer, f.Now()+interval)
				for f.Len() > 0 {
					f.Advance(f.Now()+1, 0, nothing)
				}
			})
			f.Free(timer)
			if c.TickVisits > 2 || c.Wakeups != c.TickVisits || now == 0 && c.TickVisits != 1 {
				t.Errorf("%d ticks from %d: %+v, want a visit, or two", interval, now, c)
			}
		}
	}
}

func TestNicholsRanges(t *testing.T) {
	// Against all ticks of the range: if one needs no rounding, neither does the chosen tick;
	// likewise for migrations. Otherwise the choice is lo, rounded.
	random := rand.New(rand.NewPCG(7, 9))
	for _, scheme := range []string{"scheme7-nomigration", "scheme7-onemigration"} {
		s := MustNew(scheme, Config{Tick: 1, Slots: 4}).(*nichols)
		inPlace := func(tick uint64) bool { return tick%(1<<(s.level(tick-s.cur)*s.bits)) == 0 }
		for range 5000 {
			s.cur = random.Uint64N(1 << 12)
			lo := s.cur + 1 + random.Uint64N(1<<random.IntN(12))
			hi := lo + random.Uint64N(1<<random.IntN(8))
			exact, free := false, false
			for tick := lo; tick <= hi; tick++ {
				exact = exact || s.round(tick) == tick
				free = free || inPlace(tick)
			}
			got := s.choose(lo, hi)
			within := lo <= got && got <= hi
			if free && !(within && inPlace(got)) || exact && !(within && s.round(got) == got) && !free ||
				!exact && got != s.round(lo) {
				t.Fatalf("%s: choose(%d, %d) at %d = %d", scheme, lo, hi, s.cur, got)
			}
		}
	}
}

func TestNicholsAtTheEndOfTime(t *testing.T) {
	// A tick that would be rounded past the last one that Advance can reach is rounded less
	// coarsely, and is never early.
	for _, scheme := range []string{"scheme7-nomigration", "scheme7-onemigration"} {
		for _, cfg := range []Config{{Slots: 2}, {Slots: 2, Levels: 2}, {}, {Slots: 512}} {
			f := paperWheel(t, scheme, cfg)
			want := []Time{math.MaxInt64 - 1000, math.MaxInt64 - 1, math.MaxInt64}
			for i, deadline := range want {
				timer := f.New(0)
				f.Schedule(timer, deadline)
				if want[i], _ = f.Deadline(timer); want[i] < deadline {
					t.Errorf("%s %+v: deadline %d becomes %d", scheme, cfg, deadline, want[i])
				}
			}
			slices.Sort(want)
			var got []Time
			f.Advance(math.MaxInt64, 0, func(Timer) { got = append(got, f.Now()) })
			if !slices.Equal(got, want) || f.Counts().TickVisits > 1000 {
				t.Errorf("%s %+v: expired at %v, want %v; %+v", scheme, cfg, got, want, f.Counts())
			}
		}
	}
}
