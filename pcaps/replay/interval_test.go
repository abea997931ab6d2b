package replay

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestResamples: the bounds of an interval differ between draws by less than 2 % of its width.
func TestResamples(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, losses := range []int{5, 30, 200} {
		var saved []time.Duration
		for range losses {
			saved = append(saved, time.Duration(1e8*(r.ExpFloat64()-0.3))) // skewed, as savings are
		}
		for _, draws := range []int{100, 1000, resamples} {
			var lows []float64
			width := 0.0
			for seed := range uint64(40) {
				low, high := bounds(saved, draws, seed)
				lows, width = append(lows, low.Seconds()), width+(high-low).Seconds()/40
			}
			mean, squares := 0.0, 0.0
			for _, x := range lows {
				mean += x / float64(len(lows))
			}
			for _, x := range lows {
				squares += (x - mean) * (x - mean) / float64(len(lows)-1)
			}
			off := math.Sqrt(squares) / width
			t.Logf("%d losses, %d draws: a bound is off by %.1f %% of the width (one standard deviation)", losses, draws, 100*off)
			if draws == resamples && off > 0.02 {
				t.Errorf("%d losses: %.1f %%, want 2 %% at most", losses, 100*off)
			}
		}
	}
}

// bounds is the interval of savings of single losses.
func bounds(saved []time.Duration, draws int, seed uint64) (low, high time.Duration) {
	drawn := draw(saved, draws, rand.New(rand.NewPCG(seed, 2)))
	slices.Sort(drawn)
	return drawn[draws/200], drawn[draws-1-draws/200]
}
