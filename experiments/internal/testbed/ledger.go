package testbed

import (
	"sort"
	"time"

	"tcpwheel/wheel"
)

// ledger is the sender's transmissions as seen on the path.
type ledger struct {
	streams map[uint16]*stream // by the receiver's port
	all     []transmission
}

// stream is the segments of a connection, in the order of the stream.
type stream struct {
	segments []span
}

// span is bytes that were first sent in one segment.
type span struct {
	start, end uint64
	last       int32 // transmission, in ledger.all
	attempts   uint32
}

// transmission is one transmission of a segment.
type transmission struct {
	at   wheel.Time
	prev int32 // the transmission before, -1 for none
	fate fate
}

type fate uint8

const (
	pending fate = iota // in flight when the run ended
	arrived
	lost
)

// sent notes a transmission of bytes. It returns its number, and which transmission of these bytes
// it is, from 1.
func (l *ledger) sent(now wheel.Time, port uint16, start, end uint64) (id int32, attempt uint32) {
	s := l.streams[port]
	if s == nil {
		s = &stream{}
		l.streams[port] = s
	}
	id = int32(len(l.all))
	l.all = append(l.all, transmission{at: now, prev: -1})
	next := uint64(0)
	if n := len(s.segments); n > 0 {
		next = s.segments[n-1].end
	}
	attempt = 1
	if start < next {
		g := s.find(start)
		g.attempts++
		attempt = g.attempts
		l.all[id].prev, g.last = g.last, id
		if end <= next {
			return id, attempt
		}
		start = next
	}
	s.segments = append(s.segments, span{start, end, id, attempt})
	return id, attempt
}

// find returns the span of a byte that was sent.
func (s *stream) find(place uint64) *span {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].end > place })
	return &s.segments[i]
}

// latest returns the number of the attempt-th transmission of the bytes at start, or -1.
func (l *ledger) latest(port uint16, start uint64, attempt uint32) int32 {
	s := l.streams[port]
	if s == nil || len(s.segments) == 0 || s.segments[len(s.segments)-1].end <= start {
		return -1
	}
	g := s.find(start)
	id := g.last
	for n := g.attempts; n > attempt && id >= 0; n-- {
		id = l.all[id].prev
	}
	return id
}

// settle notes the fate of a transmission; -1 is none.
func (l *ledger) settle(id int32, f fate) {
	if id >= 0 {
		l.all[id].fate = f
	}
}

// maxWaits is the most waits of a run that are kept. More are thinned out evenly.
const maxWaits = 500

// count fills in the counts of a Result.
func (l *ledger) count(r *Result) {
	var waits []time.Duration
	r.Sent = len(l.all)
	for _, t := range l.all {
		if t.fate == lost {
			r.Lost++
		}
		if t.prev < 0 {
			continue
		}
		r.Retransmitted++
		if before := &l.all[t.prev]; before.fate == lost {
			waits = append(waits, t.at.Sub(before.at))
		}
		for p := t.prev; p >= 0; p = l.all[p].prev {
			if l.all[p].fate != lost {
				r.Spurious++
				break
			}
		}
	}
	r.Repaired = len(waits)
	for i, w := range waits {
		r.WaitSum += w
		if n := len(waits); n <= maxWaits || i*maxWaits/n != (i-1)*maxWaits/n || i == 0 {
			r.Waits = append(r.Waits, w)
		}
	}
}
