package sockets

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// gate is where goroutines wait until one direction of a socket may proceed. It counts events, so
// that no event between a try and the wait is missed:
//
//	seq := g.events.Load()
//	... try, and if that would block:
//	s.wait(g, seq)
//
// Without a waiting goroutine an event costs one addition.
type gate struct {
	events  atomic.Uint32
	waiting atomic.Int32  // goroutines that wait or are about to
	state   atomic.Uint32 // gateClosed, gateExpired
	writing atomic.Bool   // a writer holds the gate

	// Guarded by the socket's mu.
	sleepers *sleeper
	deadline deadline
}

const (
	gateClosed  = 1 << iota // forever
	gateExpired             // the deadline has passed
)

// sleeper is a goroutine that waits. It gets one signal for each time it was put into a gate.
type sleeper struct {
	next   *sleeper
	wakeUp chan struct{} // capacity 1; nil for a task
	task   *task
}

// socket is the common part of connections and listeners: goroutines that wait for an endpoint.
type socket struct {
	ep    tcpip.Endpoint
	clock tcpip.Clock
	tasks *Tasks // nil in real time

	// Guards the gates' sleepers and deadlines. Only the clock is called while it is held.
	mu          sync.Mutex
	freeSleeper *sleeper // reused, so that waiting does not allocate
}

// wait returns when an event has happened at the gate since seq was read.
func (s *socket) wait(g *gate, seq uint32) {
	var k *task
	if s.tasks != nil {
		k = s.tasks.running()
	}
	g.waiting.Add(1)
	s.mu.Lock()
	if g.events.Load() != seq {
		s.mu.Unlock()
		g.waiting.Add(-1)
		return
	}
	w := s.sleeper(k)
	last := &g.sleepers
	for *last != nil {
		last = &(*last).next // FIFO: the longest waiting goroutine wakes up first
	}
	*last = w
	s.mu.Unlock()
	if k != nil {
		s.tasks.park(k)
	} else {
		<-w.wakeUp
	}
	g.waiting.Add(-1)
	s.mu.Lock()
	w.task = nil
	s.freeSleeper = w
	s.mu.Unlock()
}

// sleeper returns a sleeper for the calling goroutine, which is task k unless k is nil. The caller
// holds the lock.
func (s *socket) sleeper(k *task) *sleeper {
	w := s.freeSleeper
	s.freeSleeper = nil
	if w == nil {
		w = &sleeper{}
	}
	w.task = k
	if k == nil && w.wakeUp == nil {
		w.wakeUp = make(chan struct{}, 1)
	}
	return w
}

// wake reports an event to a gate and wakes the goroutines that wait. The caller may hold locks of
// the stack.
func (s *socket) wake(g *gate) {
	g.events.Add(1)
	if g.waiting.Load() == 0 {
		return
	}
	s.mu.Lock()
	w := g.sleepers
	g.sleepers = nil
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

// setState sets a state of the gate and wakes the goroutines that wait.
func (s *socket) setState(g *gate, state uint32) {
	g.state.Or(state)
	s.wake(g)
}
