package capture

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Packet is a TCP segment in a capture, or a super-packet: several segments that a host exchanged
// with its network interface in one piece. Except for Payload it is a value and may be kept.
type Packet struct {
	Number    int64         // in its file, from 1, counting all packets: Wireshark's frame.number
	Time      wheel.Time    // ns since 1970, UTC
	Since     time.Duration // since packet 1 of the file, as Wireshark counts time
	Interface int           // in its file, from 0
	// Device is the interface index on the capturing host, from SLL2; 0 if unknown.
	Device uint32

	Src, Dst netip.AddrPort // innermost; never IPv4-mapped IPv6 addresses for IPv4
	// Path is a hash of the VLANs and tunnels outside the innermost IP header, 0 for none. Both
	// directions of a tunnel have the same.
	Path uint64

	Header tcp.Header
	Len    uint32 // payload bytes by the IP and TCP headers, kept or not

	// Payload is the part of the payload that was kept. It is valid until the next call of Next.
	Payload []byte

	ID        uint32 // IPv4's identification, or that of IPv6's fragment header
	HasID     bool   // always with IPv4
	TTL       uint8  // or IPv6's hop limit
	TOS       uint8  // or IPv6's traffic class: DSCP and ECN
	Direction Direction
	Problems  Problems
}

// Direction is the direction of a packet at the capturing host, where the file has it: SLL, SLL2,
// pcapng flags and a few others.
type Direction uint8

const (
	Unknown  Direction = iota
	Inbound            // received by the host
	Outbound           // sent by the host
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

// Problems are defects of a usable packet.
type Problems uint8

const (
	OptionsCut Problems = 1 << iota // the TCP options are cut short, by the capture or the sender
	// Wrong TCP checksum of a complete segment, not explained by offload.
	BadChecksum
	Fragment  // it came in fragments: see Reader.Next
	ClockBack // stamped earlier than the packet before it on the interface
	// Checksum left to the network interface: captured at its sender, or it never left the host.
	PartialChecksum
	NoLength // IP length 0, as in a super-packet: Len is from the file's record
	NoStamp  // no stamp (pcapng simple packet): Time is that of the packet before
	Padded   // a bare ACK whose IP length counts Ethernet padding: Len does not

	numberOfProblems = iota
)

// Has reports whether p contains all of q.
func (p Problems) Has(q Problems) bool { return p&q == q }

// SegLen returns SEG.LEN: the payload bytes, plus one each for SYN and FIN (RFC 9293 §3.3.1).
func (p *Packet) SegLen() uint32 {
	return tcp.Arrival{Len: p.Len, SYN: p.Header.Flags.Has(tcp.SYN), FIN: p.Header.Flags.Has(tcp.FIN)}.SegLen()
}
