package replay

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// maker makes a script of the packets of a connection.
type maker struct {
	conn    *track.Conn
	packets []packet
	ways    [2]wayMaker
	half    [2]time.Duration // from the point of capture to each end and back
	base    [2]tcp.Seq
	started [2]bool
	last    [2]int64 // the last place, to count on from
	epoch   wheel.Time
	script  *Script
	deeds   [2][]deed
	own     [2][]deed                 // what each end sent, by the clock of the capture
	acks    [2]tcptimers.DelAckConfig // how each end acknowledges, as far as was found out
}

// deed is what an end did or saw, by its own clock.
type deed struct {
	at     wheel.Time
	order  int
	sends  bool // or it received
	data   bool
	start  int64
	end    int64
	ack    int64
	n      int // of the way's transmissions
	first  bool
	push   bool
	flags  tcp.Flags
	fin    bool
	reset  bool
	window uint32
}

// extract makes the script of a connection that is complete.
func extract(c *track.Conn, packets []packet) (*Script, error) {
	m := &maker{conn: c, packets: packets, script: &Script{Near: c.Flows[0].Vantage.String()}}
	if c.Flows[0].Packets == 0 || c.Flows[1].Packets == 0 {
		return nil, refuse("the capture has one direction of it only")
	}
	if c.End == track.Evicted {
		return nil, refuse("it was given up before its end, to bound memory")
	}
	m.prepare()
	m.read()
	if len(m.ways[0].sent)+len(m.ways[1].sent) == 0 {
		return nil, refuse("no octets were sent")
	}
	rtt := m.roundTrip()
	if rtt <= 0 {
		return nil, refuse("no round trip was measured")
	}
	for d := range m.ways {
		m.ways[d].finish(packets[len(packets)-1].at, rtt)
	}
	for d := range m.ways {
		m.ways[d].loseDeaf(m.ways[1-d].deaf)
	}
	s := m.script
	s.Epoch = m.epoch
	s.End = m.virtual(packets[len(packets)-1].at)
	s.IPv6 = c.Flows[0].Src.Addr().Is6()
	m.own = m.deeds
	for d := range m.ways {
		s.Ways[d] = m.way(d, rtt)
	}
	m.live()
	// How an end acknowledges tells which ACKs came late for the way, and not because they were put off: once more, with that.
	for d := range m.ways {
		m.acks[d], _ = m.acknowledging(d)
	}
	for d := range m.ways {
		s.Ways[d] = m.way(d, rtt)
	}
	m.live()
	for d := range s.Ends {
		s.Ends[d] = m.end(d)
	}
	m.opening(rtt)
	m.losses()
	m.feeds()
	return s, nil
}

// prepare finds what must be known before the first packet is looked at.
func (m *maker) prepare() {
	c := m.conn
	for d := range m.ways {
		w := &m.ways[d]
		m.half[d] = c.Flows[d].SourceRTT()
		w.verdicts = map[int64]track.Retransmission{}
		for _, e := range c.Flows[d].Episodes {
			for _, r := range e.Retransmissions {
				w.verdicts[r.Packet] = r
			}
		}
	}
	// What one point cannot tell is taken from the whole round trip.
	for d := range m.ways {
		if least := c.Flows[d].RTT.Min; m.half[0]+m.half[1] == 0 && least > 0 {
			m.half[1-d] = least
		}
	}
	if c.Flows[0].Vantage == track.AtReceiver { // the second end captured
		m.half[0], m.half[1] = max(m.half[0], c.Flows[1].SourceRTT()), 0
		m.half[0] = max(m.half[0], c.Flows[0].SourceRTT(), c.Flows[0].RTT.Min)
	}
	if c.Flows[0].Vantage == track.AtSender {
		m.half[0] = 0
		m.half[1] = max(m.half[1], c.Flows[1].SourceRTT())
		if least := c.Flows[0].RTT.Min; least > 0 {
			m.half[1] = least
		}
	}
	for d := range m.ways {
		m.ways[d].near, m.ways[d].far = m.half[d], m.half[1-d]
		m.ways[d].size = m.segmentSize(d)
	}
	first := m.packets[0].at
	m.epoch = first - first%wheel.Time(time.Second)
	for first.Sub(m.epoch) < m.half[0]+m.half[1]+time.Second {
		m.epoch -= wheel.Time(time.Second)
	}
}

func (m *maker) virtual(at wheel.Time) wheel.Time { return wheel.Time(at.Sub(m.epoch)) }

