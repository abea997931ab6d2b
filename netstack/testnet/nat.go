package testnet

import (
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/wheel"
)

// nat translates the IPv4 addresses and the ports of the connections of one host, of TCP and UDP. A
// connection that has been idle for longer than idle is forgotten: its next packet from the host
// gets another port. RFC 5382 wants two hours and four minutes; many NATs take minutes or less.
type nat struct {
	addr    netip.Addr // outside
	idle    time.Duration
	next    uint16
	inside  map[ends]*mapping
	outside map[ends]*mapping
}

// ends are the port of the host or of the NAT, and the peer.
type ends struct {
	proto    uint8
	port     uint16
	peer     [4]byte
	peerPort uint16
}

// mapping is a connection that the NAT knows.
type mapping struct {
	host          tcpip.Address
	port, outside uint16
	used          wheel.Time
}

// firstPort is the first port outside.
const firstPort = 40000

func newNAT(index int, idle time.Duration) *nat {
	return &nat{
		addr: netip.AddrFrom4([4]byte{203, 0, 113, byte(index + 1)}), idle: idle, next: firstPort,
		inside: map[ends]*mapping{}, outside: map[ends]*mapping{},
	}
}

// segment returns the headers of an IPv4 packet with TCP or UDP; ok is false for others.
func segment(b []byte) (ip header.IPv4, seg header.ChecksummableTransport, ok bool) {
	if ip = header.IPv4(b); !ip.IsValid(len(b)) {
		return nil, nil, false
	}
	switch payload := ip.Payload(); {
	case ip.TransportProtocol() == header.TCPProtocolNumber && len(payload) >= header.TCPMinimumSize:
		return ip, header.TCP(payload), true
	case ip.TransportProtocol() == header.UDPProtocolNumber && len(payload) >= header.UDPMinimumSize:
		return ip, header.UDP(payload), true
	}
	return nil, nil, false
}

// out translates a packet from the host. It returns false for packets that it does not know how to
// translate.
func (t *nat) out(now wheel.Time, b []byte) bool {
	ip, seg, ok := segment(b)
	if !ok {
		return false
	}
	k := ends{ip.Protocol(), seg.SourcePort(), ip.DestinationAddress().As4(), seg.DestinationPort()}
	m := t.inside[k]
	if m == nil || now.Sub(m.used) > t.idle {
		m = t.add(k, m, ip.SourceAddress())
	}
	m.used = now
	outside := tcpip.AddrFrom4(t.addr.As4())
	seg.SetSourcePortWithChecksumUpdate(m.outside)
	seg.UpdateChecksumPseudoHeaderAddress(m.host, outside, true)
	ip.SetSourceAddressWithChecksumUpdate(outside)
	return true
}

// add makes a mapping, in place of old unless that is nil.
func (t *nat) add(k ends, old *mapping, host tcpip.Address) *mapping {
	if old != nil {
		delete(t.outside, ends{k.proto, old.outside, k.peer, k.peerPort})
	}
	m := &mapping{host: host, port: k.port, outside: t.next}
	if t.next++; t.next == 0 {
		t.next = firstPort
	}
	t.inside[k], t.outside[ends{k.proto, m.outside, k.peer, k.peerPort}] = m, m
	return m
}

// in translates a packet to the host. It returns false if the NAT does not know the connection.
func (t *nat) in(now wheel.Time, b []byte) bool {
	ip, seg, ok := segment(b)
	if !ok {
		return false
	}
	m := t.outside[ends{ip.Protocol(), seg.DestinationPort(), ip.SourceAddress().As4(), seg.SourcePort()}]
	if m == nil || now.Sub(m.used) > t.idle {
		return false
	}
	m.used = now
	seg.SetDestinationPortWithChecksumUpdate(m.port)
	seg.UpdateChecksumPseudoHeaderAddress(tcpip.AddrFrom4(t.addr.As4()), m.host, true)
	ip.SetDestinationAddressWithChecksumUpdate(m.host)
	return true
}
