package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// End is how a connection ended, as far as the capture shows.
type End uint8

const (
	Open     End = iota // it did not
	Closed              // a FIN each way, both acknowledged
	Reset               // by a RST
	Replaced            // by a new connection between the same ends
	Evicted             // it was given up for others: Config.MaxConns

	ends
)

var endNames = [ends]string{"open", "closed", "reset", "replaced", "evicted"}

// String returns the name that the end has in JSON.
func (e End) String() string { return endNames[min(e, ends-1)] }

// MarshalText writes the name.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Conn is a connection.
type Conn struct {
	ID          int // from 0, in the order of first packets
	Path        uint64
	First, Last wheel.Time // of its packets
	FirstPacket int64
	Packets     int64

	// Flows are the directions: the client's first if the handshake was seen, or else that of the first packet. A connection that waits has
	// none, which no user of the package sees.
	Flows *[2]Flow

	Handshake        Handshake
	End              End
	Copies           int64 // packets that were captured more than once, and count only once
	ClockSteps       int   // stamps that went back; time then stands still
	BadChecksums     int64 // packets with a wrong checksum, which were not looked at
	Strays           int64 // packets of a connection before, which were not looked at either
	BadChecksumsUsed int64 // those that were, as too many are wrong for damage: the addresses were changed in the file, say

	place
	spare      *spare // where its flows come from
	cfg        *Config
	in         *list
	prev, next *Conn
	offset     time.Duration // what stamps that went back by far are corrected by
	timestamps bool
	reset      bool
	flags      tcp.Flags // of the packet at hand, for Config.Event
	waiting
}

// Handshake is the three packets that open a connection, as far as they were seen.
type Handshake struct {
	SYN, SYNACK, ACK int64         // the packets: the last transmission of each before the next; 0 if it was not seen
	Time             time.Duration // from the first SYN to the ACK, if Complete
	Complete         bool

	first, synack wheel.Time
	hasSYNACK     bool
}

// take takes a packet of flow dir in, which may have been damaged, as add does, and counts its checksum.
func (c *Conn) take(p *capture.Packet, dir int, damaged bool) {
	if c.Flows == nil {
		c.Flows = c.spare.takeFlows()
		c.Flows[0].reset(c, p.Src, p.Dst)
		c.Flows[1].reset(c, p.Dst, p.Src)
	}
	c.Flows[dir].sums.note(p)
	c.add(p, dir, damaged)
}

// between reports whether the packet is between the ends of c.
func (c *Conn) between(p *capture.Packet) bool {
	f := &c.Flows[0]
	return p.Src == f.Src && p.Dst == f.Dst || p.Src == f.Dst && p.Dst == f.Src
}

// direction returns the flow that the packet is of.
func (c *Conn) direction(p *capture.Packet) int {
	if p.Src == c.Flows[0].Src && p.Dst == c.Flows[0].Dst {
		return 0
	}
	return 1
}

func (c *Conn) closed() bool {
	return c.reset || c.Flows[0].finAcked && c.Flows[1].finAcked
}

// halfOpen reports whether the handshake was seen to begin, and nothing else.
func (c *Conn) halfOpen() bool {
	return c.Handshake.SYN != 0 && !c.Handshake.Complete && c.Flows[0].DataPackets == 0 && c.Flows[1].DataPackets == 0
}

// reused reports whether the packet is the SYN of another connection: one with another number than the one before had, that is no
// stray from before; or the SYN-ACK of another, where nothing of the other direction is captured.
func (c *Conn) reused(p *capture.Packet, dir int) bool {
	h := &p.Header
	f := &c.Flows[dir]
	switch h.Flags & (tcp.SYN | tcp.ACK | tcp.RST) {
	case tcp.SYN:
	case tcp.SYN | tcp.ACK:
		return f.HasSYN && f.base != h.Seq && c.Flows[1-dir].Packets == 0
	default:
		return false
	}
	if f.HasSYN {
		return f.base != h.Seq || f.finAcked && c.Flows[1-dir].finAcked
	}
	return f.started && (c.closed() || !h.Seq.InWindow(f.base+tcp.Seq(f.una)-1<<16, 1<<17))
}

// now returns the packet's time, which never goes back. A step back by more than a second is taken out of all later stamps.
func (c *Conn) now(p *capture.Packet) wheel.Time {
	t := p.Time.Add(c.offset)
	if back := c.Last.Sub(t); back > 0 {
		c.ClockSteps++
		if back > time.Second {
			c.offset += back
		}
		t = c.Last
	}
	return t
}

