package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"tcpwheel/pcaps/htmlpage"
)

// Bounds of single elements.
const (
	mostTitles   = 400 // points with a title, over all series
	mostSigns    = 40  // points of a line with a sign
	mostWhiskers = 40  // intervals of a line; more are a band
)

// plot is a frame with series inside.
type plot struct {
	*sheet
	x, y        htmlpage.Scale
	left, right float64 // the frame; the scale may end inside
	titles      bool
}

// far is the farthest, in pixels, that an element outside an axis is drawn: renderers have few
// digits.
const far = 1e6

func (p *plot) atX(v float64) float64 { return min(max(p.x.At(v), -far), far) }
func (p *plot) atY(v float64) float64 { return min(max(p.y.At(v), -far), far) }

// look is the appearance of a series.
type look struct {
	colour, sign int
	second       bool // the colours are used a second time
}

// neutral is the colour of signs for series of any colour.
const neutral = -1

func (l look) class() string {
	if l.colour == neutral {
		return "neutral"
	}
	return "k" + strconv.Itoa(l.colour)
}

// looks gives each series its colour and sign, by group and marker.
func (f *Figure) looks() []look {
	all := make([]look, len(f.Series))
	index := func(key func(s *Series) int) func(i int) int {
		order := map[int]int{}
		next := 0
		return func(i int) int {
			k := key(&f.Series[i])
			if k == 0 {
				next++
				return next - 1
			}
			n, ok := order[k]
			if !ok {
				n = next
				order[k] = n
				next++
			}
			return n
		}
	}
	colour, sign := index(func(s *Series) int { return s.Group }), index(func(s *Series) int { return s.Marker })
	for i := range f.Series {
		n, m := colour(i), sign(i)
		all[i] = look{n % 8, (m + m/signs) % signs, n/8%2 == 1} // a repeated colour has another sign
	}
	return all
}

func (s *sheet) plot() {
	f := s.f
	dataX, dataY := f.ranges()
	top, bottom := s.y+4, s.y+4+plotHeight
	y := f.Y.scale(dataY, bottom, top)
	yTicks := f.Y.ticks(y, 6)
	left := 0.0
	for _, t := range yTicks {
		left = max(left, min(textWidth(t.text, 11.5), 130))
	}
	left += edge + 8
	right := s.Width - edge - 10
	if len(f.X.Ticks) > 0 {
		left = max(left, edge+slantRoom(f.X.ticks(htmlpage.Scale{}, 0), right-left))
	}
	gutter := 7.0 // keeps points at the ends clear of the labels
	if f.X.Hi > f.X.Lo || len(f.X.Ticks) > 0 {
		gutter = 0
	}
	p := &plot{sheet: s, x: f.X.scale(dataX, left+gutter, right-gutter), y: y, left: left, right: right}
	xTicks := f.X.ticks(p.x, 8)

	var grid strings.Builder
	for _, t := range yTicks {
		v := y.At(t.at)
		grid.WriteString("M" + htmlpage.Num(left) + " " + htmlpage.Num(v) + "H" + htmlpage.Num(right))
		s.Text("t", "e", left-6, v+4, cut(t.text, 130, 11.5))
	}
	if len(f.X.Ticks) == 0 {
		for _, t := range xTicks {
			grid.WriteString("M" + htmlpage.Num(p.atX(t.at)) + " " + htmlpage.Num(top) + "V" + htmlpage.Num(bottom))
		}
	}
	s.Path("grid", &grid)
	slot := (right - left) / float64(max(len(xTicks), 1))
	for i := 1; i < len(xTicks); i++ {
		if d := p.atX(xTicks[i].at) - p.atX(xTicks[i-1].at); i == 1 || d < slot {
			slot = d
		}
	}
	room := s.labelTicks(xTicks, p.atX, bottom, slot)

	points := 0
	for _, o := range f.Series {
		points += len(o.X)
	}
	p.titles = points <= mostTitles
	// Clip at an axis with set ends.
	box := fmt.Sprintf("%s %s %s %s", htmlpage.Num(left-5), htmlpage.Num(top-5), htmlpage.Num(right-left+10), htmlpage.Num(bottom-top+10))
	s.Raw(`<svg x="` + htmlpage.Num(left-5) + `" y="` + htmlpage.Num(top-5) + `" width="` + htmlpage.Num(right-left+10) + `" height="` + htmlpage.Num(bottom-top+10) + `" viewBox="` + box + `">`)
	looks := f.looks()
	for _, kind := range []bool{true, false} { // bars first, behind the rest
		for i := range f.Series {
			if (f.Series[i].Kind == Bars) == kind {
				p.series(i, looks[i])
			}
		}
	}
	s.Raw("</svg>")
	s.Line("axis", left, bottom, right, bottom)
	p.marks()

	s.y = bottom + room + 14
	s.Text("t", "e", right, s.y, f.X.Label)
	items, ok := p.crossedItems(looks)
	if !ok {
		items = p.legendItems(looks)
	}
	s.legend(items)
}

