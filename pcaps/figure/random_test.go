package figure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"testing"
)

// TestAnyFigureIsDrawn draws figures of any data that Check lets pass: of one value, of very great
// and very small ones, of few categories and of many, with ends of axes and marks far from the
// data.
func TestAnyFigureIsDrawn(t *testing.T) {
	number := regexp.MustCompile(` (d|x|y|width|height|viewBox|transform)="[^"]*(NaN|Inf|\d[eE])`)
	drawn := 0
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 7))
		f := randomFigure(rng)
		if f.Check() != nil {
			continue
		}
		drawn++
		text := string(f.Drawing())
		if m := number.FindStringIndex(text); m != nil {
			t.Fatalf("seed %d: %s in the drawing of %+v", seed, text[max(0, m[0]-60):min(len(text), m[1]+20)], f)
		}
		if len(text) > 200_000 {
			t.Errorf("seed %d: %d bytes", seed, len(text))
		}
	}
	if drawn < 250 {
		t.Errorf("%d figures could be drawn, want 250 at least", drawn)
	}
}

func randomFigure(rng *rand.Rand) Figure {
	value := func(log bool) float64 {
		v := math.Pow(10, float64(rng.IntN(16)-6)) * rng.Float64()
		switch {
		case log:
			return max(v, 1e-9)
		case rng.IntN(3) == 0:
			return -v
		case rng.IntN(4) == 0:
			return 0
		}
		return v
	}
	axis := func(label string) Axis {
		a := Axis{Label: label, Log: rng.IntN(3) == 0}
		if rng.IntN(4) == 0 {
			a.Lo, a.Hi = value(a.Log), value(a.Log)
		}
		return a
	}
	f := Figure{Name: "random", Title: "random", X: axis("x"), Y: axis("y")}
	if rng.IntN(3) == 0 {
		f.X.Log = false
		for i := range 1 + rng.IntN(12) {
			f.X.Ticks = append(f.X.Ticks, fmt.Sprintf("category %d", i*rng.IntN(1000)))
		}
	}
	for s := range 1 + rng.IntN(11) {
		o := Series{Name: fmt.Sprint("series ", s), Kind: []Kind{Line, Steps, Points, Bars}[rng.IntN(4)], Dashed: rng.IntN(3) == 0, Group: rng.IntN(4), Marker: rng.IntN(3)}
		x, scale := value(f.X.Log), math.Abs(value(true))
		intervals := rng.IntN(2) == 0
		for i := range 1 + rng.IntN(60) {
			if len(f.X.Ticks) > 0 {
				if i >= len(f.X.Ticks) {
					break
				}
				x = float64(i)
			}
			y := value(f.Y.Log)
			o.X, o.Y = append(o.X, x), append(o.Y, y)
			if intervals {
				o.Lo, o.Hi = append(o.Lo, y-math.Abs(y)*rng.Float64()*2), append(o.Hi, y+math.Abs(y)*rng.Float64())
			}
			x += scale * rng.Float64()
		}
		f.Series = append(f.Series, o)
	}
	for range rng.IntN(4) {
		f.Marks = append(f.Marks, Mark{Label: "mark", At: value(false), Vertical: rng.IntN(2) == 0})
	}
	return f
}
