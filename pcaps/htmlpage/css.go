package htmlpage

// CSS returns the style of text, tables and figures that all pages have in common.
func CSS() string { return style }
