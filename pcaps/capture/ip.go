package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
)

// Protocols over IP (IANA).
const (
	protoHopByHop = 0
	protoICMP     = 1
	protoIGMP     = 2
	protoIPv4     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoICMPv6   = 58
	protoOptions  = 60 // destination options
	protoMobility = 135
	protoHIP      = 139
	protoShim6    = 140
)

// ip decodes an IP packet of either version.
func (d *decoder) ip(b []byte, n int) Reason {
	if d.tooDeep() {
		return TooDeep
	}
	if len(b) < 1 {
		return truncated(1, n)
	}
	d.addTunnel()
	switch b[0] >> 4 {
	case 4:
		d.note(layers.LayerTypeIPv4, b)
		return d.ipv4(b, n)
	case 6:
		d.note(layers.LayerTypeIPv6, b)
		return d.ipv6(b, n)
	}
	return Malformed
}

// ipv4 decodes IPv4 (RFC 791 §3.1). Bytes beyond its total length are padding of the link.
func (d *decoder) ipv4(b []byte, n int) Reason {
	if len(b) < 20 {
		return truncated(20, n)
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if total == 0 {
		total = n
		d.p.Problems |= NoLength
	}
	if header < 20 || total < header {
		return Malformed
	}
	if len(b) < header {
		return CutHeader
	}
	if total > n && (tcp.Sum{}).Add(b[:header]).Checksum() != 0 {
		return Malformed // both the length and the checksum contradict the frame
	}
	p := d.p
	p.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[12:16])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[16:20])), 0)
	p.TOS, p.TTL = b[1], b[8]
	p.ID, p.HasID = uint32(binary.BigEndian.Uint16(b[4:])), true
	d.addressed = true
	b, protocol, place := b[:min(len(b), total)], b[9], binary.BigEndian.Uint16(b[6:])
	if place&0x3fff != 0 {
		return d.fragment(piece{
			protocol: protocol, offset: int(place&0x1fff) * 8, more: place&0x2000 != 0,
			kept: b[header:], size: total - header,
		})
	}
	return d.transport(protocol, b[header:], total-header)
}

// ipv6 decodes IPv6 (RFC 8200 §3).
func (d *decoder) ipv6(b []byte, n int) Reason {
	const header = 40
	if len(b) < header {
		return truncated(header, n)
	}
	size, protocol := int(binary.BigEndian.Uint16(b[4:])), b[6]
	if size == 0 {
		// A jumbogram has its length in an option (RFC 2675 §2), a super-packet nowhere.
		if size = jumbo(protocol, b[header:]); size == 0 {
			size = n - header
			d.p.Problems |= NoLength
		}
	}
	p := d.p
	p.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), 0)
	p.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[24:40])), 0)
	p.TOS, p.TTL = byte(binary.BigEndian.Uint16(b)>>4), b[7]
	p.ID, p.HasID = 0, false
	d.addressed = true
	return d.transport(protocol, b[header:min(len(b), header+size)], size)
}

// jumbo returns the payload length in a hop-by-hop option, 0 if there is none.
func jumbo(protocol byte, b []byte) int {
	if protocol != protoHopByHop || len(b) < 8 {
		return 0
	}
	for o := b[2:min(len(b), 8+8*int(b[1]))]; len(o) > 1; {
		if o[0] == 0 {
			o = o[1:]
			continue
		}
		if o[0] == 0xc2 && o[1] == 4 && len(o) >= 6 {
			return int(min(binary.BigEndian.Uint32(o[2:]), maxRecord))
		}
		o = o[min(len(o), 2+int(o[1])):]
	}
	return 0
}

// transport decodes the n bytes after an IP header: IPv6 extension headers, tunnels, TCP.
func (d *decoder) transport(protocol byte, b []byte, n int) Reason {
	for {
		if protocol == protoTCP {
			return d.segment(b, n)
		}
		if d.tooDeep() {
			return TooDeep
		}
		switch protocol {
		case protoUDP:
			return d.udp(b, n)
		case protoICMP, protoICMPv6:
			return d.icmp(protocol, b)
		case protoIGMP:
			return ICMP
		case protoIPv4, protoIPv6:
			return d.ip(b, n)
		case protoGRE:
			return d.layer(layers.LayerTypeGRE, b, n)
		case protoHopByHop, protoRouting, protoOptions, protoAH, protoMobility, protoHIP, protoShim6, protoFragment:
		default:
			return OtherProtocol
		}
		d.noteOurs("IPv6 extension header")
		if len(b) < 8 {
			return truncated(8, n)
		}
		size := 8 + 8*int(b[1])
		switch protocol {
		case protoAH:
			size = 8 + 4*int(b[1])
		case protoRouting:
			d.route(b)
		case protoFragment:
			place := binary.BigEndian.Uint16(b[2:])
			d.p.ID, d.p.HasID = binary.BigEndian.Uint32(b[4:]), true
			if place&^6 != 0 { // else it is a whole datagram
				return d.fragment(piece{
					protocol: b[0], offset: int(place &^ 7), more: place&1 != 0, kept: b[8:], size: n - 8,
				})
			}
			size = 8
		}
		if size > n {
			return Malformed
		}
		if size > len(b) {
			return CutHeader
		}
		protocol, b, n = b[0], b[size:], n-size
	}
}

// route takes the final destination from a routing header, if the packet has not reached it. That
// is the connection's address, and the checksum's (RFC 8200 §8.1).
func (d *decoder) route(b []byte) {
	kind, left, size := b[2], int(b[3]), 8+8*int(b[1])
	last := size - 16
	if kind == 4 { // RFC 8754 §2: the last one comes first in the list
		last = 8
	}
	if left == 0 || last < 8 || len(b) < last+16 || kind != 0 && kind != 2 && kind != 4 {
		return
	}
	d.p.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[last:last+16])), 0)
}