// series draws one series.
func (p *plot) series(i int, l look) {
	o := &p.f.Series[i]
	class := l.class()
	if l.second && !o.Dashed {
		class += " second"
	}
	if o.Dashed {
		class += " expected"
	}
	p.Titled(o.Name, func() {
		switch o.Kind {
		case Bars:
			p.bars(i, class)
			return
		case Line, Steps:
			if o.Lo != nil && len(o.X) > mostWhiskers {
				p.band(o, l.class())
			}
			p.path(o, class)
		}
		shift := p.dodge(i)
		if o.Lo != nil && (o.Kind == Points || len(o.X) <= mostWhiskers) {
			p.whiskers(o, l.class(), shift)
		}
		if o.Kind == Points || o.Kind == Line && len(o.X) <= mostSigns && (!o.Dashed || o.Marker != 0) {
			p.signs(o, l, shift)
		}
	})
}

// dodge returns the horizontal offset of a series within a category.
func (p *plot) dodge(i int) float64 {
	if len(p.f.X.Ticks) == 0 || p.f.Series[i].Kind != Points {
		return 0
	}
	n, mine := 0, 0
	for j := range p.f.Series {
		if j == i {
			mine = n
		}
		if p.f.Series[j].Kind == Points {
			n++
		}
	}
	step := min(9, (p.atX(1)-p.atX(0))*0.8/float64(n))
	return (float64(mine) - float64(n-1)/2) * step
}

// path joins points, thinned.
func (p *plot) path(o *Series, class string) {
	var d strings.Builder
	for n, i := range p.thinned(o) {
		x, y := htmlpage.Num(p.atX(o.X[i])), htmlpage.Num(p.atY(o.Y[i]))
		switch {
		case n == 0:
			d.WriteString("M" + x + " " + y)
		case o.Kind == Steps:
			d.WriteString("H" + x + "V" + y)
		default:
			d.WriteString("L" + x + " " + y)
		}
	}
	// A distribution keeps its last value; a falling one ends with its data.
	if o.Kind == Steps && o.Y[len(o.Y)-1] >= o.Y[0] {
		d.WriteString("H" + htmlpage.Num(p.right))
	}
	p.Path(class, &d)
}

// thinned returns the visible points of a line. Of the points within half a pixel, or two if there
// are many, it keeps the first, the last, the lowest and the highest.
func (p *plot) thinned(o *Series) (all []int) {
	step := 0.5
	if len(o.X) > 1000 {
		step = 2
	}
	for i := 0; i < len(o.X); {
		least, most, last := i, i, i
		for j := i + 1; j < len(o.X) && p.atX(o.X[j])-p.atX(o.X[i]) < step; j++ {
			last = j
			if o.Y[j] < o.Y[least] {
				least = j
			}
			if o.Y[j] > o.Y[most] {
				most = j
			}
		}
		of := []int{i, min(least, most), max(least, most), last}
		for k, n := range of {
			if k == 0 || n != of[k-1] {
				all = append(all, n)
			}
		}
		i = last + 1
	}
	return all
}

// floor returns where to draw an interval that begins below a logarithmic axis.
func (p *plot) floor(v float64) float64 {
	if p.y.Log && v <= 0 {
		return p.y.Lo / 100
	}
	return v
}

func (p *plot) band(o *Series, class string) {
	var d strings.Builder
	shown := p.thinned(o)
	for n, i := range shown {
		op := "L"
		if n == 0 {
			op = "M"
		}
		d.WriteString(op + htmlpage.Num(p.atX(o.X[i])) + " " + htmlpage.Num(p.atY(o.Hi[i])))
	}
	for _, i := range slices.Backward(shown) {
		d.WriteString("L" + htmlpage.Num(p.atX(o.X[i])) + " " + htmlpage.Num(p.atY(p.floor(o.Lo[i]))))
	}
	d.WriteString("Z")
	p.Raw(`<g class="` + class + `">`)
	p.Path("band", &d)
	p.Raw("</g>")
}

func (p *plot) whiskers(o *Series, class string, shift float64) {
	var d strings.Builder
	for i := range o.X {
		p.whisker(&d, p.atX(o.X[i])+shift, p.floor(o.Lo[i]), o.Hi[i])
	}
	p.Path(class+" whisker", &d)
}

func (p *plot) whisker(d *strings.Builder, x, lo, hi float64) {
	a, b := p.atY(lo), p.atY(hi)
	if math.Abs(a-b) < 0.5 {
		return
	}
	fmt.Fprintf(d, "M%s %sh6m-3 0V%sm-3 0h6", htmlpage.Num(x-3), htmlpage.Num(a), htmlpage.Num(b))
}

// pointText returns the title of a point.
func (p *plot) pointText(o *Series, i int) string {
	x := valueText(o.X[i])
	if n := int(math.Round(o.X[i])); len(p.f.X.Ticks) > n && n >= 0 {
		x = p.f.X.Ticks[n]
	}
	y := valueText(o.Y[i])
	if n := int(math.Round(o.Y[i])); len(p.f.Y.Ticks) > n && n >= 0 {
		y = p.f.Y.Ticks[n]
	}
	text := o.Name + ": " + x + ", " + y
	if o.Lo != nil {
		text += " (" + valueText(o.Lo[i]) + " to " + valueText(o.Hi[i]) + ")"
	}
	return text
}
