package htmlpage

import (
	"math"
	"strconv"
)

// Scale maps values to pixels.
type Scale struct {
	Lo, Hi   float64 // values
	From, To float64 // pixels
	Log      bool
}

// NewScale returns a linear scale. An empty range becomes 1 wide.
func NewScale(lo, hi, from, to float64) Scale {
	if !(hi > lo) {
		hi = lo + 1
	}
	return Scale{Lo: lo, Hi: hi, From: from, To: to}
}

// NewLogScale returns a logarithmic scale that begins and ends at 1, 2 or 5 times a power of ten.
func NewLogScale(lo, hi, from, to float64) Scale {
	lo = max(lo, 1e-9)
	hi = max(hi, lo*1.01)
	below, above := math.Pow(10, math.Floor(math.Log10(lo))), math.Pow(10, math.Ceil(math.Log10(hi)))
	for _, k := range []float64{5, 2} {
		if below*k <= lo*1.0001 {
			below *= k
			break
		}
	}
	for _, k := range []float64{5, 2} {
		if above/k >= hi*0.9999 {
			above /= k
		}
	}
	if above <= below {
		above = below * 10
	}
	return Scale{below, above, from, to, true}
}

// At returns the pixel of a value.
func (s Scale) At(v float64) float64 {
	if s.Log {
		v = min(max(v, s.Lo/100), s.Hi*100)
		return s.From + (s.To-s.From)*math.Log(v/s.Lo)/math.Log(s.Hi/s.Lo)
	}
	return s.From + (s.To-s.From)*(v-s.Lo)/(s.Hi-s.Lo)
}

// Ticks returns about n round values between the ends.
func (s Scale) Ticks(n int) (all []float64) {
	if s.Log {
		steps := []float64{1, 2, 5}
		if math.Log10(s.Hi/s.Lo) > 3.2 {
			steps = steps[:1]
		}
		for p := math.Floor(math.Log10(s.Lo)); p <= math.Log10(s.Hi)+1e-9; p++ {
			for _, k := range steps {
				if v := Round(k * math.Pow(10, p)); v >= s.Lo*0.9999 && v <= s.Hi*1.0001 {
					all = append(all, v)
				}
			}
		}
		return all
	}
	if n <= 0 || !(s.Hi > s.Lo) {
		return nil
	}
	raw := (s.Hi - s.Lo) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, k := range []float64{1, 2, 5} {
		if k*power >= raw {
			step = k * power
			break
		}
	}
	first := math.Ceil(s.Lo/step - 1e-9)
	for i := range 64 {
		v := (first + float64(i)) * step
		if v > s.Hi+step*1e-9 {
			break
		}
		all = append(all, Round(v))
	}
	return all
}

// Round removes the noise of binary fractions.
func Round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	return y
}
