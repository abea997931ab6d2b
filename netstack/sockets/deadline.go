package sockets

import (
	"math"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// deadline is when a gate expires, by the clock of the stack.
type deadline struct {
	timer tcpip.Timer // nil before there was one
	at    tcpip.MonotonicTime
	set   bool // the timer runs for at
}

// longest is a span to which no clock adds up beyond its range: 73 years.
const longest = math.MaxInt64 / 4

// setDeadline has the gate expire at t; never if t is zero, and at once if it is past.
func (s *socket) setDeadline(g *gate, t time.Time) {
	s.mu.Lock()
	d := &g.deadline
	d.set = false
	left := time.Duration(longest)
	if !t.IsZero() {
		left = min(t.Sub(s.clock.Now()), longest)
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
		s.mark(g, gateExpired)
		return
	}
	d.at, d.set = s.clock.NowMonotonic().Add(left), !t.IsZero()
	g.state.And(^uint32(gateExpired))
	s.mu.Unlock()
}

// expire is what the timer does. It may be late, when the deadline was moved meanwhile, and is started again then.
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
	s.mark(g, gateExpired)
}

// shut closes a gate for good, and stops its timer.
func (s *socket) shut(g *gate) {
	s.mu.Lock()
	g.deadline.set = false
	if g.deadline.timer != nil {
		g.deadline.timer.Stop()
	}
	s.mu.Unlock()
	s.mark(g, gateClosed)
}
