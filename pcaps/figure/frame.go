package figure

import (
	"cmp"
	"math"
	"strings"
)

// Plot is a frame with series inside, and the canvas that it is on. X.From and X.To, Y.To and
// Y.From are its sides.
type Plot struct {
	*sheet
	X, Y        Scale
	left, right float64 // the frame; the scale may end inside
	titles      bool
}

// Inside draws what is cut off at the frame.
func (p *Plot) Inside(draw func()) {
	x, y, w, h := p.left-5, p.Y.To-5, p.right-p.left+10, p.Y.From-p.Y.To+10
	p.Raw(`<svg x="` + Num(x) + `" y="` + Num(y) + `" width="` + Num(w) + `" height="` + Num(h) + `" viewBox="` +
		Num(x) + ` ` + Num(y) + ` ` + Num(w) + ` ` + Num(h) + `">`)
	draw()
	p.Raw("</svg>")
}

// far is the farthest, in pixels, that an element outside an axis is drawn: renderers have few
// digits.
const far = 1e6

func (p *Plot) atX(v float64) float64 { return min(max(p.X.At(v), -far), far) }
func (p *Plot) atY(v float64) float64 { return min(max(p.Y.At(v), -far), far) }

func (s *sheet) plot() {
	f := s.f
	dataX, dataY := f.ranges()
	top := s.y + 4
	bottom := top + cmp.Or(f.Height, plotHeight)
	y := f.Y.scale(dataY, bottom, top)
	yTicks := f.Y.ticks(y, 6)
	most := 130.0 // of a label of Y
	if len(f.Y.Ticks) > 0 {
		most = 0.5 * s.Width
	}
	left := 0.0
	for _, t := range yTicks {
		left = max(left, min(textWidth(t.text, tickSize), most))
	}
	left += edge + 8
	right := s.Width - edge - 10
	if len(f.X.Ticks) > 0 {
		left = max(left, edge+slantRoom(f.X.ticks(Scale{}, 0), right-left))
	}
	gutter := 7.0 // keeps points at the ends clear of the labels
	if f.X.Hi > f.X.Lo || len(f.X.Ticks) > 0 {
		gutter = 0
	}
	p := &Plot{sheet: s, X: f.X.scale(dataX, left+gutter, right-gutter), Y: y, left: left, right: right}
	room := p.frame(yTicks, most)

	points := 0
	for _, o := range f.Series {
		points += len(o.X)
	}
	p.titles = points <= mostTitles
	looks := f.looks()
	p.Inside(func() {
		for _, behind := range []bool{true, false} {
			for i := range f.Series {
				if kind := f.Series[i].Kind; behind == (kind == Bars || kind == Spans || kind == Links) {
					p.series(i, looks[i])
				}
			}
		}
	})
	s.Line("axis", left, bottom+f.Lane, right, bottom+f.Lane)
	items, ok := p.crossedItems(looks)
	if !ok {
		items = p.legendItems(looks)
	}
	if f.Draw != nil {
		items = append(items, f.Draw(p)...)
	}
	p.marks()

	s.y = bottom + f.Lane + room + 14
	s.Text("t", "e", right, s.y, f.X.Label)
	s.legend(items)
}

// frame draws the grid, the cuts of the X axis and the labels of the axes, those of Y of a width at
// most. It returns the room that the labels of X took.
func (p *Plot) frame(yTicks []tick, most float64) float64 {
	f, top, bottom := p.f, p.Y.To, p.Y.From+p.f.Lane
	xTicks := f.X.ticks(p.X, int(8*p.Width/width))
	var grid strings.Builder
	for _, t := range yTicks {
		v := p.Y.At(t.at)
		grid.WriteString("M" + Num(p.left) + " " + Num(v) + "H" + Num(p.right))
		p.Text("t", "e", p.left-6, v+4, cut(t.text, most, tickSize))
	}
	slot := (p.right - p.left) / float64(max(len(xTicks), 1))
	for i, t := range xTicks {
		if len(f.X.Ticks) == 0 {
			grid.WriteString("M" + Num(p.atX(t.at)) + " " + Num(top) + "V" + Num(bottom))
		}
		if i > 0 {
			if d := p.atX(t.at) - p.atX(xTicks[i-1].at); i == 1 || d < slot {
				slot = d
			}
		}
	}
	p.Path("grid", &grid)
	for i := 1; i < len(p.X.parts); i++ {
		p.cut(p.X.parts[i-1], p.X.parts[i])
	}
	if widest, _ := tickWidths(xTicks); len(f.X.Ticks) == 0 && widest+6 > slot {
		xTicks, slot = p.apart(xTicks), math.Inf(1)
	}
	return p.labelTicks(xTicks, p.atX, bottom, slot)
}

// cut marks what is left out between two parts of the X axis.
func (p *Plot) cut(before, after Scale) {
	text := ""
	for _, c := range p.f.X.Cuts {
		if c.From == before.Hi {
			text = c.Text
		}
	}
	top, bottom := p.Y.To, p.Y.From
	p.Titled(text+", cut out", func() {
		p.Rect("cut", before.To, top, after.From-before.To, bottom-top)
		x, y := Num((before.To+after.From)/2+4), Num((top+bottom)/2)
		p.Raw(`<text class="t m" transform="rotate(-90 ` + x + ` ` + y + `)" x="` + x + `" y="` + y + `">` + escape(text) + `</text>`)
	})
}
