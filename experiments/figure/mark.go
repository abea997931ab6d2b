package figure

import (
	"cmp"
	"slices"
)

// placed is a label with its box.
type placed struct{ left, right, y float64 }

// marks draws the lines for published values, with labels that keep clear of each other, on the side where less data
// is.
func (p *plot) marks() {
	var across, up []Mark
	for _, m := range p.f.Marks {
		switch {
		case m.Vertical && (!p.x.Log || m.At > 0):
			up = append(up, m)
		case !m.Vertical && (!p.y.Log || m.At > 0):
			across = append(across, m)
		}
	}
	top, bottom, left, right := p.y.To, p.y.From, p.left, p.right
	const step = 13.0
	slices.SortStableFunc(across, func(a, b Mark) int { return cmp.Compare(b.At, a.At) })
	last := top - 3
	for i, m := range across {
		y := p.atY(m.At)
		if y < top-1 || y > bottom+1 {
			continue // beyond an axis that was set
		}
		p.Line("mark", left, y, right, y)
		at := max(y-4, last+step)
		// Those still to come need room, too.
		at = min(at, bottom-3-step*float64(len(across)-1-i))
		last = at
		text := cut(m.Label, right-left-8, 11)
		w := textWidth(text, 11)
		if p.crowd(right-w-6, right, at-11, at+3) <= p.crowd(left, left+w+6, at-11, at+3) {
			p.Text("label", "e", right-4, at, text)
		} else {
			p.Text("label", "", left+4, at, text)
		}
	}
	slices.SortStableFunc(up, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	var boxes []placed
	for _, m := range up {
		x := p.atX(m.At)
		if x < left-1 || x > right+1 {
			continue
		}
		p.Line("mark", x, bottom, x, top)
		text := cut(m.Label, right-left-8, 11)
		w := textWidth(text, 11) + 8
		from := x + 4
		if x+w > right {
			from = max(x-w+4, left+2)
		}
		b := placed{from, from + w, top + 11}
		for slices.ContainsFunc(boxes, func(o placed) bool { return o.y == b.y && o.left < b.right && b.left < o.right }) {
			b.y += step
		}
		boxes = append(boxes, b)
		p.Text("label", "", b.left, b.y, text)
	}
}

// crowd counts the points in a box.
func (p *plot) crowd(left, right, top, bottom float64) (n int) {
	for i := range p.f.Series {
		o := &p.f.Series[i]
		for k := range o.X {
			x, y := p.atX(o.X[k]), p.atY(o.Y[k])
			if x >= left && x <= right && (y >= top && y <= bottom || o.Kind == Bars && y <= bottom) {
				n++
			}
		}
	}
	return n
}
