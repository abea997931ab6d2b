package host

import (
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// Body is the content of a datagram: a TCP header, and the position of its payload. It has no
// pointer. The addresses are those of the datagram's From and To.
type Body struct {
	Header tcp.Header
	Offset uint64 // of the payload, in the sender's stream
	Len    uint32 // bytes of payload
}

// Datagram is a TCP segment in the network.
type Datagram = sim.Datagram[Body]

// Lengths of IP's fixed headers.
const (
	ipv4Len = 20
	ipv6Len = 40
)

// flipEffect is the effect of a flipped bit on a datagram.
type flipEffect uint8

const (
	noEffect     flipEffect = iota
	droppedByIP             // bad header checksum, other protocol or other host
	droppedByTCP            // bad checksum
	changesECN              // the ECN field changes
)

// effectOfFlip returns the effect of flipping that bit of a datagram. A checksum finds every single
// flipped bit: the one's complement sum changes by a power of two.
func effectOfFlip(ipv6 bool, bit uint32) flipEffect {
	if !ipv6 {
		if bit < 8*ipv4Len {
			return droppedByIP
		}
		return droppedByTCP
	}
	// RFC 8200 §3: IPv6's header has no checksum. TCP's covers length, addresses and next header.
	switch {
	case bit < 4: // version
		return droppedByIP
	case bit < 10: // DSCP
		return noEffect
	case bit < 12: // ECN
		return changesECN
	case bit < 32: // flow label
		return noEffect
	case bit < 48: // length
		return droppedByTCP
	case bit < 56: // next header
		return droppedByIP
	case bit < 64: // hop limit: hosts ignore it
		return noEffect
	case bit < 24*8: // source
		return droppedByTCP
	case bit < 40*8: // destination
		return droppedByIP
	}
	return droppedByTCP
}
