package capture

import (
	"encoding/binary"
	"net/netip"
)

// decoder finds the TCP segment in a packet. Each method takes the bytes from one header on: b are
// the bytes kept, n of them were on the wire, n >= len(b). Results go to p and are valid only
// if the method returns isTCP.
type decoder struct {
	p         *Packet // the packet being decoded
	depth     int
	addressed bool // p has addresses, so that a further IP header is inside a tunnel
	frags     fragments
	headers   *headers        // nil until the first rare one
	heads     *[]head         // of Describe; nil elsewhere
	icmpError func(ICMPError) // may be nil
}

// maxDepth bounds nested headers, tags and extensions included.
const maxDepth = 32

// decode decodes the file's next record, from an interface of that link type.
func (d *decoder) decode(link uint16, rec *record) Reason {
	p := d.p
	p.Number, p.Time, p.Since, p.Interface = rec.number, rec.time, rec.since, rec.iface
	p.Device = 0
	p.Direction, p.Problems = rec.direction, rec.problems
	d.depth, d.addressed, p.Path = 0, false, 0
	if ip, n := plainIPv4(link, rec.data, int(rec.length)); ip != nil {
		return d.plainSegment(ip, n)
	}
	return d.link(link, rec.data, int(rec.length))
}

// truncated is the result for a header longer than the bytes kept. n bytes were sent.
func truncated(header, n int) Reason {
	if n < header {
		return Malformed
	}
	return CutHeader
}

// tooDeep counts a header and reports whether there are too many.
func (d *decoder) tooDeep() bool {
	d.depth++
	return d.depth > maxDepth
}

// addOuter adds an outer layer to the path.
func (d *decoder) addOuter(kind, value uint64) {
	d.p.Path = mix(mix(d.p.Path, kind), value)
}

// addTunnel adds the ends of a tunnel to the path, if there was an IP header before. The order of
// the ends does not matter.
func (d *decoder) addTunnel() {
	if d.addressed {
		a, b := hashAddr(d.p.Src.Addr()), hashAddr(d.p.Dst.Addr())
		d.addOuter(a+b, a^b)
	}
}

func hashAddr(a netip.Addr) uint64 {
	b := a.As16()
	return mix(binary.BigEndian.Uint64(b[:]), binary.BigEndian.Uint64(b[8:]))
}

// mix returns a hash that is never 0.
func mix(h, v uint64) uint64 {
	h = (h ^ v + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9
	h ^= h >> 31
	h *= 0x94d049bb133111eb
	return h ^ h>>29 | 1
}
