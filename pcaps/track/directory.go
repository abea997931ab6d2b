package track

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"

	"tcpwheel/pcaps/capture"
)

// pair is the two ends of a connection, the lesser first, as machine words that are cheap to hash
// and to compare.
type pair struct {
	a, b [2]uint64 // addresses
	// Both ports, and a bit for IPv4: an IPv4 address differs from its IPv6-mapped form.
	ports uint64
}

func pairOf(src, dst netip.AddrPort) pair {
	x, y := src.Addr().As16(), dst.Addr().As16()
	a := [2]uint64{binary.BigEndian.Uint64(x[:]), binary.BigEndian.Uint64(x[8:])}
	b := [2]uint64{binary.BigEndian.Uint64(y[:]), binary.BigEndian.Uint64(y[8:])}
	p, q := uint64(src.Port()), uint64(dst.Port())
	if a[0] > b[0] || a[0] == b[0] && (a[1] > b[1] || a[1] == b[1] && p > q) {
		a, b, p, q = b, a, q, p
	}
	ports := p<<16 | q
	if src.Addr().Is4() {
		ports |= 1 << 32
	}
	return pair{a, b, ports}
}

// hash mixes the words with a random seed, so that no capture can be crafted to collide.
func (p *pair) hash(seed uint64) uint64 {
	fold := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	h := fold(p.a[0]^seed, p.a[1]^0x9e3779b97f4a7c15)
	h = fold(p.b[0]^h, p.b[1]^0xbf58476d1ce4e5b9)
	return fold(p.ports^h, seed|1)
}

// directory finds connections by their ends and path. The newest connection between two ends is in
// a hash table chained through the connections, so that an unknown SYN touches little memory.
type directory struct {
	slots  []*Conn // a power of two
	n      int     // connections in slots
	seed   uint64
	others map[pairOnPath]*Conn // older connections between the same ends, and further paths of any
}

// pairOnPath is a pair on one path: the VLANs and tunnels around it.
type pairOnPath struct {
	pair
	path uint64
}

// bucketEntry is a connection's part of the directory.
type bucketEntry struct {
	ends    pair
	chained *Conn
	paths   []uint64 // further paths that it was seen on
}

func newDirectory() directory {
	return directory{slots: make([]*Conn, 64), seed: rand.Uint64(), others: map[pairOnPath]*Conn{}}
}

// newest returns the link to the newest connection between the ends, or where it would be.
func (d *directory) newest(ends *pair) **Conn {
	at := &d.slots[ends.hash(d.seed)&uint64(len(d.slots)-1)]
	for *at != nil && (*at).ends != *ends {
		at = &(*at).chained
	}
	return at
}

// maxPaths bounds bucketEntry.paths.
const maxPaths = 6

// find returns the connection that p belongs to, nil if there is none.
func (d *directory) find(p *capture.Packet) *Conn {
	k := pairOnPath{pairOf(p.Src, p.Dst), p.Path}
	newest := *d.newest(&k.pair)
	if newest != nil && newest.Path == p.Path {
		return newest
	}
	if c := d.others[k]; c != nil {
		return c
	}
	if newest == nil || !newest.ownsPath(p) {
		return nil
	}
	newest.paths = append(newest.paths, p.Path)
	d.others[k] = newest
	return newest
}

// ownsPath reports whether p belongs to c although it is on a new path. It does if p's direction
// was not seen before, as where only one direction is tagged. It also does if c has just had this
// packet on another path: inside and outside of a tunnel, or on both sides of a router. Hosts of
// two networks with equal addresses do not share packets.
func (c *Conn) ownsPath(p *capture.Packet) bool {
	if len(c.paths) == maxPaths {
		return false
	}
	c.releaseSYN()
	f := &c.Flows[c.direction(p)]
	return f.Packets == 0 || f.copies.onAnotherPath(p)
}

// add inserts a connection whose first packet is p.
func (d *directory) add(c *Conn, p *capture.Packet) {
	if d.n == len(d.slots) {
		d.grow()
	}
	c.ends = pairOf(p.Src, p.Dst)
	at := d.newest(&c.ends)
	if before := *at; before != nil {
		d.others[pairOnPath{c.ends, before.Path}] = before
		c.chained, before.chained = before.chained, nil
	} else {
		d.n++
	}
	*at = c
}

func (d *directory) grow() {
	old := d.slots
	d.slots = make([]*Conn, 2*len(old))
	for _, c := range old {
		for c != nil {
			next := c.chained
			c.chained = nil
			*d.newest(&c.ends) = c
			c = next
		}
	}
}

// remove deletes a connection.
func (d *directory) remove(c *Conn) {
	if at := d.newest(&c.ends); *at == c {
		*at, c.chained = c.chained, nil
		d.n--
	} else {
		delete(d.others, pairOnPath{c.ends, c.Path})
	}
	for _, path := range c.paths {
		delete(d.others, pairOnPath{c.ends, path})
	}
}
