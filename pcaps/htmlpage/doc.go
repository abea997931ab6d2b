// Package htmlpage has the frame of this project's pages and an SVG canvas; pcaps/report and the
// studies' reports and figures (experiments) use it.
//
// # Pages
//
// A page has a head and a foot, the style of text and tables, a script that sorts tables and saves
// data, and a Content-Security-Policy that allows nothing else.
//
//	err := htmlpage.Page("a title", moreStyle, htmlpage.Facts(facts), …).Render(w)
//
// Its parts are nodes of gomponents, which escapes texts. Only Markup is written unchanged. A page
// by html/template would cost the command 6 MB: text/template calls methods by name, so the linker
// keeps every exported method of every type.
//
// The script sorts a table of class "sort" by the column whose head is clicked. It gives each pre
// of class "csv" a button that saves its text under the name in data-name. A page is complete
// without it.
//
// # Drawings
//
// Canvas writes SVG, and Scale maps values to pixels, with readable ticks. Colours, fonts and
// widths come from the style of the page: a line has only a class, so one drawing follows the
// theme, light or dark. The same calls give the same bytes: coordinates are written to a tenth of a
// pixel.
package htmlpage
