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
	kept       bool // acknowledged, and may still be retransmitted
	denied     bool // captured, and yet ACKs ask for it: see noteDenial
}

// earliest returns the earliest possible time of the last transmission.
func (s *segment) earliest() wheel.Time {
	if s.missing && s.prevSeen != 0 {
		return min(s.prevSeen, s.sent) // either may be earlier on a clock with ticks
	}
	return s.sent
}

// scoreboard holds the segments from SND.UNA to SND.NXT, adjacent and in order (RFC 6675 §4). In
// front of them are some that were acknowledged.
type scoreboard struct {
	all    []segment
	head   int
	sacked int // number of SACKed segments
}

const (
	// ackedKept is the number of acknowledged segments that find their retransmissions.
	ackedKept = 8
	// ackedMost is the number of segments in front of SND.UNA at which push drops the others.
	ackedMost = 24
)

func (b *scoreboard) len() int          { return len(b.all) - b.head }
func (b *scoreboard) at(i int) *segment { return &b.all[b.head+i] }

// push appends a zero segment and returns it.
func (b *scoreboard) push() *segment {
	if b.head >= ackedMost && b.head >= len(b.all)/2 {
		b.forget()
	}
	b.all = append(b.all, segment{})
	return &b.all[len(b.all)-1]
}

// forget drops the acknowledged segments but for the last ones that acked finds.
func (b *scoreboard) forget() {
	var last [ackedKept]int
	n := 0
	for i := b.head - 1; i >= 0 && n < ackedKept; i-- {
		if b.all[i].kept {
			last[n] = i
			n++
		}
	}
	for i := range n {
		b.all[i] = b.all[last[n-1-i]]
	}
	b.all = b.all[:n+copy(b.all[n:], b.all[b.head:])]
	b.head = n
}

// acked returns the acknowledged segment that contains pos, nil if it is not among the last ones.
func (b *scoreboard) acked(pos int64) *segment {
	n := 0
	for i := b.head - 1; i >= 0 && n < ackedKept; i-- {
		if s := &b.all[i]; s.kept {
			if s.start <= pos && pos < s.end {
				return s
			}
			n++
		}
	}
	return nil
}

// pop removes the first segment.
func (b *scoreboard) pop() {
	if b.all[b.head].sacked {
		b.sacked--
	}
	b.head++
}

// dropLast removes the last segment.
func (b *scoreboard) dropLast() {
	last := len(b.all) - 1
	if b.all[last].sacked {
		b.sacked--
	}
	b.all = b.all[:last]
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
