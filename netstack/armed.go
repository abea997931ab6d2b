package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ArmedTimers describes a connection's running timers of one kind. Count is 1 except for segments'
// retransmission timers.
type ArmedTimers struct {
	Kind       tcptimers.Kind
	PerSegment bool // each belongs to one segment in flight
	Count      int
	Deadline   wheel.Time // earliest expiry, rounded to the tick, on the stack's clock
}

// Armed returns the connection's running timers by kind. While the connection runs, timers of
// segments that are just being sent may be missing.
func (e *Endpoint) Armed() (armed []ArmedTimers) {
	e.mu.Lock()
	w := e.wait
	e.mu.Unlock()
	s := e.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	if w != nil {
		if at, ok := s.wheel.Deadline(w.timer); ok {
			armed = append(armed, ArmedTimers{Kind: tcptimers.TimeWait, Count: 1, Deadline: at})
		}
		return armed
	}
	t := e.timers
	if t == nil {
		return nil
	}
	for k := range t.kinds {
		if at, ok := s.deadline(t.kinds[k]); ok {
			armed = append(armed, ArmedTimers{Kind: tcptimers.Kind(k), Count: 1, Deadline: at})
		}
	}
	of := ArmedTimers{Kind: tcptimers.Rexmit, PerSegment: true}
	for _, ref := range t.segments {
		if at, ok := s.deadline(ref); ok {
			if of.Count == 0 || at < of.Deadline {
				of.Deadline = at
			}
			of.Count++
		}
	}
	if of.Count > 0 {
		armed = append(armed, of)
	}
	return armed
}

// deadline returns when a timer expires, and whether it runs. The caller holds the lock.
func (s *shard) deadline(ref timerRef) (at wheel.Time, ok bool) {
	if ref.timer == 0 || ref.state != timerRunning {
		return 0, false
	}
	return s.wheel.Deadline(ref.timer)
}

// CountTimers returns the number of running timers of all connections of a stack. ok is false if
// the stack's TCP is not this package's.
func CountTimers(s *stack.Stack) (n int, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return 0, false
	}
	for _, sh := range p.shards {
		sh.mu.Lock()
		n += sh.wheel.Len()
		sh.mu.Unlock()
	}
	return n, true
}
