package report

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// canvas is an SVG in the making. Colours and fonts are those of classes in page.css, so that they follow the theme.
type canvas struct {
	b             strings.Builder
	width, height float64
}

// newCanvas begins a figure that says so much to those who cannot see it.
func newCanvas(width, height float64, label string) *canvas {
	c := &canvas{width: width, height: height}
	c.raw(`<svg viewBox="0 0 ` + num(width) + ` ` + num(height) + `" role="img" aria-label="` + html.EscapeString(label) + `">`)
	return c
}

func (c *canvas) raw(s string) { c.b.WriteString(s) }

// end returns the figure.
func (c *canvas) end() template.HTML {
	c.raw("</svg>")
	return template.HTML(c.b.String())
}

// num writes a coordinate, to a tenth of a pixel.
func num(x float64) string {
	x = math.Round(x*10) / 10
	if x == 0 {
		return "0" // and not -0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	c.raw(`<path class="` + class + `" d="M` + num(x1) + ` ` + num(y1) + `L` + num(x2) + ` ` + num(y2) + `"/>`)
}

// path draws what there is in d.
func (c *canvas) path(class string, d *strings.Builder) {
	if d.Len() > 0 {
		c.raw(`<path class="` + class + `" d="` + d.String() + `"/>`)
	}
}

func (c *canvas) rect(class string, x, y, w, h float64) {
	c.raw(`<rect class="` + class + `" x="` + num(x) + `" y="` + num(y) + `" width="` + num(max(w, 0)) + `" height="` + num(max(h, 0)) + `"/>`)
}

// text writes text at a place, which is its start, middle or end as anchor says ("", "m", "e").
func (c *canvas) text(class, anchor string, x, y float64, text string) {
	if anchor != "" {
		class += " " + anchor
	}
	c.raw(`<text class="` + class + `" x="` + num(x) + `" y="` + num(y) + `">` + html.EscapeString(text) + `</text>`)
}

// titled writes what draw draws as one, with words for the pointer that stands on it.
func (c *canvas) titled(title string, draw func()) {
	c.raw(`<g><title>` + html.EscapeString(title) + `</title>`)
	draw()
	c.raw(`</g>`)
}

// scale maps values to pixels.
type scale struct {
	lo, hi   float64 // values
	from, to float64 // pixels
	log      bool
}

func newScale(lo, hi, from, to float64) scale {
	if !(hi > lo) {
		hi = lo + 1
	}
	return scale{lo: lo, hi: hi, from: from, to: to}
}

// newLogScale has whole powers of ten at its ends, or 2 or 5 times these.
func newLogScale(lo, hi, from, to float64) scale {
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
	return scale{below, above, from, to, true}
}

func (s scale) at(v float64) float64 {
	if s.log {
		v = min(max(v, s.lo/100), s.hi*100)
		return s.from + (s.to-s.from)*math.Log(v/s.lo)/math.Log(s.hi/s.lo)
	}
	return s.from + (s.to-s.from)*(v-s.lo)/(s.hi-s.lo)
}

// ticks returns about n values between the ends that read well.
func (s scale) ticks(n int) (all []float64) {
	if s.log {
		steps := []float64{1, 2, 5}
		if math.Log10(s.hi/s.lo) > 3.2 {
			steps = steps[:1]
		}
		for p := math.Floor(math.Log10(s.lo)); p <= math.Log10(s.hi)+1e-9; p++ {
			for _, k := range steps {
				if v := roundTo(k * math.Pow(10, p)); v >= s.lo*0.9999 && v <= s.hi*1.0001 {
					all = append(all, v)
				}
			}
		}
		return all
	}
	if n <= 0 || !(s.hi > s.lo) {
		return nil
	}
	raw := (s.hi - s.lo) / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, k := range []float64{1, 2, 5} {
		if k*power >= raw {
			step = k * power
			break
		}
	}
	first := math.Ceil(s.lo/step - 1e-9)
	for i := range 64 {
		v := (first + float64(i)) * step
		if v > s.hi+step*1e-9 {
			break
		}
		all = append(all, roundTo(v))
	}
	return all
}

// frame is the plot inside of a figure.
type frame struct {
	x, y scale
}

// axes draws the grid, the labels of the ticks and the names of the axes.
func (c *canvas) axes(f frame, nx, ny int, xTick, yTick func(float64) string, xName, yName string) {
	left, right, top, bottom := f.x.from, f.x.to, f.y.to, f.y.from
	var grid strings.Builder
	for _, v := range f.x.ticks(nx) {
		x := f.x.at(v)
		grid.WriteString("M" + num(x) + " " + num(top) + "V" + num(bottom))
		c.text("t", "m", x, bottom+16, xTick(v))
	}
	for _, v := range f.y.ticks(ny) {
		y := f.y.at(v)
		grid.WriteString("M" + num(left) + " " + num(y) + "H" + num(right))
		c.text("t", "e", left-6, y+4, yTick(v))
	}
	c.path("grid", &grid)
	c.text("t", "e", right, bottom+32, xName)
	c.text("t", "", 4, top-8, yName)
}
