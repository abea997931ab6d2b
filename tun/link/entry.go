package link

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// Fates of an Entry.
const (
	FateDelivered  = "delivered"
	FateLost       = "lost"       // by a loss model, on the wire: see By
	FateQueue      = "queue"      // dropped as the queue was full
	FateTooBig     = "too-big"    // larger than the path MTU; it has met no model, and has no number
	FateUnfinished = "unfinished" // on the wire when the link ended
)

// Entry is a log line about a packet.
type Entry struct {
	Record    string `json:"record"`    // "packet"
	Direction string `json:"direction"` // "a-to-b" or "b-to-a"

	// N is the packet's number in its direction, from 1, as the loss model packets counts.
	N    uint64     `json:"n"`
	Sent wheel.Time `json:"sent_ns"` // when it entered the link
	Size uint32     `json:"size"`    // bytes of the IP packet
	Fate string     `json:"fate"`
	By   string     `json:"by,omitempty"` // the loss model that lost it

	// Due is its arrival time in the model. Arrived is when it left the link: two times for a
	// duplicated packet.
	Due     *wheel.Time  `json:"due_ns,omitempty"`
	Arrived []wheel.Time `json:"arrived_ns,omitempty"`

	Reordered  bool `json:"reordered,omitempty"`
	Duplicated bool `json:"duplicated,omitempty"`
	Marked     bool `json:"marked,omitempty"` // CE was set
	// the flipped bit, counted from the highest bit of the first byte
	CorruptBit *uint32 `json:"corrupt_bit,omitempty"`

	// Protocol is "tcp", "udp", "icmp", "icmpv6", "fragment", or another protocol's number. Src and
	// Dst have ports for TCP and UDP.
	Protocol string    `json:"protocol,omitempty"`
	Src      string    `json:"src,omitempty"`
	Dst      string    `json:"dst,omitempty"`
	TCP      *TCPEntry `json:"tcp,omitempty"`
}

// TCPEntry describes a segment. Sequence numbers are those on the wire.
type TCPEntry struct {
	Flags  string      `json:"flags"` // "S", "S.", "P." and so on, as tcpdump writes them
	Seq    uint32      `json:"seq"`
	Ack    uint32      `json:"ack"`
	Len    uint32      `json:"len"`
	Window uint16      `json:"window"`
	TSVal  uint32      `json:"tsval,omitempty"`
	TSEcr  uint32      `json:"tsecr,omitempty"`
	SACK   [][2]uint32 `json:"sack,omitempty"`

	// Attempt is the number of the transmission of its bytes, from 1: of the byte that was sent most
	// often. Start and End are its stream offsets, from 0 for the byte after the SYN; the FIN counts
	// as a byte. Attempt is 0 for a segment without either. Start and End are 0 for a SYN.
	Attempt uint32 `json:"attempt"`
	Start   uint64 `json:"start"`
	End     uint64 `json:"end"`
}

// newEntry describes the packet b.
func newEntry(direction int, n uint64, sent wheel.Time, b []byte, m *sim.Packet) *Entry {
	e := &Entry{Record: "packet", Direction: Direction(direction), N: n, Sent: sent, Size: uint32(len(b))}
	src, dst, protocol, rest, ok := parseIP(b)
	if !ok {
		return e
	}
	e.Src, e.Dst = src.String(), dst.String()
	switch protocol {
	case 6, 17:
		if len(rest) < 4 {
			break
		}
		e.Src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(rest)).String()
		e.Dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(rest[2:])).String()
	}
	switch protocol {
	case 1:
		e.Protocol = "icmp"
	case 6:
		e.Protocol = "tcp"
		e.TCP = newTCPEntry(rest, m)
	case 17:
		e.Protocol = "udp"
	case 58:
		e.Protocol = "icmpv6"
	case isFragment:
		e.Protocol = "fragment"
	default:
		e.Protocol = strconv.Itoa(protocol)
	}
	return e
}

func newTCPEntry(b []byte, m *sim.Packet) *TCPEntry {
	h, n, err := tcp.ParseHeader(b)
	if n == 0 && err != nil {
		return nil
	}
	t := &TCPEntry{
		Flags: h.Flags.String(), Seq: uint32(h.Seq), Ack: uint32(h.Ack), Len: uint32(len(b) - n), Window: h.Window,
		Attempt: m.Attempt, Start: m.Start, End: m.End,
	}
	if h.Options.HasTimestamps {
		t.TSVal, t.TSEcr = h.Options.TSVal, h.Options.TSEcr
	}
	for _, r := range h.Options.SACK[:h.Options.NumSACK] {
		t.SACK = append(t.SACK, [2]uint32{uint32(r.Start), uint32(r.End)})
	}
	return t
}

// isFragment is the protocol of a fragment, which has no ports.
const isFragment = -1

// parseIP returns the addresses, the protocol, and the bytes after the IP header. It skips IPv6
// extension headers other than the fragment header.
func parseIP(b []byte) (src, dst netip.Addr, protocol int, rest []byte, ok bool) {
	switch {
	case len(b) >= 20 && b[0]>>4 == 4:
		n, total := 4*int(b[0]&15), int(binary.BigEndian.Uint16(b[2:]))
		if n < 20 || total < n || total > len(b) {
			return src, dst, 0, nil, false
		}
		src, _ = netip.AddrFromSlice(b[12:16])
		dst, _ = netip.AddrFromSlice(b[16:20])
		protocol, rest = int(b[9]), b[n:total]
		if binary.BigEndian.Uint16(b[6:])&0x3fff != 0 { // more fragments, or an offset
			protocol = isFragment
		}
		return src, dst, protocol, rest, true
	case len(b) >= 40 && b[0]>>4 == 6:
		src, _ = netip.AddrFromSlice(b[8:24])
		dst, _ = netip.AddrFromSlice(b[24:40])
		protocol, rest = int(b[6]), b[40:]
		if n := int(binary.BigEndian.Uint16(b[4:])); n < len(rest) {
			rest = rest[:n]
		}
		for protocol == 0 || protocol == 43 || protocol == 60 { // RFC 8200 §4
			if len(rest) < 8 || len(rest) < 8+8*int(rest[1]) {
				return src, dst, 0, nil, false
			}
			protocol, rest = int(rest[0]), rest[8+8*int(rest[1]):]
		}
		if protocol == 44 {
			protocol = isFragment
		}
		return src, dst, protocol, rest, true
	}
	return src, dst, 0, nil, false
}
