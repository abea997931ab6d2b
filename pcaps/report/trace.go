package report

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// markKind is what a mark of a time-sequence diagram stands for.
type markKind uint8

const (
	sent    markKind = iota // octets for the first time
	resent                  // once more
	late                    // overtaken by others
	missing                 // not captured
	acked                   // an ACK: from the first octet that it does not acknowledge to the end of the window
	sacked
	dsacked
	keepalive
	probe
	reset

	markKinds
)

var markNames = [markKinds]string{"data", "again", "late", "missing", "ack", "sack", "dsack", "keepalive", "probe", "reset"}

// mark is a thing to draw. Times are of the sender's clock.
type mark struct {
	at, until  wheel.Time // until differs where several are merged
	began      wheel.Time // at, of the first that is merged
	start, end int64
	packet     int64
	rexmit     *track.Retransmission
	merged     int32 // how many others are in it
	kind       markKind
	flags      tcp.Flags
}

// rtt is a round trip that an ACK has told.
type rtt struct {
	at   wheel.Time
	took time.Duration
}

// flowTrace is what was seen of a flow.
type flowTrace struct {
	marks   []mark
	grain   time.Duration // marks of a kind within less are merged
	rtts    []rtt
	merged  int64 // marks that are in others
	rttStep int   // only each so-many-th is kept
	rttSeen int
}

// connTrace is what was seen of a connection.
type connTrace struct {
	flows   [2]flowTrace
	dropped bool // nothing more is kept of it
}

// len returns how many marks and round trips are kept.
func (t *flowTrace) len() int { return len(t.marks) + len(t.rtts) }

func (c *connTrace) len() int { return c.flows[0].len() + c.flows[1].len() }

// add takes in what the tracker tells.
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
		t.measure(rtt{ev.Seen, ev.Seen.Sub(ev.At)})
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

// maxRTTs is how many round trips are kept of a flow.
const maxRTTs = 1 << 11

// measure keeps a round trip; of more than maxRTTs each second one, and so on.
func (t *flowTrace) measure(r rtt) {
	t.rttStep = max(t.rttStep, 1)
	if t.rttSeen++; (t.rttSeen-1)%t.rttStep != 0 {
		return
	}
	if len(t.rtts) == maxRTTs {
		t.fewerRTTs()
		if (t.rttSeen-1)%t.rttStep != 0 {
			return
		}
	}
	t.rtts = append(t.rtts, r)
}

// fewerRTTs keeps each second one.
func (t *flowTrace) fewerRTTs() {
	n := (len(t.rtts) + 1) / 2
	for i := range n {
		t.rtts[i] = t.rtts[2*i]
	}
	t.rtts, t.rttStep = t.rtts[:n], 2*t.rttStep
}

// stretch is a time that is kept whole.
type stretch struct{ from, to wheel.Time }

// around returns what is magnified of an episode: all of it, and a round trip before and after.
func around(e *track.Episode) stretch {
	end := e.Detected
	if e.Repaired {
		end = max(end, e.Acked)
	}
	if e.Closed {
		end = max(end, min(e.Ended, end.Add(2*e.RTT+end.Sub(e.PrevSent)/2)))
	}
	pad := max(e.RTT, end.Sub(e.PrevSent)/12)
	return stretch{e.PrevSent.Add(-pad), end.Add(pad / 2)}
}

// longest returns the n longest episodes, the longest first.
func longest(all []*track.Episode, n int) []*track.Episode {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *track.Episode) int {
		return cmp.Or(cmp.Compare(lasted(b), lasted(a)), cmp.Compare(a.DetectedPacket, b.DetectedPacket))
	})
	return all[:min(n, len(all))]
}

// lasted is how long an episode was, as far as it is known.
func lasted(e *track.Episode) time.Duration { return max(e.D, e.TRec) }

// compact merges marks until at most limit are left: neighbours of a kind, the nearest first, and those outside of the longest episodes
// before those inside. Retransmissions are merged only if there are more of them than the limit.
func (t *flowTrace) compact(f *track.Flow, limit, zooms int) {
	if len(t.marks) <= limit {
		return
	}
	first, last := t.marks[0].at, t.marks[0].until
	for i := range t.marks {
		first, last = min(first, t.marks[i].at), max(last, t.marks[i].until)
	}
	// Stamps may be anything, and centuries are more than a span can be.
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
		most := whole / 256 // rather less magnified than no diagram of the whole
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

// thin merges marks of a kind that follow each other within a span.
func (t *flowTrace) thin(keep []stretch, within time.Duration, all bool) {
	var open [markKinds]int // where the last one of the kind is that may take others in, +1
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

// mergeable reports whether a mark may be merged into others: it is not magnified, and not one to be seen.
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

// merge takes a later mark of the kind in. Of ACKs the later counts.
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