// stray reports whether a packet of f is of a connection before, between the same ends, of which its sender still knows: f has not answered
// the SYN of g yet, and acknowledges what was never near it, or the packet is the reset that g gives such an ACK (RFC 9293 §3.5.1,
// Figure 9).
func (c *Conn) stray(p *capture.Packet, f, g *Flow) bool {
	const far = 1 << 20
	h := &p.Header
	switch {
	case h.Flags.Has(tcp.SYN):
	case h.Flags.Has(tcp.ACK):
		return g.onlySYN && !f.started && uint32(h.Ack-g.base) > far
	case h.Flags.Has(tcp.RST):
		return f.onlySYN && !g.started && uint32(h.Seq-f.base) > far
	}
	return false
}

// add takes a packet of flow dir in, which may have been damaged.
func (c *Conn) add(p *capture.Packet, dir int, damaged bool) {
	f, g := &c.Flows[dir], &c.Flows[1-dir]
	now := c.now(p)
	c.Last = now
	c.Packets++
	f.Packets++
	c.flags = p.Header.Flags
	if damaged {
		c.BadChecksums++
		return
	}
	if p.Problems.Has(capture.BadChecksum) {
		c.BadChecksumsUsed++
	}
	if f.copies.isCopy(p, f.RTT.Min, c.Copies >= 8 && 8*c.Copies >= c.Packets) || f.isPart(p, now) {
		c.Copies++
		f.tell(Copy, p.Number, now, now, 0, 0, nil)
		return
	}
	f.place(p)
	if c.stray(p, f, g) {
		c.Strays++
		return
	}
	h := &p.Header
	f.onlySYN = h.Flags&(tcp.SYN|tcp.ACK) == tcp.SYN && (f.onlySYN || !f.started)
	if h.Flags.Has(tcp.RST) {
		c.reset = true
		c.each(p, f, now)
		f.tell(ResetSeen, p.Number, now, now, f.max, f.max, nil)
		return
	}
	if h.Flags.Has(tcp.SYN) {
		f.syn(p)
		if h.Flags.Has(tcp.ACK) && dir == 0 && c.FirstPacket == p.Number {
			c.swap()
			f, g = &c.Flows[1], &c.Flows[0]
		}
	}
	c.each(p, f, now)
	c.shake(p, f, now)
	if h.Flags.Has(tcp.ACK) && g.started {
		g.measureHalf(h.Ack, now)
	}
	at := now // by the sender's clock
	if h.Options.HasTimestamps {
		f.stamp(p, now)
		at = f.clock.sent(h.Options.TSVal, now)
		if f.lag() == 0 {
			at = now
		}
		f.catchUp(at, h.Options.TSEcr, h.Flags.Has(tcp.ACK))
	} else {
		f.catchUp(at, 0, false)
	}
	g.settle(now)
	f.send(p, at, now)
	f.idents.note(p)
	if h.Flags.Has(tcp.ACK) {
		g.ack(p, now)
	}
	f.trim()
	g.trim()
}

// each tells of a packet that counts.
func (c *Conn) each(p *capture.Packet, f *Flow, now wheel.Time) {
	if c.cfg.Each == nil {
		return
	}
	flow := 0
	if f == &c.Flows[1] {
		flow = 1
	}
	c.cfg.Each(c, flow, p, now)
}

// swap makes the second flow the first: the capture began with a SYN-ACK.
func (c *Conn) swap() {
	c.Flows[0], c.Flows[1] = c.Flows[1], c.Flows[0]
}

// shake notes the handshake.
func (c *Conn) shake(p *capture.Packet, f *Flow, now wheel.Time) {
	s, h := &c.Handshake, &p.Header
	switch {
	case s.Complete:
	case h.Flags&(tcp.SYN|tcp.ACK) == tcp.SYN:
		if s.SYN == 0 {
			s.first = now
		}
		s.SYN = p.Number
	case h.Flags.Has(tcp.SYN | tcp.ACK):
		s.SYNACK = p.Number
		if !s.hasSYNACK {
			s.synack, s.hasSYNACK = now, true
		}
	case h.Flags.Has(tcp.ACK) && s.SYN != 0 && s.SYNACK != 0 && f == &c.Flows[0]:
		s.ACK, s.Time, s.Complete = p.Number, span(s.first, now), true
	}
}

// finish completes the connection: nothing more will come.
func (c *Conn) finish() {
	for i := range c.Flows {
		c.Flows[i].drain()
	}
	c.locate()
	for i := range c.Flows {
		c.Flows[i].finish()
	}
	switch {
	case c.End != Open:
	case c.reset:
		c.End = Reset
	case c.closed():
		c.End = Closed
	}
}
