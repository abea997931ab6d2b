package track

import (
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// copies recognises packets that were captured more than once: on several interfaces, or by a mirror port that shows both ends of
// a cable or both sides of a router. It knows some of the last packets of one direction.
type copies struct {
	seen [16][4]packetMark // by bits of the mark: of those, the last four
}

// packetMark is what two captures of one packet have in common, mixed, and when it was captured. Time to live and interface are not in it.
type packetMark struct {
	mark uint64 // its lowest pathBits are of the path
	at   wheel.Time
}

// pathBits tell captures on different paths apart.
const pathBits = 0xff

// set returns those that a mark may be among.
func (c *copies) set(mark uint64) *[4]packetMark { return &c.seen[mark>>32%uint64(len(c.seen))] }

// isOne reports whether two marks are of one packet.
func isOne(a, b uint64) bool { return (a^b)&^pathBits == 0 }

// markOf mixes what two captures of one packet have in common, and its path. It is never 0.
func markOf(p *capture.Packet) uint64 {
	h := &p.Header
	o := &h.Options
	mark := uint64(h.Seq)<<32 | uint64(h.Ack)
	mix := func(v uint64) {
		mark = (mark ^ v) * 0x9e3779b97f4a7c15
		mark ^= mark >> 29
	}
	mix(uint64(p.Len)<<32 | uint64(o.TSVal))
	mix(uint64(identOf(p))<<32 | uint64(h.Window)<<16 | uint64(h.Flags)<<8 | uint64(o.NumSACK))
	if o.NumSACK > 0 {
		mix(uint64(o.SACK[0].Start)<<32 | uint64(o.SACK[0].End))
	}
	return mark&^pathBits | p.Path&pathBits | 1<<63
}

const (
	// copyWithin is how far apart in time two captures of one packet lie whose IP identification says that they are one.
	copyWithin = 250 * time.Millisecond

	// copyAtOnce is the same where there is no identification to tell by: less than any retransmission takes.
	copyAtOnce = 500 * time.Microsecond

	// copyElsewhere is the same for captures within and outside of a tunnel, or before and behind a router between two VLANs, which takes
	// longer than a cable.
	copyElsewhere = 5 * time.Millisecond
)

// isCopy reports whether the packet is one of the last few once more. least is the least round-trip time, 0 if it is not known; mirrored
// says that many packets of the connection are captured more than once.
//
// An identification that is not 0 is a packet's own for long enough. Without one, octets that come again so soon were not sent again.
// ACKs may well repeat each other, so that they count as copies only where octets, or identifications, have shown that packets
// are captured twice, or on another path.
func (c *copies) isCopy(p *capture.Packet, least time.Duration, mirrored bool) bool {
	mark := markOf(p)
	set := c.set(mark)
	oldest := 0
	for i := range set {
		s := &set[i]
		if s.at < set[oldest].at {
			oldest = i
		}
		if !isOne(s.mark, mark) {
			continue
		}
		age, same := p.Time.Sub(s.at).Abs(), false
		switch {
		case identOf(p) != 0:
			same = age <= copyWithin
		case s.mark != mark:
			same = age <= copyElsewhere
		case p.SegLen() > 0:
			same = age <= copyAtOnce && (least == 0 || age < least/2)
		default:
			same = age <= copyAtOnce && mirrored
		}
		if same {
			return true
		}
		oldest = i // it comes again, and counts anew
		break
	}
	set[oldest] = packetMark{mark, p.Time}
	return false
}

// onAnotherPath reports whether the packet is one of the last few once more, which were captured on another path.
func (c *copies) onAnotherPath(p *capture.Packet) bool {
	mark := markOf(p)
	within := copyElsewhere
	if identOf(p) != 0 {
		within = copyWithin
	}
	for _, s := range c.set(mark) {
		if isOne(s.mark, mark) && s.mark != mark && p.Time.Sub(s.at).Abs() <= within {
			return true
		}
	}
	return false
}
