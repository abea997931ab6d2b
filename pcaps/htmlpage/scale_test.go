package htmlpage

import (
	"math"
	"testing"
)

// TestTicks are few, in order, between the ends, and not empty, on scales of any size.
func TestTicks(t *testing.T) {
	for _, span := range [][2]float64{{0, 1}, {0, 1e-6}, {0.085, 0.1346}, {0, 3.7e9}, {1e6, 1e6 + 1}, {-3, 3}, {99.9, 100.1}} {
		s := NewScale(span[0], span[1], 0, 700)
		checkTicks(t, s, s.Ticks(8), 20)
	}
	for _, span := range [][2]float64{{1e-6, 100}, {0.05, 0.06}, {0.2, 0.2}, {1e-9, 1e-8}, {0.001, 3}} {
		s := NewLogScale(span[0], span[1], 0, 700)
		if s.Lo > span[0]*1.001 || s.Hi < span[1]*0.999 {
			t.Errorf("NewLogScale(%g, %g) is from %g to %g", span[0], span[1], s.Lo, s.Hi)
		}
		checkTicks(t, s, s.Ticks(8), 20)
	}
}

func checkTicks(t *testing.T, s Scale, all []float64, most int) {
	t.Helper()
	if len(all) < 2 || len(all) > most {
		t.Errorf("%v: %d ticks: %v", s, len(all), all)
	}
	for i, v := range all {
		if v < s.Lo-1e-9*math.Abs(s.Lo) || v > s.Hi+1e-6*math.Abs(s.Hi) || i > 0 && v <= all[i-1] {
			t.Errorf("%v: ticks %v", s, all)
		}
	}
}

// TestScales has both ends at both ends.
func TestScales(t *testing.T) {
	for _, s := range []Scale{NewScale(-5, 20, 10, 110), {Lo: 0.001, Hi: 10, From: 10, To: 110, Log: true}} {
		if a, b := s.At(s.Lo), s.At(s.Hi); math.Abs(a-10) > 1e-9 || math.Abs(b-110) > 1e-9 {
			t.Errorf("%v: ends at %g and %g, want 10 and 110", s, a, b)
		}
	}
	if s := NewScale(3, 3, 0, 10); s.At(3) != 0 {
		t.Errorf("an empty scale maps 3 to %g, want 0", s.At(3))
	}
}
