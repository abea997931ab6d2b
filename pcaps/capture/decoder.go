package capture

import (
	"encoding/binary"
	"net/netip"
)

// decoder finds the TCP segment in a packet. Each of its methods takes what begins with one header: the octets that were
// kept, and how many there were on the wire, n, which are at least as many. What it finds it writes to p; that counts only
// if the outcome is isTCP.
type decoder struct {
	p         Packet
	depth     int
	addressed bool // p has addresses: a further IP header is within a tunnel
	foreign   bool // gopacket found the IP header
	frags     fragments
}

// maxDepth is how many headers may be in one another, tags and extensions included.
const maxDepth = 32

// decode decodes a record of an interface with that link type, the file's next.
func (d *decoder) decode(link uint16, rec *record) Reason {
	p := &d.p
	p.Number, p.Time, p.Interface = rec.number, rec.time, rec.iface
	p.Device = 0
	p.Direction, p.Problems = rec.direction, rec.problems
	d.depth, d.addressed, d.foreign, p.Path = 0, false, false, 0
	return d.link(link, rec.data, int(rec.length))
}

// short is the outcome for a header that is longer than what was kept of it, where n octets were sent.
func short(header, n int) Reason {
	if n < header {
		return Malformed
	}
	return CutHeader
}

// deeper counts a header, and reports whether there were too many.
func (d *decoder) deeper() bool {
	d.depth++
	return d.depth > maxDepth
}

// outer adds to the path what lies outside.
func (d *decoder) outer(kind, value uint64) {
	d.p.Path = mix(mix(d.p.Path, kind), value)
}

// tunnel adds the ends of a tunnel to the path, if an IP header was there before: the same whichever end sends.
func (d *decoder) tunnel() {
	if d.addressed {
		a, b := hashAddr(d.p.Src.Addr()), hashAddr(d.p.Dst.Addr())
		d.outer(a+b, a^b)
	}
}

func hashAddr(a netip.Addr) uint64 {
	b := a.As16()
	return mix(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]))
}

// mix is never 0.
func mix(h, v uint64) uint64 {
	h = (h ^ v + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return h ^ h>>29 | 1
}
