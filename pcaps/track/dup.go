package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// copies recognises packets that were captured more than once: on several interfaces, or by a mirror port that shows both ends of
// a cable or both sides of a router. It knows some of the last packets of one direction.
type copies struct {
	few [4]packetMark      // of a flow with as many packets: most are that short where there are many
	all *[16][4]packetMark // of any other, by bits of the mark: of those, the last four
}

// packetMark is what two captures of one packet have in common, mixed, and when it was captured.
type packetMark struct {
	mark uint64 // 32 bits that are the same, 24 of the options, 8 of the place
	at   wheel.Time
}

// optionBits are of the timestamp and the first SACK block; all are 0 if a capture has cut them off.
const optionBits = 0xffffff00

// set returns those that a mark may be among.
func (c *copies) set(mark uint64) *[4]packetMark {
	if c.all == nil {
		return &c.few
	}
	return &c.all[mark>>32%uint64(len(c.all))]
}

// grow makes room for more than a few.
func (c *copies) grow() {
	c.all = new([16][4]packetMark)
	for _, m := range c.few {
		set := c.set(m.mark)
		for i := range set {
			if set[i].mark == 0 {
				set[i] = m
				break
			}
		}
	}
}

// isOne reports whether two marks are of one packet.
func isOne(a, b uint64) bool {
	differ := a ^ b
	return differ>>32 == 0 && (differ&optionBits == 0 || a&optionBits == 0 || b&optionBits == 0)
}

// markOf returns the mark of a packet, which is never 0.
func markOf(p *capture.Packet) uint64 {
	const golden = 0x9e3779b97f4a7c15
	h := &p.Header
	o := &h.Options
	mix := func(h, v uint64) uint64 {
		h = (h ^ v) * golden
		return h ^ h>>29
	}
	same := mix(uint64(h.Seq)<<32|uint64(h.Ack), uint64(p.Len)<<32|uint64(identOf(p))<<16|uint64(h.Window))
	same = mix(same, uint64(h.Flags))
	options := uint64(0)
	if !p.Problems.Has(capture.OptionsCut) {
		options = mix(uint64(o.TSVal), uint64(o.NumSACK))
		if o.NumSACK > 0 {
			options = mix(options, uint64(o.SACK[0].Start)<<32|uint64(o.SACK[0].End))
		}
		options = options>>40<<8 | 1<<8
	}
	return same&^(1<<32-1) | 1<<63 | options | uint64(placeOf(p))
}

// placeOf tells captures at different places apart, as far as packets tell of them: on different interfaces or paths, on the way into the
// capturing host and out of it, before and behind a router.
func placeOf(p *capture.Packet) uint8 {
	h := p.Path ^ uint64(p.Device)<<32 ^ uint64(p.Interface)<<16 ^ uint64(p.Direction)<<8 ^ uint64(p.TTL)
	return uint8(h * 0x9e3779b97f4a7c15 >> 56)
}

const (
	// copyWithin is how far apart in time two captures of one packet lie whose IP identification says that they are one.
	copyWithin = 250 * time.Millisecond

	// copyAtOnce is the same where there is no identification to tell by: less than any retransmission takes.
	copyAtOnce = 500 * time.Microsecond

	// copyElsewhere is the same for captures at different places: within and outside of a tunnel, say, or before and behind a router,
	// which takes longer than a cable.
	copyElsewhere = 5 * time.Millisecond
)

// isCopy reports whether the packet is one of the last few once more. least is the least round-trip time, 0 if it is not known; mirrored
// says that many packets of the connection are captured more than once.
//
// An identification that is not 0 is a packet's own for long enough. Without one, octets that come again so soon were not sent again.
// ACKs may well repeat each other, so that they count as copies only where octets, or identifications, have shown that packets
// are captured twice, or at another place.
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
	if old := set[oldest].mark; c.all == nil && old != 0 && !isOne(old, mark) {
		c.grow()
		set, oldest = c.set(mark), 0
		for i := range set {
			if set[i].at < set[oldest].at {
				oldest = i
			}
		}
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

// isPart reports whether octets that were seen just now at another place are captured again, in packets of another length: a host cuts
// a super-packet between two of its interfaces, or joins segments to one.
func (f *Flow) isPart(p *capture.Packet, now wheel.Time) bool {
	const pieces = 64 // of a super-packet, each with an identification of its own
	if p.Len == 0 || !f.started || p.Header.Flags.Has(tcp.SYN) {
		return false
	}
	start := f.pos(p.Header.Seq)
	end := start + int64(p.Len)
	if start < f.una || end > f.max {
		return false
	}
	place := placeOf(p)
	i := f.book.find(start)
	if s, id := f.book.at(i), identOf(p); id != 0 && s.id != 0 && s.txs == 1 && id-s.id >= pieces {
		return false
	}
	for ; i < f.book.len() && f.book.at(i).start < end; i++ {
		s := f.book.at(i)
		if s.missing || s.place == place || now.Sub(s.sent) > copyElsewhere || p.Header.Options.HasTimestamps && s.hasTS && p.Header.Options.TSVal != s.ts {
			return false
		}
	}
	return true
}
