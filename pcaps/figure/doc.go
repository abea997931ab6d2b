// Package figure draws the figures of pages and studies as SVG and writes their data as CSV.
//
// # Usage
//
//	f := figure.Figure{Name: "wait-by-policy", Title: "…", X: figure.Axis{Label: "…"}, …}
//	err := f.Check()
//	node := f.Element() // in a page that has PageStyle
//	file := f.File()    // a file of its own
//	err = f.WriteCSV(w)
//
// A Figure says what to show, not how: axes, series whose points may have intervals, lines for
// published values, or a map of cells. All figures look alike. Draw draws what no Series can show,
// such as the marks of a time-sequence diagram, on the canvas of the same frame: only a line's
// class says its colour, so it follows the theme.
//
// # Drawing
//
// A figure is narrow, so its words are readable on a phone. A wide one scrolls there, but for its
// title and legend. These are inside, so the file says as much as the page. Colours come from a
// style with a light and a dark theme. Signs and dashes also tell series apart, for readers who do
// not see colours and for paper. Values, intervals and names are titles under the pointer, unless
// there are too many.
//
// Plotting libraries such as gonum/plot fix colours, sizes and fonts in their drawings, so neither
// a theme nor a narrow window can change them, and they give no titles under the pointer.
//
// The same figure gives the same bytes: coordinates are rounded to a tenth of a pixel, and nothing
// depends on the order of a map, on fonts or on the machine.
//
// # Limitations
//
// Widths of words are estimates, because no font is at hand: labels that are far wider than usual
// text may overlap. There are eight colours and eight signs; more series combine them.
package figure
