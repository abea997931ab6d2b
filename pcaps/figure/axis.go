package figure

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// span is the range of the values that an axis shows.
type span struct {
	lo, hi float64
	any    bool
}

func (s *span) add(v float64) {
	if !s.any || v < s.lo {
		s.lo = v
	}
	if !s.any || v > s.hi {
		s.hi = v
	}
	s.any = true
}

// ranges returns the ranges that the axes must show.
func (f *Figure) ranges() (x, y span) {
	for _, s := range f.Series {
		for i := range s.X {
			x.add(s.X[i])
			y.add(s.Y[i])
			switch {
			case s.Lo == nil:
			case f.across(&s):
				x.add(s.Lo[i])
				x.add(s.Hi[i])
			default:
				if !f.Y.Log || s.Lo[i] > 0 {
					y.add(s.Lo[i])
				}
				y.add(s.Hi[i])
			}
		}
		if s.Kind == Bars && !f.Y.Log {
			y.add(0)
		} else if s.Kind == Bars {
			y.add(slices.Min(s.Y) * 0.7) // leave the lowest point visible
		}
		if s.Kind == Bars && len(f.X.Ticks) == 0 && !f.X.Log {
			half := s.slot(f) / 2
			x.add(s.X[0] - half)
			x.add(s.X[len(s.X)-1] + half)
		}
	}
	for _, m := range f.Marks {
		if m.Vertical {
			if !f.X.Log || m.At > 0 {
				x.add(m.At)
			}
		} else if !f.Y.Log || m.At > 0 {
			y.add(m.At)
		}
	}
	return x, y
}

// slot returns the least distance between bars, 1 for a single place.
func (s *Series) slot(f *Figure) float64 {
	least := math.Inf(1)
	for _, o := range f.Series {
		for i := 1; i < len(o.X) && o.Kind == Bars; i++ {
			if d := o.X[i] - o.X[i-1]; d > 0 {
				least = min(least, d)
			}
		}
	}
	if math.IsInf(least, 1) {
		return 1
	}
	return least
}

// scale returns the scale of an axis for a range of data. It begins at 0 if 0 is near.
func (a *Axis) scale(data span, from, to float64) Scale {
	fixed := a.Hi > a.Lo
	switch {
	case len(a.Ticks) > 0:
		return NewScale(-0.5, float64(len(a.Ticks))-0.5, from, to)
	case a.Log && fixed && a.Lo > 0:
		return Scale{Lo: a.Lo, Hi: a.Hi, From: from, To: to, Log: true}
	case a.Log && fixed:
		return NewLogScale(min(data.lo, a.Hi/10), a.Hi, from, to)
	case a.Log:
		return NewLogScale(data.lo, data.hi, from, to)
	case fixed:
		return NewScale(a.Lo, a.Hi, from, to).without(a.Cuts)
	}
	lo, hi := data.lo, data.hi
	if lo >= 0 && lo < 0.4*hi {
		lo = 0
	}
	if hi <= lo {
		pad := max(math.Abs(lo)*0.1, 0.5)
		if lo != 0 {
			lo -= pad
		}
		hi += pad
	}
	pad := 0.04 * (hi - lo)
	if lo != 0 {
		lo -= pad
	}
	if hi != 0 {
		hi += pad
	}
	return NewScale(lo, hi, from, to)
}

// tick is a labelled place on an axis.
type tick struct {
	at   float64
	text string
}

// ticks returns about n ticks.
func (a *Axis) ticks(s Scale, n int) (all []tick) {
	for i, text := range a.Ticks {
		all = append(all, tick{float64(i), text})
	}
	if len(a.Ticks) > 0 {
		return all
	}
	values := s.Ticks(n)
	if s.Log && len(values) < 3 { // less than a decade
		linear := s
		linear.Log = false
		values = linear.Ticks(n)
	}
	for len(values) > 3*n/2 && s.Log {
		values = decades(values)
		if len(values) > 3*n/2 {
			values = everyOther(values)
		}
	}
	for _, v := range values {
		all = append(all, tick{v, a.text(v)})
	}
	return all
}

// text formats a value on an axis.
func (a *Axis) text(v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return tickText(v)
}

// decades returns the powers of ten among values, or all values if there are none.
func decades(values []float64) (all []float64) {
	for _, v := range values {
		if isDecade(v) {
			all = append(all, v)
		}
	}
	if len(all) < 2 {
		return everyOther(values)
	}
	return all
}

func isDecade(v float64) bool {
	l := math.Log10(v)
	return math.Abs(l-math.Round(l)) < 1e-9
}

