package tun

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// maxHeaders is the room for a packet's headers. IPv4 and TCP headers, both with options, take at
// most 120 bytes.
const maxHeaders = 128

// headers locates the headers of an IP packet.
type headers struct {
	net       tcpip.NetworkProtocolNumber
	transport tcpip.TransportProtocolNumber // 0 if no transport header follows the IP header
	ipLen     int                           // bytes of the IP header and its extension headers
	len       int                           // ipLen and the bytes of a TCP or UDP header
	total     int                           // bytes of the packet, by its own length field
	cwr       bool
}

// parseHeaders locates the headers of a packet of size bytes that begins with b. b holds the whole
// packet or at least maxHeaders bytes of it. It never panics.
func parseHeaders(b []byte, size int) (h headers, err error) {
	if len(b) == 0 {
		return h, fmt.Errorf("tun: empty packet")
	}
	fragment := false
	switch b[0] >> 4 {
	case 4:
		ip := header.IPv4(b)
		if !ip.IsValid(size) || int(ip.HeaderLength()) > len(b) {
			return h, fmt.Errorf("tun: IPv4 header does not fit a packet of %d bytes", size)
		}
		h.net = header.IPv4ProtocolNumber
		h.ipLen, h.total = int(ip.HeaderLength()), int(ip.TotalLength())
		h.transport = ip.TransportProtocol()
		fragment = ip.More() || ip.FragmentOffset() != 0
	case 6:
		ip := header.IPv6(b)
		if len(b) < header.IPv6MinimumSize || int(ip.PayloadLength())+header.IPv6MinimumSize > size {
			return h, fmt.Errorf("tun: IPv6 header does not fit a packet of %d bytes", size)
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
			return h, fmt.Errorf("tun: TCP header does not fit the %d bytes after the IP header", h.total-h.ipLen)
		}
		h.len += n
		h.cwr = rest[tcpFlags]&tcpCWR != 0
	case header.UDPProtocolNumber:
		if len(rest) < header.UDPMinimumSize {
			return h, fmt.Errorf("tun: UDP header does not fit the %d bytes after the IP header", h.total-h.ipLen)
		}
		h.len += header.UDPMinimumSize
	}
	return h, nil
}

// Byte 13 of a TCP header, and bits in it: RFC 9293 §3.1.
const (
	tcpFlags = 13
	tcpFIN   = 0x01
	tcpPSH   = 0x08
	tcpCWR   = 0x80
)

// skipExtensions moves ipLen past the extension headers of RFC 8200 §4. It returns false at a
// fragment header, or at a header that does not fit; then the transport header cannot be found.
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

// pseudoSum returns the checksum of the pseudo-header for n bytes of transport header and payload
// after the IP header b: RFC 9293 §3.1, RFC 8200 §8.1.
func pseudoSum(b []byte, h *headers, n int) uint16 {
	if h.net == header.IPv4ProtocolNumber {
		ip := header.IPv4(b)
		return header.PseudoHeaderChecksum(h.transport, ip.SourceAddress(), ip.DestinationAddress(), uint16(n))
	}
	ip := header.IPv6(b)
	return header.PseudoHeaderChecksum(h.transport, ip.SourceAddress(), ip.DestinationAddress(), uint16(n))
}
