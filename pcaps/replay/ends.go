package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// live puts what each end did and saw in order, by its own clock.
func (m *maker) live() {
	own := m.own
	for d := range m.deeds {
		var all []deed
		for _, x := range own[d] {
			x.at = m.virtual(x.at.Add(-m.half[d] / 2))
			all = append(all, x)
		}
		arrived := m.arrivals(1 - d)
		for _, x := range own[1-d] {
			x.sends = false
			if x.n < 0 {
				if !m.unheard(1-d, &x) {
					x.at = m.virtual(x.at.Add(m.half[d] / 2))
					all = append(all, x)
				}
				continue
			}
			at, ok := wheel.Time(0), false
			for n := x.n; n < len(arrived) && m.ways[1-d].sent[n].number == m.packets[x.order].number; n++ {
				if a := arrived[n]; a != 0 && (!ok || a > at) {
					at, ok = a, true
				}
			}
			if ok {
				x.at = at
				all = append(all, x)
			}
		}
		slices.SortStableFunc(all, func(a, b deed) int {
			if a.at != b.at {
				return cmp.Compare(a.at, b.at)
			}
			return a.order - b.order
		})
		m.deeds[d] = all
	}
}

// unheard reports whether a packet without octets that an end sent must have been lost behind the point of capture.
func (m *maker) unheard(d int, x *deed) bool {
	return !x.reset && m.script.Ways[d].deaf(m.virtual(x.at.Add(-m.half[d]/2)))
}

// arrivals returns when each transmission of a direction arrived, 0 for those that did not.
func (m *maker) arrivals(d int) []wheel.Time {
	w, way := &m.ways[d], &m.script.Ways[d]
	at := make([]wheel.Time, len(w.sent))
	for i, p := range w.pieces {
		for k, n := range p.tries {
			if p.fates[k] == Lost {
				continue
			}
			if r, ok := way.find(uint64(p.start)); ok && k < len(r.Tries) {
				t := r.Tries[k]
				at[n] = max(at[n], t.Sent.Add(t.Delay))
			}
			_ = i
		}
	}
	return at
}

// find returns the range that holds a place.
func (w *Way) find(pos uint64) (*Range, bool) {
	i, _ := slices.BinarySearchFunc(w.Ranges, pos, func(r Range, pos uint64) int {
		if r.End <= pos {
			return -1
		}
		return 1
	})
	if i == len(w.Ranges) || w.Ranges[i].Start > pos {
		return nil, false
	}
	return &w.Ranges[i], true
}

// end makes the script of an end.
func (m *maker) end(d int) Endpoint {
	f, g := &m.conn.Flows[d], &m.conn.Flows[1-d]
	size := m.ways[d].size
	e := Endpoint{Half: m.half[d], SACK: true, Timestamps: m.stamps(), WScale: true, Window: 65535}
	if e.Timestamps {
		size += 12
	}
	e.MSS = uint16(min(size, 65495))
	scale := uint8(0)
	if f.HasSYN && g.HasSYN {
		e.SACK = f.SYN.SACKPermitted && g.SYN.SACKPermitted
		e.WScale = f.SYN.HasWScale && g.SYN.HasWScale
		if e.WScale {
			scale = f.SYN.WScale
		}
	} else {
		// The scale is not known: the window is as large as what was in flight.
		e.Window = max(e.Window, uint32(m.ways[1-d].greatest()))
		e.SACK = f.HasSYN && f.SYN.SACKPermitted || g.HasSYN && g.SYN.SACKPermitted || m.sacks()
	}
	for _, x := range m.deeds[d] {
		if x.sends && !x.reset && x.start > 0 {
			e.Window = max(e.Window, min(x.window<<scale, 1<<29))
		}
	}
	e.ACKs, e.ACKsRight = m.acknowledging(d)
	e.Writes, e.Flight = m.writes(d)
	e.Permits = m.permits(d, e.Writes)
	e.Timed = m.timed(d)
	e.Answers = m.answers(d, e.SACK)
	return e
}

func (m *maker) sacks() bool {
	return slices.ContainsFunc(m.packets, func(p packet) bool { return p.sacks > 0 })
}

// greatest returns twice the most octets that lay between transmissions at one time, which were in flight together, 1 MiB at least.
func (w *wayMaker) greatest() int64 { return max(1<<20, min(w.max, 1<<26)) }

// prompt is how soon after an ACK a packet counts as caused by it.
const prompt = 2 * time.Millisecond

