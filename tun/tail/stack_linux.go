package tail

import (
	"fmt"
	"net/netip"
	"strings"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
)

// The addresses of both ends.
var (
	serverAddr = netip.MustParsePrefix("10.8.0.1/24")
	clientAddr = netip.MustParsePrefix("10.8.0.2/24")
)

// factory returns the TCP of a sender that is a stack.
func factory(sender string) (stack.TransportProtocolFactory, error) {
	if sender == GVisor {
		return gtcp.NewProtocol, nil
	}
	cfg, err := protocol(strings.TrimPrefix(sender, ours))
	if err != nil {
		return nil, err
	}
	return netstack.NewProtocolWith(cfg)
}

// newStack makes a stack on a link, with SACK and CUBIC whosever TCP it is.
func newStack(o stack.Options, link stack.LinkEndpoint, addr netip.Prefix) (*stack.Stack, error) {
	o.NetworkProtocols = []stack.NetworkProtocolFactory{ipv4.NewProtocol}
	s := stack.New(o)
	fail := func(what string, err tcpip.Error) (*stack.Stack, error) {
		s.Destroy()
		return nil, fmt.Errorf("%s: %s", what, err)
	}
	sack, control := tcpip.TCPSACKEnabled(true), tcpip.CongestionControlOption("cubic")
	for _, option := range []tcpip.SettableTransportProtocolOption{&sack, &control} {
		if err := s.SetTransportProtocolOption(header.TCPProtocolNumber, option); err != nil {
			return fail(fmt.Sprintf("set %T", option), err)
		}
	}
	if err := s.CreateNIC(1, link); err != nil {
		return fail("attach the stack to its link", err)
	}
	at := tcpip.ProtocolAddress{Protocol: header.IPv4ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{
		Address: tcpip.AddrFromSlice(addr.Addr().AsSlice()), PrefixLen: addr.Bits()}}
	if err := s.AddProtocolAddress(1, at, stack.AddressProperties{}); err != nil {
		return fail("give the stack its address", err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s, nil
}
