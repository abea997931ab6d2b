package track

import (
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

// pairOnPath is a pair with what lies outside of it.
type pairOnPath struct {
	pair
	path uint64
}

// directory finds connections by their ends.
type directory struct {
	newest map[pair]*Conn       // the one that began last between its ends, unless it has ended
	others map[pairOnPath]*Conn // those before it, and paths besides a connection's own
}

// maxPaths is how many a connection may be seen on besides its own.
const maxPaths = 6

// find returns the connection that a packet belongs to, nil if there is none.
func (d *directory) find(p *capture.Packet) *Conn {
	k := pairOf(p.Src, p.Dst)
	newest := d.newest[k]
	if newest != nil && newest.Path == p.Path {
		return newest
	}
	if c := d.others[pairOnPath{k, p.Path}]; c != nil {
		return c
	}
	if newest == nil || !newest.takes(p) {
		return nil
	}
	newest.paths = append(newest.paths, p.Path)
	d.others[pairOnPath{k, p.Path}] = newest
	return newest
}

// takes reports whether a packet on a new path belongs to the connection all the same: one whose other direction alone was seen so far, as
// where only one has tags; or one that has just had this very packet, which was captured within a tunnel and outside of it, or in two VLANs
// with a router between. Hosts of two networks that have the same addresses, ports and sequence numbers there are not.
func (c *Conn) takes(p *capture.Packet) bool {
	if len(c.paths) == maxPaths {
		return false
	}
	f := &c.Flows[c.direction(p)]
	return f.Packets == 0 || f.copies.onAnotherPath(p)
}

// add takes in a connection that begins.
func (d *directory) add(c *Conn) {
	k := pairOf(c.Flows[0].Src, c.Flows[0].Dst)
	if before := d.newest[k]; before != nil {
		d.others[pairOnPath{k, before.Path}] = before
	}
	d.newest[k] = c
}

// remove forgets a connection.
func (d *directory) remove(c *Conn) {
	k := pairOf(c.Flows[0].Src, c.Flows[0].Dst)
	if d.newest[k] == c {
		delete(d.newest, k)
	} else {
		delete(d.others, pairOnPath{k, c.Path})
	}
	for _, path := range c.paths {
		delete(d.others, pairOnPath{k, path})
	}
}
