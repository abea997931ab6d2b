package report

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// curve is one distribution of a figure.
type curve struct {
	name   string
	colour figure.Colour // "" for the next one
	all    []time.Duration
	n      int // number of spans
}

// distribution draws cumulative distributions of spans on a logarithmic axis.
func distribution(title, axis, name string, curves []curve) (picture, bool) {
	lo := time.Duration(0)
	for _, k := range curves {
		for _, d := range k.all {
			if d > 0 && (lo == 0 || d < lo) {
				lo = d
			}
		}
	}
	if lo == 0 {
		return picture{}, false
	}
	var t table
	t.row("curve", "span_s", "share")
	fig := figure.Figure{
		Name: name, Title: title, X: figure.Axis{Label: axis, Log: true, Text: spanTick},
		Y: figure.Axis{Label: "share, cumulative", Hi: 100, Text: percentTick},
	}
	for _, k := range curves {
		if len(k.all) == 0 {
			continue
		}
		s := figure.Series{Name: fmt.Sprintf("%s (%d, median %s)", k.name, k.n, track.SpanText(k.all[stat.Rank(len(k.all), 0.5)])), Kind: figure.Steps, Colour: k.colour}
		s.Add(max(k.all[0], lo).Seconds(), 0)
		for i, span := range k.all {
			share := float64(i+1) / float64(len(k.all))
			t.row(k.name, nine(span), strconv.FormatFloat(share, 'f', 4, 64))
			s.Add(max(span, lo).Seconds(), 100*share)
		}
		fig.Series = append(fig.Series, s)
	}
	return picture{fig, t.text()}, true
}

// recoveries draws the distributions of recovery times by kind.
func (s *Section) recoveries() (picture, bool) {
	var curves []curve
	for kind := range s.kinds {
		if k := &s.kinds[kind]; k.tRec.Seen() > 0 {
			slices.Sort(k.tRec.Kept())
			curves = append(curves, curve{name: track.Kind(kind).String(), all: k.tRec.Kept(), n: k.tRec.Seen()})
		}
	}
	return distribution("Recovery times by kind", "T_rec, from first transmission to ACK", "recovery-times", curves)
}

// roundTrips draws the RTT samples of a connection over time.
func (d *drawing) roundTrips(origin wheel.Time) (picture, bool) {
	var first, last wheel.Time
	n, hi := 0, time.Duration(0)
	for i := range d.trace.flows {
		for _, r := range d.trace.flows[i].rtts.Kept() {
			if n == 0 || r.at < first {
				first = r.at
			}
			last, hi = max(last, r.at), max(hi, r.took)
			n++
		}
	}
	if n < 2 {
		return picture{}, false
	}
	var t table
	t.row("time_s", "src", "rtt_s")
	fig := figure.Figure{
		Name: fmt.Sprintf("conn%d-rtt", d.conn.ID), Title: "Round-trip times", Wide: true, Height: 184,
		X: d.timeAxis(first, last, origin), Y: figure.Axis{Label: "RTT, unambiguous samples", Hi: hi.Seconds() * 1.05, Text: spanTick},
	}
	for i := range d.trace.flows {
		tr := &d.trace.flows[i]
		if tr.rtts.Seen() == 0 {
			continue
		}
		src := d.conn.Flows[i].Src.String()
		s := figure.Series{Name: fmt.Sprintf("from %s (%d samples)", src, d.conn.Flows[i].RTT.Samples), Kind: figure.Dots}
		for _, r := range tr.rtts.Kept() {
			t.row(micro(r.at.Sub(origin).Seconds()), src, nine(r.took))
			s.Add(r.at.Sub(origin).Seconds(), r.took.Seconds())
		}
		fig.Series = append(fig.Series, s)
		if n := tr.rtts.Step(); n > 1 {
			fig.Caption = fmt.Sprintf("At most every %dth sample of a direction.", n)
		}
	}
	return picture{fig, t.text()}, true
}
