package figure

import (
	"cmp"
	"math"
	"slices"
)

// box is the place of a label.
type box struct {
	left, right, top, bottom float64
	end                      bool // the label is flush right
}

// fromLeft returns the box of a label that begins at x, with its baseline at y.
func fromLeft(x, width, y float64) box { return box{x, x + width, y - 11, y + 3, false} }

// upTo returns the box of a label that ends at x.
func upTo(x, width, y float64) box { return box{x - width, x, y - 11, y + 3, true} }

func (b box) meets(o box) bool {
	return o.left < b.right && b.left < o.right && o.top < b.bottom && b.top < o.bottom
}

// crosses reports whether a straight line between two points enters the box.
func (b box) crosses(x0, y0, x1, y1 float64) bool {
	from, to := 0.0, 1.0 // shares of the line
	for _, side := range [...][3]float64{{x0, x1 - x0, b.left}, {-x0, x0 - x1, -b.right}, {y0, y1 - y0, b.top}, {-y0, y0 - y1, -b.bottom}} {
		at, by, least := side[0], side[1], side[2]
		switch {
		case by == 0 && at < least:
			return false
		case by > 0:
			from = max(from, (least-at)/by)
		case by < 0:
			to = min(to, (least-at)/by)
		}
	}
	return from <= to
}

// step is the height of a line of labels.
const step = 13.0

// marks draws the lines for published values. It places their labels apart, where the least data
// is.
func (p *Plot) marks() {
	var across, up []Mark
	for _, m := range p.f.Marks {
		switch {
		case m.Vertical && (!p.X.Log || m.At > 0):
			up = append(up, m)
		case !m.Vertical && (!p.Y.Log || m.At > 0):
			across = append(across, m)
		}
	}
	slices.SortStableFunc(across, func(a, b Mark) int { return cmp.Compare(b.At, a.At) })
	slices.SortStableFunc(up, func(a, b Mark) int { return cmp.Compare(a.At, b.At) })
	p.upright(up, p.level(across))
}

// level draws the horizontal lines, from the top, and returns the boxes of their labels.
func (p *Plot) level(across []Mark) (taken []box) {
	top, bottom, left, right := p.Y.To, p.Y.From, p.left, p.right
	last := top - 3
	for i, m := range across {
		y := p.atY(m.At)
		if y < top-1 || y > bottom+1 {
			continue // outside an axis with set ends
		}
		p.Line("mark", left, y, right, y)
		at := max(y-4, last+step)
		// Leave room for the next ones.
		at = min(at, bottom-3-step*float64(len(across)-1-i))
		last = at
		text := cut(m.Label, right-left-8, 11)
		w := textWidth(text, 11)
		var places []box
		for _, at := range []float64{at, y + 12} { // above the line, then below
			if at > y && at+3 > bottom {
				continue
			}
			for x := right - 4; x > left+4+w; x -= max(w, step) / 2 {
				places = append(places, upTo(x, w, at))
			}
			places = append(places, fromLeft(left+4, w, at))
		}
		taken = append(taken, p.label(text, places, taken))
	}
	return taken
}

// upright draws the vertical lines, from the left. It places their labels clear of taken.
func (p *Plot) upright(up []Mark, taken []box) {
	top, bottom, left, right := p.Y.To, p.Y.From, p.left, p.right
	for _, m := range up {
		x := p.atX(m.At)
		if x < left-1 || x > right+1 {
			continue
		}
		p.Line("mark", x, bottom, x, top)
		text := cut(m.Label, right-left-8, 11)
		w := textWidth(text, 11)
		var places []box
		for y := top + 11; y < bottom-3; y += step {
			if x+w+8 <= right {
				places = append(places, fromLeft(x+4, w, y))
			}
			if x-w-8 >= left {
				places = append(places, upTo(x-4, w, y))
			}
		}
		if places == nil { // any place along the line
			places = []box{fromLeft(left+2, w, top+11)}
		}
		taken = append(taken, p.label(text, places, taken))
	}
}

// label writes a text at the free place with the least data, and returns its box.
func (p *Plot) label(text string, places, taken []box) box {
	best, least := places[0], math.MaxInt
	for _, b := range places {
		if slices.ContainsFunc(taken, b.meets) {
			continue
		}
		if n := p.crowd(b); n < least {
			best, least = b, n
		}
		if least == 0 {
			break
		}
	}
	if best.end {
		p.Text("label", "e", best.right, best.bottom-3, text)
	} else {
		p.Text("label", "", best.left, best.bottom-3, text)
	}
	return best
}

// crowd counts the points, intervals and lines in a box.
func (p *Plot) crowd(b box) (n int) {
	for _, m := range p.f.Marks {
		at := p.atY(m.At)
		if m.Vertical {
			at = p.atX(m.At)
		}
		if m.Vertical && at > b.left && at < b.right || !m.Vertical && at > b.top && at < b.bottom {
			n++
		}
	}
	for i := range p.f.Series {
		o := &p.f.Series[i]
		dx, dy := p.dodge(i)
		for k := range o.X {
			x, y := p.atX(o.X[k])+dx, p.atY(o.Y[k])+dy
			switch {
			case o.Kind == Bars:
				if x >= b.left && x <= b.right && y <= b.bottom {
					n++
				}
				continue
			case b.crosses(x, y, x, y):
				n++
			case o.Lo != nil && p.f.across(o):
				if b.crosses(p.atX(o.Lo[k]), y, p.atX(o.Hi[k]), y) {
					n++
				}
			case o.Lo != nil && b.crosses(x, p.atY(p.floor(o.Lo[k])), x, p.atY(o.Hi[k])):
				n++
			}
			if k == 0 || !o.joined() {
				continue
			}
			x0, y0 := p.atX(o.X[k-1]), p.atY(o.Y[k-1])
			if o.Kind == Steps {
				if b.crosses(x0, y0, x, y0) || b.crosses(x, y0, x, y) {
					n++
				}
			} else if b.crosses(x0, y0, x, y) {
				n++
			}
		}
	}
	return n
}