// segmentSize returns how long the segments of an end are: the longest that came often and ended no write, or what the handshake allows.
func (m *maker) segmentSize(d int) int64 {
	allowed := int64(0)
	if f := &m.conn.Flows[1-d]; f.HasSYN && f.SYN.HasMSS {
		allowed = int64(f.SYN.MSS)
		if m.stamps() {
			allowed -= 12
		}
	}
	counts := map[uint32]int{}
	longest := uint32(0)
	for i := range m.packets {
		p := &m.packets[i]
		if int(p.flow) != d || p.len == 0 || allowed > 0 && int64(p.len) > allowed || p.flags.Has(tcp.PSH) {
			continue
		}
		if counts[p.len]++; counts[p.len] >= 3 || len(counts) > 1<<12 {
			longest = max(longest, p.len)
		}
	}
	switch {
	case allowed > 0 && (longest < 500 || int64(longest) > allowed):
		return max(allowed, tcp.MinMSS)
	case longest >= 500:
		return int64(longest)
	}
	return 1448
}

func (m *maker) stamps() bool {
	a, b := &m.conn.Flows[0], &m.conn.Flows[1]
	if a.HasSYN && b.HasSYN {
		return a.SYN.HasTimestamps && b.SYN.HasTimestamps
	}
	for i := range m.packets {
		if m.packets[i].hasTS {
			return true
		}
	}
	return false
}

// place returns where in the stream of an end a number is.
func (m *maker) place(d int, s tcp.Seq) int64 {
	return m.last[d] + int64(int32(s-(m.base[d]+tcp.Seq(m.last[d]))))
}

func (m *maker) start(d int, s tcp.Seq, syn bool) {
	if m.started[d] {
		return
	}
	m.started[d] = true
	m.base[d] = s
	if !syn {
		m.base[d]-- // what was not captured counts as the SYN
		m.ways[d].max = 1
		m.last[d] = 1
	}
}

// farOff is how far from the others a number may be: RFC 7323 §2.3, windows are less than 2^30 octets.
const farOff = 1 << 30

// read goes through the packets.
func (m *maker) read() {
	for i := range m.packets {
		p := &m.packets[i]
		d := int(p.flow)
		if p.flags.Has(tcp.RST) {
			m.deeds[d] = append(m.deeds[d], deed{at: p.at, sends: true, reset: true, n: -1, order: i})
			continue
		}
		m.start(d, p.seq, p.flags.Has(tcp.SYN))
		if p.flags.Has(tcp.ACK) {
			m.start(1-d, p.ack, false)
		}
		w := &m.ways[d]
		start := m.place(d, p.seq)
		if off := start - w.max; off > farOff || off < -farOff || start < 0 {
			continue
		}
		x := deed{at: p.at, sends: true, start: start, end: start, n: -1, order: i, window: uint32(p.window), flags: p.flags}
		if n := p.segLen(); n > 0 && !w.isKeepalive(p, start) {
			m.last[d] = max(m.last[d], start)
			x.first = start+n > w.max
			x.n = len(w.sent)
			x.data, x.end = true, start+n
			x.push = p.flags.Has(tcp.PSH)
			x.fin = p.flags.Has(tcp.FIN)
			m.split(w, p, start, start+n)
			for x.n < len(w.sent)-1 && w.sent[x.n].number != p.number {
				x.n++ // what is missing before it
			}
		}
		if p.flags.Has(tcp.ACK) {
			x.ack = m.acknowledge(1-d, p)
		}
		m.deeds[d] = append(m.deeds[d], x)
		m.note(d, &x, w.size)
	}
}

// note keeps a packet as the point of capture saw it, in segments.
func (m *maker) note(d int, x *deed, size int64) {
	e := Event{At: m.virtual(x.at), Flow: d, Flags: x.flags, Start: uint64(x.start), End: uint64(x.start), Ack: uint64(max(x.ack, 0))}
	for at := x.start; at < x.end; at = int64(e.End) {
		e.Start, e.End = uint64(at), uint64(min(at+size, x.end))
		if x.fin && x.end-int64(e.End) == 1 {
			e.End++
		}
		e.Flags = x.flags
		if int64(e.End) < x.end {
			e.Flags &^= tcp.PSH | tcp.FIN
		}
		m.script.log = append(m.script.log, e)
	}
	if x.end == x.start {
		m.script.log = append(m.script.log, e)
	}
}

