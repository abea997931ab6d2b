package up

import (
	"net/netip"

	"tcpwheel/netstack"
	"tcpwheel/wheel"
)

// Watch calls w for all events from now on, until stop. w may still be called while stop runs. The
// host must have a status server.
func (s *Host) Watch(w Watcher) (stop func()) {
	s.observer.stream.watch(w, true)
	return func() { s.observer.stream.watch(w, false) }
}

// Config returns the configuration of the host.
func (s *Host) Config() *Config { return &s.config }

// Now returns the time on the stack's clock.
func (s *Host) Now() wheel.Time { return s.observer.now() }

// EndpointAddrs returns the addresses and ports of an endpoint of a stack.
func EndpointAddrs(e *netstack.Endpoint) (local, remote netip.AddrPort) { return endpointAddrs(e) }
