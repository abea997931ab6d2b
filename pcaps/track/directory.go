package track

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"

	"tcpwheel/pcaps/capture"
)

// pair is the two ends of a connection, the lesser first, as machine words that are cheap to hash
// and to compare.
type pair struct {
	aHigh, aLow uint64 // an address; of IPv4 aLow alone, with the port
	bHigh, bLow uint64
	ports       uint64 // of IPv6; isIPv4 for IPv4, whose addresses differ from IPv6-mapped ones
}

const isIPv4 = 1 << 32

// set sets the pair to two ends. It is no function that returns a pair: a copy of what was just
// stored is slow.
func (p *pair) set(src, dst netip.AddrPort) {
	if src.Addr().Is4() && dst.Addr().Is4() {
		x, y := key4(src), key4(dst)
		p.aHigh, p.aLow, p.bHigh, p.bLow, p.ports = 0, min(x, y), 0, max(x, y), isIPv4
		return
	}
	a, b := src.Addr().As16(), dst.Addr().As16()
	x, y := uint64(src.Port()), uint64(dst.Port())
	if c := bytes.Compare(a[:], b[:]); c > 0 || c == 0 && x > y {
		a, b, x, y = b, a, y, x
	}
	word := binary.BigEndian.Uint64
	*p = pair{word(a[:]), word(a[8:]), word(b[:]), word(b[8:]), x<<16 | y}
}

// key4 returns an IPv4 address and a port.
func key4(end netip.AddrPort) uint64 {
	b := end.Addr().As4()
	return uint64(binary.BigEndian.Uint32(b[:]))<<16 | uint64(end.Port())
}

// equal is ==, which calls a function.
func (p *pair) equal(q *pair) bool {
	return p.aLow == q.aLow && p.bLow == q.bLow && p.ports == q.ports && p.aHigh == q.aHigh && p.bHigh == q.bHigh
}

// fold hashes two words: each bit of the product counts.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// hash mixes the words with a random seed, so that no capture can be crafted to collide.
func (p *pair) hash(seed uint64) uint64 {
	h := fold(p.aHigh^seed, p.aLow^0x9e3779b97f4a7c15)
	h = fold(p.bHigh^h, p.bLow^0xbf58476d1ce4e5b9)
	return fold(p.ports^h, seed|1)
}

// directory finds connections by their ends and path. The newest connection between two ends is in
// a hash table with open addressing. It has the hashes, so that a search touches no other
// connection.
type directory struct {
	slots  []slot // a power of two; at most 3/4 are full
	n      int    // connections in slots
	seed   uint64
	others map[pairOnPath]*Conn // older connections between the same ends, and further paths of any
}

// slot is empty if c is nil.
type slot struct {
	hash uint64 // of the ends of c
	c    *Conn
}

// pairOnPath is a pair on one path: the VLANs and tunnels around it.
type pairOnPath struct {
	pair
	path uint64
}

// bucketEntry is a connection's part of the directory.
type bucketEntry struct {
	ends  pair
	paths []uint64 // further paths that it was seen on
}

func newDirectory() directory {
	return directory{slots: make([]slot, 64), seed: rand.Uint64(), others: map[pairOnPath]*Conn{}}
}

// newest returns the slot of the newest connection between the ends, or an empty one for it.
func (d *directory) newest(ends *pair) *slot {
	hash := ends.hash(d.seed)
	for i := hash; ; i++ {
		s := &d.slots[i&uint64(len(d.slots)-1)]
		if s.c == nil {
			s.hash = hash
			return s
		}
		if s.hash == hash && s.c.ends.equal(ends) {
			return s
		}
	}
}

// maxPaths bounds bucketEntry.paths.
const maxPaths = 6

// find returns the connection that p belongs to, nil if there is none.
func (d *directory) find(p *capture.Packet) *Conn {
	var ends pair
	ends.set(p.Src, p.Dst)
	newest := d.newest(&ends).c
	if newest != nil && newest.Path == p.Path {
		return newest
	}
	k := pairOnPath{ends, p.Path} // not before, as a copy of what was just stored is slow
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

// add inserts a connection, whose ends are set.
func (d *directory) add(c *Conn) {
	if 4*d.n >= 3*len(d.slots) {
		d.grow()
	}
	at := d.newest(&c.ends)
	if before := at.c; before != nil {
		d.others[pairOnPath{c.ends, before.Path}] = before
	} else {
		d.n++
	}
	at.c = c
}

func (d *directory) grow() {
	old := d.slots
	d.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.c != nil {
			d.insert(s)
		}
	}
}

// insert puts s, whose ends no slot has, into the first empty slot for it.
func (d *directory) insert(s slot) {
	i, mask := s.hash, uint64(len(d.slots)-1)
	for d.slots[i&mask].c != nil {
		i++
	}
	d.slots[i&mask] = s
}

// empty empties a slot, and moves those behind it that a search would no longer find.
func (d *directory) empty(at *slot) {
	i, mask := at.hash, uint64(len(d.slots)-1)
	for &d.slots[i&mask] != at {
		i++
	}
	*at = slot{}
	for i++; d.slots[i&mask].c != nil; i++ {
		s := d.slots[i&mask]
		d.slots[i&mask] = slot{}
		d.insert(s)
	}
}

// remove deletes a connection.
func (d *directory) remove(c *Conn) {
	if at := d.newest(&c.ends); at.c == c {
		d.empty(at)
		d.n--
	} else {
		delete(d.others, pairOnPath{c.ends, c.Path})
	}
	for _, path := range c.paths {
		delete(d.others, pairOnPath{c.ends, path})
	}
}
