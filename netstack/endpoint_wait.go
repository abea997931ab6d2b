package netstack

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxWait bounds Endpoint.Wait, on the stack's clock.
const maxWait = time.Second

// Wait implements stack.TransportEndpoint. It returns when no goroutine runs the connection, so
// that all output has left.
//
// A program may call it, or stack.Destroy, from an event of the connection itself, whose goroutine
// then waits for itself. So Wait returns after a second of the stack's clock at the latest. On a
// virtual clock it does not block: only the driver runs connections.
func (e *Endpoint) Wait() {
	if e.p.virtual || e.work.Load() == 0 {
		return
	}
	late := make(chan struct{})
	timer := e.p.stack.Clock().AfterFunc(maxWait, func() { close(late) })
	defer timer.Stop()
	e.p.idle.waiters.Add(1)
	defer e.p.idle.waiters.Add(-1)
	for {
		changed := e.p.idle.next()
		if e.work.Load() == 0 {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		}
	}
}

// idleSignal wakes the callers of Wait when a connection becomes idle.
type idleSignal struct {
	waiters atomic.Int32 // without any, a connection that becomes idle pays one load

	mu      sync.Mutex
	changed chan struct{} // closed when a connection becomes idle
}

// next returns a channel that is closed when a connection next becomes idle.
func (s *idleSignal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	return s.changed
}

// becameIdle reports that a connection has no work left.
func (s *idleSignal) becameIdle() {
	if s.waiters.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}
