package testnet

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/internal/pcapng"
)

// dnsAddr is the router's address, and dnsPort the port where it answers queries for names.
var dnsAddr = netip.AddrFrom4([4]byte{10, 9, 0, 254})

const dnsPort = 53

// Package net makes a channel for its first look-up, and no bubble may use that of another. So that
// is here, outside of all bubbles.
func init() {
	closed := func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed }
	_, _ = (&net.Resolver{PreferGo: true, Dial: closed}).LookupNetIP(context.Background(), "ip4", "host.invalid.")
}

// Resolver returns a resolver of the host for clients that look up names themselves. Its queries
// and answers are packets on the host's path, which may lose them: the machine's resolv.conf says
// when to ask again, 5 s by default. Dial and DialContext need no query.
//
//	d := net.Host("client").Dialer()
//	d.Resolver = net.Host("client").Resolver() // a dial now begins with a query
func (h *Host) Resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return h.DialContext(ctx, "udp", netip.AddrPortFrom(dnsAddr, dnsPort).String())
	}}
}

// names resolves the names of hosts.
type names struct{ net *Net }

// LookupNetIP implements sockets.Resolver. A name has its IPv4 address unless network is "ip6".
func (r names) LookupNetIP(_ context.Context, network, name string) ([]netip.Addr, error) {
	for _, h := range r.net.hosts {
		if h.name == name && network == "ip6" {
			return []netip.Addr{h.addr6}, nil
		} else if h.name == name {
			return []netip.Addr{h.addr}, nil
		}
	}
	return nil, &net.DNSError{Err: "no such host in the test's network", Name: name, IsNotFound: true}
}

// answer answers a packet to the router, if it is a query for a name. The caller holds the lock.
func (n *Net) answer(q *packet) {
	ip, ok := network(q.Bytes)
	if !ok || ip.TransportProtocol() != header.UDPProtocolNumber || len(ip.Payload()) < header.UDPMinimumSize {
		return
	}
	u := header.UDP(ip.Payload())
	data, err := n.dns(u.Payload())
	if u.DestinationPort() != dnsPort || err != nil {
		return
	}
	const size = header.IPv4MinimumSize + header.UDPMinimumSize
	b := make([]byte, size, size+len(data))
	src, dst := ip.DestinationAddress(), ip.SourceAddress()
	to, reply := header.IPv4(b), header.UDP(b[header.IPv4MinimumSize:])
	to.Encode(&header.IPv4Fields{
		TotalLength: uint16(size + len(data)), TTL: 64, Protocol: uint8(header.UDPProtocolNumber), SrcAddr: src, DstAddr: dst,
	})
	to.SetChecksum(^to.CalculateChecksum())
	length := uint16(header.UDPMinimumSize + len(data))
	reply.Encode(&header.UDPFields{SrcPort: dnsPort, DstPort: u.SourcePort(), Length: length})
	sum := header.PseudoHeaderChecksum(header.UDPProtocolNumber, src, dst, length)
	reply.SetChecksum(^reply.CalculateChecksum(checksum.Checksum(data, sum)))
	p := &packet{from: q.from}
	p.Bytes = append(b, data...)
	host := n.receiver(n.now(), p)
	if host == nil {
		return
	}
	p.record = &record{at: n.now(), heading: pcapng.Inbound} // of no host
	n.pass(p, host, down, func() { host.deliver(p) })
}

// dns returns the answer to a query. The first label of a name may be a host: the machine's
// resolv.conf may have a search list.
func (n *Net) dns(query []byte) ([]byte, error) {
	var parser dnsmessage.Parser
	h, err := parser.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := parser.Question()
	if err != nil {
		return nil, err
	}
	reply := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: h.ID, Response: true, Authoritative: true, RecursionDesired: h.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q},
	}
	name := strings.TrimSuffix(q.Name.String(), ".")
	label, _, _ := strings.Cut(name, ".")
	addrs, err := names{n}.LookupNetIP(context.Background(), "ip4", name)
	if err != nil {
		name = label
		addrs, err = names{n}.LookupNetIP(context.Background(), "ip4", name)
	}
	head := dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60}
	switch {
	case err != nil:
		reply.RCode = dnsmessage.RCodeNameError
	case q.Type == dnsmessage.TypeA:
		reply.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: addrs[0].As4()}}}
	case q.Type == dnsmessage.TypeAAAA:
		six, _ := names{n}.LookupNetIP(context.Background(), "ip6", name)
		reply.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: six[0].As16()}}}
	}
	return reply.Pack()
}
