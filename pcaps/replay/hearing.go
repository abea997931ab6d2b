package replay

import (
	"cmp"
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// hearing is a packet of the capture as it arrives at an end: a segment, or an ACK by itself.
type hearing struct {
	at         wheel.Time // it arrives
	sent       wheel.Time // it left
	packet     int        // of the capture, -1 for one that is not in it
	start, end int64
	ack        int64
	late       bool // others overtook it
	tail       bool // the last segment of its packet
}

// hearings finds what arrives at each end.
func (m *maker) hearings() (all [2][]hearing) {
	for d := range m.own {
		w, to := &m.ways[d], 1-d
		arrived := m.arrivals(d)
		add := func(n, packet int, ack int64, tail bool) {
			s := &w.sent[n]
			if arrived[n] != 0 {
				all[to] = append(all[to], hearing{arrived[n], m.virtual(s.at.Add(-w.near / 2)), packet, s.start, s.end, ack, s.late, tail})
			}
		}
		told, next := int64(0), 0
		for i := range m.own[d] {
			x := &m.own[d][i]
			if x.reset {
				continue
			}
			for ; x.n >= 0 && next < x.n; next++ {
				if w.sent[next].unseen {
					add(next, -1, told, true)
				}
			}
			told = max(told, x.ack)
			if x.n < 0 {
				if !m.unheard(d, x) {
					at, sent := m.virtual(x.at.Add(m.half[to]/2)), m.virtual(x.at.Add(-m.half[d]/2))
					all[to] = append(all[to], hearing{at: at, sent: sent, packet: x.order, start: x.start, end: x.start, ack: x.ack})
				}
				continue
			}
			for n := x.n; n < len(w.sent) && w.sent[n].number == m.packets[x.order].number; n++ {
				add(n, x.order, x.ack, w.sent[n].end == x.end)
				next = n + 1
			}
		}
		inLine(all[to])
	}
	return all
}

// inLine puts what arrives somewhere in order. What the script takes to have overtaken nothing does not, though delays are guesses in part.
func inLine(all []hearing) {
	slices.SortStableFunc(all, func(a, b hearing) int { return cmp.Compare(a.sent, b.sent) })
	last := wheel.Time(0)
	for i := range all {
		x := &all[i]
		if x.late {
			continue
		}
		if x.at = max(x.at, last); x.end > x.start {
			last = x.at
		}
	}
	slices.SortStableFunc(all, func(a, b hearing) int { return cmp.Compare(a.at, b.at) })
}

// repeat is a retransmission of the capture.
type repeat struct {
	at         wheel.Time
	start, end int64
	try        int
}

// repeats returns the retransmissions, by when they left.
func (w *Way) repeats() (all []repeat) {
	for i := range w.Ranges {
		r := &w.Ranges[i]
		for k := range r.Tries {
			if k > 0 {
				all = append(all, repeat{r.Tries[k].Sent, int64(r.Start), int64(r.End), k + 1})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b repeat) int { return cmp.Compare(a.at, b.at) })
	return all
}

// began returns when the first packet of the capture left.
func (s *Script) began() wheel.Time {
	at := s.End
	for d := range s.wire.heard {
		for i := range s.wire.heard[d] {
			at = min(at, s.wire.heard[d][i].sent)
		}
	}
	return at
}

// window returns what an end offers with a packet, as the header of one has it with that scale.
func (w *wire) window(end int, p *packet, scale uint8) uint16 {
	switch a, b := &w.syn[end], &w.syn[1-end]; {
	case p.flags.Has(tcp.SYN):
		return p.window
	case !w.hasSYN[end] || !w.hasSYN[1-end]:
		return 65535 // the scale is not known
	case a.HasWScale && b.HasWScale:
		return uint16(min(uint32(p.window)<<min(a.WScale, 14)>>scale, 65535))
	default:
		return uint16(min(uint32(p.window)>>scale, 65535))
	}
}

// try returns what the capture tells of a transmission, nil for nothing.
func (w *Way) try(pos int64, try int) *Try {
	r, ok := w.find(uint64(max(pos, 0)))
	if !ok || try < 1 || try > len(r.Tries) {
		return nil
	}
	return &r.Tries[try-1]
}

// left reports whether a transmission of all octets of a segment left before an instant.
func (w *Way) left(pos, end int64, try int, before wheel.Time) bool {
	for at := uint64(max(pos, 0)); at < uint64(end); {
		r, ok := w.find(at)
		if !ok || try < 1 || try > len(r.Tries) || r.Tries[try-1].Sent >= before {
			return false
		}
		at = r.End
	}
	return true
}

// before returns how many transmissions left before an instant.
func (w *Way) before(at wheel.Time) (n int) {
	i, _ := slices.BinarySearch(w.order, at)
	return i
}
