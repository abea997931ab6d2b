package track

import "tcpwheel/wheel"

// outstanding is a range of bytes that its sender does not know to be acknowledged, with its
// transmissions. SYN and FIN count as bytes. A missing segment was never captured, but later ones
// were.
type outstanding struct {
	start, end    int64
	seen          wheel.Time // when it was first captured; if missing, when the packet behind it was
	firstSent     wheel.Time // first transmission captured; if missing, when the gap was noticed
	sent          wheel.Time // last transmission
	prevSeen      wheel.Time // if missing: when the last packet before the gap was sent
	packet        int64      // first transmission; 0 if none was captured
	firstTS       uint32     // TSval of the first transmission; if missing, of the packet behind it
	ts            uint32     // TSval of the last transmission
	transmissions uint16     // number captured
	id            uint16     // IP identification, as firstTS; 0 if none
	captureSpot   uint8      // of the last transmission
	hasTS         bool
	sacked        bool
	missing       bool // never captured, while later bytes were
	// Missing, and sent with the packet before it rather than with the one behind it.
	tailLike   bool
	filledLate bool // was missing, then retransmitted
	probe      bool // the byte of a window probe
	denied     bool // captured, and yet ACKs ask for it: see noteDenial
}

// earliest returns the earliest possible time of the last transmission.
func (s *outstanding) earliest() wheel.Time {
	if s.missing && s.prevSeen != 0 {
		return min(s.prevSeen, s.sent) // either may be earlier on a clock with ticks
	}
	return s.sent
}

// ackedSegment is an acknowledged segment that may still be retransmitted.
type ackedSegment struct {
	start      int64
	sent       wheel.Time // last transmission
	packet     int64      // first transmission; 0 if none was captured
	bytes      uint32
	ts         uint32 // TSval of the last transmission
	hasTS      bool
	captured   bool       // at least one transmission was
	provedLost bool       // acknowledged after ACKs had shown that it was lost
	asked      wheel.Time // when the last ACK before that came if it asked for it; else 0
}

// ackedRing is the last segments that were acknowledged.
type ackedRing struct {
	all  []ackedSegment
	next int32 // where the next one goes
}

// scoreboard holds the segments from SND.UNA to SND.NXT, adjacent and in order (RFC 6675 §4), and
// remembers the last acknowledged ones.
type scoreboard struct {
	ring   []outstanding // of a length that is a power of two; the first segment is at head
	head   int32
	n      int32
	sacked int32 // number of SACKed segments

	last  ackedRing // acknowledged
	asked ackedRing // the ones among them that ACKs had asked for
}

// ackedKept is the number of acknowledged segments that find their retransmissions.
const ackedKept = 8

func (b *scoreboard) len() int              { return int(b.n) }
func (b *scoreboard) at(i int) *outstanding { return &b.ring[(int(b.head)+i)&(len(b.ring)-1)] }

// push appends a zero segment and returns it.
func (b *scoreboard) push(m *memory) *outstanding {
	if b.len() == len(b.ring) {
		b.grow(m)
	}
	b.n++
	s := b.at(b.len() - 1)
	*s = outstanding{}
	return s
}

// grow doubles the room for segments.
func (b *scoreboard) grow(m *memory) {
	ring := m.segments.get(max(2*len(b.ring), 2))
	n := copy(ring, b.ring[b.head:])
	copy(ring[n:], b.ring[:b.head])
	m.segments.put(b.ring)
	b.ring, b.head = ring, 0
}

// pop removes the first segment.
func (b *scoreboard) pop() {
	if b.at(0).sacked {
		b.sacked--
	}
	b.head = (b.head + 1) & int32(len(b.ring)-1)
	if b.n--; b.n == 0 {
		b.head = 0 // where the cache has it
	}
}

// acknowledge removes the first segment and remembers it. ACKs asked for it until asked, if not 0.
func (b *scoreboard) acknowledge(m *memory, asked wheel.Time, provedLost bool) {
	s, r := b.at(0), &b.last
	if asked != 0 { // many others may be acknowledged before its retransmission comes
		r = &b.asked
	}
	a := r.add(m) // field by field: a copy of what was just stored is slow
	a.start, a.sent, a.packet, a.bytes = s.start, s.sent, s.packet, uint32(s.end-s.start)
	a.ts, a.hasTS = s.ts, s.hasTS
	a.captured, a.provedLost, a.asked = s.transmissions > 0, provedLost, asked
	b.pop()
}

// add returns where the next segment goes.
func (r *ackedRing) add(m *memory) *ackedSegment {
	if n := len(r.all); int(r.next) == n {
		if r.next = 0; n < ackedKept {
			r.next, r.all = int32(n), m.history.grow(r.all, max(2*n, 2))
			clear(r.all[n:])
		}
	}
	r.next++
	return &r.all[r.next-1]
}

// find returns the segment that contains pos, nil if there is none.
func (r *ackedRing) find(pos int64) *ackedSegment {
	for i := range r.all {
		newest := (int(r.next) - 1 - i) & (len(r.all) - 1)
		if s := &r.all[newest]; s.start <= pos && pos < s.start+int64(s.bytes) {
			return s
		}
	}
	return nil
}

// acked returns the acknowledged segment that contains pos, nil if it is not among the last ones.
func (b *scoreboard) acked(pos int64) *ackedSegment {
	if s := b.last.find(pos); s != nil {
		return s
	}
	return b.asked.find(pos)
}

// dropLast removes the last segment.
func (b *scoreboard) dropLast() {
	if b.at(b.len() - 1).sacked {
		b.sacked--
	}
	b.n--
}

// find returns the index of the first segment that ends after pos, or len.
func (b *scoreboard) find(pos int64) int {
	lo, hi := 0, b.len()
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if b.at(mid).end <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// split cuts segment i at pos, which lies inside it.
func (b *scoreboard) split(m *memory, i int, pos int64) {
	b.push(m)
	for k := b.len() - 1; k > i; k-- {
		*b.at(k) = *b.at(k - 1)
	}
	b.at(i).end, b.at(i+1).start = pos, pos
	if b.at(i).sacked {
		b.sacked++
	}
}

// sack marks segment i as SACKed.
func (b *scoreboard) sack(i int) {
	b.at(i).sacked = true
	b.sacked++
}

// cut splits segments at start and at end, and returns the index range of those between.
func (b *scoreboard) cut(m *memory, start, end int64) (first, last int) {
	first = b.find(start)
	if first < b.len() && b.at(first).start < start {
		b.split(m, first, start)
		first++
	}
	for last = first; last < b.len() && b.at(last).start < end; last++ {
		if b.at(last).end > end {
			b.split(m, last, end)
		}
	}
	return first, last
}
