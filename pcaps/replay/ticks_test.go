package replay

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestTickSpan compares the bounds with waits moved to many phases.
func TestTickSpan(t *testing.T) {
	const tick = 500 * time.Millisecond
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 30 {
		waits := make([]time.Duration, n)
		for i := range waits {
			waits[i] = time.Duration(rng.Int64N(int64(tick)))
		}
		least, most := time.Duration(1<<62), -time.Duration(1<<62)
		for later := time.Duration(0); later < tick; later += time.Millisecond / 4 {
			sum := time.Duration(0)
			for _, w := range waits {
				sum += (w + later) % tick
			}
			least, most = min(least, sum), max(most, sum)
		}
		if n == 0 {
			least, most = 0, 0
		}
		got := tickSpan(waits, tick)
		if off := got - (most - least); off < 0 || off > time.Duration(2*n)*time.Millisecond/4 {
			t.Errorf("%d waits: %v, want %v", n, got, most-least)
		}
	}
	// All at one place move together; spread evenly, they cancel out but for one tick.
	same, even := make([]time.Duration, 8), make([]time.Duration, 8)
	for i := range same {
		same[i], even[i] = 100*time.Millisecond, time.Duration(i)*tick/8
	}
	if a, b := tickSpan(same, tick), tickSpan(even, tick); a != 8*tick || b != tick {
		t.Errorf("%v for one place, %v spread, want %v and %v", a, b, 8*tick, tick)
	}
}

// TestMayLoseAgain compares the mean and the spread of repairs that are lost by chance with draws.
func TestMayLoseAgain(t *testing.T) {
	const chance, waited = 0.1, 200 * time.Millisecond
	var s Summary
	s.mayLoseAgain(&Recovery{waited: waited}, chance)
	if s.again != 0 || s.spread != 0 {
		t.Error("a repair at a captured time may be lost")
	}
	s.mayLoseAgain(&Recovery{waited: waited, unseen: true}, chance)
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 200_000
	sum, squares := 0.0, 0.0
	for range n {
		at, gap := 0.0, waited.Seconds()
		for k := 0; k < mostAgain && rng.Float64() < chance; k++ {
			gap *= 2
			at += gap
		}
		sum, squares = sum+at, squares+at*at
	}
	mean := sum / n
	if spread := squares/n - mean*mean; math.Abs(s.again-mean) > 0.05*mean || math.Abs(s.spread-spread) > 0.2*spread {
		t.Errorf("mean %.4f s and spread %.4f, want %.4f and %.4f", s.again, s.spread, mean, spread)
	}
}
