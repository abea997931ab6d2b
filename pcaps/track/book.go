package track

import "tcpwheel/wheel"

// segment is a range of one direction's octets that is not acknowledged yet, as far as its sender knows, and what the capture has of
// it. SYN and FIN count as octets.
type segment struct {
	start, end int64
	seen       wheel.Time // when the first was captured, or those behind what is missing
	first      wheel.Time // of the first transmission seen; of one that was not, when it was noticed that it is missing
	sent       wheel.Time // of the last one
	after      wheel.Time // of one that is missing: when what was seen before it was sent, octets or none
	number     int64      // the packet with the first one seen; 0 for none
	firstTS    uint32     // its TSval; of one that is missing, that of the packet that showed it, as id
	ts         uint32     // that of the last one
	txs        uint16     // transmissions seen
	id         uint16     // the identification of the packet with the first one; 0 for none
	place      uint8      // where the last one was captured
	hasTS      bool
	sacked     bool
	missing    bool // octets behind it were seen and none of its own
	tail       bool // and seems to belong to what stands before it, rather than to what was seen behind it
	late       bool // what was missing came as a retransmission
	proved     bool // of one that is acknowledged: ACKs before had shown that it was lost
}

// earliest returns when the last transmission can have been, at the earliest.
func (s *segment) earliest() wheel.Time {
	if s.missing && s.after != 0 {
		return min(s.after, s.sent) // by a clock with ticks, either may be the earlier
	}
	return s.sent
}

// past is the last segments that were acknowledged, for retransmissions that come all the same.
type past struct {
	ring *[8]segment // nil as long as there are none
	next uint8
}

func (h *past) add(s *segment) {
	if h.ring == nil {
		h.ring = new([8]segment)
	}
	h.ring[h.next] = *s
	h.next = (h.next + 1) % uint8(len(h.ring))
}

// find returns the one that has the octet at pos, nil if it is forgotten.
func (h *past) find(pos int64) *segment {
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

// book is the segments from the first that is not acknowledged, in order and without gaps between them.
type book struct {
	all    []segment
	head   int
	sacked int // how many are
}

func (b *book) len() int          { return len(b.all) - b.head }
func (b *book) at(i int) *segment { return &b.all[b.head+i] }

// push adds a segment behind the last.
func (b *book) push(s segment) *segment {
	if b.head >= 64 && b.head >= len(b.all)/2 {
		n := copy(b.all, b.all[b.head:])
		b.all, b.head = b.all[:n], 0
	}
	b.all = append(b.all, s)
	return &b.all[len(b.all)-1]
}

// pop takes the first off.
func (b *book) pop() {
	if b.all[b.head].sacked {
		b.sacked--
	}
	b.head++
	if b.head == len(b.all) {
		b.all, b.head = b.all[:0], 0
	}
}

// find returns the number of the first segment that ends behind pos, len if there is none.
func (b *book) find(pos int64) int {
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

// split cuts segment i at pos, which lies inside.
func (b *book) split(i int, pos int64) {
	i += b.head
	b.all = append(b.all, segment{})
	copy(b.all[i+1:], b.all[i:])
	b.all[i].end, b.all[i+1].start = pos, pos
	if b.all[i].sacked {
		b.sacked++
	}
}

// sack marks segment i.
func (b *book) sack(i int) {
	b.at(i).sacked = true
	b.sacked++
}

// cut makes segments begin at start and end at end, and returns the numbers from first to before last of those in between.
func (b *book) cut(start, end int64) (first, last int) {
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
