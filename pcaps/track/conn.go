package track

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// End says how a connection ended, as far as the capture shows.
type End uint8

const (
	Open     End = iota // no end was seen
	Closed              // FIN in both directions, both acknowledged
	Reset               // by a RST
	Replaced            // by a new connection between the same ends
	Evicted             // completed early because of Config.MaxConns

	ends
)

var endNames = [ends]string{"open", "closed", "reset", "replaced", "evicted"}

// String returns the name used in JSON.
func (e End) String() string { return endNames[min(e, ends-1)] }

// MarshalText returns the name.
func (e End) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// Conn is one TCP connection.
type Conn struct {
	ID          int // from 0, in the order of first packets
	Path        uint64
	First, Last wheel.Time // of its packets
	FirstPacket int64
	Packets     int64
	// Origin is the time of packet 1 of the file: Wireshark counts relative times from it. Behind
	// years without the connection, as in merged files, it is that of the connection's first packet.
	Origin wheel.Time

	// Flows are the two directions. The client's comes first if the handshake was seen, else that
	// of the first packet. It is nil only while the connection holds nothing but its SYN; users
	// never see that.
	Flows *[2]Flow

	Handshake       Handshake
	End             End
	Outcome         Outcome
	SYNACKsRepeated int            // after the client's ACK, if Unheard
	ResetBy         netip.AddrPort // who sent the first RST, if any
	// UnreachableBy is the sender of the ICMP error that the other end cannot be reached, if any.
	UnreachableBy netip.Addr
	// Twin says that this is the connection with the ID TwinOf, captured at another place that
	// changes its addresses, as behind a NAT. It has no episodes: they count once.
	Twin   bool
	TwinOf int

	Copies       int64 // packets captured more than once; each counts once
	ClockSteps   int   // timestamps of the capture that went back; time then stands still
	OptionsCut   int64 // packets whose TCP options were captured in part only
	BadChecksums int64 // packets dropped because a wrong checksum shows damage
	Strays       int64 // packets dropped because they belong to an earlier connection
	// Packets used although their checksum is wrong: so many are that it proves no damage.
	BadChecksumsUsed int64

	// ClockBack is the largest step back of the capture's clock that two packets in a row show: a
	// single one is out of order in the file.
	ClockBack time.Duration
	wasBack   time.Duration // the packet before, by this

	// Unordered says that packets stand behind later ones in the file, by their IP identifications or
	// times. What looks like a retransmission need not be one, so none is reported.
	Unordered bool
	misplaced int           // packets that show it
	setBack   time.Duration // the last step back by more than clockStep
	setBackAt wheel.Time    // where it led to, by the capture's clock

	Facts *Facts // nil without Config.Facts

	bucketEntry
	memory     *memory
	settling   *settling // nil without Config.Settled
	captured   *captureClock
	cfg        *Config
	in         *list
	prev, next *Conn
	seen       wheel.Time    // when its last packet came, by the tracker's clock
	segment    int64         // the number of that packet among all segments of the capture
	offset     time.Duration // added to capture times, to undo a clock that was set back
	timestamps bool
	reset      bool
	paired     bool      // its first packet with an ACK was compared with those of others
	flags      tcp.Flags // of the current packet, for Config.Event
	heldSYN
	lost ledger.Set    // the stalls so far, as ranges of time
	skew time.Duration // how late a packet was captured behind its ACK, at most
}

// Handshake is the three-way handshake, as far as it was seen.
type Handshake struct {
	// Packet numbers: the last transmission of each before the next; 0 if not seen.
	SYN, SYNACK, ACK int64
	Time             time.Duration // from the first SYN to the ACK, if Complete
	Complete         bool

	first, synack wheel.Time
	hasSYNACK     bool
}

// addWithChecksum counts the checksum of p, allocates the flows if needed, and handles p.
func (c *Conn) addWithChecksum(p *capture.Packet, dir int, damaged bool) {
	if c.Flows == nil {
		c.Flows = c.memory.takeFlows()
		f, g := &c.Flows[0], &c.Flows[1]
		f.Src, f.Dst, f.conn = p.Src, p.Dst, c
		g.Src, g.Dst, g.conn = p.Dst, p.Src, c
	}
	if p.Problems.Has(capture.BadChecksum) || uint32(len(p.Payload)) == p.Len { // else nothing counts
		c.Flows[dir].checksums.note(p)
	}
	c.handle(p, dir, damaged)
}

// between returns the index of p's flow, or -1 if p is not between the ends of c.
func (c *Conn) between(p *capture.Packet) int {
	f := &c.Flows[0]
	switch {
	case p.Src == f.Src && p.Dst == f.Dst:
		return 0
	case p.Src == f.Dst && p.Dst == f.Src:
		return 1
	}
	return -1
}

// direction returns the index of the flow of p, which is between the ends of c.
func (c *Conn) direction(p *capture.Packet) int {
	if p.Src == c.Flows[0].Src && p.Dst == c.Flows[0].Dst {
		return 0
	}
	return 1
}

