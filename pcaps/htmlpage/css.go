package htmlpage

// CSS returns the style of text, tables and figures that all pages have in common.
func CSS() string { return style }

// Script returns the common script. Its function dress makes the tables of an element sortable and
// its data savable.
func Script() string { return script }
