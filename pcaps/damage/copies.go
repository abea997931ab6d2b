package damage

import (
	"encoding/binary"
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

func noMove(param) time.Duration { return 0 }

// copyTwice copies each packet.
func copyTwice(j *job, p *Packet) error {
	if err := j.pass(p); err != nil {
		return err
	}
	q := p.added()
	q.Time = p.Time.Add(j.value.span)
	j.add(q)
	return nil
}

// mirrorMAC begins the addresses of frames behind a router: locally administered.
var mirrorMAC = [6]byte{0x02, 0, 0, 0, 0, 0x09}

// routed lowers the TTL, and has the frame come from another interface.
func routed(p *Packet) (*Packet, bool) {
	return p.rewrite(func(b []byte, h headers) bool {
		lowerTTL(b, h)
		if p.LinkType == linkEthernet && h.ip >= 14 {
			copy(b[6:12], b[:6])
			copy(b, mirrorMAC[:])
		}
		return true
	})
}

// copyMirror copies packets behind a router, in order.
func copyMirror(j *job, p *Packet) error { return j.copyAs(p, routed, true) }

// copySwapped copies packets behind a router, in any order.
func copySwapped(j *job, p *Packet) error { return j.copyAs(p, routed, false) }

// copyVLAN copies packets with a VLAN tag, in order.
func copyVLAN(j *job, p *Packet) error {
	return j.copyAs(p, func(p *Packet) (*Packet, bool) {
		const vlan = "\x81\x00\x01\x23"
		if p.LinkType != linkEthernet || len(p.Data) < 14 || !p.at.known() {
			return p, false
		}
		q := p.insert(12, []byte(vlan))
		return q, true
	}, true)
}

// copyAs adds what f makes of the packet, up to the parameter's time later.
func (j *job) copyAs(p *Packet, f func(*Packet) (*Packet, bool), inOrder bool) error {
	if err := j.pass(p); err != nil {
		return err
	}
	q, ok := f(p)
	if !ok {
		if p.Segment != nil {
			j.counts.Unfit++
		}
		return nil
	}
	q.Added = true
	q.Time = p.Time.Add(time.Duration(j.rng.Int64N(int64(j.value.span) + 1)))
	if inOrder {
		last, _ := j.state.(wheel.Time)
		if last.Sub(p.Time) <= j.value.span {
			q.Time = max(q.Time, last) // else the clock stepped back
		}
		j.state = q.Time
	}
	j.add(q)
	return nil
}

// insert returns the packet with bytes inserted before its IP header.
func (p *Packet) insert(at int, b []byte) *Packet {
	q := *p
	q.Data = append(append(append([]byte(nil), p.Data[:at]...), b...), p.Data[at:]...)
	q.Length += uint32(len(b))
	q.at.ip, q.at.tcp, q.at.payload = q.at.ip+len(b), q.at.tcp+len(b), q.at.payload+len(b)
	return &q
}

// otherSide writes the packet and q, which is the same at the other point of capture. What the end
// with the lower address sends passes p's point first, what it gets passes q's. At an end host no
// time passes between a packet and its answer, so there only the order may differ.
func (j *job) otherSide(p, q *Packet) error {
	q.Added = true
	if p.side() == 0 {
		if err := j.pass(p); err != nil {
			return err
		}
		q.Time = p.Time.Add(j.value.span)
		j.add(q)
		return nil
	}
	if err := j.release(p.Time); err != nil {
		return err
	}
	j.counts.Added++
	if err := j.out(q); err != nil {
		return err
	}
	j.later(j.shift(p, p.Time.Add(j.value.span)))
	return nil
}

// copyNAT copies packets at the other side of a NAT, which replaces the lower address by one for
// benchmarks, and lowers the TTL.
func copyNAT(j *job, p *Packet) error {
	q, ok := p.rewrite(func(b []byte, h headers) bool {
		lowerTTL(b, h)
		at, size := h.ip+12, 4
		if h.v6 {
			at, size = h.ip+8, 16
		}
		if p.side() != 0 {
			at += size
		}
		copy(b[at:], outside(b[at:at+size]))
		return true
	})
	if !ok {
		if p.Segment == nil {
			return j.pass(p)
		}
		return j.unfit(p)
	}
	segment := *p.Segment
	src, dst := q.at.addrs(q.Data)
	segment.Src, segment.Dst = netip.AddrPortFrom(src, segment.Src.Port()), netip.AddrPortFrom(dst, segment.Dst.Port())
	q.Segment = &segment
	return j.otherSide(p, q)
}

// outside returns the address by which a NAT replaces another: 198.18.0.0/15, or 2001:2::/48, with
// the lower bytes of the address.
func outside(inside []byte) []byte {
	if len(inside) == 4 {
		return []byte{198, 18 | inside[1]&1, inside[2], inside[3]}
	}
	return append([]byte{0x20, 0x01, 0, 2, 0, 0}, inside[6:]...)
}

// copyTunnel copies packets inside a tunnel: another IP header before theirs, of their version.
func copyTunnel(j *job, p *Packet) error {
	switch {
	case p.Segment == nil:
		return j.pass(p)
	case !p.plain():
		return j.unfit(p)
	}
	inner := int(p.Length) - p.at.ip
	if end := p.at.end(p.Segment.Len); end <= len(p.Data) || end < int(p.Length) {
		inner = end - p.at.ip // without padding
	}
	return j.otherSide(p, p.insert(p.at.ip, outerHeader(p, inner)))
}

// outerHeader returns the tunnel's header for an inner packet of n bytes.
func outerHeader(p *Packet, n int) []byte {
	const ipInIP, ipv6InIPv6 = 4, 41
	from, to := byte(1+p.side()), byte(2-p.side())
	if p.at.v6 {
		end := func(n byte) netip.Addr { return netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 3: 0x02, 15: n}) }
		return ipHeader(end(from), end(to), ipv6InIPv6, 0, n)
	}
	return ipHeader(netip.AddrFrom4([4]byte{198, 19, 255, from}), netip.AddrFrom4([4]byte{198, 19, 255, to}), ipInIP, 0, n)
}

// ipHeader returns the header of an IP packet with n bytes behind it.
func ipHeader(src, dst netip.Addr, protocol byte, id uint16, n int) []byte {
	if src.Is6() {
		b := make([]byte, 40)
		b[0], b[6], b[7] = 6<<4, protocol, 64
		binary.BigEndian.PutUint16(b[4:], fits(n))
		copy(b[8:], src.AsSlice())
		copy(b[24:], dst.AsSlice())
		return b
	}
	b := make([]byte, 20)
	b[0], b[8], b[9] = 4<<4|5, 64, protocol
	binary.BigEndian.PutUint16(b[2:], fits(n+20))
	binary.BigEndian.PutUint16(b[4:], id)
	copy(b[12:], src.AsSlice())
	copy(b[16:], dst.AsSlice())
	binary.BigEndian.PutUint16(b[10:], tcp.Sum{}.Add(b).Checksum())
	return b
}

// fits returns a length as IP headers have it: 0 for super-packets.
func fits(n int) uint16 {
	if n > 0xffff {
		return 0
	}
	return uint16(n)
}
