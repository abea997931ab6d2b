package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/ports"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// ends are what an endpoint talks between: a stack.TransportEndpointInfo that takes less memory.
type ends struct {
	ID            stack.TransportEndpointID // from Bind, Connect or Accept on
	NetProto      tcpip.NetworkProtocolNumber
	RegisterNICID tcpip.NICID
	bind          *tcpip.Address // what Bind was asked for; nil if it was not called
}

// tell returns what users of the endpoint expect.
func (i *ends) tell() *stack.TransportEndpointInfo {
	t := &stack.TransportEndpointInfo{NetProto: i.NetProto, TransProto: ProtocolNumber, ID: i.ID, RegisterNICID: i.RegisterNICID}
	if i.bind != nil {
		t.BindAddr = *i.bind
	}
	return t
}

// binding is what an endpoint has of the stack's: ports and places in its tables.
type binding struct {
	nets       networks
	any        bool // the port is reserved with all local addresses, and not with that of the endpoint's end
	toPeer     bool // it is reserved for the peer only
	reserved   bool
	tuple      bool // the port is shared with the listener's
	registered bool
	flags      ports.Flags
	device     tcpip.NICID
	nic        tcpip.NICID
}

// reservation is how the stack knows the port that the binding has between the ends.
func (b *binding) reservation(id *stack.TransportEndpointID) ports.Reservation {
	r := ports.Reservation{
		Networks: b.nets.list(), Transport: ProtocolNumber, Port: id.LocalPort, Flags: b.flags, BindToDevice: b.device,
	}
	if !b.any {
		r.Addr = id.LocalAddress
	}
	if b.toPeer {
		r.Dest = tcpip.FullAddress{Addr: id.RemoteAddress, Port: id.RemotePort}
	}
	return r
}

// networks are versions of IP.
type networks uint8

const (
	onlyV4 networks = 1 + iota
	onlyV6
	bothVersions
)

func network(n tcpip.NetworkProtocolNumber) networks {
	if n == header.IPv6ProtocolNumber {
		return onlyV6
	}
	return onlyV4
}

var networkLists = [...][]tcpip.NetworkProtocolNumber{
	onlyV4:       {header.IPv4ProtocolNumber},
	onlyV6:       {header.IPv6ProtocolNumber},
	bothVersions: {header.IPv6ProtocolNumber, header.IPv4ProtocolNumber},
}

// list returns their numbers, which nobody is to change.
func (n networks) list() []tcpip.NetworkProtocolNumber { return networkLists[n] }
