package figure

import (
	_ "embed"
	"html"
	"math"
	"strings"
	"unicode/utf8"

	"tcpwheel/pcaps/htmlpage"
)

// Style is the CSS of drawings. It affects nothing outside them.
//
//go:embed style.css
var Style string

// Sizes of a drawing, in SVG units.
const (
	width      = 480.0 // of most figures
	wideWidth  = 760.0
	phoneRoom  = 450.0 // of a wide figure, where a phone shows it before it is scrolled
	plotHeight = 250.0
	lineHeight = 17.0
	edge       = 6.0 // free space at the sides
	bold       = 1.1 // width relative to other text
)

// Drawing returns the figure as SVG, for a page that has Style. The figure must pass Check.
func (f *Figure) Drawing() htmlpage.Markup { return f.draw(false) }

// File returns the figure as an SVG file, with the style inside. The figure must pass Check.
func (f *Figure) File() []byte { return []byte(f.draw(true) + "\n") }

// sheet is a drawing under construction.
type sheet struct {
	*Canvas
	f    *Figure
	y    float64 // where the next element begins
	room float64 // width for title and legend
}

func (f *Figure) width() float64 {
	switch {
	case f.Map != nil:
		return f.Map.width()
	case f.Wide:
		return wideWidth
	}
	return width
}

func (f *Figure) draw(alone bool) htmlpage.Markup {
	w := f.width()
	room := w
	if f.Wide {
		room = phoneRoom
	}
	title := wrap(f.Title, room-2*edge, 13.5*bold)
	// The height is known only after the elements below the plot.
	s := &sheet{Canvas: &Canvas{Width: w}, f: f, y: edge, room: room}
	for _, line := range title {
		s.y += lineHeight
		s.Text("title", "", edge, s.y-4, line)
	}
	s.Text("t", "", edge, s.y+14, f.Y.Label)
	s.y += 22
	if f.Map != nil {
		s.grid(f.Map)
	} else {
		s.plot()
	}
	body := s.Body()

	class := `class="fig"`
	if w > width {
		class = `class="fig wide"`
	}
	c := NewCanvas(w, math.Ceil(s.y+edge), f.Title, class)
	if alone {
		c = NewCanvas(w, math.Ceil(s.y+edge), f.Title, class, `xmlns="http://www.w3.org/2000/svg"`)
		c.Raw("<style>\n" + Style + "</style>")
		if f.Caption != "" {
			c.Raw("<desc>" + escape(f.Caption) + "</desc>")
		}
	}
	c.Rect("back", 0, 0, c.Width, c.Height)
	c.Raw(body)
	return c.End()
}

// escape escapes text for markup.
func escape(text string) string { return html.EscapeString(text) }

// textWidth estimates the width of text.
func textWidth(text string, size float64) float64 {
	w := 0.0
	for _, r := range text {
		switch {
		case strings.ContainsRune("ijlI.,:;'|!()[] ", r):
			w += 0.34
		case strings.ContainsRune("mwMW—", r):
			w += 0.86
		case r >= 'A' && r <= 'Z' || strings.ContainsRune("≤≥=+×→", r):
			w += 0.7
		default:
			w += 0.6
		}
	}
	return w * size
}

// wrap breaks text into lines of at most a width, if its words fit.
func wrap(text string, width, size float64) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && textWidth(line+" "+word, size) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// cut shortens text to a width and adds an ellipsis.
func cut(text string, width, size float64) string {
	if textWidth(text, size) <= width {
		return text
	}
	for text != "" && textWidth(text+"…", size) > width {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text + "…"
}
