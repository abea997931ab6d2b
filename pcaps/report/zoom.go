package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"tcpwheel/internal/quantity"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// zoom draws an episode with D, A and P below it.
func (d *drawing) zoom(i int, e *track.Episode, origin wheel.Time) picture {
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
	margin := float64(hi-lo)/12 + 1
	fig := figure.Figure{
		Name: fmt.Sprintf("conn%d-packet%d", d.conn.ID, e.DetectedPacket), Title: fmt.Sprintf("packet %d: %s, D %s", e.DetectedPacket, e.Kind, track.SpanText(e.D)),
		Caption: episodeText(f, e), Wide: true, Height: 288, Lane: 46,
		X: timeAxis(senderSeconds, s.from.Sub(origin).Seconds(), s.to.Sub(origin).Seconds()), Y: figure.Over(sequenceAxis, float64(lo)-margin, float64(hi)+margin),
		Draw: func(frame *figure.Plot) []figure.Item {
			p := plotter{Plot: frame, origin: origin, said: d.said, used: map[string]bool{}, detail: len(marks) <= 400}
			p.spans(e)
			p.Inside(func() { p.draw(marks, f.Timers().Best) })
			return p.legend(legendOf)
		},
	}
	return picture{fig, dataOf(marks, origin)}
}

const senderSeconds = "seconds since the capture began, by the sender's clock"

// spans draws D, A and P as bars in the lane. Lines into the plot mark where each begins and ends.
func (p *plotter) spans(e *track.Episode) {
	lane := p.Y.From
	type bar struct {
		name, class string
		from, to    wheel.Time
	}
	bars := []bar{{"D", "cell class k1", e.PrevSent, e.PrevSent.Add(e.D)}}
	if e.Repaired {
		bars = append(bars, bar{"A", "cell class k4", e.Detected, e.RepairSent}, bar{"P", "cell class k2", e.RepairSent, e.RepairSent.Add(e.P)})
	}
	var lines strings.Builder
	below := -9.0 // where the last name below the lane is
	for _, b := range bars {
		if b.to <= b.from {
			continue
		}
		x1, x2 := p.x(b.from), p.x(b.to)
		fmt.Fprintf(&lines, "M%s %sV%sM%s %sV%s", figure.Num(x1), figure.Num(p.Y.To), figure.Num(lane+30), figure.Num(x2), figure.Num(p.Y.To), figure.Num(lane+30))
		p.Titled(b.name+" "+track.SpanText(b.to.Sub(b.from)), func() { p.Rect(b.class, x1, lane+12, max(x2-x1, 1), 18) })
		text := b.name + " " + track.SpanText(b.to.Sub(b.from))
		switch room := x2 - x1; {
		case b.name == "D" && room > 7*float64(len(text)+24):
			p.Text("bt", "m", (x1+x2)/2, lane+25, text+": "+shortCause(e))
		case room > 7*float64(len(text)):
			p.Text("bt", "m", (x1+x2)/2, lane+25, text)
		case room > 10:
			p.Text("bt", "m", (x1+x2)/2, lane+25, b.name)
		default:
			below = max((x1+x2)/2, below+9)
			p.Text("t", "m", below, lane+42, b.name)
		}
	}
	p.Path("mark", &lines)
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
	what := quantity.Count(e.Bytes, "byte")
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
