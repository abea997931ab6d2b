package report

import "tcpwheel/pcaps/figure"

// CSS returns the style of the pages and their diagrams, for pages that contain one. It needs that
// of package htmlpage.
func CSS() string { return figure.PageStyle() + pageCSS }
