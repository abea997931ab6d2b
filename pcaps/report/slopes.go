package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/track"
)

// slope is a pair of spans, before and after. The figure draws a line between them.
type slope struct {
	before, after time.Duration
	fields        []string // of its row of the data
}

// slopeOf returns the slope of a loss.
func slopeOf(x *replay.Result, l *replay.Loss, before, after time.Duration) slope {
	return slope{before, after, []string{
		x.File, strconv.Itoa(x.ID), strconv.FormatInt(l.DetectedPacket, 10), l.Kind.String(), nine(before), nine(after),
	}}
}

// paired is a figure of slopes.
type paired struct {
	title, each   string // the heading, and what a line is
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
func (f paired) draw(all []slope, lo, hi time.Duration) picture {
	var t table
	t.row(f.head...)
	sooner := figure.Series{Name: "sooner", Kind: figure.Links, Colour: figure.Green}
	later := figure.Series{Name: "later", Kind: figure.Links, Colour: figure.Red}
	same := figure.Series{Name: "within 1 %", Kind: figure.Links, Colour: figure.Grey}
	better, worse, drawn := 0, 0, 0
	step := (len(all) + maxPairs - 1) / maxPairs
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b slope) int { return cmp.Compare(b.before, a.before) })
	var befores, afters []time.Duration
	for k, p := range order {
		t.row(p.fields...)
		befores, afters = append(befores, p.before), append(afters, p.after)
		to := &same
		switch {
		case alike(p.before, p.after):
		case p.after < p.before:
			better++
			to = &sooner
		default:
			worse++
			to = &later
		}
		if k%step != 0 && k >= 20 {
			continue
		}
		drawn++
		to.Add(0, max(p.before, lo).Seconds())
		to.Add(1, max(p.after, lo).Seconds())
	}
	before, after := replay.Quantile(befores, 0.5), replay.Quantile(afters, 0.5)
	medians := figure.Series{Name: "medians", Kind: figure.Line, Colour: figure.Blue}
	medians.Add(0, max(before, lo).Seconds())
	medians.Add(1, max(after, lo).Seconds())
	caption := fmt.Sprintf("%d sooner, %d later, %d within 1 %%; medians %s and %s.", better, worse, len(all)-better-worse, track.SpanText(before), track.SpanText(after))
	if drawn < len(all) {
		caption += fmt.Sprintf(" %d of %d are drawn.", drawn, len(all))
	}
	if f.note != "" {
		caption += " " + f.note
	}
	return picture{figure.Figure{
		Name: f.name, Title: f.title, Caption: caption, Series: filled(medians, sooner, later, same),
		X: figure.Axis{Label: f.each, Ticks: []string{f.before, f.after}},
		Y: figure.Axis{Label: f.axis, Log: true, Lo: 0.9 * lo.Seconds(), Hi: 1.1 * hi.Seconds(), Text: spanTick},
	}, t.text()}
}
