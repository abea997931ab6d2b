package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
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
