package track

import (
	"time"

	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Config is how a tracker works.
type Config struct {
	// Done gets each connection when it is complete. The tracker keeps nothing of it, and with Reuse neither may Done: its memory is that of
	// the next one.
	Done  func(*Conn)
	Reuse bool

	// Event is told what each packet was found to be, as it comes; nil for nobody. It must not call the tracker.
	Event func(*Event)
	// Each, if there is one, gets each packet that counts, in order: not copies, nor what has a wrong checksum. flow is the index of its
	// flow, and at its time, which never goes back within a connection. The connection is not complete.
	Each func(c *Conn, flow int, p *capture.Packet, at wheel.Time)

	// MaxConns is how many connections are followed at once, of which the one unheard of for longest goes first: those that have ended
	// before those that have not begun, and these before others. A quarter may be those that have not begun, as of a flood of SYNs. One
	// takes 4 KB, and what is in flight, or half a KB as long as only its SYN was seen; 0 is 1<<18.
	MaxConns    int
	MaxSegments int // segments of one direction that wait for their ACK; 0 is 1<<15
	MaxEpisodes int // of one direction that are kept, the others are counted; 0 is 1<<12
}

const (
	defaultConns    = 1 << 18
	defaultSegments = 1 << 15
	defaultEpisodes = 1 << 12

	// maxRexmits is how many retransmissions of an episode are kept; the others are counted.
	maxRexmits = 1 << 10

	// closedFor is how long a connection that has ended is kept, for what comes late.
	closedFor = time.Minute
)

// Tracker follows all connections of a capture. Its memory is bounded by those that are open, with their segments in flight.
type Tracker struct {
	cfg   Config
	conns directory
	last  *Conn

	open, closed, asked list // by the last packet, the latest at the end; asked has those whose handshake is not complete
	made                int
	evicted             int
	sums                sums // of all packets
	spare               spare
}

// New makes a tracker that has seen nothing.
func New(cfg Config) *Tracker {
	or := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	or(&cfg.MaxConns, defaultConns)
	or(&cfg.MaxSegments, defaultSegments)
	or(&cfg.MaxEpisodes, defaultEpisodes)
	return &Tracker{cfg: cfg, conns: newDirectory()}
}

// Add takes the next packet in, and keeps nothing of it. It costs O(1) and allocates nothing, but for new connections, losses, and as
// more is in flight than before.
func (t *Tracker) Add(p *capture.Packet) {
	c, dir, damaged := t.find(p)
	t.sums.note(p)
	l := &t.asked
	if c.Flows == nil && !damaged && t.mayWait(p) {
		c.wait(p)
		t.last = nil
	} else {
		c.take(p, dir, damaged)
		l = t.listOf(c)
	}
	if c.in != l || l.last != c {
		c.in.remove(c)
		l.append(c)
	}
	for t.closed.first != nil && c.Last.Sub(t.closed.first.Last) > closedFor {
		t.finish(t.closed.first)
	}
}

// listOf returns where a connection belongs.
func (t *Tracker) listOf(c *Conn) *list {
	switch {
	case c.closed():
		return &t.closed
	case c.halfOpen():
		return &t.asked
	}
	return &t.open
}

// Close completes all connections, in the order of their last packets.
func (t *Tracker) Close() {
	for t.closed.first != nil {
		t.finish(t.closed.first)
	}
	for {
		c, d := t.open.first, t.asked.first
		if c == nil || d != nil && (d.Last < c.Last || d.Last == c.Last && d.ID < c.ID) {
			c = d
		}
		if c == nil {
			return
		}
		t.finish(c)
	}
}

// Evicted returns how many connections were completed only to bound their number.
func (t *Tracker) Evicted() int { return t.evicted }

// find returns the connection of a packet, which of its flows the packet is of, and whether it was damaged. A SYN may begin another
// connection between the same ends.
func (t *Tracker) find(p *capture.Packet) (c *Conn, dir int, damaged bool) {
	c = t.last
	if c == nil || c.Path != p.Path || !c.between(p) {
		c = t.conns.find(p)
	}
	if c != nil {
		c.wake()
		t.last = c
		dir = c.direction(p)
		damaged = t.damaged(p, &c.Flows[dir])
		if damaged || !c.reused(p, dir) {
			return c, dir, damaged
		}
		c.End = Replaced
		t.finish(c)
	}
	return t.begin(p), 0, t.damaged(p, nil)
}

// begin makes the connection that the packet is the first of.
func (t *Tracker) begin(p *capture.Packet) *Conn {
	if many := t.asked.n > t.cfg.MaxConns/4; many || t.open.n+t.closed.n+t.asked.n >= t.cfg.MaxConns {
		oldest := t.closed.first
		if oldest == nil || many {
			oldest = t.asked.first
		}
		if oldest == nil {
			oldest = t.open.first
		}
		oldest.End = Evicted
		t.evicted++
		t.finish(oldest)
	}
	c := t.spare.takeConn()
	*c = Conn{ID: t.made, Path: p.Path, First: p.Time, Last: p.Time, FirstPacket: p.Number, cfg: &t.cfg, spare: &t.spare}
	t.made++
	t.conns.add(c, p)
	t.open.append(c)
	t.last = c
	return c
}

// finish completes a connection and forgets it.
func (t *Tracker) finish(c *Conn) {
	c.wake()
	c.in.remove(c)
	t.conns.remove(c)
	if t.last == c {
		t.last = nil
	}
	c.finish()
	if t.cfg.Done != nil {
		t.cfg.Done(c)
	}
	if t.cfg.Reuse {
		t.spare.put(c)
	}
}

// list is connections by the time of their last packet.
type list struct {
	first, last *Conn
	n           int
}

func (l *list) append(c *Conn) {
	c.in, c.prev, c.next = l, l.last, nil
	if l.last != nil {
		l.last.next = c
	} else {
		l.first = c
	}
	l.last = c
	l.n++
}

func (l *list) remove(c *Conn) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.first = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		l.last = c.prev
	}
	c.in, c.prev, c.next = nil, nil, nil
	l.n--
}

// span is how long something took, never less than nothing.
func span(from, to wheel.Time) time.Duration { return max(to.Sub(from), 0) }
