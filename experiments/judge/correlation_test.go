package judge

import (
	"math"
	"testing"
)

// TestRankCorrelation checks orders, ties and a constant.
func TestRankCorrelation(t *testing.T) {
	for _, c := range []struct {
		x, y []float64
		want float64
	}{
		{[]float64{1, 2, 3}, []float64{10, 20, 400}, 1},
		{[]float64{1, 2, 3}, []float64{3, 2, 1}, -1},
		{[]float64{1, 2, 2, 3}, []float64{1, 2, 3, 4}, math.Sqrt(0.9)},
		{[]float64{1, 2, 3}, []float64{5, 5, 5}, 0},
	} {
		if got := RankCorrelation(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("RankCorrelation(%v, %v) = %v, want %v", c.x, c.y, got, c.want)
		}
	}
}
