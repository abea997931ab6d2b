package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ArmedTimers are the timers of a kind that run for a connection: one, but for the retransmission timers of segments.
type ArmedTimers struct {
	Kind       tcptimers.Kind
	PerSegment bool // they are those of segments in flight, one each
	Count      int
	Deadline   wheel.Time // of the earliest: the tick at which it expires, as the stack's clock counts
}

// Armed returns the timers that run for the connection, by kind. What is being sent while it runs may be missing.
func (e *Endpoint) Armed() (armed []ArmedTimers) {
	s := e.shard
	s.mu.Lock()
	defer s.mu.Unlock()
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

// deadline returns when a timer expires, and whether it runs. The lock is held.
func (s *shard) deadline(ref timerRef) (at wheel.Time, ok bool) {
	if ref.timer == 0 || ref.state != timerRunning {
		return 0, false
	}
	return s.wheel.Deadline(ref.timer)
}

// CountTimers returns the number of running timers of all connections of a stack. ok is false if the stack's TCP is another.
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
