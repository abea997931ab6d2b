package capture

import (
	"encoding/binary"
	"net/netip"

	"github.com/google/gopacket/layers"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// TooBig is an ICMP error about a TCP segment too large for the next link: "fragmentation needed"
// of IPv4 (RFC 1191 §4), or "packet too big" of IPv6 (RFC 4443 §3.2).
type TooBig struct {
	Number   int64 // of the ICMP packet
	Time     wheel.Time
	Src, Dst netip.AddrPort // of the segment that was dropped
	Seq      tcp.Seq
	MTU      uint32 // of the next link; 0 if the router does not say
}

// icmp decodes an ICMP message of n bytes. It is never a segment.
func (d *decoder) icmp(protocol byte, b []byte) Reason {
	if protocol == protoICMP {
		d.note(layers.LayerTypeICMPv4, b)
	} else {
		d.note(layers.LayerTypeICMPv6, b)
	}
	if d.tooBig == nil || len(b) < 8 {
		return ICMP
	}
	t := TooBig{Number: d.p.Number, Time: d.p.Time}
	quoted := b[8:]
	var segment []byte
	switch {
	case protocol == protoICMP && b[0] == 3 && b[1] == 4 && len(quoted) >= 20:
		t.MTU = uint32(binary.BigEndian.Uint16(b[6:]))
		header := int(quoted[0]&15) * 4
		if quoted[0]>>4 != 4 || header < 20 || quoted[9] != protoTCP || len(quoted) < header {
			return ICMP
		}
		t.Src = netip.AddrPortFrom(netip.AddrFrom4([4]byte(quoted[12:16])), 0)
		t.Dst = netip.AddrPortFrom(netip.AddrFrom4([4]byte(quoted[16:20])), 0)
		segment = quoted[header:]
	case protocol == protoICMPv6 && b[0] == 2 && len(quoted) >= 40:
		t.MTU = binary.BigEndian.Uint32(b[4:])
		if quoted[0]>>4 != 6 || quoted[6] != protoTCP {
			return ICMP
		}
		t.Src = netip.AddrPortFrom(netip.AddrFrom16([16]byte(quoted[8:24])), 0)
		t.Dst = netip.AddrPortFrom(netip.AddrFrom16([16]byte(quoted[24:40])), 0)
		segment = quoted[40:]
	}
	if len(segment) < 8 {
		return ICMP
	}
	t.Src = netip.AddrPortFrom(t.Src.Addr(), binary.BigEndian.Uint16(segment))
	t.Dst = netip.AddrPortFrom(t.Dst.Addr(), binary.BigEndian.Uint16(segment[2:]))
	t.Seq = tcp.Seq(binary.BigEndian.Uint32(segment[4:]))
	d.tooBig(t)
	return ICMP
}
