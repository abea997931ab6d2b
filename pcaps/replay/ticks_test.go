package replay

import (
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
