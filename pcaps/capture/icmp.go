package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// ICMPError is an ICMP error about a TCP segment, of a router or of its destination.
type ICMPError struct {
	Number   int64 // of the ICMP packet
	Time     wheel.Time
	From     netip.Addr     // the sender of the error
	Src, Dst netip.AddrPort // of the segment, as quoted
	Seq      tcp.Seq
	// TooBig is "fragmentation needed" of IPv4 (RFC 1191 §4), or "packet too big" of IPv6 (RFC 4443
	// §3.2). Other errors say that the segment cannot reach its destination: "destination
	// unreachable" and "time exceeded in transit".
	TooBig bool
	MTU    uint32 // of the next link, if TooBig; 0 if the router does not say
}

// icmp decodes an ICMP message of n bytes. It is never a segment.
func (d *decoder) icmp(protocol byte, b []byte) Reason {
	layer, header := layers.LayerTypeICMPv4, quotedIPv4
	if protocol == protoICMPv6 {
		layer, header = layers.LayerTypeICMPv6, quotedIPv6
	}
	d.note(layer, b)
	if d.icmpError == nil || len(b) < 8 {
		return ICMP
	}
	e := ICMPError{Number: d.p.Number, Time: d.p.Time, From: d.p.Src.Addr().Unmap()}
	switch v6 := protocol == protoICMPv6; {
	case v6 && b[0] == 2:
		e.TooBig, e.MTU = true, binary.BigEndian.Uint32(b[4:])
	case !v6 && b[0] == 3 && b[1] == 4:
		e.TooBig, e.MTU = true, uint32(binary.BigEndian.Uint16(b[6:]))
	case v6 && b[0] == 1, v6 && b[0] == 3 && b[1] == 0, !v6 && b[0] == 3, !v6 && b[0] == 11 && b[1] == 0:
	default:
		return ICMP
	}
	src, dst, segment := header(b[8:])
	if len(segment) < 8 {
		return ICMP
	}
	e.Src = netip.AddrPortFrom(src, binary.BigEndian.Uint16(segment))
	e.Dst = netip.AddrPortFrom(dst, binary.BigEndian.Uint16(segment[2:]))
	e.Seq = tcp.Seq(binary.BigEndian.Uint32(segment[4:]))
	d.icmpError(e)
	return ICMP
}

// quotedIPv4 returns the addresses and the TCP segment of a packet that an ICMP error quotes, as
// far as it does. The segment is nil if there is none.
func quotedIPv4(b []byte) (src, dst netip.Addr, segment []byte) {
	if len(b) < 20 || b[0]>>4 != 4 || b[9] != protoTCP {
		return src, dst, nil
	}
	header := int(b[0]&15) * 4
	if header < 20 || len(b) < header {
		return src, dst, nil
	}
	return netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[header:]
}

// quotedIPv6 is quotedIPv4 for IPv6, without extension headers.
func quotedIPv6(b []byte) (src, dst netip.Addr, segment []byte) {
	if len(b) < 40 || b[0]>>4 != 6 || b[6] != protoTCP {
		return src, dst, nil
	}
	return netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[40:]
}
