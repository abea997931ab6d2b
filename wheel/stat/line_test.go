package stat

import (
	"math"
	"testing"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ x, y, want []float64 }{
		{[]float64{0, 1, 2}, []float64{1, 3, 5}, []float64{2, 1, 1}},
		{[]float64{0, 1, 2}, []float64{4, 4, 4}, []float64{0, 4, 1}},
		{[]float64{-1, 0, 1}, []float64{1, 0, 1}, []float64{0, 2. / 3, 0}},
	} {
		slope, intercept, r2 := Line(c.x, c.y)
		for i, got := range []float64{slope, intercept, r2} {
			if math.Abs(got-c.want[i]) > 1e-12 {
				t.Errorf("Line(%v, %v) = %v, %v, %v, want %v", c.x, c.y, slope, intercept, r2, c.want)
			}
		}
	}
	if slope, _, _ := Line([]float64{1, 1}, []float64{1, 2}); !math.IsNaN(slope) {
		t.Errorf("a line through points above each other has slope %v", slope)
	}
}