func (c *Conn) closed() bool {
	return c.reset || c.Flows[0].finAcked && c.Flows[1].finAcked
}

// halfOpen reports whether nothing but part of a handshake was seen.
func (c *Conn) halfOpen() bool {
	return c.Handshake.SYN != 0 && !c.Handshake.Complete && c.Flows[0].DataPackets == 0 && c.Flows[1].DataPackets == 0
}

// reused reports whether p, which has a SYN, begins another connection between the same ends. It
// does if p is a SYN with a new sequence number that is no stray of the previous connection, or
// such a SYN-ACK where only one direction was captured.
func (c *Conn) reused(p *capture.Packet, dir int) bool {
	h := &p.Header
	f := &c.Flows[dir]
	switch h.Flags & (tcp.SYN | tcp.ACK | tcp.RST) {
	case tcp.SYN:
	case tcp.SYN | tcp.ACK:
		return f.HasSYN && f.base != h.Seq && c.Flows[1-dir].Packets == 0
	default:
		return false
	}
	if f.HasSYN {
		// No end repeats its SYN that long after the handshake.
		again := c.Handshake.Complete && p.Time.Add(c.offset).Sub(c.Last) > time.Second
		return f.base != h.Seq || again || f.finAcked && c.Flows[1-dir].finAcked
	}
	return f.started && (c.closed() || !h.Seq.InWindow(f.base+tcp.Seq(f.una)-1<<16, 1<<17))
}

// now returns the time of p, which never decreases. A step back by more than clockStep is added to
// all later times.
func (c *Conn) now(p *capture.Packet) wheel.Time {
	t := p.Time.Add(c.offset)
	if c.setBack > 0 && p.Time.Sub(c.setBackAt) >= c.setBack && t.Sub(c.Last) > c.setBack/2 {
		c.misplaced, c.setBack = c.misplaced+1, 0 // as soon again where it was: no clock was set
	}
	if t < c.Last {
		return c.stepBack(t)
	}
	c.wasBack = 0
	return t
}

// stepBack counts that the clock went back to t, and returns the time that counts instead.
func (c *Conn) stepBack(t wheel.Time) wheel.Time {
	c.ClockSteps++
	back := c.Last.Sub(t)
	c.ClockBack = max(c.ClockBack, min(back, c.wasBack))
	c.wasBack = back
	if back > clockStep {
		c.setBack, c.setBackAt = back, t.Add(-c.offset)
		c.offset += back
	}
	return c.Last
}

// stray reports whether p belongs to an earlier connection that p's sender still remembers. It is
// an ACK far from g's unanswered SYN, or the reset that g sends in return (RFC 9293 §3.5.1, Figure
// 9).
func (c *Conn) stray(p *capture.Packet, f, g *Flow) bool {
	h := &p.Header
	switch {
	case h.Flags.Has(tcp.SYN):
	case h.Flags.Has(tcp.ACK):
		return g.onlySYN && !f.started && uint32(h.Ack-g.base) > strayDistance
	case h.Flags.Has(tcp.RST):
		return f.onlySYN && !g.started && uint32(h.Seq-f.base) > strayDistance
	}
	return false
}

// handle processes a packet of flow dir.
func (c *Conn) handle(p *capture.Packet, dir int, damaged bool) {
	f, g := &c.Flows[dir], &c.Flows[1-dir]
	now := c.now(p)
	c.Last = now
	c.Packets++
	f.Packets++
	c.flags = p.Header.Flags
	if damaged {
		c.BadChecksums++
		f.noteDropped(p)
		c.noteFact(p, dir, now, now, Ignored)
		return
	}
	if p.Problems.Has(capture.BadChecksum) {
		c.BadChecksumsUsed++
	}
	if p.Problems.Has(capture.OptionsCut) {
		c.OptionsCut++
	}
	// Some stacks send a FIN twice.
	asked := f.seenDups > 0 || f.board.sacked > 0 || f.tooBig.at != 0 || p.Len == 0 && c.Copies < 3
	if f.copies.isCopy(c.memory, p, f.RTT.Min, c.mirroredHere(), asked) || p.Len > 0 && f.isRecut(p, now, asked) {
		c.Copies++
		f.copiesSeen++
		f.emit(Copy, p.Number, now, now, 0, 0, nil)
		c.noteFact(p, dir, now, now, Copy)
		return
	}
	f.countClues(p)
	if (f.onlySYN || g.onlySYN) && c.stray(p, f, g) {
		c.Strays++
		c.noteFact(p, dir, now, now, Ignored)
		return
	}
	h, late := &p.Header, false
	f.noteSpoke(p)
	f.onlySYN = h.Flags&(tcp.SYN|tcp.ACK) == tcp.SYN && (f.onlySYN || !f.started)
	if h.Flags.Has(tcp.RST) {
		if c.reset = true; !c.ResetBy.IsValid() {
			c.ResetBy = f.Src
		}
		f.endWait(now)
		g.endWait(now)
		f.emit(ResetSeen, p.Number, now, now, f.max, f.max, nil)
		c.noteFact(p, dir, now, now, ResetSeen)
		return
	}
	if h.Flags.Has(tcp.SYN) {
		late = f.syn(p, now)
		if late {
			c.noteSkew(now.Sub(f.unaSeen))
		}
		if h.Flags.Has(tcp.ACK) && dir == 0 && c.FirstPacket == p.Number {
			c.swapFlows()
			dir, f, g = 1, &c.Flows[1], &c.Flows[0]
		}
	}
	if !c.Handshake.Complete {
		c.noteHandshake(p, f, now)
	}
	if h.Flags.Has(tcp.ACK) && g.started {
		g.measureSourceRTT(h.Ack, now)
	}
	at := c.deliver(p, f, g, now, late)
	c.noteFact(p, dir, at, now, Acked)
}

