package capture

import (
	"net/netip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Packet is a TCP segment as a capture has it, or a super-packet of several segments that a host handed to its network interface
// to cut, or got from it in one piece. But for Payload it is a value: it may be kept.
type Packet struct {
	Number    int64      // in its file, from 1, counted over packets of all kinds, as Wireshark's frame.number
	Time      wheel.Time // nanoseconds since 1970, UTC
	Interface int        // in its file, from 0

	Src, Dst netip.AddrPort // innermost, where there are tunnels; IPv4 addresses are never mapped into IPv6
	Path     uint64         // a hash of what lies outside the innermost IP header: VLANs, tunnels and their ends; 0 if there is nothing

	Header tcp.Header
	Len    uint32 // octets of payload by the lengths in the IP and TCP headers, whether they were kept or not

	// Payload is what was kept of the payload. It is valid until the next call of Next.
	Payload []byte

	ID       uint32 // IPv4's identification, or that of IPv6's fragment header
	HasID    bool   // always with IPv4
	TTL      uint8  // or IPv6's hop limit
	TOS      uint8  // or IPv6's traffic class: DSCP and ECN
	Problems Problems
}

// Problems are what is odd about a packet that can be used all the same.
type Problems uint8

const (
	OptionsCut  Problems = 1 << iota // the capture, or an error of the sender, cut the TCP options short: those before are there
	BadChecksum                      // TCP's checksum is wrong, all octets are there, and it does not look like offload
	Fragment                         // it is the first fragment of an IP datagram: Len is that of the whole if it was put together, else of the fragment
	ClockBack                        // its stamp is before that of the packet before on the same interface
)

// Has reports whether all of q are in p.
func (p Problems) Has(q Problems) bool { return p&q == q }

// SegLen is SEG.LEN: the payload's octets, and one each for SYN and FIN (RFC 9293 §3.3.1).
func (p *Packet) SegLen() uint32 {
	return tcp.Arrival{Len: p.Len, SYN: p.Header.Flags.Has(tcp.SYN), FIN: p.Header.Flags.Has(tcp.FIN)}.SegLen()
}
