package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// copies recognises packets that were captured more than once: on several interfaces, or by a
// mirror port that shows both ends of a cable or both sides of a router. It remembers the last
// packets of one direction: four per set, selected by bits of the mark.
type copies struct {
	sets [][4]copyRecord
	here int64 // copies captured at the spot of the first one
	same bool  // the current packet equals one of the last, and has no identification
}

// copyRecord is a packet's mark and its capture time.
type copyRecord struct {
	copyMark
	at wheel.Time
}

// copyMark identifies a packet, by hashes of its fields, and the spot of its capture. Its zero value
// is none.
type copyMark struct {
	same    uint64 // of all fields but the options; never 0
	options uint32 // of the timestamps and the SACK blocks, if whole
	whole   bool   // the capture did not cut the options off
	spot    uint8  // captureSpot
}

// set returns the records that a mark may be among.
func (c *copies) set(mark *copyMark) *[4]copyRecord {
	return &c.sets[mark.same&uint64(len(c.sets)-1)] // their number is a power of two
}

// grow makes room for four times as many records, or for the first four.
func (c *copies) grow(m *memory) {
	old := c.sets
	c.sets = m.copies.get(max(4*len(old), 1))
	clear(c.sets)
	for i := range old {
		for _, r := range old[i] {
			if r.same != 0 {
				set := c.set(&r.copyMark)
				set[oldestOf(set)] = r
			}
		}
	}
	m.copies.put(old)
}

// oldestOf returns the index of a set's oldest record, an empty one if there is one. Which one it
// is cannot be predicted, so it takes no branches.
func oldestOf(set *[4]copyRecord) int {
	a, at := 0, set[0].at
	if set[1].at < at {
		a = 1
	}
	at = min(at, set[1].at)
	b, bt := 2, set[2].at
	if set[3].at < bt {
		b = 3
	}
	if min(bt, set[3].at) < at {
		a = b
	}
	return a
}

// isOne reports whether two marks belong to one packet.
func (k *copyMark) isOne(o *copyMark) bool {
	return k.same == o.same && (k.options == o.options || !k.whole || !o.whole)
}

// newCopyMark returns the mark of p. No field is added to another before it is hashed: a bare ACK at
// S and L bytes of data at S+L would have one mark.
func newCopyMark(p *capture.Packet) copyMark {
	h := &p.Header
	o := &h.Options
	const seq, size = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9
	same := fold((uint64(h.Seq)<<32|uint64(h.Ack))^seq, (uint64(p.Len)<<32|uint64(ipID(p))<<16|uint64(h.Window))^size)
	mark := copyMark{same: max(fold(same, uint64(h.Flags)^seq), 1), spot: captureSpot(p)}
	if mark.whole = !p.Problems.Has(capture.OptionsCut); mark.whole {
		rest := fold(seq, uint64(o.NumSACK)^size)
		if ipID(p) == 0 { // else that is enough: a copy may have a damaged echo
			rest = fold(uint64(o.TSEcr)^seq, rest)
		}
		for _, r := range o.SACK[:o.NumSACK] {
			rest = fold(rest, (uint64(r.Start)<<32|uint64(r.End))^size)
		}
		mark.options = o.TSVal ^ uint32(rest>>32) // different if the TSval alone differs
	}
	return mark
}

// captureSpot distinguishes places of capture: interfaces, paths, directions at the host, and sides
// of a router (by TTL).
func captureSpot(p *capture.Packet) uint8 {
	h := p.Path ^ uint64(p.Device)<<32 ^ uint64(p.Interface)<<16 ^ uint64(p.Direction)<<8 ^ uint64(p.TTL)
	return uint8(h * 0x9e3779b97f4a7c15 >> 56)
}

// isCopy reports whether p repeats one of the last packets. least is the least RTT, 0 if unknown.
// mirrored says how many copies most packets of the connection have at one spot, and asked that an
// ACK may have asked for p.
//
// A nonzero IP identification is unique for copyWithin. Without one, bytes repeated within
// copyAtOnce are copies, unless an ACK asked for them: no timer is that fast. ACKs may repeat each
// other, so they are copies only on a mirrored connection, or at another spot.
func (c *copies) isCopy(m *memory, p *capture.Packet, least time.Duration, mirrored int, asked bool) bool {
	mark := newCopyMark(p)
	c.same = false
	if c.sets == nil {
		c.grow(m)
	}
	set := c.set(&mark)
	for i := range set {
		if s := &set[i]; s.isOne(&mark) {
			again := c.repeats(s, p, mark.spot, least, mirrored > 0, asked)
			if !again { // it is too late for a copy: it counts again
				c.same = ipID(p) == 0 && p.Time.Sub(s.at).Abs() <= copyWithin
				*s = copyRecord{mark, p.Time}
			} else if s.spot == mark.spot {
				if c.here++; p.SegLen() == 0 && ipID(p) == 0 && mirrored == 1 {
					*s = copyRecord{} // the next one is another ACK
				}
			}
			return again
		}
	}
	old := &set[oldestOf(set)]
	// Records younger than copyElsewhere are forgotten only if maxCopySets are too few for them.
	if old.same != 0 && len(c.sets) < maxCopySets && (len(c.sets) == 1 || p.Time.Sub(old.at).Abs() < copyElsewhere) {
		c.grow(m)
		set = c.set(&mark)
		old = &set[oldestOf(set)]
	}
	*old = copyRecord{mark, p.Time}
	return false
}

