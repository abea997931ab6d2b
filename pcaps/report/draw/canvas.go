package draw

import (
	"html"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Canvas is an SVG in the making. Colours and fonts are those of classes in a style, so that they follow the theme. The
// zero value is a part without the tags at both ends, which Body returns.
type Canvas struct {
	b             strings.Builder
	Width, Height float64
}

// NewCanvas begins a figure that says so much to those who cannot see it. attributes, as a class or a name space, stand
// in its tag as they are.
func NewCanvas(width, height float64, label string, attributes ...string) *Canvas {
	c := &Canvas{Width: width, Height: height}
	c.Raw(`<svg viewBox="0 0 ` + Num(width) + ` ` + Num(height) + `" role="img" aria-label="` + html.EscapeString(label) + `"`)
	for _, a := range attributes {
		c.Raw(" " + a)
	}
	c.Raw(">")
	return c
}

// Raw writes markup as it is.
func (c *Canvas) Raw(s string) { c.b.WriteString(s) }

// Write is Raw, as an io.Writer.
func (c *Canvas) Write(b []byte) (int, error) { return c.b.Write(b) }

// Body returns what was drawn so far.
func (c *Canvas) Body() string { return c.b.String() }

// End returns the figure.
func (c *Canvas) End() template.HTML {
	c.Raw("</svg>")
	return template.HTML(c.b.String())
}

// Num writes a coordinate, to a tenth of a pixel.
func Num(x float64) string {
	x = math.Round(x*10) / 10
	if x == 0 {
		return "0" // and not -0
	}
	return strconv.FormatFloat(x, 'f', -1, 64)
}

// Line draws a straight line.
func (c *Canvas) Line(class string, x1, y1, x2, y2 float64) {
	c.Raw(`<path class="` + class + `" d="M` + Num(x1) + ` ` + Num(y1) + `L` + Num(x2) + ` ` + Num(y2) + `"/>`)
}

// Path draws what there is in d.
func (c *Canvas) Path(class string, d *strings.Builder) {
	if d.Len() > 0 {
		c.Raw(`<path class="` + class + `" d="` + d.String() + `"/>`)
	}
}

// Rect draws a rectangle, which is empty if w or h is below 0.
func (c *Canvas) Rect(class string, x, y, w, h float64) {
	c.Raw(`<rect class="` + class + `" x="` + Num(x) + `" y="` + Num(y) + `" width="` + Num(max(w, 0)) + `" height="` + Num(max(h, 0)) + `"/>`)
}

// Text writes text at a place, which is its start, middle or end as anchor says ("", "m", "e").
func (c *Canvas) Text(class, anchor string, x, y float64, text string) {
	if anchor != "" {
		class += " " + anchor
	}
	c.Raw(`<text class="` + class + `" x="` + Num(x) + `" y="` + Num(y) + `">` + html.EscapeString(text) + `</text>`)
}

// Titled writes what draw draws as one, with words for the pointer that stands on it.
func (c *Canvas) Titled(title string, draw func()) {
	c.Raw(`<g><title>` + html.EscapeString(title) + `</title>`)
	draw()
	c.Raw(`</g>`)
}
