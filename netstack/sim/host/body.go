package host

import (
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// Body is what a datagram carries: a TCP header, and where its payload is. It holds no pointer. The addresses are those of
// the datagram's From and To.
type Body struct {
	Header tcp.Header
	Offset uint64 // of the payload in the sender's stream
	Len    uint32 // octets of payload
}

// Datagram is a segment on its way.
type Datagram = sim.Datagram[Body]

// Lengths of IP's fixed headers.
const (
	ipv4Len = 20
	ipv6Len = 40
)

// harm is what a flipped bit does to a datagram.
type harm uint8

const (
	harmless   harm = iota
	harmsIP         // IP drops it: a bad header checksum, another protocol or host
	harmsTCP        // TCP drops it: a bad checksum
	harmsMarks      // the ECN field is another one
)

// harmOf says what it does to a datagram if that bit of it is flipped. One flipped bit is always found where there is a
// checksum: the one's complement sum differs by a power of two.
func harmOf(ipv6 bool, bit uint32) harm {
	if !ipv6 {
		if bit < 8*ipv4Len {
			return harmsIP
		}
		return harmsTCP
	}
	// RFC 8200 §3: there is no checksum over the header of IPv6; TCP's covers lengths, addresses and the next header.
	switch {
	case bit < 4: // version
		return harmsIP
	case bit < 10: // DSCP
		return harmless
	case bit < 12: // ECN
		return harmsMarks
	case bit < 32: // flow label
		return harmless
	case bit < 48: // length
		return harmsTCP
	case bit < 56: // next header
		return harmsIP
	case bit < 64: // hop limit: a host does not look at it
		return harmless
	case bit < 24*8: // source
		return harmsTCP
	case bit < 40*8: // destination
		return harmsIP
	}
	return harmsTCP
}
