package tun

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// maxHeaders is the room for the headers of a packet: IPv4 with options and TCP with options take 120 octets at most.
const maxHeaders = 128

// headers is where the headers of an IP packet are.
type headers struct {
	net       tcpip.NetworkProtocolNumber
	transport tcpip.TransportProtocolNumber // 0 if what follows the IP header is not the beginning of a transport header
	ipLen     int                           // octets of the IP header, extension headers included
	len       int                           // and those of a TCP or UDP header with it
	total     int                           // octets of the packet, as it says itself
	cwr       bool
}

// parseHeaders looks at the headers of a packet of size octets that begins with b. b has at least maxHeaders octets, or
// all of them. It never panics.
func parseHeaders(b []byte, size int) (h headers, err error) {
	if len(b) == 0 {
		return h, fmt.Errorf("tun: empty packet")
	}
	fragment := false
	switch b[0] >> 4 {
	case 4:
		ip := header.IPv4(b)
		if !ip.IsValid(size) || int(ip.HeaderLength()) > len(b) {
			return h, fmt.Errorf("tun: IPv4 header does not fit a packet of %d octets", size)
		}
		h.net = header.IPv4ProtocolNumber
		h.ipLen, h.total = int(ip.HeaderLength()), int(ip.TotalLength())
		h.transport = ip.TransportProtocol()
		fragment = ip.More() || ip.FragmentOffset() != 0
	case 6:
		ip := header.IPv6(b)
		if len(b) < header.IPv6MinimumSize || int(ip.PayloadLength())+header.IPv6MinimumSize > size {
			return h, fmt.Errorf("tun: IPv6 header does not fit a packet of %d octets", size)
		}
		h.net = header.IPv6ProtocolNumber
		h.ipLen, h.total = header.IPv6MinimumSize, header.IPv6MinimumSize+int(ip.PayloadLength())
		h.transport = tcpip.TransportProtocolNumber(ip.NextHeader())
		fragment = !h.skipExtensions(b)
	default:
		return h, fmt.Errorf("tun: IP version %d, want 4 or 6", b[0]>>4)
	}
	h.len = h.ipLen
	if fragment {
		h.transport = 0
		return h, nil
	}
	rest := b[h.ipLen:min(len(b), h.total)]
	switch h.transport {
	case header.TCPProtocolNumber:
		n := 0
		if len(rest) >= header.TCPMinimumSize {
			n = int(header.TCP(rest).DataOffset())
		}
		if n < header.TCPMinimumSize || n > len(rest) {
			return h, fmt.Errorf("tun: TCP header does not fit the %d octets after the IP header", h.total-h.ipLen)
		}
		h.len += n
		h.cwr = rest[tcpFlags]&tcpCWR != 0
	case header.UDPProtocolNumber:
		if len(rest) < header.UDPMinimumSize {
			return h, fmt.Errorf("tun: UDP header does not fit the %d octets after the IP header", h.total-h.ipLen)
		}
		h.len += header.UDPMinimumSize
	}
	return h, nil
}

// Octet 13 of a TCP header, and bits in it: RFC 9293 §3.1.
const (
	tcpFlags = 13
	tcpFIN   = 0x01
	tcpPSH   = 0x08
	tcpCWR   = 0x80
)

// skipExtensions moves ipLen behind the extension headers of RFC 8200 §4 that may stand before a transport header. It
// reports false if there is a fragment header, or one that does not fit: then the transport header is not to be found.
func (h *headers) skipExtensions(b []byte) bool {
	for {
		switch header.IPv6ExtensionHeaderIdentifier(h.transport) {
		case header.IPv6HopByHopOptionsExtHdrIdentifier, header.IPv6RoutingExtHdrIdentifier,
			header.IPv6DestinationOptionsExtHdrIdentifier:
			end := min(len(b), h.total)
			if h.ipLen+8 > end || h.ipLen+8+8*int(b[h.ipLen+1]) > end {
				return false
			}
			h.transport = tcpip.TransportProtocolNumber(b[h.ipLen])
			h.ipLen += 8 + 8*int(b[h.ipLen+1])
		case header.IPv6FragmentExtHdrIdentifier:
			return false
		default:
			return true
		}
	}
}

// pseudoSum returns the sum of the pseudo-header for n octets of transport header and payload behind the IP header b:
// RFC 9293 §3.1, RFC 8200 §8.1.
func pseudoSum(b []byte, h *headers, n int) uint16 {
	if h.net == header.IPv4ProtocolNumber {
		ip := header.IPv4(b)
		return header.PseudoHeaderChecksum(h.transport, ip.SourceAddress(), ip.DestinationAddress(), uint16(n))
	}
	ip := header.IPv6(b)
	return header.PseudoHeaderChecksum(h.transport, ip.SourceAddress(), ip.DestinationAddress(), uint16(n))
}
