package figure

import (
	"math"
	"slices"
	"strings"
)

// Item is an entry of a legend: a sample and its meaning. Plot.Item makes one.
type Item struct {
	text   string
	sample func(x, y float64)
}

// Item returns the entry for what Draw has drawn with a class of colour.
func (p *Plot) Item(class, text string) Item {
	return Item{text, func(x, y float64) { p.Rect("swatch "+class, x+4, y-5, 14, 10) }}
}

// legend writes items in rows. Those without a text have no entry.
func (s *sheet) legend(items []Item) {
	items = slices.DeleteFunc(items, func(it Item) bool { return it.text == "" })
	if s.y += 4; len(items) == 0 {
		return
	}
	const sample = 26.0
	x, widest := edge, 0.0
	for _, it := range items {
		widest = max(widest, sample+textWidth(it.text, 11.5)+14)
	}
	// Items of similar width go into columns.
	columns := math.Max(1, math.Floor((s.room-2*edge)/widest))
	step := (s.room - 2*edge) / columns
	even := len(items) > 3 && columns >= 2
	s.y += lineHeight
	for i, it := range items {
		w := sample + textWidth(it.text, 11.5) + 14
		if even {
			w = step
		}
		if i > 0 && x+w > s.room+8 {
			x = edge
			s.y += lineHeight
		}
		it.sample(x, s.y-4)
		for n, line := range wrap(it.text, s.room-edge-x-sample, 11.5) {
			if n > 0 {
				s.y += 13
			}
			s.Text("t", "", x+sample, s.y, cut(line, s.room-edge-x-sample, 11.5))
		}
		x += w
	}
	s.y += 4
}

// crossedItems returns the items for series that are named by group and marker, such as "floor 1s,
// tick 10ms": a colour for each group and a sign for each marker. Other series follow with an item
// each.
func (p *Plot) crossedItems(looks []look) (all []Item, ok bool) {
	const many = 12
	if len(p.f.Series) <= many {
		return nil, false
	}
	groups, markers := map[int]string{}, map[int]string{}
	var colours, marks, others []Item
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
			colours = append(colours, Item{first, func(x, y float64) { p.Rect("swatch "+l.class(), x+4, y-5, 14, 10) }})
		}
		if have, there := markers[o.Marker]; there && have != second {
			return nil, false
		} else if !there {
			markers[o.Marker] = second
			marks = append(marks, Item{second, func(x, y float64) { p.sign(look{colour: neutral, sign: l.sign}, x+11, y) }})
		}
	}
	return slices.Concat(colours, marks, others), crossed > many
}

// legendItems returns an item for each series.
func (p *Plot) legendItems(looks []look) (all []Item) {
	for i := range p.f.Series {
		o, l := &p.f.Series[i], looks[i]
		class := p.strokeClass(o, l)
		all = append(all, Item{o.Name, func(x, y float64) {
			switch o.Kind {
			case Bars, Spans:
				p.Rect("bar "+class, x+4, y-5, 14, 10)
				return
			case Dots:
				p.Rect("swatch "+class, x+4, y-5, 14, 10)
				return
			case Line, Steps, Links:
				p.Line(class, x, y, x+22, y)
			}
			if o.signed() {
				p.sign(l, x+11, y)
			}
		}})
	}
	return all
}
