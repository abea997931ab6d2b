package virtual

import (
	"fmt"
	"net/netip"
	"reflect"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
)

// TCP configures the transport protocol of an end: this module's, or gVisor's own.
type TCP struct {
	GVisor      bool            // use gVisor's TCP, not this module's
	Config      netstack.Config // of this module's TCP; the default is netstack.DefaultConfig
	NoSACK      bool
	NoRACK      bool          // gVisor: switch off RACK and tail loss probes
	Control     string        // "cubic", "newreno", not for gVisor "vegas"; "" is Config's or "cubic"
	SendBuffer  int           // bytes, at most; 0 is 4 MiB
	RecvBuffer  int           // bytes, at most, 4096 or more; 0 is the stack's default
	MinRTO      time.Duration // gVisor's RTO floor, 1 ms or more; 0 is its default, 200 ms
	StrictClock bool          // readings of the clock never repeat, as always with gVisor's TCP
	ClockTick   time.Duration // readings are whole ticks, as of Windows's clock; 0 is StrictClock or exact
}

// NewStack makes a stack with this TCP over the IP versions of addrs, attached to a link with these
// addresses: IPv4's with /24, IPv6's with /64. o supplies the clock, the random sources and further
// transport protocols. It serves real time as well as virtual time.
func NewStack(o stack.Options, t *TCP, link stack.LinkEndpoint, addrs ...netip.Addr) (*stack.Stack, error) {
	factory := stack.TransportProtocolFactory(gtcp.NewProtocol)
	if !t.GVisor {
		if reflect.ValueOf(t.Config.Conn).IsZero() {
			whole := *t
			whole.Config.Conn = netstack.DefaultConfig().Conn
			t = &whole
		}
		var err error
		if factory, err = netstack.NewProtocolWith(t.Config); err != nil {
			return nil, err
		}
	}
	var at []tcpip.ProtocolAddress
	var routes []tcpip.Route
	for _, a := range addrs {
		net, prefix, all := stack.NetworkProtocolFactory(ipv4.NewProtocol), 24, header.IPv4EmptySubnet
		number := header.IPv4ProtocolNumber
		if a.Is6() {
			net, prefix, all, number = ipv6.NewProtocol, 64, header.IPv6EmptySubnet, header.IPv6ProtocolNumber
		}
		o.NetworkProtocols = append(o.NetworkProtocols, net)
		routes = append(routes, tcpip.Route{Destination: all, NIC: 1})
		own := tcpip.AddressWithPrefix{Address: address(a), PrefixLen: prefix}
		at = append(at, tcpip.ProtocolAddress{Protocol: number, AddressWithPrefix: own})
	}
	o.TransportProtocols = append(o.TransportProtocols, factory)
	s := stack.New(o)
	fail := func(what string, err tcpip.Error) (*stack.Stack, error) {
		s.Destroy()
		return nil, fmt.Errorf("%s: %s", what, err)
	}
	for _, option := range t.options() {
		if err := s.SetTransportProtocolOption(header.TCPProtocolNumber, option); err != nil {
			return fail(fmt.Sprintf("set %T", option), err)
		}
	}
	if err := s.CreateNIC(1, link); err != nil {
		return fail("attach the stack to its link", err)
	}
	for _, a := range at {
		if err := s.AddProtocolAddress(1, a, stack.AddressProperties{}); err != nil {
			return fail("give the stack its address", err)
		}
	}
	s.SetRouteTable(routes)
	return s, nil
}

// options returns t as the settings of a gVisor stack.
func (t *TCP) options() []tcpip.SettableTransportProtocolOption {
	control := t.Control
	if control == "" {
		control = "cubic"
		if !t.GVisor {
			control = t.Config.Conn.Control
		}
	}
	if control == "newreno" {
		control = "reno" // gVisor's name
	}
	buffer := t.SendBuffer
	if buffer == 0 {
		buffer = 4 << 20
	}
	sack, name := tcpip.TCPSACKEnabled(!t.NoSACK), tcpip.CongestionControlOption(control)
	send := tcpip.TCPSendBufferSizeRangeOption{Min: 4096, Default: buffer, Max: buffer}
	options := []tcpip.SettableTransportProtocolOption{&sack, &name, &send}
	if t.RecvBuffer != 0 {
		fixed := tcpip.TCPModerateReceiveBufferOption(false)
		options = append(options, &tcpip.TCPReceiveBufferSizeRangeOption{Min: 4096, Default: t.RecvBuffer, Max: t.RecvBuffer}, &fixed)
	}
	if floor := tcpip.TCPMinRTOOption(t.MinRTO); t.MinRTO != 0 && t.GVisor {
		options = append(options, &floor)
	}
	if none := tcpip.TCPRecovery(0); t.NoRACK && t.GVisor {
		options = append(options, &none)
	}
	return options
}

// Counts are retransmissions by cause.
type Counts struct {
	Timeouts        uint64 // expiries of retransmission timers
	Probes          uint64 // tail loss probes; of gVisor, retransmissions without another cause
	FastRetransmits uint64 // segments of recovery by ACKs
}

// CountsOf returns the retransmissions of a stack, over all connections.
func CountsOf(s *stack.Stack) Counts {
	if c, ok := netstack.Counters(s); ok {
		return Counts{Timeouts: c.TCPTimeouts, Probes: c.TCPLossProbes, FastRetransmits: c.TCPFastRetrans}
	}
	c := s.Stats().TCP
	// SlowStartRetransmits counts every retransmission below ssthresh, mostly probes.
	timeouts, fast, all := c.Timeouts.Value(), c.FastRetransmit.Value(), c.Retransmits.Value()
	return Counts{Timeouts: timeouts, Probes: all - min(all, timeouts+fast), FastRetransmits: fast}
}
