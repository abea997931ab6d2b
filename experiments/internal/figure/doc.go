// Package figure is the figures of the studies: data that is drawn as SVG and written as CSV beside it.
//
// # Usage
//
//	f := figure.Figure{Name: "wait-by-policy", Title: "…", X: figure.Axis{Label: "…"}, …}
//	err := f.Check()
//	page := f.Drawing() // in a page that has Style
//	file := f.File()    // a file of its own
//	err = f.WriteCSV(w)
//
// A Figure says what is shown, not how: axes, series with an interval for each point if there is one, lines for what
// was published, or a map of cells. The renderer draws all figures of the house alike.
//
// # How it is drawn
//
// A figure is narrow, so that its words can be read on a phone. Title and legend are inside, so that the file says as
// much as the page. Colours are those of a style with a light and a dark theme; that a series is told by its sign and
// dashes besides helps whoever does not see colours, and paper. Values, intervals and names stand under the pointer
// where there are not too many of them.
//
// Plotting libraries were weighed and not taken, gonum/plot among them, for the reasons that package pcaps/report
// gives: their drawings have colours, sizes and fonts inside, so that neither a theme nor a narrow window can change
// them, and no titles under the pointer. Canvas and scales are those of pcaps/htmlpage.
//
// The same figure gives the same octets: coordinates are rounded to a tenth of a pixel, and nothing depends on the
// order of a map, on fonts or on the machine.
//
// # Limitations
//
// Widths of words are estimated, since there is no font at hand: labels that are far wider than usual text of their
// length may overlap. There are eight colours and eight signs; series beyond these are told by both together.
package figure
