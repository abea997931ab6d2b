package netstack

import (
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// CountStates returns the connections of a stack by state. It costs the same for any number of
// them, and a step that runs at the same time may be missing. ok is false if the stack's TCP is not
// this package's.
func CountStates(s *stack.Stack) (counts map[tcp.State]int, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return nil, false
	}
	counts = map[tcp.State]int{}
	for state := range p.states {
		if n := p.states[state].Load(); n > 0 {
			counts[tcp.State(state)] = int(n)
		}
	}
	return counts, true
}

// TimeWait is a connection in TIME-WAIT that its application has closed. It has no endpoint.
type TimeWait struct {
	Local, Remote netip.AddrPort
	Deadline      wheel.Time // when it ends, on the stack's clock
}

// TimeWaits returns the connections of a stack in TIME-WAIT that their applications have closed, in
// any order. The stack's own lists lack them. It returns nil if the stack's TCP is not this
// package's.
func TimeWaits(s *stack.Stack) (all []TimeWait) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return nil
	}
	t := &p.timeWaits
	t.mu.Lock()
	defer t.mu.Unlock()
	all = make([]TimeWait, 0, t.n.Load())
	t.each(func(w *timeWait) bool {
		w.shard.mu.Lock()
		at, runs := w.shard.wheel.Deadline(w.timer)
		w.shard.mu.Unlock()
		if runs {
			local, remote := w.ends.addrs()
			all = append(all, TimeWait{local, remote, at})
		}
		return true
	})
	return all
}

// Listeners returns the listening endpoints of a stack, in any order. It returns nil if the stack's
// TCP is not this package's.
func Listeners(s *stack.Stack) (all []*Endpoint) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return nil
	}
	p.listeners.Range(func(e, _ any) bool {
		all = append(all, e.(*Endpoint))
		return true
	})
	return all
}
