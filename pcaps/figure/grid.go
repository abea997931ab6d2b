package figure

import (
	"fmt"
	"math"
	"strconv"
)

// Sizes of the cells of maps.
const (
	leastCell  = 14.0 // wide
	tallCell   = 27.0
	mostWidth  = 960.0
	strongest  = 0.66 // opacity of the greatest value; words in the cell stay legible
	weakest    = 0.04
	mapSamples = 6
)

// left returns the room for the names of the rows.
func (m *Map) left() float64 {
	left := 0.0
	for _, r := range m.Rows {
		left = max(left, min(textWidth(r, 11.5), 150))
	}
	return left + edge + 8
}

// width returns the width that the text in the cells needs, within bounds.
func (m *Map) width() float64 {
	cell := leastCell
	for _, row := range m.Text {
		for _, t := range row {
			cell = max(cell, textWidth(t, 8.5)+4)
		}
	}
	return min(max(width, m.left()+cell*float64(len(m.Columns))+edge+10), mostWidth)
}

// grid draws a map.
func (s *sheet) grid(m *Map) {
	left, right := m.left(), s.Width-edge-10
	w := (right - left) / float64(len(m.Columns))
	h := min(tallCell, max(12, 460/float64(len(m.Rows))))
	top := s.y + 4
	bottom := top + h*float64(len(m.Rows))
	lo, hi := m.bounds()
	size, class := 10.5, "ct"
	for _, row := range m.Text {
		for _, t := range row {
			switch {
			case textWidth(t, 10)+4 > w:
				size, class = 8.5, "xs"
			case textWidth(t, 10.5)+4 > w && size > 10:
				size, class = 10, "s"
			}
		}
	}
	for r, name := range m.Rows {
		y := bottom - h*float64(r+1)
		if h >= 11 || r%2 == 0 {
			s.Text("t", "e", left-6, y+h/2+4, cut(name, 150, 11.5))
		}
		for c, column := range m.Columns {
			x := left + w*float64(c)
			about := column + ", " + name + ": "
			if m.Value != nil {
				about += valueText(m.Value[r][c])
			} else {
				about += m.Classes[m.Class[r][c]]
			}
			if m.Text != nil && m.Text[r][c] != "" {
				about += " (" + m.Text[r][c] + ")"
			}
			s.Titled(about, func() {
				if m.Value != nil {
					s.shade(x, y, w, h, m.share(m.Value[r][c], lo, hi))
				} else {
					s.Rect("cell class k"+strconv.Itoa(m.Class[r][c]%8), x, y, w, h)
				}
				if m.Text != nil && textWidth(m.Text[r][c], size)+1 <= w {
					s.Text(class, "m", x+w/2, y+h/2+3.5, m.Text[r][c])
				}
			})
		}
	}
	var ticks []tick
	for c, name := range m.Columns {
		ticks = append(ticks, tick{float64(c), name})
	}
	room := s.labelTicks(ticks, func(v float64) float64 { return left + w*(v+0.5) }, bottom, w)
	s.y = bottom + room + 14
	s.Text("t", "e", right, s.y, s.f.X.Label)
	s.legend(m.legend(s, lo, hi))
}

// shade fills a cell with the colour of a share of the range.
func (s *sheet) shade(x, y, w, h, share float64) {
	opacity := weakest + (strongest-weakest)*share
	fmt.Fprintf(s, `<rect class="cell v" fill-opacity="%s" x="%s" y="%s" width="%s" height="%s"/>`,
		strconv.FormatFloat(math.Round(opacity*100)/100, 'f', -1, 64), Num(x), Num(y), Num(w), Num(h))
}

// bounds returns the least and the greatest value.
func (m *Map) bounds() (lo, hi float64) {
	if m.Lo < m.Hi {
		return m.Lo, m.Hi
	}
	var in span
	for _, row := range m.Value {
		for _, v := range row {
			in.add(v)
		}
	}
	return in.lo, in.hi
}

// share returns the position of a value in the range, 0 to 1.
func (m *Map) share(v, lo, hi float64) float64 {
	if hi <= lo {
		return 0.5
	}
	if m.Log {
		return math.Log(v/lo) / math.Log(hi/lo)
	}
	return (v - lo) / (hi - lo)
}

// legend returns the classes in use, or samples of the scale.
func (m *Map) legend(s *sheet, lo, hi float64) (all []Item) {
	if m.Value == nil {
		there := make([]bool, len(m.Classes))
		for _, row := range m.Class {
			for _, c := range row {
				there[c] = true
			}
		}
		for i, name := range m.Classes {
			if there[i] {
				all = append(all, Item{name, func(x, y float64) { s.Rect("cell class k"+strconv.Itoa(i%8), x+2, y-6, 18, 12) }})
			}
		}
		return all
	}
	for i := range mapSamples {
		share := float64(i) / (mapSamples - 1)
		v := lo + (hi-lo)*share
		if m.Log {
			v = lo * math.Pow(hi/lo, share)
		}
		digits, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
		text := tickText(digits)
		all = append(all, Item{text, func(x, y float64) { s.shade(x+2, y-6, 18, 12, share) }})
		if hi <= lo {
			break
		}
	}
	return all
}
