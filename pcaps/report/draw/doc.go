// Package draw has an SVG canvas and scales with readable ticks. pcaps/report and
// experiments/figure draw with it.
//
// Colours, fonts and widths come from the style of the page: a line has only a class, so one
// drawing follows the theme, light or dark.
//
// The same calls give the same bytes: coordinates are written to a tenth of a pixel.
package draw
