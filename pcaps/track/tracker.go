package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Config configures a Tracker. The zero value is valid.
type Config struct {
	// Done gets each connection when it is complete. The tracker keeps no reference to it. With
	// Reuse, Done must keep none either: the next connection uses the same memory.
	Done  func(*Conn)
	Reuse bool

	// Event, if not nil, gets each packet's classification as packets are added. It must not call
	// the tracker.
	Event func(*Event)

	// Limits reports by Flow.Limits what kept senders from sending faster.
	Limits bool

	// Facts is how many packets of a connection to keep in Conn.Facts, and FactsTotal of all
	// connections together. 0 keeps none; FactsTotal of 0 means 1<<22.
	Facts, FactsTotal int

	// Settled, if not nil, gets each episode settleAfter its end, when late evidence about it is in,
	// or when its connection completes. It must not call the tracker. Flow.Episodes then lacks the
	// episode, so that memory does not grow with the length of a connection. Later packets may
	// still have changed its kind or verdict; see settleAfter.
	Settled func(*Conn, *Flow, *Episode)

	// MaxConns bounds the connections followed at once; 0 means 1<<18. Beyond it the longest idle
	// one is completed early: ended ones first, then half-open ones, then others. Half-open
	// connections may take a quarter of it, so that a SYN flood evicts only itself. A connection
	// takes 4 KB and its segments in flight, or 0.5 KB while only its SYN was seen.
	MaxConns int

	MaxSegments int // unacknowledged segments per direction; 0 means 1<<15
	MaxEpisodes int // episodes kept per direction, more are counted; 0 means 1<<12
}

const (
	defaultConns    = 1 << 18
	defaultSegments = 1 << 15
	defaultEpisodes = 1 << 12
	defaultFacts    = 1 << 22

	// maxRexmits is the number of retransmissions kept per episode; more are counted.
	maxRexmits = 1 << 10
)

// Tracker follows all connections of a capture. Its memory is bounded by the open connections and
// their segments in flight.
type Tracker struct {
	cfg   Config
	conns directory
	last  *Conn

	open, closed, halfOpen list // each ordered by last packet; halfOpen: no complete handshake
	made                   int
	evicted                int
	segments               int64          // packets so far
	now                    wheel.Time     // the time of the last packet; it never decreases
	offset                 time.Duration  // added to capture times, to undo a clock that was set back
	checksums              checksumCounts // of a sample of the packets
	memory                 memory
	settling               settling
	twins                  twins
	clock                  captureClock
	facts                  int // packets in the Conn.Facts of open connections
}

// New returns a Tracker that has seen no packet.
func New(cfg Config) *Tracker {
	or := func(n *int, d int) {
		if *n <= 0 {
			*n = d
		}
	}
	or(&cfg.MaxConns, defaultConns)
	or(&cfg.MaxSegments, defaultSegments)
	or(&cfg.MaxEpisodes, defaultEpisodes)
	or(&cfg.FactsTotal, defaultFacts)
	return &Tracker{cfg: cfg, conns: newDirectory()}
}

// Add handles the next packet and keeps no reference to it. It costs O(1). It allocates only for
// new connections, for losses, and when the flight grows beyond its previous maximum.
func (t *Tracker) Add(p *capture.Packet) {
	if t.cfg.Settled != nil {
		t.settleAt(p.Time)
	}
	t.pass(p.Time)
	t.segments++
	c, dir, damaged := t.find(p)
	t.sample(p)
	l := &t.halfOpen
	if c.Flows == nil && !damaged && t.mayHoldSYN(p) {
		c.holdSYN(p)
		t.last = nil
	} else {
		c.addWithChecksum(p, dir, damaged)
		if !damaged && c.isFirstACK(p) {
			t.twins.add(newFirstACK(c, p))
		}
		l = t.listOf(c)
	}
	c.seen, c.segment = t.now, t.segments
	if c.in != l || l.last != c {
		c.in.remove(c)
		l.append(c)
	}
}

// pass moves the time to that of the next packet, and completes connections that ended long ago. A
// step back by more than clockStep is added to all later times.
func (t *Tracker) pass(to wheel.Time) {
	t.clock.note(to)
	if to = to.Add(t.offset); to < t.now {
		if back := t.now.Sub(to); back > clockStep {
			t.offset += back
		} else if back > queueSkew/5 { // else several queues captured packets out of order
			t.clock.wentBack(back, t.now)
		}
		return
	}
	t.now = to
	for t.closed.first != nil && t.now.Sub(t.closed.first.seen) > keepClosed {
		t.finish(t.closed.first)
	}
}

