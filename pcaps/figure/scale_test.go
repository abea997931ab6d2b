package figure

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

// TestCutsKeepOrder maps values in and between cuts to pixels in order, and wants ticks outside
// cuts only.
func TestCutsKeepOrder(t *testing.T) {
	cuts := []Cut{{From: 1, To: 100}, {From: 100, To: 300}}
	s := NewScale(0, 302, 50, 750).without(cuts)
	if len(s.parts) != 3 || s.At(0) != 50 || math.Abs(s.At(302)-750) > 0.1 {
		t.Fatalf("%d parts from %g to %g, want 3 from 50 to 750", len(s.parts), s.At(0), s.At(302))
	}
	last := 0.0
	for v := 0.0; v <= 302; v += 0.25 {
		x := s.At(v)
		if x < last {
			t.Fatalf("%g is at %g, before %g", v, x, last)
		}
		last = x
	}
	ticks := s.Ticks(8)
	if len(ticks) < 2 {
		t.Errorf("ticks %v, want some", ticks)
	}
	for _, v := range ticks {
		if v > 1 && v < 300 && v != 100 {
			t.Errorf("tick at %g, which is cut out", v)
		}
	}
	for _, none := range [][]Cut{nil, {{From: -5, To: 10}}, {{From: 200, To: 400}}, {{From: 0, To: 302}}} {
		if s := NewScale(0, 302, 50, 750).without(none); s.parts != nil {
			t.Errorf("%v: %d parts, want a scale without cuts", none, len(s.parts))
		}
	}
}

// TestLabelsOfNumbersAreApart leaves out labels that would touch the one before.
func TestLabelsOfNumbersAreApart(t *testing.T) {
	p := &Plot{sheet: &sheet{Canvas: &Canvas{Width: 200}}, X: NewScale(0, 200, 0, 200)}
	kept := p.apart([]tick{{10, "100 ms"}, {40, "200 ms"}, {90, "500 ms"}, {199, "1000 ms"}})
	if len(kept) != 3 || kept[1].text != "500 ms" {
		t.Errorf("labels %v, want three", kept)
	}
	p.X = NewLogScale(0.001, 1, 0, 200)
	kept = p.apart([]tick{{0.001, "1 ms"}, {0.002, "2 ms"}, {0.005, "5 ms"}, {0.01, "10 ms"}, {0.1, "100 ms"}, {1, "1 s"}})
	if len(kept) != 4 || kept[1].text != "10 ms" {
		t.Errorf("labels %v, want those of decades", kept)
	}
}
