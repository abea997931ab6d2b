package report

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// markKind is the kind of a mark in a time-sequence diagram.
type markKind uint8

const (
	sent    markKind = iota // data, first transmission
	resent                  // a retransmission
	late                    // overtaken by later packets
	missing                 // not captured
	acked                   // an ACK: from SEG.ACK to the end of the window
	sacked
	dsacked
	keepalive
	probe
	reset

	markKinds
)

var markNames = [markKinds]string{"data", "again", "late", "missing", "ack", "sack", "dsack", "keepalive", "probe", "reset"}

// mark is one thing to draw. Times are the sender's.
type mark struct {
	at, until  wheel.Time // until differs from at if marks are merged
	began      wheel.Time // at of the first merged mark
	start, end int64
	packet     int64
	rexmit     *track.Retransmission
	merged     int32 // how many marks are merged into it
	kind       markKind
	flags      tcp.Flags
}

// rtt is an RTT sample.
type rtt struct {
	at   wheel.Time
	took time.Duration
}

// flowTrace holds the marks and RTT samples of a flow.
type flowTrace struct {
	marks  []mark
	grain  time.Duration // marks of a kind that are closer are merged
	rtts   stat.Sample[rtt]
	merged int64 // marks that were merged into others
}

// connTrace holds the traces of a connection.
type connTrace struct {
	flows   [2]flowTrace
	dropped bool // its marks are no longer kept
}

// maxRTTs is the most RTT samples kept for a flow.
const maxRTTs = 1 << 11

// len returns the number of kept marks and RTT samples.
func (t *flowTrace) len() int { return len(t.marks) + len(t.rtts.Kept()) }

func (c *connTrace) len() int { return c.flows[0].len() + c.flows[1].len() }

// add records an event of the tracker.
func (t *flowTrace) add(ev *track.Event) {
	m := mark{at: ev.At, until: ev.At, began: ev.At, start: ev.Start, end: ev.End, packet: ev.Packet, flags: ev.Flags}
	switch ev.Kind {
	case track.SentNew:
		m.kind = sent
	case track.Retransmitted:
		m.kind, m.rexmit = resent, ev.Retransmission
	case track.Late:
		m.kind = late
	case track.Missing:
		m.kind = missing
	case track.Keepalive:
		m.kind = keepalive
	case track.WindowProbe:
		m.kind = probe
	case track.ResetSeen:
		m.kind = reset
	case track.RTTSample:
		t.rtts.Add(rtt{ev.Seen, ev.Seen.Sub(ev.At)}, maxRTTs)
		return
	case track.Acked:
		m.kind = acked
		m.at = ev.At.Add(ev.Flow.Lag())
		m.until, m.began, m.end = m.at, m.at, -1
		if ev.Window >= 0 {
			m.end = ev.Start + ev.Window
		}
		t.marks = append(t.marks, m)
		for i, b := range ev.SACK[:ev.NumSACK] {
			m.kind, m.start, m.end = sacked, b[0], b[1]
			if i == 0 && b[1] <= ev.Start {
				m.kind = dsacked
			}
			t.marks = append(t.marks, m)
		}
		return
	default:
		return
	}
	t.marks = append(t.marks, m)
}

// stretch is a period of time without merged marks.
type stretch struct{ from, to wheel.Time }

// around returns the magnified period of an episode, and an RTT before and after: up to the first
// repair, or up to the end if more time than that was lost.
func around(e *track.Episode) stretch {
	end := e.Detected
	if e.Repaired {
		end = max(end, e.Acked)
	}
	switch {
	case e.Closed && e.TimeLost > lasted(e):
		end = max(end, e.Ended)
	case e.Closed:
		end = max(end, min(e.Ended, end.Add(2*e.RTT+end.Sub(e.PrevSent)/2)))
	}
	pad := max(e.RTT, end.Sub(e.PrevSent)/12)
	return stretch{e.PrevSent.Add(-pad), end.Add(pad / 2)}
}

// longest returns the n longest episodes, longest first.
func longest(all []*track.Episode, n int) []*track.Episode {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *track.Episode) int {
		return cmp.Or(cmp.Compare(lasted(b), lasted(a)), cmp.Compare(a.DetectedPacket, b.DetectedPacket))
	})
	return all[:min(n, len(all))]
}

// lasted returns the length of an episode as far as it is known.
func lasted(e *track.Episode) time.Duration { return max(e.D, e.TRec) }

// compact merges marks until at most limit are left. It merges neighbours of a kind, nearest first,
// and marks outside the longest episodes before marks inside. It merges retransmissions only if
// there are more of them than limit.
func (t *flowTrace) compact(f *track.Flow, limit, zooms int) {
	if len(t.marks) <= limit {
		return
	}
	first, last := t.marks[0].at, t.marks[0].until
	for i := range t.marks {
		first, last = min(first, t.marks[i].at), max(last, t.marks[i].until)
	}
	// A damaged capture may span centuries, more than a Duration can hold.
	whole := time.Duration(1 << 60)
	if d := last.Sub(first); d >= 0 && d < whole {
		whole = d + 1
	}
	grain := max(t.grain, whole/8192, 1)
	for n := zooms; ; n /= 2 {
		var keep []stretch
		for _, e := range longest(f.Episodes, n) {
			keep = append(keep, around(e))
		}
		most := whole / 256 // less magnification is better than no overview
		if n == 0 {
			most = whole
		}
		for g := grain; len(t.marks) > limit && g/2 < most; g *= 2 {
			t.thin(keep, g, false)
			t.grain = min(g, whole/256)
		}
		if len(t.marks) <= limit {
			return
		}
		if n == 0 {
			break
		}
	}
	for g := grain; len(t.marks) > limit && g/4 < whole; g *= 2 {
		t.thin(nil, g, true)
	}
}

// thin merges marks of a kind that follow each other within span.
func (t *flowTrace) thin(keep []stretch, within time.Duration, all bool) {
	var open [markKinds]int // index+1 of the last mark of the kind that may take others
	kept := t.marks[:0]
	for _, m := range t.marks {
		if !all && !m.mergeable(keep) {
			if m.kind == acked {
				open[acked] = 0
			}
			kept = append(kept, m)
			continue
		}
		if i := open[m.kind]; i > 0 {
			if into := &kept[i-1]; m.until.Sub(into.began) <= within {
				into.merge(&m)
				t.merged++
				continue
			}
		}
		kept = append(kept, m)
		open[m.kind] = len(kept)
	}
	clear(t.marks[len(kept):])
	t.marks = kept
}

// mergeable reports whether a mark may be merged: it is neither magnified nor important.
func (m *mark) mergeable(keep []stretch) bool {
	switch m.kind {
	case sent:
		if m.flags.HasAny(tcp.SYN | tcp.FIN) {
			return false
		}
	case acked:
		if m.end == m.start {
			return false // it closes the window
		}
	case sacked, missing, late:
	default:
		return false
	}
	for _, s := range keep {
		if m.until >= s.from && m.at <= s.to {
			return false
		}
	}
	return true
}

// merge merges a later mark of the kind into m. The later ACK counts.
func (m *mark) merge(o *mark) {
	if m.kind == acked {
		n := m.merged
		began := m.began
		*m = *o
		m.merged, m.began = m.merged+n+1, began
		return
	}
	m.start, m.end = min(m.start, o.start), max(m.end, o.end)
	m.at, m.until, m.began = min(m.at, o.at), max(m.until, o.until), min(m.began, o.began)
	m.merged += o.merged + 1
	m.flags |= o.flags
}
