package figure

import (
	_ "embed"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"tcpwheel/pcaps/htmlpage"
)

//go:embed page.css
var pageStyle string

// PageStyle returns the CSS of a page with figures, Style included. An element of class "figures"
// puts them side by side, one of class "pairs" wide ones.
func PageStyle() string { return Style + pageStyle }

// Element returns the figure as an element of a page that has PageStyle. more follows the drawing.
// The figure must pass Check.
func (f *Figure) Element(more ...g.Node) g.Node {
	return h.Figure(g.If(f.width() > width, h.Class("wide")), newline, h.Div(h.Class("plot"), f.Drawing()), newline, g.Group(more))
}

// DataElement returns the data of a figure: folded, with a button that saves it as a file.
func DataElement(file, data string) g.Node {
	return h.Details(h.Summary(g.Text("data")), h.Pre(h.Class("csv"), g.Attr("data-name", file), g.Text(data)))
}

// newline keeps the lines of a page readable.
const newline = htmlpage.Markup("\n")
