package netstack

import "sync"

// inbox is what has come for a connection that somebody else runs, or the crew is to run. A connection that is at rest has none.
type inbox struct {
	segments []segment
	octets   uint32 // of their payloads
	icmp     []icmpMessage
}

var inboxes = sync.Pool{New: func() any { return new(inbox) }}

// maxInbox is how many segments, and how many ICMP messages, wait for a connection. More are dropped, as by a full link.
const maxInbox = 4096

// box returns the inbox, under inMu.
func (e *Endpoint) box() *inbox {
	if e.in == nil {
		e.in = inboxes.Get().(*inbox)
	}
	return e.in
}

// takeIn moves what waits to the pass.
func (e *Endpoint) takeIn(p *pass) (icmp []icmpMessage) {
	e.inMu.Lock()
	b := e.in
	e.in = nil
	e.inMu.Unlock()
	if b == nil {
		return nil
	}
	p.in = append(p.in, b.segments...)
	icmp = b.icmp
	if clear(b.segments); cap(b.segments) > 64 {
		b.segments = nil
	}
	*b = inbox{segments: b.segments[:0]}
	inboxes.Put(b)
	return icmp
}
