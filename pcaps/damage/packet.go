package damage

import (
	"encoding/binary"
	"net/netip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// Packet is a packet of a capture of any kind, and where it comes from. Its Data must not be
// changed: other damages may read it.
type Packet struct {
	capture.Frame

	// Number is that of the undamaged packet, from 1. Of a copy it is that of the original, of joined
	// packets that of the first. It is 0 if the damage made it from nothing.
	Number int64
	More   []int64 // the numbers of the others, if it was joined from several
	Added  bool    // the damage added it: a copy, or from nothing

	// Segment is the undamaged packet's TCP segment, without its payload; nil if there is none.
	Segment *capture.Packet

	at headers
}

// headers are places in a packet's data. The zero value is unknown.
type headers struct {
	ip, tcp, payload int
	v6               bool
}

// known reports whether the headers were found.
func (h headers) known() bool { return h.payload > 0 }

// newPacket returns a packet of a capture, with its own copy of the data. guess is where the
// headers of the packet before were.
func newPacket(f *capture.Frame, p *capture.Packet, number int64, guess headers) *Packet {
	q := &Packet{Frame: *f, Number: number}
	q.Data = append([]byte(nil), f.Data...)
	if p != nil {
		segment := *p
		segment.Payload = nil
		q.Segment, q.at = &segment, locate(q.Data, p, guess.ip)
	}
	return q
}

// deepest is how deep in a packet its innermost IP header is looked for.
const deepest = 512

// locate finds the headers of a decoded segment in its packet: where the addresses, the ports and
// the sequence number are. They are unknown for fragments, and where the capture cuts the header.
func locate(data []byte, p *capture.Packet, guess int) headers {
	if p.Problems.Has(capture.Fragment) {
		return headers{}
	}
	if h, ok := headersAt(data, guess, p); ok {
		return h
	}
	for i := 0; i < min(len(data), deepest); i++ {
		if h, ok := headersAt(data, i, p); ok {
			return h
		}
	}
	return headers{}
}

// headersAt returns the headers of a segment, if its IP header is at i.
func headersAt(data []byte, i int, p *capture.Packet) (h headers, ok bool) {
	if i >= len(data) {
		return h, false
	}
	b := data[i:]
	size := 0
	switch {
	case b[0]>>4 == 4 && p.Src.Addr().Is4() && len(b) >= 20:
		size = int(b[0]&15) * 4
		ok = size >= 20 && b[9] == protoTCP && netip.AddrFrom4([4]byte(b[12:16])) == p.Src.Addr() && netip.AddrFrom4([4]byte(b[16:20])) == p.Dst.Addr()
	case b[0]>>4 == 6 && p.Src.Addr().Is6() && len(b) >= 40:
		ok = netip.AddrFrom16([16]byte(b[8:24])) == p.Src.Addr() && netip.AddrFrom16([16]byte(b[24:40])) == p.Dst.Addr()
		size = extensions(b)
	}
	if !ok || size == 0 || len(b) < size+tcp.HeaderLen {
		return h, false
	}
	t := b[size:]
	header := int(t[12]>>4) * 4
	if binary.BigEndian.Uint16(t) != p.Src.Port() || binary.BigEndian.Uint16(t[2:]) != p.Dst.Port() ||
		tcp.Seq(binary.BigEndian.Uint32(t[4:])) != p.Header.Seq || header < tcp.HeaderLen {
		return h, false
	}
	return headers{ip: i, tcp: i + size, payload: i + size + header, v6: b[0]>>4 == 6}, true
}

// extensions returns the length of an IPv6 header with its extension headers, 0 if TCP does not
// follow or they are cut.
func extensions(b []byte) int {
	const hopByHop, routing, options = 0, 43, 60
	for next, size := b[6], 40; ; {
		switch next {
		case protoTCP:
			return size
		case hopByHop, routing, options:
		default:
			return 0
		}
		if len(b) < size+8 {
			return 0
		}
		next, size = b[size], size+8+8*int(b[size+1])
	}
}

const protoTCP = 6

// Link types by tcpdump.org's numbers, whose packets hold IP behind a header of a fixed length,
// which states no length itself.
const (
	linkNull     = 0
	linkEthernet = 1
	linkRawBSD   = 12
	linkRaw      = 101
	linkLoop     = 108
	linkSLL      = 113
	linkIPv4     = 228
	linkIPv6     = 229
	linkSLL2     = 276
)

// plain reports whether the packet's length may change: its IP header follows the link's header,
// Ethernet's perhaps with up to two VLAN tags.
func (p *Packet) plain() bool {
	if !p.at.known() {
		return false
	}
	switch p.LinkType {
	case linkEthernet:
		for i := 12; i < p.at.ip; i += 4 {
			switch t := binary.BigEndian.Uint16(p.Data[i:]); {
			case t == 0x0800 || t == 0x86dd:
				return i+2 == p.at.ip
			case t != 0x8100 && t != 0x88a8:
				return false
			}
		}
		return false
	case linkRaw, linkRawBSD, linkIPv4, linkIPv6:
		return p.at.ip == 0
	case linkNull, linkLoop:
		return p.at.ip == 4
	case linkSLL:
		return p.at.ip == 16
	case linkSLL2:
		return p.at.ip == 20
	}
	return false
}

// side returns which end of its connection sent the packet: 0 for the one with the lower address,
// or port. It needs no memory of the connection.
func (p *Packet) side() int {
	s := p.Segment
	if s.Src.Addr() == s.Dst.Addr() && s.Src.Port() < s.Dst.Port() || s.Src.Addr().Less(s.Dst.Addr()) {
		return 0
	}
	return 1
}

// bareACK reports whether the packet is an ACK without data.
func (p *Packet) bareACK() bool {
	return p.Segment != nil && p.Segment.Len == 0 && p.Segment.Header.Flags&(tcp.ACK|tcp.SYN|tcp.FIN|tcp.RST) == tcp.ACK
}

// added returns a copy of the packet that the damage adds, with its own data.
func (p *Packet) added() *Packet {
	q := p.clone()
	q.Added = true
	return q
}

// clone returns a copy with its own data.
func (p *Packet) clone() *Packet {
	q := *p
	q.Data = append([]byte(nil), p.Data...)
	return &q
}
