package sockets

import (
	"net"
	"net/netip"
	"strconv"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// fullAddress converts an address and port to gVisor's type. An invalid or unspecified address is
// empty.
func fullAddress(s *stack.Stack, nic tcpip.NICID, at netip.AddrPort) tcpip.FullAddress {
	a := at.Addr().Unmap()
	f := tcpip.FullAddress{NIC: nic, Port: at.Port()}
	if !a.IsValid() || a.IsUnspecified() {
		return f
	}
	f.Addr = tcpip.AddrFromSlice(a.AsSlice())
	if z := a.Zone(); z != "" && nic == 0 {
		f.NIC = zoneNIC(s, z)
	}
	return f
}

// zoneNIC returns the interface with a number or name, or 0.
func zoneNIC(s *stack.Stack, z string) tcpip.NICID {
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

// family returns the network protocol of an address.
func family(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Unmap().Is4() {
		return header.IPv4ProtocolNumber
	}
	return header.IPv6ProtocolNumber
}

// addrPort converts an address and port from gVisor's type.
func addrPort(f tcpip.FullAddress) netip.AddrPort {
	a, _ := netip.AddrFromSlice(f.Addr.AsSlice())
	a = a.Unmap()
	if a.Is6() && a.IsLinkLocalUnicast() && f.NIC != 0 {
		a = a.WithZone(strconv.Itoa(int(f.NIC)))
	}
	return netip.AddrPortFrom(a, f.Port)
}

// tcpAddr converts an address and port to a net.Addr, or to nil if it is invalid.
func tcpAddr(at netip.AddrPort) net.Addr {
	if !at.IsValid() {
		return nil
	}
	return net.TCPAddrFromAddrPort(at)
}

// isNetwork reports whether network is "tcp", "tcp4" or "tcp6".
func isNetwork(network string) bool {
	return network == "tcp" || network == "tcp4" || network == "tcp6"
}

// inNetwork reports whether an address belongs to the network.
func inNetwork(network string, a netip.Addr) bool {
	return network == "tcp" || (network == "tcp4") == a.Unmap().Is4()
}
