package figure

import (
	"math"
	"strconv"
)

// Scale maps values to pixels.
type Scale struct {
	Lo, Hi   float64 // values
	From, To float64 // pixels
	Log      bool
	parts    []Scale // between the cuts of its axis, if there are any
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
	return Scale{Lo: below, Hi: above, From: from, To: to, Log: true}
}

// At returns the pixel of a value.
func (s Scale) At(v float64) float64 {
	for i, p := range s.parts {
		if i > 0 && v < p.Lo { // in the cut before
			p = Scale{Lo: s.parts[i-1].Hi, Hi: p.Lo, From: s.parts[i-1].To, To: p.From}
		}
		switch {
		case v > p.Hi && i < len(s.parts)-1:
		case p.Hi > p.Lo:
			return p.At(v)
		default:
			return p.From
		}
	}
	if s.Log {
		v = min(max(v, s.Lo/100), s.Hi*100)
		return s.From + (s.To-s.From)*math.Log(v/s.Lo)/math.Log(s.Hi/s.Lo)
	}
	return s.From + (s.To-s.From)*(v-s.Lo)/(s.Hi-s.Lo)
}

// Ticks returns about n round values between the ends.
func (s Scale) Ticks(n int) (all []float64) {
	if s.parts != nil {
		return s.partTicks(n)
	}
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

// Cut is a range of values that an axis leaves out, and why.
type Cut struct {
	From, To float64
	Text     string
}

// Sizes of an axis with cuts.
const (
	cutWidth  = 20
	partWidth = 6 // at least
)

// without returns a linear scale without the cuts, which are in order. All of its parts have the
// same scale, but for a least width.
func (s Scale) without(cuts []Cut) Scale {
	lo, kept := s.Lo, 0.0
	part := func(hi float64) {
		s.parts = append(s.parts, Scale{Lo: lo, Hi: hi})
		kept += hi - lo
	}
	for _, c := range cuts {
		if c.From >= lo && c.To <= s.Hi {
			part(c.From)
			lo = c.To
		}
	}
	if part(s.Hi); len(s.parts) == 1 || kept <= 0 {
		s.parts = nil
		return s
	}
	n := float64(len(s.parts))
	from, room := s.From, s.To-s.From-cutWidth*(n-1)-partWidth*n
	for i := range s.parts {
		p := &s.parts[i]
		p.From, p.To = from, from+partWidth+room*(p.Hi-p.Lo)/kept
		from = p.To + cutWidth
	}
	return s
}

// partTicks returns about n round values outside the cuts.
func (s Scale) partTicks(n int) (all []float64) {
	kept := 0.0
	for _, p := range s.parts {
		kept += p.Hi - p.Lo
	}
	round := NewScale(0, kept, 0, 1).Ticks(n)
	for _, p := range s.parts {
		if len(round) > 1 {
			n = int((p.Hi-p.Lo)/(round[1]-round[0])) + 1
		}
		all = append(all, p.Ticks(n)...)
	}
	return all
}

// Round removes the noise of binary fractions.
func Round(x float64) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 9, 64), 64)
	return y
}
