package report

import (
	"math"
	"strings"
	"unicode/utf8"

	"tcpwheel/pcaps/htmlpage"
)

// frame is the area of a figure inside its axes.
type frame struct {
	x, y htmlpage.Scale
}

// tick is a labelled place on the time axis.
type tick struct {
	x    float64
	text string
}

// axes draws the grid, the tick labels and the axis labels.
func axes(c *htmlpage.Canvas, f frame, nx, ny int, xTick, yTick func(float64) string, xName, yName string) {
	values := f.x.Ticks(nx)
	ticks := make([]tick, len(values))
	for i, v := range values {
		ticks[i] = tick{f.x.At(v), xTick(v)}
	}
	labels := ticks
	if f.x.Log && len(spaced(ticks, c.Width)) < len(ticks) {
		labels = nil
		for i, v := range values {
			if p := math.Log10(v); math.Abs(p-math.Round(p)) < 1e-6 {
				labels = append(labels, ticks[i])
			}
		}
		if len(labels) < 2 {
			labels = ticks
		}
	}
	grid(c, f, f.y.From, ticks, labels, ny, yTick, xName, yName)
}

// grid draws the grid down to bottom, the labels that have room, and the names of the axes.
func grid(c *htmlpage.Canvas, f frame, bottom float64, ticks, labels []tick, ny int, yTick func(float64) string, xName, yName string) {
	left, right, top := f.x.From, f.x.To, f.y.To
	var lines strings.Builder
	for _, t := range ticks {
		lines.WriteString("M" + htmlpage.Num(t.x) + " " + htmlpage.Num(top) + "V" + htmlpage.Num(bottom))
	}
	for _, t := range spaced(labels, c.Width) {
		c.Text("t", "m", t.x, bottom+18, t.text)
	}
	for _, v := range f.y.Ticks(ny) {
		y := f.y.At(v)
		lines.WriteString("M" + htmlpage.Num(left) + " " + htmlpage.Num(y) + "H" + htmlpage.Num(right))
		c.Text("t", "e", left-6, y+4, yTick(v))
	}
	c.Path("grid", &lines)
	c.Text("t", "e", right, bottom+34, xName)
	c.Text("t", "", 4, top-15, yName)
}

// spaced returns the labels that do not touch the one before, moved into the canvas.
func spaced(all []tick, width float64) (kept []tick) {
	end := math.Inf(-1)
	for _, t := range all {
		half := 3.3 * float64(utf8.RuneCountInString(t.text))
		t.x = min(t.x, width-1-half)
		if t.x-half < end+6 {
			continue
		}
		end = t.x + half
		kept = append(kept, t)
	}
	return kept
}