// split cuts a packet into the segments that it may be several of.
func (m *maker) split(w *wayMaker, p *packet, start, end int64) {
	for start < end {
		cut := min(start+w.size, end)
		if end-cut == 1 && p.flags.Has(tcp.FIN) {
			cut = end // the FIN goes with the last segment
		}
		w.transmit(sent{at: p.at, start: start, end: cut, number: p.number, ts: p.tsval, hasTS: p.hasTS, final: p.flags.Has(tcp.PSH) && cut == end})
		start = cut
	}
}

// acknowledge takes what a packet says of the other direction, d.
func (m *maker) acknowledge(d int, p *packet) int64 {
	w := &m.ways[d]
	pos := m.place(d, p.ack)
	if off := pos - w.max; off > farOff || off < -farOff || pos < 0 {
		return 0
	}
	m.last[d] = max(m.last[d], pos)
	a := acknowledgement{at: p.at, pos: pos, echo: p.ecr, hasTS: p.hasTS, bare: p.segLen() == 0}
	for i := range p.sacks {
		r := p.sack[i]
		if r.Len() == 0 || r.Len() >= farOff {
			continue
		}
		b := block{m.place(d, r.Start), 0}
		b.end = b.start + int64(r.Len())
		switch {
		case i == 0 && b.end <= pos:
			// RFC 2883 §4: the first block reports a duplicate if it lies below the ACK.
			a.dsack = &block{b.start, b.end}
		case b.start >= pos && b.end <= w.max:
			a.blocks = append(a.blocks, b)
		}
	}
	w.ack(&a)
	return pos
}

// roundTrip returns the least round trip of the connection, 0 if none was measured.
func (m *maker) roundTrip() time.Duration {
	least := time.Duration(0)
	for d := range m.conn.Flows {
		if r := m.conn.Flows[d].RTT; r.Samples > 0 && (least == 0 || r.Min < least) {
			least = r.Min
		}
	}
	if least == 0 && m.conn.Handshake.Complete {
		least = m.conn.Handshake.Time
	}
	if least == 0 {
		least = m.half[0] + m.half[1]
	}
	return max(least, 0)
}

// opening sets when the connection begins, and what tells of it.
func (m *maker) opening(rtt time.Duration) {
	s := m.script
	first := &m.packets[0]
	begin := m.virtual(first.at.Add(-m.half[first.flow] / 2))
	if len(m.ways[0].sent) == 0 || m.ways[0].sent[0].start != 0 {
		// There was a handshake before, which takes a round trip and a half of the client's way.
		begin = begin.Add(-2 * rtt)
		s.Notes = append(s.Notes, "the capture began after the handshake")
	}
	s.Begin = max(begin, 0)
	for d, f := range m.conn.Flows {
		if f.ZeroWindows > 0 {
			s.Notes = append(s.Notes, "the window of "+[2]string{"the server", "the client"}[d]+" was closed at times; in the replay it is not")
		}
	}
	if m.conn.ClockSteps > 0 {
		s.Notes = append(s.Notes, "the clock of the capture was set back")
	}
}

// losses takes the episodes over.
func (m *maker) losses() {
	for d := range m.conn.Flows {
		w := &m.ways[d]
		for _, e := range m.conn.Flows[d].Episodes {
			start := m.place(d, e.Seq)
			l := Loss{
				Flow: d, Start: uint64(max(start, 0)), End: uint64(max(start+int64(e.Bytes), 0)), Kind: e.Kind, Verdict: e.Spurious,
				At: m.virtual(e.Detected), D: e.D, RTT: e.RTT, Rexmits: e.Total, Needless: e.SpuriousCount, Packet: e.DetectedPacket, Try: 1,
				Estimated: e.Estimated,
			}
			if e.Repaired {
				l.TRec = e.TRec
			}
			if i := w.find(start); i < len(w.pieces) {
				for k, n := range w.pieces[i].tries {
					if w.sent[n].number == e.DetectedPacket {
						l.Try = max(k, 1)
					}
				}
			}
			l.Timed = slices.ContainsFunc(m.script.Ends[d].Timed, func(t Timed) bool { return t.At.Sub(l.At.Add(-m.half[d]/2)).Abs() < quietBefore })
			if l.End > l.Start {
				m.script.Loss = append(m.script.Loss, l)
			}
		}
	}
	slices.SortStableFunc(m.script.Loss, func(a, b Loss) int { return cmp.Compare(a.At, b.At) })
}
