// Package htmlpage has the frame of this project's pages: pcaps/report, pcaps/figure and the
// studies' reports (experiments) use it.
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
package htmlpage
