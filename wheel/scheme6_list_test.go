package wheel

import (
	"math/rand/v2"
	"testing"
)

func TestHashControlsOnlyTheVarianceOfATick(t *testing.T) {
	// §VI-A2: "the hash distribution in Scheme 6 only controls the variance of the latency of
	// PER_TICK_BOOKKEEPING and not the average latency."
	const M, n, rotations = 64, 640, 5
	random := rand.New(rand.NewPCG(6, 0))
	for _, spread := range []struct {
		name string
		slot func(i int) Time

		least, most uint64 // visits on the most expensive tick
	}{
		{"ten per slot", func(i int) Time { return Time(i % M) }, n / M, n / M},
		{"at random", func(int) Time { return Time(random.IntN(M)) }, n/M + 1, 3 * n / M},
		{"all in one slot", func(int) Time { return 7 }, n, n},
	} {
		f := paperWheel(t, "scheme6-list", Config{Slots: M})
		for i := range n {
			f.Schedule(f.New(0), 1000*M+spread.slot(i))
		}
		most := uint64(0)
		for range rotations * M {
			c := counted(f, func() { f.Advance(f.Now()+1, 0, nothing) })
			most = max(most, c.TickVisits)
		}
		if got, want := f.Counts().TickVisits, uint64(rotations*n); got != want {
			t.Errorf("%s: %d visits in %d rotations, want %d", spread.name, got, rotations, want)
		}
		if most < spread.least || most > spread.most {
			t.Errorf("%s: %d visits on the most expensive tick, want %d to %d", spread.name, most, spread.least, spread.most)
		}
	}
}

func TestScheme6ListAdvancedInLeaps(t *testing.T) {
	// Advances of up to a rotation at a time skip nothing: they visit what single ticks visit.
	const M = 32
	random := rand.New(rand.NewPCG(6, 1))
	single, leaps := paperWheel(t, "scheme6-list", Config{Slots: M}), paperWheel(t, "scheme6-list", Config{Slots: M})
	for range 200 {
		at := 1 + Time(random.IntN(3000))
		single.Schedule(single.New(0), at)
		leaps.Schedule(leaps.New(0), at)
	}
	for leaps.Now() < 3000 {
		leaps.Advance(leaps.Now()+1+Time(random.IntN(M)), 0, nothing)
		for single.Now() < leaps.Now() {
			single.Advance(single.Now()+1, 0, nothing)
		}
		if single.Counts() != leaps.Counts() {
			t.Fatalf("at tick %d: %+v tick by tick, %+v in leaps", leaps.Now(), single.Counts(), leaps.Counts())
		}
	}
}
