package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// copies recognises packets that were captured more than once: on several interfaces, or by a mirror port that shows both ends of
// a cable. It knows the last few packets of one direction.
type copies struct {
	seen [8]packetMark
	next uint8
}

// packetMark is what two captures of one packet have in common.
type packetMark struct {
	at       wheel.Time
	seq, ack tcp.Seq
	ts       uint32
	len      uint32
	id       uint32
	window   uint16
	flags    tcp.Flags
	sacks    uint8
	used     bool
	sack     tcp.Range // the first
}

const (
	// copyWithin is how far apart in time two captures of one packet lie whose IP identification says that they are one.
	copyWithin = 250 * time.Millisecond

	// copyAtOnce is the same where there is no identification to tell by: less than any retransmission takes.
	copyAtOnce = 500 * time.Microsecond
)

// isCopy reports whether the packet is one of the last few once more. least is the least round-trip time, 0 if it is not known; mirrored
// says that many packets of the connection are captured more than once.
//
// An identification that is not 0 is a packet's own for long enough. Without one, octets that come again so soon were not sent again.
// ACKs may well repeat each other, so that they count as copies only where octets, or identifications, have shown that packets
// are captured twice.
func (c *copies) isCopy(p *capture.Packet, least time.Duration, mirrored bool) bool {
	h := &p.Header
	m := packetMark{
		at: p.Time, seq: h.Seq, ack: h.Ack, ts: h.Options.TSVal, len: p.Len, window: h.Window, flags: h.Flags,
		sacks: h.Options.NumSACK, used: true,
	}
	if p.HasID {
		m.id = p.ID
	}
	if m.sacks > 0 {
		m.sack = h.Options.SACK[0]
	}
	for i := range c.seen {
		s := &c.seen[i]
		if !s.used || s.seq != m.seq || s.len != m.len || s.ack != m.ack || s.ts != m.ts || s.id != m.id ||
			s.window != m.window || s.flags != m.flags || s.sacks != m.sacks || s.sack != m.sack {
			continue
		}
		age := m.at.Sub(s.at).Abs()
		same := false
		switch {
		case m.id != 0:
			same = age <= copyWithin
		case p.SegLen() > 0:
			same = age <= copyAtOnce && (least == 0 || age < least/2)
		default:
			same = age <= copyAtOnce && mirrored
		}
		if same {
			return true
		}
	}
	c.seen[c.next] = m
	c.next = (c.next + 1) % uint8(len(c.seen))
	return false
}
