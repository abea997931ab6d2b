package netstack

import (
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/ports"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// endpointInfo is a stack.TransportEndpointInfo that takes less memory.
type endpointInfo struct {
	ID            stack.TransportEndpointID // set by Bind, Connect or Accept
	NetProto      tcpip.NetworkProtocolNumber
	RegisterNICID tcpip.NICID
	bindAddr      *tcpip.Address // the argument of Bind; nil before Bind
}

// transportInfo returns the information in gVisor's type.
func (i *endpointInfo) transportInfo() *stack.TransportEndpointInfo {
	t := &stack.TransportEndpointInfo{NetProto: i.NetProto, TransProto: ProtocolNumber, ID: i.ID, RegisterNICID: i.RegisterNICID}
	if i.bindAddr != nil {
		t.BindAddr = *i.bindAddr
	}
	return t
}

// registration lists the ports and table entries of the stack that an endpoint holds.
type registration struct {
	nets         networks
	anyAddr      bool // the port is reserved for all local addresses
	peerOnly     bool // the port is reserved for this peer only
	portReserved bool
	sharesPort   bool // the listener holds the same port
	registered   bool
	flags        ports.Flags
	device       tcpip.NICID
	nic          tcpip.NICID
}

// reservation returns the port reservation of an endpoint with the given ID.
func (b *registration) reservation(id *stack.TransportEndpointID) ports.Reservation {
	r := ports.Reservation{
		Networks: b.nets.list(), Transport: ProtocolNumber, Port: id.LocalPort, Flags: b.flags, BindToDevice: b.device,
	}
	if !b.anyAddr {
		r.Addr = id.LocalAddress
	}
	if b.peerOnly {
		r.Dest = tcpip.FullAddress{Addr: id.RemoteAddress, Port: id.RemotePort}
	}
	return r
}

// blocks reports whether a connection in TIME-WAIT forbids a reservation. The rules are those of
// gVisor's ports.PortManager, as if it still had the connection's reservation. named says that the
// program has named the port.
func (t *timeWaits) blocks(r ports.Reservation, named bool) bool {
	if t.n.Load() == 0 {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := t.ports[r.Port]; w != nil; w = w.behind {
		if w.conflicts(&r, named) {
			return true
		}
	}
	return false
}

func (w *timeWait) conflicts(r *ports.Reservation, named bool) bool {
	id, net := w.ends.id()
	if !slices.Contains(r.Networks, net) || r.Addr.Len() != 0 && w.flags&timeWaitAnyAddr == 0 && r.Addr != id.LocalAddress {
		return false
	}
	shared := ports.BitFlags(w.flags) & ports.FlagMask
	dest := tcpip.FullAddress{}
	if w.flags&timeWaitPeerOnly != 0 {
		dest = tcpip.FullAddress{Addr: id.RemoteAddress, Port: id.RemotePort}
	}
	switch {
	case r.Dest.Addr == dest.Addr && r.Dest.Port == dest.Port:
	case r.Dest.Addr.Len() == 0 || dest.Addr.Len() == 0:
		shared |= ^ports.TupleOnlyFlag
	default:
		return false
	}
	return !named || shared&r.Flags.Bits() == 0
}

// networks is a set of IP versions.
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

// list returns the protocol numbers. The caller must not change the slice.
func (n networks) list() []tcpip.NetworkProtocolNumber { return networkLists[n] }
