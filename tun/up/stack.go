package up

import (
	"fmt"
	"net/netip"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"

	"tcpwheel/netstack"
)

// nic is the number of a stack's only interface.
const nic tcpip.NICID = 1

// newStack makes the stack on its link. timers sees the changes of Ours' timers; it may be nil.
func (c *Config) newStack(link stack.LinkEndpoint, clock tcpip.Clock, timers func(netstack.TimerEvent)) (*stack.Stack, error) {
	factory := gtcp.NewProtocol
	if c.TCP != GVisor {
		cfg, err := c.protocol()
		cfg.TimerEvents = timers
		if err == nil {
			factory, err = netstack.NewProtocolWith(cfg)
		}
		if err != nil {
			return nil, err
		}
	}
	s := stack.New(stack.Options{
		HandleLocal:        true, // a packet from the link with an address of the stack as its source is forged
		Clock:              clock,
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{factory, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6},
	})
	if err := c.setUp(s, link); err != nil {
		s.Destroy()
		return nil, err
	}
	return s, nil
}

func (c *Config) setUp(s *stack.Stack, link stack.LinkEndpoint) error {
	if c.TCP == GVisor {
		sack, moderate := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true)
		control := tcpip.CongestionControlOption("cubic")
		for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &control} {
			if err := s.SetTransportProtocolOption(gtcp.ProtocolNumber, o); err != nil {
				return fmt.Errorf("set %T: %s", o, err)
			}
		}
	}
	if err := s.CreateNIC(nic, link); err != nil {
		return fmt.Errorf("attach the stack to its link: %s", err)
	}
	for _, p := range c.Addrs {
		addr := tcpip.ProtocolAddress{Protocol: family(p.Addr()), AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFromSlice(p.Addr().AsSlice()), PrefixLen: p.Bits()}}
		if err := s.AddProtocolAddress(nic, addr, stack.AddressProperties{}); err != nil {
			return fmt.Errorf("give the stack address %v: %s", p, err)
		}
	}
	s.SetRouteTable([]tcpip.Route{
		{Destination: header.IPv4EmptySubnet, NIC: nic}, {Destination: header.IPv6EmptySubnet, NIC: nic}})
	return nil
}

func family(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is6() {
		return header.IPv6ProtocolNumber
	}
	return header.IPv4ProtocolNumber
}
