package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// zoom draws an episode, with D, A and P below.
func (d *drawing) zoom(i int, e *track.Episode, origin wheel.Time) figure {
	f := &d.conn.Flows[i]
	s := around(e)
	marks := within(d.trace.flows[i].marks, s)
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for k := range marks {
		m := &marks[k]
		switch m.kind {
		case sent, resent, late, missing, sacked, dsacked:
			lo, hi = min(lo, m.start), max(hi, m.end)
		}
	}
	if lo > hi {
		lo, hi = 0, 1
	}
	const height, bottom = 400, 400 - marginBottom
	const lane = bottom - 46 // above it the plot, below it the spans
	c := newCanvas(figureWidth, height, "loss episode at packet "+fmt.Sprint(e.DetectedPacket))
	margin := float64(hi-lo)/12 + 1
	p := plotter{c: c, origin: origin, used: map[string]bool{}, detail: len(marks) <= 400, f: frame{
		x: newScale(s.from.Sub(origin).Seconds(), s.to.Sub(origin).Seconds(), marginLeft, figureWidth-marginRight),
		y: newScale(float64(lo)-margin, float64(hi)+margin, lane, marginTop),
	}}
	c.zoomAxes(p.f, bottom)
	p.spans(e, lane)
	p.inside(func() { p.draw(marks, f.Timers.Best) })
	return figure{
		SVG: c.end(), Title: fmt.Sprintf("packet %d: %s, D %s", e.DetectedPacket, e.Kind, SpanText(e.D)),
		Caption: episodeText(f, e), Legend: p.legend(), Data: dataOf(marks, origin), Wide: true,
		Name: fmt.Sprintf("conn%d-packet%d.csv", d.conn.ID, e.DetectedPacket),
	}
}

// zoomAxes draws axes with a lane for spans between the plot and the time.
func (c *canvas) zoomAxes(f frame, bottom float64) {
	var grid strings.Builder
	for _, v := range f.x.ticks(7) {
		x := f.x.at(v)
		grid.WriteString("M" + num(x) + " " + num(f.y.to) + "V" + num(bottom))
		c.text("t", "m", x, bottom+16, plainTick(v))
	}
	for _, v := range f.y.ticks(6) {
		y := f.y.at(v)
		grid.WriteString("M" + num(f.x.from) + " " + num(y) + "H" + num(f.x.to))
		c.text("t", "e", f.x.from-6, y+4, octetTick(v))
	}
	c.path("grid", &grid)
	c.text("t", "e", f.x.to, bottom+32, "seconds since the capture began, by the sender's clock")
	c.text("t", "", 4, f.y.to-8, "octets of the stream")
}

// spans draws D, A and P as bars in the lane, with lines up into the plot where they begin and end.
func (p *plotter) spans(e *track.Episode, lane float64) {
	type bar struct {
		name, class string
		from, to    wheel.Time
	}
	bars := []bar{{"D", "bd", e.Sent, e.Sent.Add(e.D)}}
	if e.Repaired {
		bars = append(bars, bar{"A", "ba", e.Detected, e.Resent}, bar{"P", "bp", e.Resent, e.Resent.Add(e.P)})
	}
	var lines strings.Builder
	for _, b := range bars {
		if b.to <= b.from {
			continue
		}
		x1, x2 := p.x(b.from), p.x(b.to)
		fmt.Fprintf(&lines, "M%s %sV%sM%s %sV%s", num(x1), num(p.f.y.to), num(lane+30), num(x2), num(p.f.y.to), num(lane+30))
		p.c.titled(b.name+" "+SpanText(b.to.Sub(b.from)), func() { p.c.rect(b.class, x1, lane+12, max(x2-x1, 1), 18) })
		text := b.name + " " + SpanText(b.to.Sub(b.from))
		switch room := x2 - x1; {
		case b.name == "D" && room > 7*float64(len(text)+24):
			p.c.text("bt", "m", (x1+x2)/2, lane+25, text+": "+shortCause(e))
		case room > 7*float64(len(text)):
			p.c.text("bt", "m", (x1+x2)/2, lane+25, text)
		case room > 10:
			p.c.text("bt", "m", (x1+x2)/2, lane+25, b.name)
		default:
			p.c.text("t", "m", (x1+x2)/2, lane+42, b.name)
		}
	}
	p.c.path("guide", &lines)
}

// shortCause is causeText for a bar.
func shortCause(e *track.Episode) string {
	switch e.Kind {
	case track.SYN:
		return "SYN timer"
	case track.RTO:
		return "retransmission timer"
	case track.TLP:
		return "probe timer"
	case track.Fast:
		return "ACKs told"
	case track.Probe:
		return "window probe timer"
	}
	return "cause unknown"
}

// episodeText tells of an episode in words.
func episodeText(f *track.Flow, e *track.Episode) string {
	var b strings.Builder
	cause := "unknown cause"
	if len(e.Rexmits) > 0 {
		cause = causeText(&e.Rexmits[0], f.Timers.Best)
	}
	what := octets(int64(e.Octets))
	switch {
	case e.Estimated:
		fmt.Fprintf(&b, "%s, whose first transmission was not captured, %s sent", what, were(int64(e.Octets)))
	case e.FirstPacket > 0:
		fmt.Fprintf(&b, "The %s of packet %d %s sent", what, e.FirstPacket, were(int64(e.Octets)))
	default:
		fmt.Fprintf(&b, "%s %s sent", what, were(int64(e.Octets)))
	}
	fmt.Fprintf(&b, " again as packet %d, D = %s later: %s. %s.", e.DetectedPacket, SpanText(e.D), cause, upper(verdictText(e.Spurious, e.Evidence)))
	switch {
	case e.Repaired && e.ResentPacket != e.DetectedPacket:
		fmt.Fprintf(&b, " What arrived was packet %d, A = %s later; packet %d acknowledges it, P = %s after that.", e.ResentPacket, SpanText(e.A), e.AckedPacket, SpanText(e.P))
	case e.Repaired:
		fmt.Fprintf(&b, " Packet %d acknowledges it, P = %s later.", e.AckedPacket, SpanText(e.P))
	default:
		b.WriteString(" No ACK of it was captured.")
	}
	if e.Repaired {
		fmt.Fprintf(&b, " T_rec %s", SpanText(e.TRec))
		if e.RTT > 0 {
			fmt.Fprintf(&b, ", with a round trip of %s", SpanText(e.RTT))
		}
		b.WriteString(".")
	}
	if e.All > 1 {
		fmt.Fprintf(&b, " %d packets were sent again in the episode", e.All)
		if e.Timeouts > 0 {
			fmt.Fprintf(&b, ", %d of them by the retransmission timer", e.Timeouts)
		}
		b.WriteString(".")
	}
	if e.HasIdeal {
		fmt.Fprintf(&b, " With an exact timer, or ACKs if there were any, D might have been %s: tax %s.", SpanText(e.Ideal), SpanText(e.TimerTax))
	}
	if e.Closed && e.Whole > e.TRec+time.Microsecond {
		fmt.Fprintf(&b, " All that was in flight was acknowledged after %s.", SpanText(e.Whole))
	}
	return b.String()
}

// upper makes the first letter a capital.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
