package report

// CSS returns the style of the pages' diagrams, for pages that contain one. It needs that of
// package htmlpage.
func CSS() string { return pageCSS }
