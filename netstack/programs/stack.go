package programs

import (
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
)

// TCP is the implementation of TCP on a stack.
type TCP string

// The implementations.
const (
	GVisor TCP = "gvisor"
	Ours   TCP = "ours"
)

// Request is a SYN that waits for a decision. Both forwarders' requests have these methods.
type Request interface {
	ID() stack.TransportEndpointID
	CreateEndpoint(*waiter.Queue) (tcpip.Endpoint, tcpip.Error)
	Complete(sendReset bool)
}

// NewStack makes a stack with one NIC on a link. It has addr, routes everything to the link, and
// permits SACK.
func NewStack(t TCP, link stack.LinkEndpoint, addr netip.Prefix) (*stack.Stack, error) {
	factory := gtcp.NewProtocol
	switch t {
	case GVisor:
	case Ours:
		factory = netstack.NewProtocol // the first half of the swap
	default:
		return nil, fmt.Errorf("tcp %q, want gvisor or ours", t)
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{factory},
	})
	sack, noRACK := tcpip.TCPSACKEnabled(true), tcpip.TCPRecovery(0)
	s.SetTransportProtocolOption(header.TCPProtocolNumber, &sack)
	if t == GVisor {
		// gVisor's sender falls silent with RACK now and then: docs/findings.md.
		s.SetTransportProtocolOption(header.TCPProtocolNumber, &noRACK)
	}
	if err := s.CreateNIC(1, link); err != nil {
		return nil, fmt.Errorf("NIC: %s", err)
	}
	if err := s.AddProtocolAddress(1, tcpip.ProtocolAddress{
		Protocol: ipv4.ProtocolNumber,
		AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFrom4(addr.Addr().As4()), PrefixLen: addr.Bits(),
		},
	}, stack.AddressProperties{}); err != nil {
		return nil, fmt.Errorf("address %v: %s", addr, err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s, nil
}

// NewPair makes a stack on TCP t with address own, and a guest with gVisor's TCP and address other.
// A pipe joins them.
func NewPair(t TCP, own, other netip.Prefix) (s, guest *stack.Stack, err error) {
	near, far := pipe.New("", "", 1500)
	if guest, err = NewStack(GVisor, near, other); err != nil {
		return nil, nil, err
	}
	if s, err = NewStack(t, far, own); err != nil {
		guest.Destroy()
		return nil, nil, err
	}
	return s, guest, nil
}

// Forward calls handle for each SYN to a port without a listener, in a goroutine of its own.
func Forward(s *stack.Stack, t TCP, handle func(Request)) {
	var handler func(stack.TransportEndpointID, *stack.PacketBuffer) bool
	if t == Ours { // the second half of the swap: gVisor's forwarder panics on another TCP
		handler = netstack.NewForwarder(s, 0, 1024, func(r *netstack.ForwarderRequest) { handle(r) }).HandlePacket
	} else {
		handler = gtcp.NewForwarder(s, 0, 1024, func(r *gtcp.ForwarderRequest) { handle(r) }).HandlePacket
	}
	s.SetTransportProtocolHandler(header.TCPProtocolNumber, handler)
}

// Address returns an address and port as gVisor has them.
func Address(a netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{Addr: tcpip.AddrFrom4(a.Addr().As4()), Port: a.Port()}
}
