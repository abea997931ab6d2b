package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// slope is a pair of spans, before and after. The figure draws a line between them.
type slope struct {
	before, after time.Duration
	fields        []string // of its row of the data
}

// paired is a figure of slopes.
type paired struct {
	title, label  string // the heading, and the text for screen readers
	axis          string
	before, after string // names of the left and right side
	head          []string
	name          string // of the data
	note          string // for the end of the caption
}

// slopesSpan returns the least and greatest span of slopes, for figures that share a scale. ok is
// false if no span is above 0.
func slopesSpan(lists ...[]slope) (lo, hi time.Duration, ok bool) {
	for _, all := range lists {
		for _, s := range all {
			for _, d := range []time.Duration{s.before, s.after} {
				if d > 0 && (lo == 0 || d < lo) {
					lo = d
				}
				hi = max(hi, d)
			}
		}
	}
	return lo, hi, lo > 0
}

// alike reports whether two spans are within 1 % of the first.
func alike(before, after time.Duration) bool { return (after - before).Abs() <= before/100 }

// draw draws the slopes on a scale from lo to hi: the longest, and an even sample of the others.
func (f paired) draw(all []slope, lo, hi time.Duration) figure {
	const width, height = 380, 330
	const left, right = marginLeft + 14, width - 60
	c := htmlpage.NewCanvas(width, height, f.label)
	y := htmlpage.NewLogScale(lo.Seconds(), hi.Seconds(), height-34, marginTop)
	var grid strings.Builder
	for _, v := range y.Ticks(6) {
		grid.WriteString("M" + htmlpage.Num(marginLeft) + " " + htmlpage.Num(y.At(v)) + "H" + htmlpage.Num(width-46))
		c.Text("t", "e", marginLeft-6, y.At(v)+4, spanTick(v))
	}
	c.Path("grid", &grid)
	c.Text("t", "", 4, marginTop-10, f.axis)
	c.Text("t", "m", left, height-14, f.before)
	c.Text("t", "m", right, height-14, f.after)
	var t table
	t.row(f.head...)
	var better, same, worse strings.Builder
	sooner, later, equal, drawn := 0, 0, 0, 0
	step := (len(all) + maxPairs - 1) / maxPairs
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b slope) int { return cmp.Compare(b.before, a.before) })
	var befores, afters []time.Duration
	for k, p := range order {
		t.row(p.fields...)
		befores, afters = append(befores, p.before), append(afters, p.after)
		to := &worse
		switch {
		case alike(p.before, p.after):
			equal++
			to = &same
		case p.after < p.before:
			sooner++
			to = &better
		default:
			later++
		}
		if k%step != 0 && k >= 20 {
			continue
		}
		drawn++
		to.WriteString("M" + htmlpage.Num(left) + " " + htmlpage.Num(y.At(max(p.before, lo).Seconds())) + "L" + htmlpage.Num(right) + " " + htmlpage.Num(y.At(max(p.after, lo).Seconds())))
	}
	c.Path("up same", &same)
	c.Path("up better", &better)
	c.Path("up worse", &worse)
	before, after := replay.Quantile(befores, 0.5), replay.Quantile(afters, 0.5)
	c.Titled(fmt.Sprintf("medians: %s and %s", track.SpanText(before), track.SpanText(after)), func() {
		c.Line("d c", left, y.At(max(before, lo).Seconds()), right, y.At(max(after, lo).Seconds()))
	})
	caption := fmt.Sprintf("%d sooner, %d later, %d within 1 %%; medians %s and %s.", sooner, later, equal, track.SpanText(before), track.SpanText(after))
	if drawn < len(all) {
		caption += fmt.Sprintf(" %d of %d are drawn.", drawn, len(all))
	}
	if f.note != "" {
		caption += " " + f.note
	}
	return figure{
		SVG: c.End(), Title: f.title, Caption: caption, Data: t.b.String(), Name: f.name,
		Legend: []legendItem{{"up better", "sooner"}, {"up worse", "later"}, {"up same", "within 1 %"}, {"d", "medians"}},
	}
}
