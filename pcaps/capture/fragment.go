package capture

import (
	"net/netip"

	"tcpwheel/wheel"
)

// fragments reassembles IP datagrams: a bounded number of them, for a bounded time.
type fragments struct {
	waiting []*datagram
	late    []*datagram // given up; a first fragment still yields a packet
	free    []*datagram
	done    []byte // the datagram completed last
}

const (
	maxWaiting  = 64
	maxDatagram = 1<<16 - 1
	maxPieces   = 256

	// patience is how long a datagram waits for its fragments, in ns. Hosts wait for 30 s, but IPv4
	// identifications repeat sooner, and a packet a second late is behind many retransmissions.
	reassemblyTimeout = wheel.Time(1_000_000_000)
)

// piece is one fragment.
type piece struct {
	protocol byte
	offset   int // bytes
	more     bool
	kept     []byte
	size     int // bytes on the wire
}

// datagramKey is what the fragments of a datagram have in common.
type datagramKey struct {
	src, dst netip.Addr
	path     uint64
	iface    int
	id       uint32
	protocol byte // only IPv4
}

// datagram is a datagram in reassembly.
type datagram struct {
	key      datagramKey
	since    wheel.Time
	first    Packet // from the first fragment
	protocol byte
	spans    []span // by start
	total    int    // bytes of the whole; 0 until the last fragment comes
	buf      []byte
}

// span is a fragment's range, and the end of the bytes kept of it.
type span struct{ start, end, kept int }

// fragment handles a fragment. The one that completes a datagram decodes it; the others return
// FragmentPart.
func (d *decoder) fragment(f piece) Reason {
	if f.size <= 0 || f.offset+f.size > maxDatagram || f.more && f.size%8 != 0 {
		return Malformed
	}
	p := d.p
	key := datagramKey{src: p.Src.Addr(), dst: p.Dst.Addr(), path: p.Path, iface: p.Interface, id: p.ID}
	if key.src.Is4() {
		key.protocol = f.protocol
	}
	g := d.frags.find(key, p.Time)
	if f.offset == 0 {
		g.first, g.protocol = *p, f.protocol
	}
	g.add(f)
	total, kept := g.prefix()
	if g.total == 0 || total < g.total {
		if len(g.spans) == maxPieces {
			d.frags.giveUp(g)
		}
		return FragmentPart
	}
	d.frags.remove(g)
	p.TTL, p.TOS = g.first.TTL, g.first.TOS
	p.Problems |= Fragment
	// The payload may be a fragment again and use the pool.
	g.buf, d.frags.done = d.frags.done, g.buf
	return d.transport(g.protocol, d.frags.done[:kept], g.total)
}

// decodeLate decodes the prefix of a datagram that was given up, as the packet that its first
// fragment was.
func (d *decoder) decodeLate(g *datagram) Reason {
	if g.first.Number == 0 {
		return FragmentPart
	}
	*d.p = g.first
	d.p.Problems |= Fragment
	d.depth, d.addressed = 0, true
	total, kept := g.prefix()
	got := d.transport(g.protocol, g.buf[:kept], total)
	d.p.Problems &^= BadChecksum // it covers the whole datagram
	return got
}

// find returns the datagram of a key, a new one if needed. It gives up datagrams that have waited
// too long.
func (f *fragments) find(key datagramKey, now wheel.Time) *datagram {
	var found *datagram
	for i := len(f.waiting) - 1; i >= 0; i-- {
		g := f.waiting[i]
		switch age := now - g.since; {
		case age > reassemblyTimeout || age < -reassemblyTimeout:
			f.giveUp(g)
		case g.key == key:
			found = g
		}
	}
	if found != nil {
		return found
	}
	if len(f.waiting) == maxWaiting {
		f.giveUp(f.waiting[0])
	}
	if len(f.free) == 0 {
		f.free = append(f.free, &datagram{})
	}
	last := len(f.free) - 1
	g := f.free[last]
	f.free = f.free[:last]
	*g = datagram{key: key, since: now, spans: g.spans[:0], buf: g.buf}
	f.waiting = append(f.waiting, g)
	return g
}

// remove takes a datagram off the waiting list. The next find may reuse its memory.
func (f *fragments) remove(g *datagram) {
	for i := range f.waiting {
		if f.waiting[i] == g {
			f.waiting = append(f.waiting[:i], f.waiting[i+1:]...)
			break
		}
	}
	f.free = append(f.free, g)
}

func (f *fragments) giveUp(g *datagram) {
	f.remove(g)
	f.free = f.free[:len(f.free)-1]
	f.late = append(f.late, g)
}

// giveUpAll is called at the end of the file.
func (f *fragments) giveUpAll() {
	for len(f.waiting) > 0 {
		f.giveUp(f.waiting[0])
	}
}

// nextLate returns the next datagram that was given up, or nil. It is valid until the next find.
func (f *fragments) nextLate() *datagram {
	if len(f.late) == 0 {
		return nil
	}
	g := f.late[0]
	f.late = append(f.late[:0], f.late[1:]...)
	f.free = append(f.free, g)
	return g
}

// add adds a fragment. A repeated one counts once.
func (g *datagram) add(f piece) {
	s := span{f.offset, f.offset + f.size, f.offset + len(f.kept)}
	if !f.more {
		g.total = s.end
	}
	i := len(g.spans)
	for i > 0 && g.spans[i-1].start > s.start {
		i--
	}
	if i > 0 && g.spans[i-1].start == s.start && g.spans[i-1].kept >= s.kept && g.spans[i-1].end >= s.end || len(g.spans) == maxPieces {
		return
	}
	g.spans = append(g.spans, s)
	copy(g.spans[i+1:], g.spans[i:])
	g.spans[i] = s
	if len(g.buf) < s.kept {
		g.buf = append(g.buf, make([]byte, s.kept-len(g.buf))...)
	}
	copy(g.buf[s.start:], f.kept)
}

// prefix returns the length of the hole-free prefix, and how much of it was kept.
func (g *datagram) prefix() (size, kept int) {
	for _, s := range g.spans {
		if s.start > size {
			break
		}
		size = max(size, s.end)
		if s.start <= kept {
			kept = max(kept, s.kept)
		}
	}
	if g.total > 0 {
		size = min(size, g.total)
	}
	return size, min(size, kept)
}
