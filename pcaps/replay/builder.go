package replay

import (
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// builder makes a script of the packets of a connection.
type builder struct {
	conn    *track.Conn
	packets []packet
	paths   [2]pathBuilder
	half    [2]time.Duration // the round trip from the point of capture to each end
	base    [2]tcp.Seq       // the number of place 0 of each stream
	started [2]bool
	last    [2]int64 // the last place seen in each stream, from which numbers are unwrapped
	epoch   wheel.Time
	script  *Script

	sends  [2][]endEvent // what each end sent, by the clock of the capture
	events [2][]endEvent // what each end sent and received, by its own clock
	heard  [2][]delivery // what arrived at each end
}

// endEvent is a packet that an end sent or received.
type endEvent struct {
	delivery      // what of it arrives, or all that was sent
	n        int  // its first segment, by index; -1: none
	first    bool // it brings bytes that were not sent before
	sends    bool
	reset    bool
}

// data reports whether the packet takes sequence numbers.
func (x *endEvent) data() bool { return x.end > x.start }

// build makes the script of a connection that is complete.
func build(c *track.Conn, packets []packet) (*Script, error) {
	b := &builder{conn: c, packets: packets, script: &Script{Vantage: c.Flows[0].Vantage.String(), packets: packets}}
	switch {
	case c.Flows[0].Packets == 0 || c.Flows[1].Packets == 0:
		return nil, refuse("the capture has one direction only: capture at a point that sees both")
	case c.End == track.Evicted:
		return nil, refuse("too many connections were open at once to follow it to its end: raise --max-conns, or filter the capture")
	}
	b.findEnds()
	b.read()
	if len(b.paths[0].segments)+len(b.paths[1].segments) == 0 {
		return nil, refuse("neither side sent any data")
	}
	rtt := b.roundTrip()
	switch {
	case rtt > 0:
	case c.Flows[0].RTT.Samples+c.Flows[1].RTT.Samples > 0 || c.Handshake.Complete:
		return nil, refuse("the clock of the capture is too coarse to show a round trip: capture with stamps of a microsecond or finer")
	default:
		return nil, refuse("no round-trip time can be measured: capture the handshake, or data together with its ACKs")
	}
	last := packets[len(packets)-1].at
	for d := range b.paths {
		b.paths[d].settleRest(last, rtt)
	}
	for d := range b.paths {
		b.paths[d].loseDeaf(b.paths[1-d].ackLoss)
	}
	b.placeUnseen()
	s := b.script
	s.Epoch, s.End, s.IPv6 = b.epoch, b.virtual(last), c.Flows[0].Src.Addr().Is6()
	for d := range b.paths {
		s.Paths[d] = b.trace(d, rtt)
	}
	for d := range b.paths {
		b.heard[1-d] = b.deliveries(d)
	}
	b.mergeEvents()
	for d := range s.Ends {
		s.Ends[d] = b.endpoint(d)
	}
	b.findBegin(rtt)
	b.findTapes()
	b.findLosses()
	return s, nil
}

// placeUnseen has transmissions that were not captured leave when the tracker estimates it. Some
// are known lost only by their retransmission.
func (b *builder) placeUnseen() {
	for d := range b.paths {
		p := &b.paths[d]
		for _, e := range b.conn.Flows[d].Episodes {
			if !e.Estimated {
				continue
			}
			start := b.place(d, e.Seq)
			p.cut(start)
			p.cut(start + int64(e.Bytes))
			for i := p.find(start); i < len(p.ranges) && p.ranges[i].start < start+int64(e.Bytes); i++ {
				p.unseen(i, e.DetectedPacket, e.D)
			}
		}
	}
}

// findEnds finds what must be known before the first packet is read: how far away the ends are, how
// long their segments are, and when the script begins.
func (b *builder) findEnds() {
	c := b.conn
	for d := range b.paths {
		b.half[d] = c.Flows[d].SourceRTT()
		b.paths[d].verdicts = map[int64]track.Retransmission{}
		for _, e := range c.Flows[d].Episodes {
			for _, r := range e.Retransmissions {
				b.paths[d].verdicts[r.Packet] = r
			}
		}
	}
	// What the point of capture does not show is taken from the whole round trip.
	for d := range b.paths {
		if least := c.Flows[d].RTT.Min; b.half[0]+b.half[1] == 0 && least > 0 {
			b.half[1-d] = least
		}
	}
	switch c.Flows[0].Vantage {
	case track.AtReceiver: // the server captured
		b.half = [2]time.Duration{max(b.half[0], c.Flows[0].SourceRTT(), c.Flows[0].RTT.Min), 0}
	case track.AtSender:
		b.half = [2]time.Duration{0, max(b.half[1], c.Flows[1].SourceRTT())}
		if least := c.Flows[0].RTT.Min; least > 0 {
			b.half[1] = least
		} else if b.half[1] == 0 {
			b.half[1] = c.Handshake.Time
		}
	}
	for d := range b.paths {
		p := &b.paths[d]
		p.near, p.far, p.size = b.half[d], b.half[1-d], b.segmentSize(d)
	}
	first := b.packets[0].at
	b.epoch = first - first%wheel.Time(time.Second)
	for first.Sub(b.epoch) < b.half[0]+b.half[1]+time.Second {
		b.epoch -= wheel.Time(time.Second)
	}
}

func (b *builder) virtual(at wheel.Time) wheel.Time { return wheel.Time(at.Sub(b.epoch)) }

// segmentSize returns how long the segments of an end are: the longest length that came three times
// and ended no write, or what the handshake allows.
func (b *builder) segmentSize(d int) int64 {
	allowed := int64(0)
	if f := &b.conn.Flows[1-d]; f.HasSYN && f.SYN.HasMSS {
		allowed = int64(f.SYN.MSS)
		if b.timestamps() {
			allowed -= timestampOption
		}
	}
	counts := map[uint32]int{}
	longest := uint32(0)
	for i := range b.packets {
		p := &b.packets[i]
		if int(p.flow) != d || p.len == 0 || allowed > 0 && int64(p.len) > allowed || p.flags.Has(tcp.PSH) {
			continue
		}
		if counts[p.len]++; counts[p.len] >= 3 || len(counts) > 1<<12 {
			longest = max(longest, p.len)
		}
	}
	const least = 500 // shorter ones are writes, rather than what a path takes
	switch {
	case allowed > 0 && (longest < least || int64(longest) > allowed):
		return max(allowed, tcp.MinMSS)
	case longest >= least:
		return int64(longest)
	}
	return 1448
}

// timestampOption is what the timestamps option takes of a segment, padded (RFC 7323 §A).
const timestampOption = 12

func (b *builder) timestamps() bool {
	f, g := &b.conn.Flows[0], &b.conn.Flows[1]
	if f.HasSYN && g.HasSYN {
		return f.SYN.HasTimestamps && g.SYN.HasTimestamps
	}
	return slices.ContainsFunc(b.packets, func(p packet) bool { return p.hasTS })
}

// place returns the place in the stream of an end that a sequence number is.
func (b *builder) place(d int, s tcp.Seq) int64 {
	return (s - b.base[d]).Unwrap(b.last[d])
}

// start fixes place 0 of a stream by the first number seen in it.
func (b *builder) start(d int, s tcp.Seq, syn bool) {
	if b.started[d] {
		return
	}
	b.started[d], b.base[d] = true, s
	if !syn {
		b.base[d]-- // what was not captured means the SYN
		b.paths[d].max, b.last[d] = 1, 1
	}
}

// A place may be farOff from the others at most, as windows are less than 2^30 bytes (RFC 7323
// §2.3). One packet alone proves no step above leap: that is more than most windows.
const farOff, leap = 1 << 30, 1 << 22

// believes reports whether the n-th packet may be right about a place that is off from what was
// seen so far. field is the number of a packet that says so: the next packet must agree.
func (b *builder) believes(n int, off int64, field func(*packet) tcp.Seq) bool {
	if off > farOff || off < -farOff {
		return false
	}
	if off <= leap && off >= -leap {
		return true
	}
	for i := n + 1; i < len(b.packets); i++ {
		if next := &b.packets[i]; next.flow == b.packets[n].flow && !next.flags.Has(tcp.RST) {
			step := int32(field(next) - field(&b.packets[n]))
			return step > -leap && step < leap
		}
	}
	return false
}

// read takes in all packets, in the order of the capture.
func (b *builder) read() {
	for i := range b.packets {
		p := &b.packets[i]
		d := int(p.flow)
		if p.flags.Has(tcp.RST) {
			b.sends[d] = append(b.sends[d], endEvent{delivery: delivery{at: p.at, p: p}, sends: true, reset: true, n: -1})
			continue
		}
		b.start(d, p.seq, p.flags.Has(tcp.SYN))
		if p.flags.Has(tcp.ACK) {
			b.start(1-d, p.ack, false)
		}
		path := &b.paths[d]
		start := b.place(d, p.seq)
		if start < 0 || !b.believes(i, start-path.max, func(p *packet) tcp.Seq { return p.seq }) {
			continue
		}
		x := endEvent{delivery: delivery{at: p.at, p: p, start: start, end: start}, sends: true, n: -1}
		if n := p.segLen(); n > 0 && !path.isKeepalive(p, start) {
			b.last[d] = max(b.last[d], start)
			x.first, x.n, x.end = start+n > path.max, len(path.segments), start+n
			path.split(p, start, x.end)
			for x.n < len(path.segments)-1 && path.segments[x.n].number != p.number {
				x.n++ // what is missing before it
			}
		}
		if p.flags.Has(tcp.ACK) {
			x.ack = b.acknowledge(1-d, i)
		}
		b.sends[d] = append(b.sends[d], x)
		b.logPacket(d, &x, path.size)
	}
}

// logPacket keeps a packet as the point of capture saw it, in segments.
func (b *builder) logPacket(d int, x *endEvent, size int64) {
	e := Event{At: b.virtual(x.at), Flow: d, Ack: uint64(max(x.ack, 0))}
	for start := x.start; ; start = int64(e.End) {
		e.Start, e.End, e.Flags = uint64(start), uint64(x.p.cut(start, x.end, size)), x.p.flags
		if int64(e.End) < x.end {
			e.Flags &^= tcp.PSH | tcp.FIN
		}
		b.script.log = append(b.script.log, e)
		if int64(e.End) == x.end {
			return
		}
	}
}

// acknowledge takes in what the n-th packet says of the other direction, d, and returns the place
// that it acknowledges, 0 if that cannot be.
func (b *builder) acknowledge(d, n int) int64 {
	p, path := &b.packets[n], &b.paths[d]
	place := b.place(d, p.ack)
	if place < 0 || !b.believes(n, place-path.max, func(p *packet) tcp.Seq { return p.ack }) {
		return 0
	}
	b.last[d] = max(b.last[d], place)
	a := acknowledgement{at: p.at, place: place, echo: p.ecr, hasTS: p.hasTS, bare: p.segLen() == 0}
	for i, r := range p.blocks() {
		if r.Len() == 0 || r.Len() >= farOff {
			continue
		}
		start := b.place(d, r.Start)
		block := block{start, start + int64(r.Len())}
		switch {
		case i == 0 && block.end <= place:
			// RFC 2883 §4: the first block reports a duplicate if it lies below the ACK.
			a.dsack = &block
		case block.start >= place && block.end <= path.max:
			a.blocks = append(a.blocks, block)
		}
	}
	path.ack(&a)
	return place
}

// roundTrip returns the least round trip of the connection, 0 if none was measured.
func (b *builder) roundTrip() time.Duration {
	least := time.Duration(0)
	for d := range b.conn.Flows {
		if r := b.conn.Flows[d].RTT; r.Samples > 0 && r.Min > 0 && (least == 0 || r.Min < least) {
			least = r.Min
		}
	}
	if least == 0 && b.conn.Handshake.Complete {
		least = b.conn.Handshake.Time
	}
	if least == 0 {
		least = b.half[0] + b.half[1]
	}
	return max(least, 0)
}

// findBegin finds when the connection begins, and what the capture leaves open.
func (b *builder) findBegin(rtt time.Duration) {
	s := b.script
	first := &b.packets[0]
	begin := b.virtual(first.at.Add(-b.half[first.flow] / 2))
	if len(b.paths[0].segments) == 0 || b.paths[0].segments[0].start != 0 {
		// A handshake before the capture took a round trip, and the client's ACK half of one.
		begin = begin.Add(-2 * rtt)
		s.Notes = append(s.Notes, "the capture began after the handshake")
	}
	s.Begin = max(begin, 0)
	for d, f := range b.conn.Flows {
		if f.ZeroWindows > 0 {
			s.Notes = append(s.Notes, "the window of "+[2]string{"the server", "the client"}[d]+" was closed at times; in the replay it is not")
		}
	}
	if b.conn.ClockSteps > 0 {
		s.Notes = append(s.Notes, "the clock of the capture was set back")
	}
}
