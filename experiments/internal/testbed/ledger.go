package testbed

import (
	"sort"
	"time"

	"tcpwheel/wheel"
)

// ledger is what the path has seen of the sender's segments.
type ledger struct {
	streams map[uint16]*stream // by the receiver's port
	all     []transmission
}

// stream is the segments of a connection, in order of their places.
type stream struct {
	segments []span
}

// span is octets that were sent together the first time.
type span struct {
	start, end uint64
	last       int32 // of all
	attempts   uint32
}

// transmission is one of a segment.
type transmission struct {
	at   wheel.Time
	prev int32 // the transmission before, -1 for none
	fate fate
}

type fate uint8

const (
	pending fate = iota // still under way when the run ended
	arrived
	lost
)

// sent notes a transmission of octets, and returns its number and which one of these octets it is, from 1.
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

// find returns the span that has the octet, which was sent.
func (s *stream) find(octet uint64) *span {
	i := sort.Search(len(s.segments), func(i int) bool { return s.segments[i].end > octet })
	return &s.segments[i]
}

// latest returns the transmission of octets that was noted as the attempt-th, or -1.
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

// settle notes what became of a transmission; -1 is none.
func (l *ledger) settle(id int32, f fate) {
	if id >= 0 {
		l.all[id].fate = f
	}
}

// maxWaits is how many waits of a run are kept: beyond it they are thinned out evenly.
const maxWaits = 500

// count writes what was seen into a result.
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
