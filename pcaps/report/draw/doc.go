// Package draw is what the diagrams of the house are drawn with: an SVG canvas, and scales with ticks that read well.
//
// Colours, fonts and widths are not here but in the style of whoever shows the diagram: a class is all that a line has,
// so that one drawing follows the theme, light or dark.
//
// The same calls give the same octets: coordinates are written to a tenth of a pixel.
package draw