func everyOther(values []float64) (all []float64) {
	for i := 0; i < len(values); i += 2 {
		all = append(all, values[i])
	}
	return all
}

// tickText formats a round number in short, such as 0.05, 1000, 25k or 2·10⁻⁵.
func tickText(v float64) string {
	a := math.Abs(v)
	switch {
	case v == 0:
		return "0"
	case a >= 1e12 || a < 0.999e-3:
		exp := int(math.Floor(math.Log10(a) + 1e-9))
		digits := strconv.FormatFloat(Round(v/math.Pow(10, float64(exp))), 'g', 6, 64)
		power := "10" + superscript(exp)
		switch digits {
		case "1":
			return power
		case "-1":
			return "-" + power
		}
		return digits + "·" + power
	}
	for _, u := range []struct {
		unit float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if a >= u.unit && (a >= 1e4 || u.unit > 1e3) {
			return strconv.FormatFloat(Round(v/u.unit), 'g', 6, 64) + u.name
		}
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").
		Replace(strconv.Itoa(n))
}

// value formats a value for a title.
func (a *Axis) value(v float64) string {
	if a.Text != nil {
		return a.Text(v)
	}
	return valueText(v)
}

// valueText formats a value with four digits.
func valueText(v float64) string {
	if a := math.Abs(v); v == math.Trunc(v) && a < 1e9 || a >= 1e3 && a < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Sizes of tick labels.
const (
	tickSize    = 11.5
	mostSlanted = 150.0 // length of a slanted label
	slantWide   = 0.766 // its width, as a share of its length
	slantDeep   = 0.65  // its depth
)

// tickWidths returns the width of the widest label and of the widest word.
func tickWidths(all []tick) (label, word float64) {
	for _, t := range all {
		label = max(label, textWidth(t.text, tickSize))
		for _, w := range strings.Fields(t.text) {
			word = max(word, textWidth(w, tickSize))
		}
	}
	return label, word
}

// slantRoom returns how far slanted labels reach left of the frame, 0 if labels are straight.
func slantRoom(all []tick, wide float64) (room float64) {
	slot := wide / float64(max(len(all), 1))
	if _, word := tickWidths(all); word+4 <= slot {
		return 0
	}
	for i, t := range all {
		room = max(room, min(textWidth(t.text, tickSize), mostSlanted)*slantWide-slot*(float64(i)+0.5))
	}
	return room
}

// apart returns the labels of numbers that do not touch the one before. On a logarithmic axis they
// are those of decades.
func (p *Plot) apart(all []tick) (kept []tick) {
	tens := slices.DeleteFunc(slices.Clone(all), func(t tick) bool { return !isDecade(t.at) })
	if p.X.Log && len(tens) >= 2 {
		all = tens
	}
	end := math.Inf(-1)
	for _, t := range all {
		half := textWidth(t.text, tickSize) / 2
		x := min(p.atX(t.at), p.Width-1-half)
		if x-half < end+6 {
			continue
		}
		end, kept = x+half, append(kept, t)
	}
	return kept
}

// labelTicks writes labels below an axis: on one line if they fit, in several lines if their words
// fit, else slanted. It returns the room that they took.
func (s *sheet) labelTicks(all []tick, at func(float64) float64, y, slot float64) float64 {
	const size = tickSize
	widest, longest := tickWidths(all)
	switch {
	case widest+6 <= slot:
		for _, t := range all {
			s.Text("t", "m", min(at(t.at), s.Width-1-textWidth(t.text, size)/2), y+16, t.text)
		}
		return 20
	case longest+4 <= slot:
		most := 0
		for _, t := range all {
			lines := wrap(t.text, slot-4, size)
			for i, line := range lines {
				s.Text("t", "m", at(t.at), y+16+13*float64(i), line)
			}
			most = max(most, len(lines))
		}
		return 20 + 13*float64(most-1)
	}
	slot = max(slot, 1) // almost equal values
	// Leave out slanted labels that would touch.
	skip := 1
	for slot*float64(skip) < 15 {
		skip++
	}
	for i, t := range all {
		if i%skip != 0 {
			continue
		}
		x := at(t.at)
		text := cut(t.text, min(mostSlanted, (x-2)/slantWide), size)
		s.Raw(`<text class="t e" transform="translate(` + Num(x+4) + ` ` + Num(y+13) + `)rotate(-40)">` + escape(text) + `</text>`)
	}
	return 16 + min(widest, mostSlanted)*slantDeep
}
