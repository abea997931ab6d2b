package figure

// signPaths are the signs of points, around (0, 0). Every second one is hollow.
var signPaths = []struct {
	d    string
	full bool
}{
	{"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", true},
	{"m-3-3h6v6h-6z", false},
	{"m0-3.8l3.6 6.6h-7.2z", true},
	{"m0-4.2l4.2 4.2l-4.2 4.2l-4.2-4.2z", false},
	{"m0 3.8l3.6-6.6h-7.2z", true},
	{"m-3.2 0a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0z", false},
	{"m-3-3h6v6h-6z", true},
	{"m-3.4-3.4l6.8 6.8m0-6.8l-6.8 6.8", false},
}

var signs = len(signPaths)

// sign draws the sign of a series at a place.
func (s *sheet) sign(l look, x, y float64) {
	g := signPaths[l.sign]
	class := l.class() + " sign open"
	if g.full {
		class = l.class() + " sign full"
	}
	s.Raw(`<path class="` + class + `" d="M` + Num(x) + ` ` + Num(y) + g.d + `"/>`)
}

// signs draws the signs of a series.
func (p *Plot) signs(o *Series, l look, dx, dy float64) {
	for i := range o.X {
		x, y := p.atX(o.X[i])+dx, p.atY(o.Y[i])+dy
		if p.titled(o) {
			p.Titled(p.pointText(o, i), func() { p.sign(l, x, y) })
		} else {
			p.sign(l, x, y)
		}
	}
}
