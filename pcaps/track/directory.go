package track

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"

	"tcpwheel/pcaps/capture"
)

// pair is the ends of a connection, the lesser first, in words: they are hashed and compared for each packet.
type pair struct {
	a, b  [2]uint64 // the addresses
	ports uint64    // and that both are of IPv4, which is not the same as mapped into IPv6
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

// hash mixes the words with the seed, so that nobody can make a capture whose connections have the same.
func (p *pair) hash(seed uint64) uint64 {
	fold := func(a, b uint64) uint64 {
		hi, lo := bits.Mul64(a, b)
		return hi ^ lo
	}
	h := fold(p.a[0]^seed, p.a[1]^0x9e3779b97f4a7c15)
	h = fold(p.b[0]^h, p.b[1]^0xbf58476d1ce4e5b9)
	return fold(p.ports^h, seed|1)
}

// directory finds connections by their ends and what lies outside of them. Those that began last between their ends are in a table whose
// chains go through the connections themselves, so that little memory is looked at for a SYN that nobody knows.
type directory struct {
	slots  []*Conn // a power of two
	n      int     // connections in them
	seed   uint64
	others map[pairOnPath]*Conn // connections after which another began between their ends, and paths besides a connection's own
}

// pairOnPath is a pair with what lies outside of it.
type pairOnPath struct {
	pair
	path uint64
}

// place is where a connection stands in a directory.
type place struct {
	ends    pair
	chained *Conn
	paths   []uint64 // that it was seen on besides its own
}

func newDirectory() directory {
	return directory{slots: make([]*Conn, 64), seed: rand.Uint64(), others: map[pairOnPath]*Conn{}}
}

// newest returns where the connection stands, or would, that began last between the ends.
func (d *directory) newest(ends *pair) **Conn {
	at := &d.slots[ends.hash(d.seed)&uint64(len(d.slots)-1)]
	for *at != nil && (*at).ends != *ends {
		at = &(*at).chained
	}
	return at
}

// maxPaths is how many a connection may be seen on besides its own.
const maxPaths = 6

// find returns the connection that a packet belongs to, nil if there is none.
func (d *directory) find(p *capture.Packet) *Conn {
	k := pairOnPath{pairOf(p.Src, p.Dst), p.Path}
	newest := *d.newest(&k.pair)
	if newest != nil && newest.Path == p.Path {
		return newest
	}
	if c := d.others[k]; c != nil {
		return c
	}
	if newest == nil || !newest.takes(p) {
		return nil
	}
	newest.paths = append(newest.paths, p.Path)
	d.others[k] = newest
	return newest
}

// takes reports whether a packet on a new path belongs to the connection all the same: one whose other direction alone was seen so far, as
// where only one has tags; or one that has just had this very packet, which was captured within a tunnel and outside of it, or in two VLANs
// with a router between. Hosts of two networks that have the same addresses, ports and sequence numbers there are not.
func (c *Conn) takes(p *capture.Packet) bool {
	if len(c.paths) == maxPaths {
		return false
	}
	c.wake()
	f := &c.Flows[c.direction(p)]
	return f.Packets == 0 || f.copies.onAnotherPath(p)
}

// add takes in a connection that begins with a packet.
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

// remove forgets a connection.
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
