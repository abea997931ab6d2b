package sockets

import (
	"math"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// deadline is the time at which a gate expires, on the stack's clock.
type deadline struct {
	timer tcpip.Timer // nil until first needed
	at    tcpip.MonotonicTime
	set   bool // the timer runs for at
}

// maxDeadline is a span, 73 years, that cannot overflow any clock.
const maxDeadline = math.MaxInt64 / 4

// setDeadline makes the gate expire at t. A zero t removes the deadline; a past one expires at
// once.
func (s *socket) setDeadline(g *gate, t time.Time) {
	s.mu.Lock()
	d := &g.deadline
	d.set = false
	left := time.Duration(maxDeadline)
	if !t.IsZero() {
		left = min(t.Sub(s.clock.Now()), maxDeadline)
	}
	switch {
	case t.IsZero() || left <= 0:
		if d.timer != nil {
			d.timer.Stop()
		}
	case d.timer == nil:
		d.timer = s.clock.AfterFunc(left, func() { s.expire(g) })
	default:
		d.timer.Reset(left)
	}
	if left <= 0 {
		s.mu.Unlock()
		s.setState(g, gateExpired)
		return
	}
	d.at, d.set = s.clock.NowMonotonic().Add(left), !t.IsZero()
	g.state.And(^uint32(gateExpired))
	s.mu.Unlock()
}

// expire is the timer's function. If the deadline has moved meanwhile, it restarts the timer.
func (s *socket) expire(g *gate) {
	s.mu.Lock()
	d := &g.deadline
	if !d.set || g.state.Load()&gateClosed != 0 {
		s.mu.Unlock()
		return
	}
	if left := d.at.Sub(s.clock.NowMonotonic()); left > 0 {
		d.timer.Reset(left)
		s.mu.Unlock()
		return
	}
	d.set = false
	s.mu.Unlock()
	s.setState(g, gateExpired)
}

// shut closes a gate forever and stops its timer.
func (s *socket) shut(g *gate) {
	s.mu.Lock()
	g.deadline.set = false
	if g.deadline.timer != nil {
		g.deadline.timer.Stop()
	}
	s.mu.Unlock()
	s.setState(g, gateClosed)
}
