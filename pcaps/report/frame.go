package report

import (
	"strings"

	"tcpwheel/pcaps/htmlpage"
)

// frame is the area of a figure inside its axes.
type frame struct {
	x, y htmlpage.Scale
}

// axes draws the grid, the tick labels and the axis labels.
func axes(c *htmlpage.Canvas, f frame, nx, ny int, xTick, yTick func(float64) string, xName, yName string) {
	left, right, top, bottom := f.x.From, f.x.To, f.y.To, f.y.From
	var grid strings.Builder
	for _, v := range f.x.Ticks(nx) {
		x := f.x.At(v)
		grid.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(top) + "V" + htmlpage.Num(bottom))
		c.Text("t", "m", x, bottom+16, xTick(v))
	}
	for _, v := range f.y.Ticks(ny) {
		y := f.y.At(v)
		grid.WriteString("M" + htmlpage.Num(left) + " " + htmlpage.Num(y) + "H" + htmlpage.Num(right))
		c.Text("t", "e", left-6, y+4, yTick(v))
	}
	c.Path("grid", &grid)
	c.Text("t", "e", right, bottom+32, xName)
	c.Text("t", "", 4, top-8, yName)
}
