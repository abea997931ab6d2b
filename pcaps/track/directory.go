package track

import (
	"hash/maphash"
	"net/netip"

	"tcpwheel/pcaps/capture"
)

// pair is the ends of a connection, the lesser first: without pointers and gaps, as they are looked up for each packet.
type pair struct {
	addrs  [2][16]byte
	ports  [2]uint16
	family [2]uint16 // how many bits the addresses have: one of IPv4 is not the same mapped into IPv6
}

func pairOf(a, b netip.AddrPort) pair {
	if a.Compare(b) > 0 {
		a, b = b, a
	}
	return pair{
		addrs: [2][16]byte{a.Addr().As16(), b.Addr().As16()}, ports: [2]uint16{a.Port(), b.Port()},
		family: [2]uint16{uint16(a.Addr().BitLen()), uint16(b.Addr().BitLen())},
	}
}

// directory finds connections by their ends and what lies outside of them. Those that began last between their ends are in a table whose
// chains go through the connections themselves, so that little memory is looked at for a SYN that nobody knows.
type directory struct {
	slots  []*Conn // a power of two
	n      int     // connections in them
	seed   maphash.Seed
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
	return directory{slots: make([]*Conn, 64), seed: maphash.MakeSeed(), others: map[pairOnPath]*Conn{}}
}

// newest returns where the connection stands, or would, that began last between the ends.
func (d *directory) newest(ends *pair) **Conn {
	at := &d.slots[maphash.Comparable(d.seed, *ends)&uint64(len(d.slots)-1)]
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
