package figure

import (
	"math"
	"slices"
	"strings"
)

// legendItem is a sample, its width in pixels, and its meaning.
type legendItem struct {
	text   string
	sample func(x, y float64)
}

// legend writes items in rows.
func (s *sheet) legend(items []legendItem) {
	const sample = 26.0
	x, widest := edge, 0.0
	for _, it := range items {
		widest = max(widest, sample+textWidth(it.text, 11.5)+14)
	}
	// Items of similar width go into columns.
	columns := math.Max(1, math.Floor((s.Width-2*edge)/widest))
	step := (s.Width - 2*edge) / columns
	even := len(items) > 3 && columns >= 2
	s.y += 4
	s.y += lineHeight
	for i, it := range items {
		w := sample + textWidth(it.text, 11.5) + 14
		if even {
			w = step
		}
		if i > 0 && x+w > s.Width+8 {
			x = edge
			s.y += lineHeight
		}
		it.sample(x, s.y-4)
		for n, line := range wrap(it.text, s.Width-edge-x-sample, 11.5) {
			if n > 0 {
				s.y += 13
			}
			s.Text("t", "", x+sample, s.y, cut(line, s.Width-edge-x-sample, 11.5))
		}
		x += w
	}
	s.y += 4
}

// crossedItems returns the items for series that are named by group and marker, such as "floor 1s,
// tick 10ms": a colour for each group and a sign for each marker. Other series follow with an item
// each.
func (p *plot) crossedItems(looks []look) (all []legendItem, ok bool) {
	const many = 12
	if len(p.f.Series) <= many {
		return nil, false
	}
	groups, markers := map[int]string{}, map[int]string{}
	var colours, marks, others []legendItem
	crossed := 0
	each := p.legendItems(looks)
	for i := range p.f.Series {
		o, l := &p.f.Series[i], looks[i]
		first, second, two := strings.Cut(o.Name, ", ")
		if !two || o.Kind != Points || o.Group == 0 || o.Marker == 0 || l.second {
			others = append(others, each[i])
			continue
		}
		crossed++
		if have, there := groups[o.Group]; there && have != first {
			return nil, false
		} else if !there {
			groups[o.Group] = first
			colours = append(colours, legendItem{first, func(x, y float64) { p.Rect("swatch "+l.class(), x+4, y-5, 14, 10) }})
		}
		if have, there := markers[o.Marker]; there && have != second {
			return nil, false
		} else if !there {
			markers[o.Marker] = second
			marks = append(marks, legendItem{second, func(x, y float64) { p.sign(look{colour: neutral, sign: l.sign}, x+11, y) }})
		}
	}
	return slices.Concat(colours, marks, others), crossed > many
}

// legendItems returns an item for each series.
func (p *plot) legendItems(looks []look) (all []legendItem) {
	for i := range p.f.Series {
		o, l := &p.f.Series[i], looks[i]
		class := l.class()
		if l.second && !o.Dashed {
			class += " second"
		}
		if o.Dashed {
			class += " expected"
		}
		all = append(all, legendItem{o.Name, func(x, y float64) {
			switch o.Kind {
			case Bars:
				p.Rect("bar "+class, x+4, y-5, 14, 10)
				return
			case Line, Steps:
				p.Line(class, x, y, x+22, y)
			}
			if o.Kind == Points || o.Kind == Line && len(o.X) <= mostSigns && (!o.Dashed || o.Marker != 0) {
				p.sign(l, x+11, y)
			}
		}})
	}
	return all
}