// sample counts the checksum of the last packet, if it is in the sample: of the first 1,024, and of
// one in 16.
func (t *Tracker) sample(p *capture.Packet) {
	if t.segments <= 1024 || t.segments%16 == 0 {
		t.checksums.note(p)
	}
}

// listOf returns the list that c belongs to.
func (t *Tracker) listOf(c *Conn) *list {
	switch {
	case c.closed():
		return &t.closed
	case c.halfOpen():
		return &t.halfOpen
	}
	return &t.open
}

// Close completes all connections: the ended ones first, then the others, each in the order of
// their last packets.
func (t *Tracker) Close() {
	t.memory.last = true
	for t.closed.first != nil {
		t.finish(t.closed.first)
	}
	for {
		c, d := t.open.first, t.halfOpen.first
		if c == nil || d != nil && d.segment < c.segment {
			c = d
		}
		if c == nil {
			return
		}
		t.finish(c)
	}
}

// followed returns how many connections the tracker follows, ended ones too.
func (t *Tracker) followed() int { return t.open.n + t.closed.n + t.halfOpen.n }

// Evicted returns how many connections MaxConns completed before they had ended.
func (t *Tracker) Evicted() int { return t.evicted }

// ICMP handles an ICMP error about a segment in flight. If it was too large for its path, the
// retransmissions of the flight from there on are of kind PMTU. Else the destination is
// unreachable, which is the outcome of a connection that is not established after all.
func (t *Tracker) ICMP(e capture.ICMPError) {
	var ends pair
	ends.set(e.Src, e.Dst)
	c := t.conns.newest(&ends).c
	if c == nil {
		return
	}
	c.releaseSYN()
	f := &c.Flows[0]
	if f.Src != e.Src {
		f = &c.Flows[1]
	}
	switch pos := f.pos(e.Seq); {
	case !f.started || pos < f.una || pos >= f.max:
	case e.TooBig:
		f.tooBig = seqSpan{pos, f.max, e.Time.Add(c.offset)}
	case !c.UnreachableBy.IsValid():
		c.UnreachableBy = e.From
	}
}

// find returns the connection of p, the index of p's flow, and whether p was damaged in transit. A
// SYN may begin a new connection between the same ends.
func (t *Tracker) find(p *capture.Packet) (c *Conn, dir int, damaged bool) {
	c = t.last
	if c != nil {
		dir = c.between(p)
	}
	if c == nil || c.Path != p.Path || dir < 0 {
		if c = t.conns.find(p); c != nil {
			c.releaseSYN()
			dir = c.direction(p)
		}
	}
	if c != nil {
		t.last = c
		damaged = p.Problems.Has(capture.BadChecksum) && t.damaged(p, &c.Flows[dir])
		if damaged || !p.Header.Flags.Has(tcp.SYN) || !c.reused(p, dir) {
			return c, dir, damaged
		}
		c.End = Replaced
		t.finish(c)
	}
	return t.begin(p), 0, p.Problems.Has(capture.BadChecksum) && t.damaged(p, nil)
}

// begin creates the connection whose first packet is p.
func (t *Tracker) begin(p *capture.Packet) *Conn {
	if many := t.halfOpen.n > t.cfg.MaxConns/4; many || t.followed() >= t.cfg.MaxConns {
		oldest := t.closed.first
		if oldest == nil || many {
			oldest = t.halfOpen.first
		}
		if oldest == nil {
			oldest = t.open.first
		}
		if oldest.in != &t.closed {
			oldest.End = Evicted
			t.evicted++
		}
		t.finish(oldest)
	}
	origin := p.Time.Add(-p.Since)
	if p.Since > yearsApart {
		origin = p.Time
	}
	c := t.memory.takeConn()
	*c = Conn{ID: t.made, Path: p.Path, First: p.Time, Last: p.Time, Origin: origin, FirstPacket: p.Number, cfg: &t.cfg, memory: &t.memory, captured: &t.clock}
	if t.cfg.Settled != nil {
		c.settling = &t.settling
	}
	c.recordFacts(&t.facts)
	t.made++
	c.ends.set(p.Src, p.Dst)
	t.conns.add(c)
	t.open.append(c)
	t.last = c
	return c
}

// finish completes c and forgets it.
func (t *Tracker) finish(c *Conn) {
	c.releaseSYN()
	c.in.remove(c)
	t.conns.remove(c)
	if t.last == c {
		t.last = nil
	}
	c.finish()
	c.dropTwin()
	if t.cfg.Done != nil {
		t.cfg.Done(c)
	}
	if t.cfg.Reuse {
		t.memory.put(c)
	}
}

// list holds connections ordered by the time of their last packet.
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

// span returns the time between two instants, 0 if they are in the wrong order.
func span(from, to wheel.Time) time.Duration { return max(to.Sub(from), 0) }