// writes finds what an application wrote when, from when its octets were sent first. It also returns the octets of the first flight, if
// more were waiting to be sent, or 0.
func (m *maker) writes(d int) (all []Write, flight uint32) {
	size := m.ways[d].size
	var (
		next      = int64(1) // of what was sent
		acked     int64
		ackedAt   wheel.Time // when room was made last
		ackBare   bool
		inFlight  bool // before that ACK
		short     = true
		received  = prefix{end: 0}
		had       int64 // at the write before
		gotAt     wheel.Time
		wroteAt   = m.opened(d)
		anyACK    bool
		firstRoom int64
		arrived   arrived
	)
	add := func(x *deed, octets int64, fin bool) {
		w := Write{Octets: uint64(octets), FIN: fin, Reset: x.reset}
		if received.end > had && received.end > 1 {
			w.Received, w.After = uint64(received.end), max(x.at.Sub(gotAt), 0)
		} else {
			w.After = max(x.at.Sub(wroteAt), 0)
		}
		all = append(all, w)
		had, wroteAt = received.end, x.at
	}
	for i := range m.deeds[d] {
		x := &m.deeds[d][i]
		if !x.sends {
			if x.reset {
				continue
			}
			if x.data {
				was := received.end
				received.add(x.start, x.end)
				if received.end > was {
					gotAt = x.at
				}
			}
			if x.ack > 0 && arrived.ack(m, d, x) || x.ack > acked {
				inFlight = acked < next && next > 1
				acked, ackedAt, ackBare = max(acked, x.ack), x.at, !x.data
				if acked > 1 && !anyACK {
					anyACK = true
					firstRoom = next - 1
				}
			}
			continue
		}
		if x.reset {
			add(x, 0, false)
			break
		}
		if !x.data || !x.first || x.end <= next {
			continue
		}
		octets := x.end - next // with what is missing before it, which was written no later
		if x.fin {
			octets--
		}
		room := inFlight && ackBare && x.at.Sub(ackedAt) <= prompt && x.at >= ackedAt && acked > 1
		same := len(all) > 0 && octets > 0 && !all[len(all)-1].FIN && (!short || room && m.full(x, d, size))
		switch {
		case same:
			all[len(all)-1].Octets += uint64(octets)
			if x.fin {
				all[len(all)-1].FIN = true
			}
			if anyACK && firstRoom > 0 && flight == 0 && room {
				flight = uint32(min(firstRoom, 1<<24))
			}
		case octets > 0 || x.fin:
			add(x, octets, x.fin)
		}
		if anyACK && flight == 0 {
			firstRoom = 0 // more came later, and not because there was no room
		}
		next = x.end
		short = octets%size != 0 || x.push || octets == 0
	}
	if m.tried(d, 0) || m.tried(1-d, 0) {
		flight = 0 // RFC 5681 §3.1: after the loss of a SYN the first window is one segment, and tells nothing
	}
	return all, flight
}

// tried reports whether the octet at a place was sent more than once.
func (m *maker) tried(d int, pos int64) bool {
	w := &m.ways[d]
	i := w.find(pos)
	return i < len(w.pieces) && w.pieces[i].start <= pos && len(w.pieces[i].tries) > 1
}

// full reports whether the segment before x was a full one.
func (m *maker) full(x *deed, d int, size int64) bool {
	w := &m.ways[d]
	i := w.find(x.start - 1)
	return x.start > 1 && i < len(w.pieces) && w.pieces[i].end-w.pieces[i].start >= size
}

// opened returns when the connection was open to an end: the client when it had the SYN-ACK, the server when it had the ACK of its own.
func (m *maker) opened(d int) wheel.Time {
	for _, x := range m.deeds[d] {
		if !x.sends && !x.reset && x.ack > 0 {
			return x.at
		}
		if x.sends && x.start > 0 {
			return x.at
		}
	}
	return 0
}

// prefix is how much of a stream has come without a gap, and what has come behind it.
type prefix struct {
	end  int64
	held []block
}

// add takes a range in, and reports whether it left a gap before it, filled one, or brought nothing.
func (p *prefix) add(start, end int64) (gap, filled, twice bool) {
	if end <= p.end {
		return len(p.held) > 0, false, true
	}
	if start > p.end {
		if slices.ContainsFunc(p.held, func(b block) bool { return b.start <= start && end <= b.end }) {
			return true, false, true
		}
		if len(p.held) < 1<<12 {
			p.held = append(p.held, block{start, end})
		}
		return true, false, false
	}
	p.end = end
	filled = len(p.held) > 0
	for again := true; again; {
		again = false
		for i, b := range p.held {
			if b.start <= p.end {
				p.end = max(p.end, b.end)
				p.held = slices.Delete(p.held, i, i+1)
				again = true
				break
			}
		}
	}
	return len(p.held) > 0, filled, false
}
