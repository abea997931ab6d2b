package wheel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestScheme5IsScheme2InASlot(t *testing.T) {
	// §VI-A1: "A pleasing observation is that the scheme reduces to Scheme 2 if the array size is
	// 1." So it does for timers that all hash into one slot.
	const M = 64
	random := rand.New(rand.NewPCG(5, 0))
	f5 := paperWheel(t, "scheme5", Config{Slots: M})
	f2 := paperWheel(t, "scheme2", Config{})
	for range 300 {
		at := 17 + M*Time(1+random.IntN(100))
		f5.Schedule(f5.New(0), at)
		f2.Schedule(f2.New(0), at)
	}
	if c5, c2 := f5.Counts(), f2.Counts(); c5 != c2 || c5.StartVisits == 0 {
		t.Errorf("%+v, Scheme 2 %+v", c5, c2)
	}
	var order5, order2 []Timer
	f5.Advance(M*101, 0, func(timer Timer) { order5 = append(order5, timer) })
	f2.Advance(M*101, 0, func(timer Timer) { order2 = append(order2, timer) })
	if !slices.Equal(order5, order2) || len(order5) != 300 {
		t.Errorf("expired in the order %v, Scheme 2 %v", order5, order2)
	}
}

func TestScheme5StartIsConstantWhenSpread(t *testing.T) {
	// §VI-A1: the average latency of START_TIMER is O(1) "if n < TableSize and if the hash
	// function distributes timer values uniformly". The worst case is O(n), with the same n.
	const M, n = 4096, 2000
	random := rand.New(rand.NewPCG(5, 1))
	f := paperWheel(t, "scheme5", Config{Slots: M})
	for range n {
		f.Schedule(f.New(0), 1+Time(random.IntN(1<<30)))
	}
	// Each later record of its slot passes a record with probability 1/2: n²/4M = 244.
	if got := f.Counts().StartVisits; got < 150 || got > 350 {
		t.Errorf("%d STARTs spread over %d slots passed %d records, want about 244", n, M, got)
	}
	f = paperWheel(t, "scheme5", Config{Slots: M})
	for i := range Time(n) {
		f.Schedule(f.New(0), (i+1)*M)
	}
	if got, want := f.Counts().StartVisits, uint64(n*(n-1)/2); got != want {
		t.Errorf("%d STARTs in ascending order in one slot passed %d records, want %d", n, got, want)
	}
}

func TestScheme5LooksAtOneHeadPerBusySlot(t *testing.T) {
	// §VI-A1: "the top of the list is decremented": one look per tick with a busy slot, however
	// long the list.
	const M = 16
	f := paperWheel(t, "scheme5", Config{Slots: M})
	for i := range Time(100) {
		f.Schedule(f.New(0), 100*M+i%4) // slots 0 to 3
	}
	c := counted(f, func() {
		for range 10 * M {
			f.Advance(f.Now()+1, 0, nothing)
		}
	})
	if want := (Counts{TickVisits: 40, Wakeups: 40}); c != want {
		t.Errorf("ten rotations with four busy slots: %+v, want %+v", c, want)
	}
	for f.Len() > 0 {
		f.Advance(f.Now()+1, 0, nothing)
	}
	// Slot 0 came up 99 times without an expiry; the other slots, which began in the first
	// rotation, 100.
	if got, want := f.Counts().TickVisits, uint64(99+3*100+100); got != want {
		t.Errorf("%d visits up to the last expiry, want %d", got, want)
	}
}

func TestHashedWheelsOverAnyGap(t *testing.T) {
	// One Advance pays for a rotation and a part of one, however many rotations the gap has.
	for _, scheme := range []string{"scheme5", "scheme6-list"} {
		for _, slots := range []int{2, 8, 64} {
			for _, at := range []Time{1 << 40, 1<<40 + 1, math.MaxInt64 - 1, math.MaxInt64} {
				f := paperWheel(t, scheme, Config{Slots: slots})
				f.Schedule(f.New(0), at)
				f.Schedule(f.New(0), math.MaxInt64)
				if n, _ := f.Advance(at-1, 0, nothing); n != 0 || f.Counts().TickVisits > 4 {
					t.Errorf("%s: %d expired before tick %d, %+v", scheme, n, at, f.Counts())
				}
				var expired []Time
				f.Advance(math.MaxInt64, 0, func(Timer) { expired = append(expired, f.Now()) })
				if !slices.Equal(expired, []Time{at, math.MaxInt64}) || f.Counts().TickVisits > 16 {
					t.Errorf("%s: expired at %d, want %d and the last, %+v", scheme, expired, at, f.Counts())
				}
			}
		}
	}
}
