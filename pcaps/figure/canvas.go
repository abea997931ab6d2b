package figure

import (
	"html"
	"math"
	"strconv"
	"strings"

	"tcpwheel/pcaps/htmlpage"
)

// Canvas builds an SVG. Colours and fonts come from CSS classes, so they follow the theme. The zero
// value builds a part without the outer tags, for Body.
type Canvas struct {
	b             strings.Builder
	Width, Height float64
}

// NewCanvas begins a figure with a label for screen readers. It copies attributes, such as a class
// or a name space, into the svg tag.
func NewCanvas(width, height float64, label string, attributes ...string) *Canvas {
	c := &Canvas{Width: width, Height: height}
	c.Raw(`<svg viewBox="0 0 ` + Num(width) + ` ` + Num(height) + `" role="img" aria-label="` + html.EscapeString(label) + `"`)
	for _, a := range attributes {
		c.Raw(" " + a)
	}
	c.Raw(">")
	return c
}

// Raw writes markup unchanged.
func (c *Canvas) Raw(s string) { c.b.WriteString(s) }

// Write is Raw, as an io.Writer.
func (c *Canvas) Write(b []byte) (int, error) { return c.b.Write(b) }

// Body returns the markup so far.
func (c *Canvas) Body() string { return c.b.String() }

// End returns the figure.
func (c *Canvas) End() htmlpage.Markup {
	c.Raw("</svg>")
	return htmlpage.Markup(c.b.String())
}

// Num formats a coordinate to a tenth of a pixel.
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

// Path draws the path in d.
func (c *Canvas) Path(class string, d *strings.Builder) {
	if d.Len() > 0 {
		c.Raw(`<path class="` + class + `" d="` + d.String() + `"/>`)
	}
}

// Rect draws a rectangle. It is empty if w or h is below 0.
func (c *Canvas) Rect(class string, x, y, w, h float64) {
	c.Raw(`<rect class="` + class + `" x="` + Num(x) + `" y="` + Num(y) + `" width="` + Num(max(w, 0)) + `" height="` + Num(max(h, 0)) + `"/>`)
}

// Text writes text. anchor says whether x is its start (""), middle ("m") or end ("e").
func (c *Canvas) Text(class, anchor string, x, y float64, text string) {
	if anchor != "" {
		class += " " + anchor
	}
	c.Raw(`<text class="` + class + `" x="` + Num(x) + `" y="` + Num(y) + `">` + html.EscapeString(text) + `</text>`)
}

// Titled groups what draw draws and gives it a title under the pointer.
func (c *Canvas) Titled(title string, draw func()) {
	c.Raw(`<g><title>` + html.EscapeString(title) + `</title>`)
	draw()
	c.Raw(`</g>`)
}
