package tun

import (
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Where the checksum stands in a transport header.
const (
	tcpChecksum = header.TCPChecksumOffset
	udpChecksum = 6
)

// sumFrom returns the sum of the octets [from, to) of b.
func sumFrom(b *buffer.Buffer, from, to int) uint16 {
	var sum checksum.Checksumer
	b.SubApply(from, to-from, func(v *buffer.View) { sum.Add(v.AsSlice()) })
	return sum.Checksum()
}

// verify reports whether the checksums of a packet are right: of the IPv4 header, and of TCP or UDP. head is its
// beginning, headers h included. What has no checksum is right.
func verify(b *buffer.Buffer, head []byte, h *headers) bool {
	if h.net == header.IPv4ProtocolNumber && !header.IPv4(head).IsChecksumValid() {
		return false
	}
	switch h.transport {
	case header.TCPProtocolNumber:
	case header.UDPProtocolNumber:
		// RFC 768: "An all zero transmitted checksum value means that the transmitter generated no checksum."
		if header.UDP(head[h.ipLen:]).Checksum() == 0 && h.net == header.IPv4ProtocolNumber {
			return true
		}
	default:
		return true
	}
	n := h.total - h.ipLen
	return checksum.Combine(pseudoSum(head, h, n), sumFrom(b, h.ipLen, h.total)) == 0xffff
}

// complete turns the sum of the pseudo-header at offset in the transport header into the checksum of the packet: what a
// network card does for the stack. head is all headers, payload the sum of what follows.
func complete(head []byte, h *headers, offset int, payload uint16) {
	field := head[h.ipLen+offset:]
	sum := ^checksum.Combine(checksum.Checksum(head[h.ipLen:], 0), payload)
	if sum == 0 && h.transport == header.UDPProtocolNumber {
		sum = 0xffff // RFC 768: "If the computed checksum is zero, it is transmitted as all ones."
	}
	checksum.Put(field, sum)
}
