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
	Device    uint32     // of the host that captured it on all of its interfaces, by its number there; 0 if the packet does not say: SLL2 does

	Src, Dst netip.AddrPort // innermost, where there are tunnels; IPv4 addresses are never mapped into IPv6
	Path     uint64         // a hash of what lies outside the innermost IP header: VLANs, tunnels and their ends; 0 if there is nothing; the same if a tunnel's ends are swapped

	Header tcp.Header
	Len    uint32 // octets of payload by the lengths in the IP and TCP headers, whether they were kept or not

	// Payload is what was kept of the payload. It is valid until the next call of Next.
	Payload []byte

	ID        uint32 // IPv4's identification, or that of IPv6's fragment header
	HasID     bool   // always with IPv4
	TTL       uint8  // or IPv6's hop limit
	TOS       uint8  // or IPv6's traffic class: DSCP and ECN
	Direction Direction
	Problems  Problems
}

// Direction is which way a packet went at the host that captured it, where the capture says so: link types SLL and SLL2,
// flags of pcapng, and a few others do.
type Direction uint8

const (
	Unknown  Direction = iota
	Inbound            // the host got it
	Outbound           // the host sent it
)

// String returns "unknown", "inbound" or "outbound".
func (d Direction) String() string {
	switch d {
	case Inbound:
		return "inbound"
	case Outbound:
		return "outbound"
	}
	return "unknown"
}

// Problems are what is odd about a packet that can be used all the same.
type Problems uint8

const (
	OptionsCut      Problems = 1 << iota // the capture, or an error of the sender, cut the TCP options short: those before are there
	BadChecksum                          // TCP's checksum is wrong, all octets are there, and it does not look like offload
	Fragment                             // it came in fragments: see Reader.Next
	ClockBack                            // its stamp is before that of the packet before on the same interface
	PartialChecksum                      // TCP's checksum was left to the network interface: the packet was captured at its sender, or never left the host
	NoLength                             // the length in the IP header is 0, as of a super-packet: Len is what the record in the file has
	NoStamp                              // the file has no stamp for it (pcapng's simple packets): Time is that of the packet before
	Padded                               // a bare ACK whose IP length counts the zeros that pad an Ethernet frame: Len is without them

	numberOfProblems = iota
)

// Has reports whether all of q are in p.
func (p Problems) Has(q Problems) bool { return p&q == q }

// SegLen is SEG.LEN: the payload's octets, and one each for SYN and FIN (RFC 9293 §3.3.1).
func (p *Packet) SegLen() uint32 {
	return tcp.Arrival{Len: p.Len, SYN: p.Header.Flags.Has(tcp.SYN), FIN: p.Header.Flags.Has(tcp.FIN)}.SegLen()
}
