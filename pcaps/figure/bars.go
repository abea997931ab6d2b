package figure

import (
	"math"
	"strings"
)

// bars draws bars next to the bars of other series.
func (p *Plot) bars(i int, class string) {
	o := &p.f.Series[i]
	mine, n := p.f.among(i)
	slot := 1.0
	if len(p.f.X.Ticks) == 0 {
		slot = o.slot(p.f)
	}
	zero := p.Y.From
	if !p.Y.Log && p.Y.Lo < 0 {
		zero = p.atY(0)
	}
	full := 14.0
	if !p.X.Log {
		full = (p.X.At(slot) - p.X.At(0)) * 0.8
	}
	w := full / float64(n)
	if w < 2.5 {
		p.needles(o, class, zero)
		return
	}
	var whiskers strings.Builder
	for k := range o.X {
		x := p.atX(o.X[k]) - full/2 + w*float64(mine)
		y := p.atY(o.Y[k])
		bar := func() { p.Rect("bar "+class, x+0.5, min(y, zero), w-1, math.Abs(zero-y)) }
		if p.titled(o) {
			p.Titled(p.pointText(o, k), bar)
		} else {
			bar()
		}
		if o.Lo != nil {
			p.whisker(&whiskers, x+w/2, p.floor(o.Lo[k]), o.Hi[k])
		}
	}
	p.Path(class+" whisker", &whiskers)
}

// needles draws many thin bars: the highest one within each pixel. Later series cover earlier ones.
func (p *Plot) needles(o *Series, class string, zero float64) {
	var d strings.Builder
	for k := 0; k < len(o.X); {
		x, y := p.atX(o.X[k]), p.atY(o.Y[k])
		for k++; k < len(o.X) && p.atX(o.X[k])-x < 1; k++ {
			y = min(y, p.atY(o.Y[k]))
		}
		if math.Abs(y-zero) >= 0.1 {
			d.WriteString("M" + Num(x) + " " + Num(zero) + "V" + Num(y))
		}
	}
	p.Path(class+" needle", &d)
}
