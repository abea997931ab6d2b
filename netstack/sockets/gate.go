package sockets

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// gate is where goroutines wait until one direction of a socket may go on. It counts what has happened, so that nobody sleeps over
// an event between trying and waiting:
//
//	seq := g.events.Load()
//	... try, and if that would block:
//	s.wait(g, seq)
//
// An event costs an addition where nobody waits.
type gate struct {
	events atomic.Uint32
	count  atomic.Int32  // of those who wait, or are about to
	state  atomic.Uint32 // gateClosed, gateExpired
	busy   atomic.Bool   // a writer has its turn

	// Guarded by the socket's mu.
	first    *sleeper
	deadline deadline
}

const (
	gateClosed  = 1 << iota // for good
	gateExpired             // the deadline has passed
)

// sleeper is a goroutine that waits. It is signalled once for each time it was put into a gate.
type sleeper struct {
	next   *sleeper
	wakeUp chan struct{} // of one place; nil for a task
	task   *task
}

// socket is what connections and listeners have in common: goroutines that wait for their endpoint.
type socket struct {
	ep    tcpip.Endpoint
	clock tcpip.Clock
	tasks *Tasks // nil is real time

	mu    sync.Mutex // guards the gates' sleepers and deadlines; never held while something else is called but the clock
	spare *sleeper   // so that waiting does not allocate
}

// wait returns when something has happened at the gate since seq was read.
func (s *socket) wait(g *gate, seq uint32) {
	var k *task
	if s.tasks != nil {
		k = s.tasks.running()
	}
	g.count.Add(1)
	s.mu.Lock()
	if g.events.Load() != seq {
		s.mu.Unlock()
		g.count.Add(-1)
		return
	}
	w := s.sleeper(k)
	last := &g.first
	for *last != nil {
		last = &(*last).next // the one who waits longest is woken up first
	}
	*last = w
	s.mu.Unlock()
	if k != nil {
		s.tasks.park(k)
	} else {
		<-w.wakeUp
	}
	g.count.Add(-1)
	s.mu.Lock()
	w.task = nil
	s.spare = w
	s.mu.Unlock()
}

// sleeper returns one for the goroutine that calls, which is task k if that is not nil. The caller holds the lock.
func (s *socket) sleeper(k *task) *sleeper {
	w := s.spare
	s.spare = nil
	if w == nil {
		w = &sleeper{}
	}
	w.task = k
	if k == nil && w.wakeUp == nil {
		w.wakeUp = make(chan struct{}, 1)
	}
	return w
}

// happened tells a gate of an event, and wakes up who waits there. It may be called with locks of the stack held.
func (s *socket) happened(g *gate) {
	g.events.Add(1)
	if g.count.Load() == 0 {
		return
	}
	s.mu.Lock()
	w := g.first
	g.first = nil
	s.mu.Unlock()
	for w != nil {
		next := w.next
		w.next = nil
		if w.task != nil {
			s.tasks.unpark(w.task)
		} else {
			w.wakeUp <- struct{}{}
		}
		w = next
	}
}

// mark sets a state and wakes up who waits.
func (s *socket) mark(g *gate, state uint32) {
	g.state.Or(state)
	s.happened(g)
}