// repeats reports whether p is a copy of a packet with an equal record.
func (c *copies) repeats(s *copyRecord, p *capture.Packet, spot uint8, least time.Duration, mirrored, asked bool) bool {
	age := p.Time.Sub(s.at).Abs()
	switch {
	case ipID(p) != 0:
		return age <= copyWithin
	case s.spot != spot:
		return age <= copyElsewhere
	case p.Header.Flags.Has(tcp.SYN):
		return age <= copyElsewhere // no timer is that short: a link repeated it
	case p.SegLen() > 0:
		return age <= copyAtOnce && (!asked || least == 0 || age < least/2)
	}
	return age <= copyAtOnce && mirrored
}

// onAnotherPath reports whether p repeats one of the last packets, captured on another path.
func (c *copies) onAnotherPath(p *capture.Packet) bool {
	if c.sets == nil {
		return false
	}
	mark := newCopyMark(p)
	within := copyElsewhere
	if ipID(p) != 0 {
		within = copyWithin
	}
	for _, s := range c.set(&mark) {
		if s.isOne(&mark) && s.spot != mark.spot && p.Time.Sub(s.at).Abs() <= within {
			return true
		}
	}
	return false
}

// isRecut reports whether p, which has data, repeats bytes just captured, in packets of another
// length or at another spot: a host cuts super-packets between two of its interfaces, or joins
// segments, and a capture on a bridge has both. It does also if p is a copy with a damaged field,
// or if nothing asked for p: no timer retransmits within copyAtOnce.
func (f *Flow) isRecut(p *capture.Packet, now wheel.Time, asked bool) bool {
	if !f.started || p.Header.Flags.Has(tcp.SYN) {
		return false
	}
	start := f.pos(p.Header.Seq)
	end := start + int64(p.Len)
	if start < f.una || end > f.max {
		return false
	}
	i, later := f.board.find(start), false
	s, id := f.board.at(i), ipID(p)
	if id != 0 && s.id != 0 && s.transmissions == 1 {
		if id == s.id && start == s.start && now.Sub(s.seen) <= copyAtOnce {
			return true // another field is damaged
		}
		later = id-s.id >= superPieces
	}
	place, elsewhere, samePacket, atOnce := captureSpot(p), true, true, f.una > 1 && f.ipIDs.order(id, s.id) <= 0
	for k := i; k < f.board.len() && f.board.at(k).start < end; k++ {
		t := f.board.at(k)
		age := now.Sub(max(t.seen, t.sent)) // away from the sender, sent may be long before
		if t.missing || age > copyElsewhere || p.Header.Options.HasTimestamps && t.hasTS && p.Header.Options.TSVal != t.ts {
			return false
		}
		elsewhere = elsewhere && t.captureSpot != place
		samePacket = samePacket && t.transmissions == 1 && t.packet == s.packet
		atOnce = atOnce && age <= copyAtOnce
	}
	if atOnce && !asked {
		return true
	}
	return !later && (elsewhere || f.isPiece(i, start, end, id, samePacket, now))
}

// superPieces bounds the segments of a super-packet, each with its own identification.
const superPieces = 64

// isPiece reports whether bytes captured at the spot of segment i are a wire segment of the
// super-packet just captured, or joined from several packets just captured. samePacket says that
// one packet brought all of the bytes, and only once. No sender repeats bytes that soon: not even
// an ACK can have come. The identification is one that the super-packet takes, or the first
// packet's.
func (f *Flow) isPiece(i int, start, end int64, id uint16, samePacket bool, now wheel.Time) bool {
	s := f.board.at(i)
	atOnce := copyAtOnce
	if f.RTT.Min > 0 {
		atOnce = min(max(f.RTT.Min/2, copyAtOnce/10), copyAtOnce)
	}
	if now.Sub(s.seen) > atOnce {
		return false
	}
	if !samePacket { // joined: the identification is that of the first
		return s.transmissions == 1 && s.start == start && (id == 0 || id == s.id)
	}
	first, last := i, i // of the super-packet
	for first > 0 && f.board.at(first-1).packet == s.packet {
		first--
	}
	for last+1 < f.board.len() && f.board.at(last+1).packet == s.packet {
		last++
	}
	from, to := f.board.at(first).start, f.board.at(last).end
	if from == start && to == end {
		return false // of the same length: isCopy decides
	}
	return id == 0 || s.id == 0 || int64(id-s.id) <= (start-from)/tcp.MinMSS
}
