package link

import (
	"encoding/binary"
	"net/netip"
	"strconv"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/wheel"
)

// newEntry describes the packet b.
func newEntry(direction int, n uint64, sent wheel.Time, b []byte, m *sim.Packet) *events.Packet {
	e := &events.Packet{Record: "packet", Direction: Direction(direction), N: n, Sent: events.Seconds(sent), Size: uint32(len(b))}
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

func newTCPEntry(b []byte, m *sim.Packet) *events.OnWire {
	h, n, err := tcp.ParseHeader(b)
	if n == 0 && err != nil {
		return nil
	}
	return &events.OnWire{Segment: events.SegmentOf(&h, uint32(len(b)-n)), Attempt: m.Attempt, Start: m.Start, End: m.End}
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
