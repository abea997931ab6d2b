package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// zoom draws an episode with D, A and P below it.
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
	const lane = bottom - 46 // the plot is above it, the spans are below
	c := htmlpage.NewCanvas(figureWidth, height, "loss episode at packet "+fmt.Sprint(e.DetectedPacket))
	margin := float64(hi-lo)/12 + 1
	p := plotter{c: c, origin: origin, said: d.said, used: map[string]bool{}, detail: len(marks) <= 400, f: frame{
		x: htmlpage.NewScale(s.from.Sub(origin).Seconds(), s.to.Sub(origin).Seconds(), marginLeft, figureWidth-marginRight),
		y: htmlpage.NewScale(float64(lo)-margin, float64(hi)+margin, lane, marginTop),
	}}
	zoomAxes(c, p.f, bottom)
	p.spans(e, lane)
	p.inside(func() { p.draw(marks, f.Timers().Best) })
	return figure{
		SVG: c.End(), Title: fmt.Sprintf("packet %d: %s, D %s", e.DetectedPacket, e.Kind, track.SpanText(e.D)),
		Caption: episodeText(f, e), Legend: p.legend(), Data: dataOf(marks, origin),
		Name: fmt.Sprintf("conn%d-packet%d.csv", d.conn.ID, e.DetectedPacket),
	}
}

// zoomAxes draws axes with a lane for spans between the plot and the time axis.
func zoomAxes(c *htmlpage.Canvas, f frame, bottom float64) {
	ticks := timeline{f.x}.ticks(7)
	grid(c, f, bottom, ticks, ticks, 6, bytesTick, "seconds since the capture began, by the sender's clock", "sequence, bytes")
}

// spans draws D, A and P as bars in the lane. Lines into the plot mark where each begins and ends.
func (p *plotter) spans(e *track.Episode, lane float64) {
	type bar struct {
		name, class string
		from, to    wheel.Time
	}
	bars := []bar{{"D", "bd", e.PrevSent, e.PrevSent.Add(e.D)}}
	if e.Repaired {
		bars = append(bars, bar{"A", "ba", e.Detected, e.RepairSent}, bar{"P", "bp", e.RepairSent, e.RepairSent.Add(e.P)})
	}
	var lines strings.Builder
	below := -9.0 // where the last name below the lane is
	for _, b := range bars {
		if b.to <= b.from {
			continue
		}
		x1, x2 := p.x(b.from), p.x(b.to)
		fmt.Fprintf(&lines, "M%s %sV%sM%s %sV%s", htmlpage.Num(x1), htmlpage.Num(p.f.y.To), htmlpage.Num(lane+30), htmlpage.Num(x2), htmlpage.Num(p.f.y.To), htmlpage.Num(lane+30))
		p.c.Titled(b.name+" "+track.SpanText(b.to.Sub(b.from)), func() { p.c.Rect(b.class, x1, lane+12, max(x2-x1, 1), 18) })
		text := b.name + " " + track.SpanText(b.to.Sub(b.from))
		switch room := x2 - x1; {
		case b.name == "D" && room > 7*float64(len(text)+24):
			p.c.Text("bt", "m", (x1+x2)/2, lane+25, text+": "+shortCause(e))
		case room > 7*float64(len(text)):
			p.c.Text("bt", "m", (x1+x2)/2, lane+25, text)
		case room > 10:
			p.c.Text("bt", "m", (x1+x2)/2, lane+25, b.name)
		default:
			below = max((x1+x2)/2, below+9)
			p.c.Text("t", "m", below, lane+42, b.name)
		}
	}
	p.c.Path("guide", &lines)
}

// shortCause is a causeText that fits a bar.
func shortCause(e *track.Episode) string {
	switch e.Kind {
	case track.SYN:
		return "SYN timer"
	case track.RTO:
		return "retransmission timer"
	case track.TLP:
		return "probe timer"
	case track.Fast:
		return "by ACKs"
	case track.Probe:
		return "window probe timer"
	}
	return "cause unknown"
}

// episodeText describes an episode in words.
func episodeText(f *track.Flow, e *track.Episode) string {
	var b strings.Builder
	cause := "unknown cause"
	if len(e.Retransmissions) > 0 {
		cause = causeText(&e.Retransmissions[0], f.Timers().Best)
	}
	what := bytesText(int64(e.Bytes))
	switch {
	case e.Estimated:
		fmt.Fprintf(&b, "%s, whose first transmission was not captured, %s retransmitted", what, were(int64(e.Bytes)))
	case e.FirstPacket > 0:
		fmt.Fprintf(&b, "The %s of packet %d %s retransmitted", what, e.FirstPacket, were(int64(e.Bytes)))
	default:
		fmt.Fprintf(&b, "%s %s retransmitted", what, were(int64(e.Bytes)))
	}
	fmt.Fprintf(&b, " as packet %d, D = %s later: %s. %s.", e.DetectedPacket, track.SpanText(e.D), cause, upper(verdictText(e.Spurious, e.Evidence)))
	switch {
	case e.Repaired && e.RepairPacket != e.DetectedPacket:
		fmt.Fprintf(&b, " Packet %d arrived, A = %s later; packet %d acknowledges it, P = %s after that.", e.RepairPacket, track.SpanText(e.A), e.AckedPacket, track.SpanText(e.P))
	case e.Repaired:
		fmt.Fprintf(&b, " Packet %d acknowledges it, P = %s later.", e.AckedPacket, track.SpanText(e.P))
	default:
		b.WriteString(" No ACK of it was captured.")
	}
	if e.Repaired {
		fmt.Fprintf(&b, " T_rec %s", track.SpanText(e.TRec))
		if e.RTT > 0 {
			fmt.Fprintf(&b, ", RTT %s", track.SpanText(e.RTT))
		}
		b.WriteString(".")
	}
	if e.Total > 1 {
		fmt.Fprintf(&b, " The episode has %d retransmissions", e.Total)
		if e.Timeouts > 0 {
			fmt.Fprintf(&b, ", %d of them by the retransmission timer", e.Timeouts)
		}
		b.WriteString(".")
	}
	if e.HasIdealD {
		fmt.Fprintf(&b, " With an exact timer, or by ACKs if there were any, D could have been %s: tax %s.", track.SpanText(e.IdealD), track.SpanText(e.TimerTax))
	}
	if e.TimeLost > 0 {
		waited := "none"
		if e.TimerWait > 0 {
			waited = track.SpanText(e.TimerWait)
		}
		fmt.Fprintf(&b, " Time lost %s, %s of it waiting for timers.", track.SpanText(e.TimeLost), waited)
	}
	if e.Closed && e.Length > e.TRec+time.Microsecond {
		fmt.Fprintf(&b, " Everything in flight was acknowledged after %s.", track.SpanText(e.Length))
	}
	return b.String()
}

// upper returns s with a capital first letter.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
