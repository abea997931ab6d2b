package netstack

import "sync"

// inbox holds the input of a connection that another goroutine runs or will run. An idle connection
// has none.
type inbox struct {
	segments []segment
	bytes    uint32 // of the segments' payloads
	icmp     []icmpMessage
}

var inboxPool = sync.Pool{New: func() any { return new(inbox) }}

// maxInboxSegments bounds the waiting segments, and the waiting ICMP messages, of a connection.
// More are dropped, as by a full link.
const maxInboxSegments = 4096

// lockedInbox returns the inbox. The caller holds inboxMu.
func (q *inputQueue) lockedInbox() *inbox {
	if q.inbox == nil {
		q.inbox = inboxPool.Get().(*inbox)
	}
	return q.inbox
}

// takeInbox moves the waiting segments behind first (if not nil) into s.in and returns the waiting
// ICMP messages.
func (q *inputQueue) takeInbox(s *scratch, first *segment) (icmp []icmpMessage) {
	s.in = s.in[:0]
	if first != nil {
		s.in = append(s.in, *first)
	}
	q.inboxMu.Lock()
	b := q.inbox
	q.inbox = nil
	q.inboxMu.Unlock()
	if b == nil {
		return nil
	}
	s.in = append(s.in, b.segments...)
	icmp = b.icmp
	if clear(b.segments); cap(b.segments) > 64 {
		b.segments = nil
	}
	*b = inbox{segments: b.segments[:0]}
	inboxPool.Put(b)
	return icmp
}
