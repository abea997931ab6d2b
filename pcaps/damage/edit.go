package damage

import (
	"encoding/binary"
	"net/netip"

	"tcpwheel/netstack/tcp"
)

// checksums says what a packet's checksums are before it is rewritten.
type checksums struct {
	ip  bool // IPv4's header checksum is right
	tcp tcpChecksum
	old uint16 // the sum of what was captured of the segment and its pseudo-header
}

type tcpChecksum uint8

const (
	sumWrong   tcpChecksum = iota
	sumRight               // of a whole segment
	sumPartial             // the sum of the pseudo-header: its sender left the rest to the interface
	sumCut                 // the capture cuts the segment, so it cannot be known
)

const sumAt = 16 // of the checksum in a TCP header

// end returns where the segment ends in the packet, perhaps beyond what was captured. size is its
// payload's length.
func (h headers) end(size uint32) int { return h.payload + int(size) }

func (h headers) addrs(b []byte) (src, dst netip.Addr) {
	if h.v6 {
		return netip.AddrFrom16([16]byte(b[h.ip+8 : h.ip+24])), netip.AddrFrom16([16]byte(b[h.ip+24 : h.ip+40]))
	}
	return netip.AddrFrom4([4]byte(b[h.ip+12 : h.ip+16])), netip.AddrFrom4([4]byte(b[h.ip+16 : h.ip+20]))
}

// sum returns the checksum of the captured part of a segment, with its pseudo-header, but without
// its checksum. The segment has size bytes of payload.
func (h headers) sum(b []byte, size uint32) uint16 {
	src, dst := h.addrs(b)
	kept := b[h.tcp:min(len(b), h.end(size))]
	return tcp.PseudoHeader(src, dst, h.end(size)-h.tcp).Add(kept[:sumAt]).Add(kept[sumAt+2:]).Checksum()
}

// pseudo returns the checksum of the pseudo-header: a sender stores it, and its network interface
// adds the rest.
func (h headers) pseudo(b []byte, size uint32) uint16 {
	src, dst := h.addrs(b)
	return ^tcp.PseudoHeader(src, dst, h.end(size)-h.tcp).Checksum()
}

func (h headers) stored(b []byte) uint16 { return binary.BigEndian.Uint16(b[h.tcp+sumAt:]) }

// checksums returns what the packet's checksums are. Its headers are known.
func (p *Packet) checksums() (c checksums) {
	b, h, size := p.Data, p.at, p.Segment.Len
	if !h.v6 {
		c.ip = tcp.Sum{}.Add(b[h.ip:h.ipEnd(b)]).Checksum() == 0
	}
	c.old = h.sum(b, size)
	switch stored := h.stored(b); {
	case stored == h.pseudo(b, size):
		c.tcp = sumPartial
	case h.end(size) > len(b):
		c.tcp = sumCut
	case stored == c.old:
		c.tcp = sumRight
	}
	return c
}

// ipEnd returns where the IPv4 header ends.
func (h headers) ipEnd(b []byte) int { return h.ip + int(b[h.ip]&15)*4 }

// restore sets the checksums of a rewritten packet that were right, or partial, before. resized
// says that its payload is another, so that a sum that was cut stays as it is.
func (p *Packet) restore(c checksums, size uint32, resized bool) {
	b, h := p.Data, p.at
	if !h.v6 && c.ip {
		binary.BigEndian.PutUint16(b[h.ip+10:], 0)
		binary.BigEndian.PutUint16(b[h.ip+10:], tcp.Sum{}.Add(b[h.ip:h.ipEnd(b)]).Checksum())
	}
	field := b[h.tcp+sumAt:]
	switch c.tcp {
	case sumRight:
		binary.BigEndian.PutUint16(field, h.sum(b, size))
	case sumPartial:
		binary.BigEndian.PutUint16(field, h.pseudo(b, size))
	case sumCut:
		if !resized {
			// RFC 1624 §3: HC' = ~(~HC + ~m + m'), where the sums of all words serve as well.
			binary.BigEndian.PutUint16(field, ^onesAdd(onesAdd(^binary.BigEndian.Uint16(field), c.old), ^h.sum(b, size)))
		}
	}
}

// onesAdd adds in one's complement.
func onesAdd(a, b uint16) uint16 {
	s := uint32(a) + uint32(b)
	return uint16(s&0xffff + s>>16)
}

// rewrite returns the packet with its bytes changed by f, which keeps all lengths, and the
// checksums as right as they were. ok is false, and the packet as it was, if its headers are not
// known or f returns false.
func (p *Packet) rewrite(f func(b []byte, h headers) bool) (q *Packet, ok bool) {
	if !p.at.known() {
		return p, false
	}
	c := p.checksums()
	q = p.clone()
	if !f(q.Data, q.at) {
		return p, false
	}
	q.restore(c, q.Segment.Len, false)
	return q, true
}

// lowerTTL takes one from the TTL or hop limit, which stays at least 1.
func lowerTTL(b []byte, h headers) {
	ttl := &b[h.ip+8]
	if h.v6 {
		ttl = &b[h.ip+7]
	}
	if *ttl > 1 {
		*ttl--
	}
}

// slice returns a super-packet's segment on the wire: the packet with only bytes [from, to) of its
// payload, and header fields as f sets them. The packet is plain.
func (p *Packet) slice(from, to uint32, f func(b []byte, h headers)) *Packet {
	h, c := p.at, p.checksums()
	kept := func(i uint32) int { return min(len(p.Data), h.payload+int(i)) }
	q := *p
	q.Data = append(append([]byte(nil), p.Data[:min(h.payload, len(p.Data))]...), p.Data[kept(from):kept(to)]...)
	segment := *p.Segment
	segment.Len = to - from
	q.Segment, q.Length = &segment, uint32(h.end(segment.Len))
	setLength(q.Data, h, segment.Len)
	f(q.Data, h)
	// The interface sets the checksums of the segments on the wire.
	if c.tcp = sumRight; h.end(segment.Len) > len(q.Data) {
		c.tcp = sumCut
	}
	q.restore(c, segment.Len, true)
	return &q
}

// setLength sets the length in the IP header to that of a segment with size bytes of payload. It is
// 0 if that is too long for the field, as in super-packets.
func setLength(b []byte, h headers, size uint32) {
	n := h.end(size) - h.ip
	field := b[h.ip+2:]
	if h.v6 {
		n, field = n-40, b[h.ip+4:]
	}
	binary.BigEndian.PutUint16(field, fits(n))
}
