package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// twins finds connections that were captured at two places which change their addresses, as on both
// sides of a NAT. The sequence numbers of both ends stay. It remembers the last connections by
// their first packet with an ACK.
type twins struct{ last []firstACK }

// maxTwins bounds the connections remembered: as many begin in copyElsewhere at 100,000 a second.
const maxTwins = 512

// firstACK is the first packet of a connection that has the sequence numbers of both ends.
type firstACK struct {
	mark uint64 // of its numbers, timestamps and length
	at   wheel.Time
	c    *Conn
	id   int // of c, which may have ended
}

// newFirstACK returns what identifies p, a packet of c.
func newFirstACK(c *Conn, p *capture.Packet) firstACK {
	const golden = 0x9e3779b97f4a7c15
	h := &p.Header
	mark := (uint64(h.Seq)<<32 | uint64(h.Ack)) * golden
	mark = (mark ^ mark>>29 ^ uint64(h.Options.TSVal)<<32 ^ uint64(h.Options.TSEcr)) * golden
	mark = (mark ^ mark>>29 ^ uint64(p.Len)<<8 ^ uint64(h.Flags)) * golden
	return firstACK{mark: mark ^ mark>>29 | 1, at: p.Time, c: c, id: c.ID}
}

// isFirstACK reports whether p is the first packet with an ACK of c, by which a twin is known.
func (c *Conn) isFirstACK(p *capture.Packet) bool {
	h := &p.Header
	if c.paired || h.Flags&(tcp.ACK|tcp.RST) != tcp.ACK {
		return false
	}
	c.paired = true
	return h.Seq > 1 && h.Ack > 1 // else it may be a test's or a scanner's, which repeat them
}

// add marks a's connection as a twin if one with the same numbers has just begun.
func (t *twins) add(a firstACK) {
	if t.last == nil {
		t.last = make([]firstACK, maxTwins)
	}
	b := &t.last[a.mark>>32%maxTwins]
	if b.mark == a.mark && a.at.Sub(b.at).Abs() <= copyElsewhere {
		a.c.Twin, a.c.TwinOf = true, b.id
		return
	}
	a.c = nil
	*b = a
}

// dropTwin drops what the episodes of a twin cost: they count in the other connection.
func (c *Conn) dropTwin() {
	for i := range c.Flows {
		if f := &c.Flows[i]; c.Twin {
			f.Episodes, f.EpisodesDropped, f.TimeLost, f.TimerWait = nil, 0, 0, 0
		}
	}
}
