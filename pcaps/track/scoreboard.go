package track

import "tcpwheel/wheel"

// segment is a range of bytes that its sender does not know to be acknowledged, with its
// transmissions. SYN and FIN count as bytes. A missing segment was never captured, but later ones
// were.
type segment struct {
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
	provedLost bool // acknowledged, after ACKs had shown that it was lost
	denied     bool // captured, and yet ACKs ask for it: see noteDenial
}

// earliest returns the earliest possible time of the last transmission.
func (s *segment) earliest() wheel.Time {
	if s.missing && s.prevSeen != 0 {
		return min(s.prevSeen, s.sent) // either may be earlier on a clock with ticks
	}
	return s.sent
}

// ackedRing keeps the last acknowledged segments, for retransmissions that still follow.
type ackedRing struct {
	ring *[8]segment // allocated on first use
	next uint8
}

func (h *ackedRing) add(s *segment) {
	if h.ring == nil {
		h.ring = new([8]segment)
	}
	h.ring[h.next] = *s
	h.next = (h.next + 1) % uint8(len(h.ring))
}

// find returns the segment that contains pos, or nil.
func (h *ackedRing) find(pos int64) *segment {
	if h.ring == nil {
		return nil
	}
	for i := range h.ring {
		if s := &h.ring[i]; s.start <= pos && pos < s.end {
			return s
		}
	}
	return nil
}

// scoreboard holds the segments from SND.UNA to SND.NXT, adjacent and in order (RFC 6675 §4).
type scoreboard struct {
	all    []segment
	head   int
	sacked int // number of SACKed segments
}

func (b *scoreboard) len() int          { return len(b.all) - b.head }
func (b *scoreboard) at(i int) *segment { return &b.all[b.head+i] }

// push appends a segment.
func (b *scoreboard) push(s segment) *segment {
	if b.head >= 64 && b.head >= len(b.all)/2 {
		n := copy(b.all, b.all[b.head:])
		b.all, b.head = b.all[:n], 0
	}
	b.all = append(b.all, s)
	return &b.all[len(b.all)-1]
}

// pop removes the first segment.
func (b *scoreboard) pop() {
	if b.all[b.head].sacked {
		b.sacked--
	}
	b.head++
	if b.head == len(b.all) {
		b.all, b.head = b.all[:0], 0
	}
}

// find returns the index of the first segment that ends after pos, or len.
func (b *scoreboard) find(pos int64) int {
	lo, hi := b.head, len(b.all)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if b.all[mid].end <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - b.head
}

// split cuts segment i at pos, which lies inside it.
func (b *scoreboard) split(i int, pos int64) {
	i += b.head
	b.all = append(b.all, segment{})
	copy(b.all[i+1:], b.all[i:])
	b.all[i].end, b.all[i+1].start = pos, pos
	if b.all[i].sacked {
		b.sacked++
	}
}

// sack marks segment i as SACKed.
func (b *scoreboard) sack(i int) {
	b.at(i).sacked = true
	b.sacked++
}

// cut splits segments at start and at end, and returns the index range of those between.
func (b *scoreboard) cut(start, end int64) (first, last int) {
	first = b.find(start)
	if first < b.len() && b.at(first).start < start {
		b.split(first, start)
		first++
	}
	for last = first; last < b.len() && b.at(last).start < end; last++ {
		if b.at(last).end > end {
			b.split(last, end)
		}
	}
	return first, last
}
