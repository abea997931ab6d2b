package tun

import (
	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// Offset of the checksum in a transport header.
const (
	tcpChecksum = header.TCPChecksumOffset
	udpChecksum = 6
)

// sumFrom returns the checksum of the bytes [from, to) of b.
func sumFrom(b *buffer.Buffer, from, to int) uint16 {
	var sum checksum.Checksumer
	b.SubApply(from, to-from, func(v *buffer.View) { sum.Add(v.AsSlice()) })
	return sum.Checksum()
}

// verify reports whether the IPv4, TCP or UDP checksums of a packet are correct. head is the
// packet's beginning, including its headers h. A packet without a checksum is correct.
func verify(b *buffer.Buffer, head []byte, h *headers) bool {
	if h.net == header.IPv4ProtocolNumber && !header.IPv4(head).IsChecksumValid() {
		return false
	}
	switch h.transport {
	case header.TCPProtocolNumber:
	case header.UDPProtocolNumber:
		// RFC 768: "An all zero transmitted checksum value means that the transmitter generated no
		// checksum."
		if header.UDP(head[h.ipLen:]).Checksum() == 0 && h.net == header.IPv4ProtocolNumber {
			return true
		}
	default:
		return true
	}
	n := h.total - h.ipLen
	return checksum.Combine(pseudoSum(head, h, n), sumFrom(b, h.ipLen, h.total)) == 0xffff
}

// complete turns the pseudo-header sum at offset in the transport header into the packet's
// checksum, as a network card does. head holds all headers; payload is the sum of the rest.
func complete(head []byte, h *headers, offset int, payload uint16) {
	field := head[h.ipLen+offset:]
	sum := ^checksum.Combine(checksum.Checksum(head[h.ipLen:], 0), payload)
	if sum == 0 && h.transport == header.UDPProtocolNumber {
		sum = 0xffff // RFC 768: "If the computed checksum is zero, it is transmitted as all ones."
	}
	checksum.Put(field, sum)
}
