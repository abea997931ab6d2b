package sockets

import (
	"net"
	"net/netip"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// full returns the address and port as gVisor writes them. An address that is not valid or unspecified is empty.
func full(s *stack.Stack, nic tcpip.NICID, at netip.AddrPort) tcpip.FullAddress {
	a := at.Addr().Unmap()
	f := tcpip.FullAddress{NIC: nic, Port: at.Port()}
	if !a.IsValid() || a.IsUnspecified() {
		return f
	}
	f.Addr = tcpip.AddrFromSlice(a.AsSlice())
	if z := a.Zone(); z != "" && nic == 0 {
		f.NIC = zone(s, z)
	}
	return f
}

// zone returns the interface with a number or a name, 0 if there is none.
func zone(s *stack.Stack, z string) tcpip.NICID {
	if n, err := strconv.ParseInt(z, 10, 32); err == nil {
		return tcpip.NICID(n)
	}
	for id, info := range s.NICInfo() {
		if info.Name == z {
			return id
		}
	}
	return 0
}

// family returns the protocol for an address.
func family(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Unmap().Is4() {
		return header.IPv4ProtocolNumber
	}
	return header.IPv6ProtocolNumber
}

// addrPort is full the other way.
func addrPort(f tcpip.FullAddress) netip.AddrPort {
	a, _ := netip.AddrFromSlice(f.Addr.AsSlice())
	a = a.Unmap()
	if a.Is6() && a.IsLinkLocalUnicast() && f.NIC != 0 {
		a = a.WithZone(strconv.Itoa(int(f.NIC)))
	}
	return netip.AddrPortFrom(a, f.Port)
}

// tcpAddr is at for those who want a net.Addr; nil if it is not known.
func tcpAddr(at netip.AddrPort) net.Addr {
	if !at.IsValid() {
		return nil
	}
	return net.TCPAddrFromAddrPort(at)
}

// isNetwork reports whether the network is one of TCP's.
func isNetwork(network string) bool {
	return network == "tcp" || network == "tcp4" || network == "tcp6"
}

// serves reports whether addresses like a belong to the network.
func serves(network string, a netip.Addr) bool {
	return network == "tcp" || (network == "tcp4") == a.Unmap().Is4()
}
