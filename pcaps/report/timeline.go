package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"tcpwheel/pcaps/htmlpage"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// maxGaps is the most idle times that are cut out of a connection's diagrams.
const maxGaps = 8

// Sizes of a cut time axis, in SVG units.
const (
	gapWidth     = 20
	segmentWidth = 6 // at least
)

// idleTimes returns the times to cut out of a connection's diagrams, in order. In them no packet
// was captured and nothing was in flight. Each is longer than a tenth of the time that is left.
// Waits for a retransmission or for a window are never among them. Bytes without an ACK or a
// retransmission for 20 RTTs and a second had arrived: their ACK was not captured.
func (d *drawing) idleTimes() []stretch {
	type flowMark struct {
		*mark
		flow int
	}
	var all []flowMark
	for i := range d.trace.flows {
		marks := d.trace.flows[i].marks
		for k := range marks {
			all = append(all, flowMark{&marks[k], i})
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(a, b flowMark) int { return cmp.Compare(a.at, b.at) })
	var sentTo, ackedTo [2]int64
	var closed [2]bool
	var quiet []stretch
	until := all[0].at
	arrived := 20 * max(d.conn.Flows[0].RTT.Mean, d.conn.Flows[1].RTT.Mean)
	for _, m := range all {
		inFlight := sentTo[0] > ackedTo[0] || sentTo[1] > ackedTo[1]
		if arrived > 0 && m.at.Sub(until) > max(arrived, time.Second) {
			inFlight = false
		}
		if q := (stretch{until, m.at}); m.at > until && !inFlight && !closed[0] && !closed[1] && !d.inEpisode(q) {
			quiet = append(quiet, q)
		}
		until = max(until, m.until)
		switch m.kind {
		case sent, resent, late, missing:
			sentTo[m.flow] = max(sentTo[m.flow], m.end)
		case acked:
			ackedTo[m.flow] = max(ackedTo[m.flow], m.start)
			closed[m.flow] = m.end == m.start
		}
	}
	slices.SortStableFunc(quiet, func(a, b stretch) int { return cmp.Compare(b.to.Sub(b.from), a.to.Sub(a.from)) })
	left := until.Sub(all[0].at)
	n := 0
	for _, q := range quiet[:min(maxGaps, len(quiet))] {
		length := q.to.Sub(q.from)
		if length <= left/10 || left <= length {
			break
		}
		left -= length
		n++
	}
	quiet = quiet[:n]
	slices.SortFunc(quiet, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return quiet
}

// inEpisode reports whether s overlaps the time from an episode's first transmission to its last
// retransmission.
func (d *drawing) inEpisode(s stretch) bool {
	for i := range d.conn.Flows {
		for _, e := range d.conn.Flows[i].Episodes {
			last := max(e.Detected, e.RepairSent)
			if n := len(e.Retransmissions); n > 0 {
				last = max(last, e.Retransmissions[n-1].Sent)
			}
			if e.PrevSent < s.to && last > s.from {
				return true
			}
		}
	}
	return false
}

// timeline is a time axis in seconds from which gaps are cut. Each segment has the same scale, but
// for a least width. It has one segment more than gaps.
type timeline []htmlpage.Scale

// newTimeline returns an axis from one time to another, without the gaps between them.
func newTimeline(first, last wheel.Time, gaps []stretch, origin wheel.Time, from, to float64) timeline {
	seconds := func(t wheel.Time) float64 { return t.Sub(origin).Seconds() }
	var line timeline
	lo, busy := seconds(first), 0.0
	cut := func(hi float64) {
		line = append(line, htmlpage.Scale{Lo: lo, Hi: hi})
		busy += hi - lo
	}
	for _, g := range gaps {
		if g.from >= first && g.to <= last {
			cut(seconds(g.from))
			lo = seconds(g.to)
		}
	}
	if cut(seconds(last)); busy <= 0 {
		return timeline{htmlpage.NewScale(seconds(first), seconds(last), from, to)}
	}
	n := float64(len(line))
	room := to - from - gapWidth*(n-1)
	for i := range line {
		width := room * (line[i].Hi - line[i].Lo) / busy
		if n > 1 {
			width = segmentWidth + (room-segmentWidth*n)*(line[i].Hi-line[i].Lo)/busy
		}
		line[i].From, line[i].To = from, from+width
		from += width + gapWidth
	}
	return line
}

// at returns the pixel of a time.
func (l timeline) at(v float64) float64 {
	for i, s := range l {
		switch {
		case i > 0 && v < s.Lo: // in the gap before
			gap := htmlpage.Scale{Lo: l[i-1].Hi, Hi: s.Lo, From: l[i-1].To, To: s.From}
			return gap.At(v)
		case v <= s.Hi && s.Hi > s.Lo:
			return s.At(v)
		case v <= s.Hi:
			return s.From
		}
	}
	last := l[len(l)-1]
	if last.Hi > last.Lo {
		return last.At(v)
	}
	return last.To
}

// ticks returns about n round times outside the gaps.
func (l timeline) ticks(n int) (all []tick) {
	busy := 0.0
	for _, s := range l {
		busy += s.Hi - s.Lo
	}
	round := htmlpage.NewScale(0, busy, 0, 1).Ticks(n)
	for _, s := range l {
		whole := s
		if len(l) > 1 && len(round) > 1 {
			n = int((s.Hi-s.Lo)/(round[1]-round[0])) + 1
		}
		for _, v := range whole.Ticks(n) {
			all = append(all, tick{s.At(v), plainTick(v)})
		}
	}
	return all
}

// drawGaps marks the gaps from top to bottom with how long they were.
func (l timeline) drawGaps(c *htmlpage.Canvas, top, bottom float64) {
	for i := 1; i < len(l); i++ {
		x1, x2 := l[i-1].To, l[i].From
		idle := track.SpanText(time.Duration((l[i].Lo-l[i-1].Hi)*1e9+0.5)) + " idle"
		c.Titled(idle+", cut out", func() {
			c.Rect("gap", x1, top, x2-x1, bottom-top)
			var edges strings.Builder
			for _, x := range []float64{x1, x2} {
				edges.WriteString("M" + htmlpage.Num(x) + " " + htmlpage.Num(top) + "V" + htmlpage.Num(bottom))
			}
			c.Path("guide", &edges)
			x, y := htmlpage.Num((x1+x2)/2+4), htmlpage.Num((top+bottom)/2)
			c.Raw(`<text class="bt m" transform="rotate(-90 ` + x + ` ` + y + `)" x="` + x + `" y="` + y + `">` + idle + `</text>`)
		})
	}
}