// mirrored reports whether many packets were captured twice.
func (c *Conn) mirrored() bool { return c.Copies >= 8 && 8*c.Copies >= c.Packets }

// mirroredHere returns how many copies most packets have at the spot of the first one: 0, 1, or 2
// for more.
func (c *Conn) mirroredHere() int {
	switch here := c.Flows[0].copies.here + c.Flows[1].copies.here; {
	case !c.mirrored() || 2*here < c.Copies:
		return 0
	case 2*c.Copies <= c.Packets:
		return 1
	}
	return 2
}

// noteFact records a fact, if facts are wanted.
func (c *Conn) noteFact(p *capture.Packet, dir int, at, now wheel.Time, kind EventKind) {
	if c.Facts != nil {
		c.Facts.note(c, p, dir, at, now, kind)
	}
}

// deliver brings both flows up to date: the ACKs that p's sender had, then p's data, then its
// acknowledgement. It returns when p was sent, by the sender's clock. late says that p is a SYN
// captured after its ACK.
func (c *Conn) deliver(p *capture.Packet, f, g *Flow, now wheel.Time, late bool) (at wheel.Time) {
	h := &p.Header
	at = now
	if h.Options.HasTimestamps {
		f.noteTimestamp(p, now)
		at = f.clock.sent(h.Options.TSVal, now)
		if f.lag() == 0 {
			at = now
		}
		at = max(at, g.stamps.heardAt) // a packet leaves after the one whose timestamp it echoes
		hearing{f}.deliverHeard(at, h.Options.TSEcr, h.Flags.Has(tcp.ACK))
	} else {
		hearing{f}.deliverHeard(at, 0, false)
	}
	if g.pending.n > 0 {
		hearing{g}.deliverOverdue(now)
	}
	if late {
		f.emit(Late, p.Number, now, at, 0, 1, nil)
	} else {
		sending{f}.sendData(p, at, now)
	}
	f.ipIDs.note(p)
	if h.Flags.Has(tcp.ACK) {
		hearing{g}.noteBare(p)
		hearing{g}.readACK(p, now)
	}
	f.trim()
	g.trim()
	return at
}

// swapFlows makes the second flow the first: the capture began with a SYN-ACK.
func (c *Conn) swapFlows() {
	c.Flows[0], c.Flows[1] = c.Flows[1], c.Flows[0]
}

// noteHandshake records the packets of the handshake, which is not complete.
func (c *Conn) noteHandshake(p *capture.Packet, f *Flow, now wheel.Time) {
	s, h := &c.Handshake, &p.Header
	switch {
	case h.Flags&(tcp.SYN|tcp.ACK) == tcp.SYN:
		if s.SYN == 0 {
			s.first = now
		}
		s.SYN = p.Number
	case h.Flags.Has(tcp.SYN | tcp.ACK):
		s.SYNACK = p.Number
		if !s.hasSYNACK {
			s.synack, s.hasSYNACK = now, true
		}
	case h.Flags.Has(tcp.ACK) && s.SYN != 0 && s.SYNACK != 0 && f == &c.Flows[0]:
		s.ACK, s.Time, s.Complete = p.Number, span(s.first, now), true
	}
}

// TimeLost returns the time that both receivers' applications lost, and the part that the
// senders waited for timers. It is valid once the connection is complete.
func (c *Conn) TimeLost() (lost, timers time.Duration) {
	for i := range c.Flows {
		lost += c.Flows[i].TimeLost
		timers += c.Flows[i].TimerWait
	}
	return lost, timers
}

// finish completes the connection after its last packet.
func (c *Conn) finish() {
	for i := range c.Flows {
		hearing{&c.Flows[i]}.deliverAll()
	}
	c.setVantage()
	if c.Outcome = c.outcome(); c.Outcome.isOneEvent() && c.End != Evicted {
		c.dropOpening()
	}
	if c.Unordered = c.misplaced >= fewestMisplaced; c.Unordered {
		c.dropEpisodes()
	}
	for i := range c.Flows {
		c.Flows[i].finish()
	}
	if c.Facts != nil {
		c.Facts.finish(c)
	}
	switch {
	case c.End != Open:
	case c.reset:
		c.End = Reset
	case c.closed():
		c.End = Closed
	}
}
