package report

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// maxGaps is the most idle times that are cut out of a connection's diagrams.
const maxGaps = 8

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

// timeAxis returns the time axis of the connection's diagrams, without its idle times.
func (d *drawing) timeAxis(first, last, origin wheel.Time) figure.Axis {
	a := timeAxis(sinceBegin, first.Sub(origin).Seconds(), last.Sub(origin).Seconds())
	for _, q := range d.gaps {
		a.Cuts = append(a.Cuts, figure.Cut{
			From: q.from.Sub(origin).Seconds(), To: q.to.Sub(origin).Seconds(), Text: track.SpanText(q.to.Sub(q.from)) + " idle",
		})
	}
	return a
}
