package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Bounds of single elements.
const (
	mostTitles   = 400 // points with a title, over all series
	mostSigns    = 40  // points of a line with a sign
	mostWhiskers = 40  // intervals of a line; more are a band
)

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
		m := sign(i)
		if own := slices.Index(colours, f.Series[i].Colour); own >= 0 {
			all[i] = look{own, m % signs, false}
			continue
		}
		n := colour(i)
		all[i] = look{n % 8, (m + m/signs) % signs, n/8%2 == 1} // a repeated colour has another sign
	}
	return all
}

// series draws one series.
func (p *Plot) series(i int, l look) {
	o := &p.f.Series[i]
	class := p.strokeClass(o, l)
	dx, dy := p.dodge(i)
	p.Titled(o.Name, func() {
		switch o.Kind {
		case Bars:
			p.bars(i, class)
			return
		case Dots:
			p.dots(o, class)
			return
		case Links:
			p.links(o, class)
			return
		case Spans:
			p.spans(o, class)
			return
		case Line, Steps:
			if o.Lo != nil && len(o.X) > mostWhiskers {
				p.band(o, l.class())
			}
			p.path(o, class)
		}
		if o.Lo != nil && (o.Kind == Points || len(o.X) <= mostWhiskers) {
			p.whiskers(o, l.class(), dx, dy)
		}
		if o.signed() {
			p.signs(o, l, dx, dy)
		}
	})
}

// strokeClass returns the class of the lines of a series. Lines without signs have dashes, where
// dashes mean nothing else.
func (p *Plot) strokeClass(o *Series, l look) string {
	published := slices.ContainsFunc(p.f.Series, func(s Series) bool { return s.Dashed })
	switch bare := o.Kind == Steps || o.Kind == Line && len(o.X) > mostSigns; {
	case o.Dashed:
		return l.class() + " expected"
	case l.second:
		return l.class() + " second"
	case bare && !published && l.colour%2 == 1:
		return l.class() + " dash" + strconv.Itoa(l.colour)
	}
	return l.class()
}

// signed reports whether points have signs.
func (s *Series) signed() bool {
	return s.Kind == Points || s.Kind == Line && len(s.X) <= mostSigns && (!s.Dashed || s.Marker != 0)
}

// among returns the place of a series among those of its kind, and their number.
func (f *Figure) among(i int) (mine, n int) {
	for j := range f.Series {
		if j == i {
			mine = n
		}
		if f.Series[j].Kind == f.Series[i].Kind {
			n++
		}
	}
	return mine, n
}

// titled reports whether each point of a series has a text under the pointer.
func (p *Plot) titled(o *Series) bool { return p.titles || o.Titles != nil }

// dodge returns the offset of the points of a series within a category.
func (p *Plot) dodge(i int) (dx, dy float64) {
	named := len(p.f.X.Ticks) > 0
	if !named && len(p.f.Y.Ticks) == 0 || p.f.Series[i].Kind != Points {
		return 0, 0
	}
	mine, n := p.f.among(i)
	room := p.atY(0) - p.atY(1)
	if named {
		room = p.atX(1) - p.atX(0)
	}
	off := (float64(mine) - float64(n-1)/2) * min(9, room*0.8/float64(n))
	if named {
		return off, 0
	}
	return 0, off
}

// dots draws points as dots, at most one on a pixel.
func (p *Plot) dots(o *Series, class string) {
	var d strings.Builder
	taken := map[[2]int]bool{}
	for i := range o.X {
		x, y := p.atX(o.X[i]), p.atY(o.Y[i])
		if at := [2]int{int(x), int(y)}; !taken[at] {
			taken[at] = true
			d.WriteString("M" + Num(x) + " " + Num(y) + "h0")
		}
	}
	p.Path(class+" dot", &d)
}

// links joins each two points.
func (p *Plot) links(o *Series, class string) {
	var d strings.Builder
	for i := 0; i+1 < len(o.X); i += 2 {
		d.WriteString("M" + Num(p.atX(o.X[i])) + " " + Num(p.atY(o.Y[i])) + "L" + Num(p.atX(o.X[i+1])) + " " + Num(p.atY(o.Y[i+1])))
	}
	p.Path(class+" whisker", &d)
}

// spans draws bars along X.
func (p *Plot) spans(o *Series, class string) {
	for i := range o.X {
		p.Titled(p.pointText(o, i), func() {
			from, to := p.atX(o.Lo[i]), p.atX(o.Hi[i])
			p.Rect("bar "+class, from, p.atY(o.Y[i])-6, max(to-from, 2), 12)
		})
	}
}

// path joins points, thinned.
func (p *Plot) path(o *Series, class string) {
	var d strings.Builder
	for n, i := range p.thinned(o) {
		x, y := Num(p.atX(o.X[i])), Num(p.atY(o.Y[i]))
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
		d.WriteString("H" + Num(p.right))
	}
	p.Path(class, &d)
}

// thinned returns the visible points of a line. Of the points within half a pixel, or two if there
// are many, it keeps the first, the last, the lowest and the highest.
func (p *Plot) thinned(o *Series) (all []int) {
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
func (p *Plot) floor(v float64) float64 {
	if p.Y.Log && v <= 0 {
		return p.Y.Lo / 100
	}
	return v
}

func (p *Plot) band(o *Series, class string) {
	var d strings.Builder
	shown := p.thinned(o)
	for n, i := range shown {
		op := "L"
		if n == 0 {
			op = "M"
		}
		d.WriteString(op + Num(p.atX(o.X[i])) + " " + Num(p.atY(o.Hi[i])))
	}
	for _, i := range slices.Backward(shown) {
		d.WriteString("L" + Num(p.atX(o.X[i])) + " " + Num(p.atY(p.floor(o.Lo[i]))))
	}
	d.WriteString("Z")
	p.Raw(`<g class="` + class + `">`)
	p.Path("band", &d)
	p.Raw("</g>")
}

func (p *Plot) whiskers(o *Series, class string, dx, dy float64) {
	var d strings.Builder
	for i := range o.X {
		if p.f.across(o) {
			y := p.atY(o.Y[i]) + dy
			fmt.Fprintf(&d, "M%s %sv6m0-3H%sm0-3v6", Num(p.atX(o.Lo[i])), Num(y-3), Num(p.atX(o.Hi[i])))
			continue
		}
		p.whisker(&d, p.atX(o.X[i])+dx, p.floor(o.Lo[i]), o.Hi[i])
	}
	p.Path(class+" whisker", &d)
}

func (p *Plot) whisker(d *strings.Builder, x, lo, hi float64) {
	a, b := p.atY(lo), p.atY(hi)
	if math.Abs(a-b) < 0.5 {
		return
	}
	fmt.Fprintf(d, "M%s %sh6m-3 0V%sm-3 0h6", Num(x-3), Num(a), Num(b))
}

// pointText returns the title of a point.
func (p *Plot) pointText(o *Series, i int) string {
	if o.Titles != nil {
		return o.Titles[i]
	}
	text := o.Name + ": " + p.f.X.place(o.X[i], p.f.X.value) + ", " + p.f.Y.place(o.Y[i], p.f.Y.value)
	if o.Lo != nil {
		along := &p.f.Y
		if p.f.across(o) {
			along = &p.f.X
		}
		text += " (" + along.value(o.Lo[i]) + " to " + along.value(o.Hi[i]) + ")"
	}
	return text
}
