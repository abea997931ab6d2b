package track

import (
	"iter"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Facts is what each packet of a connection means, in capture order: enough to follow the
// connection again without a header. Config.Facts asks for them. They are valid once the connection
// is complete. Conn.Streams makes from them what became of each transmission.
//
// Positions in a stream count from the SYN, which is 0; the first byte is 1, and the FIN follows
// the last one. If the SYN was not captured, the first position seen is 1.
type Facts struct {
	// TooMany says that the connection has more packets than Config.Facts, or all connections
	// together more than Config.FactsTotal. There are no facts then.
	TooMany bool
	// Restarted says that the sequence numbers of a stream began elsewhere, as if another connection
	// had followed. The facts end there.
	Restarted bool

	blocks  []*[factsEach]Fact
	n       int
	sacks   []ledger.Range
	rexmits []*Retransmission
	kept    *int // the packets of all connections

	// What the tracker says of the packet at hand.
	kind    EventKind
	counted bool // kind is set
	noBytes bool // its bytes count for nothing
	rexmit  *Retransmission

	sent [2]wheel.Time // when the last packet of each flow left
}

// factsEach is how many packets are kept in one block of memory.
const factsEach = 1 << 8

// Fact is one packet.
type Fact struct {
	Seen   wheel.Time // by the capture's clock; never before the packet before
	Sent   wheel.Time // by the sender's clock; see the package comment. In order, in a flow
	Number int64

	// The bytes that the packet takes of its stream, SYN and FIN included, from Start to End. A
	// packet without, a keepalive, or one that counts for nothing takes none. End = Start + Len.
	Start int64
	Len   uint32

	Window int32 // bytes that it offers from Ack on; unscaled if the scale is unknown
	Ack    int64 // what it acknowledges of the other stream; -1: nothing, or nothing plausible

	TSVal, TSEcr uint32 // if HasTS

	firstSACK uint32 // index in Facts.sacks
	rexmit    int32  // index in Facts.rexmits, or -1

	Flow  uint8 // index in Conn.Flows
	Flags tcp.Flags
	// Kind is the classification. New data and old in one packet is Retransmitted; Acked is a packet
	// that takes no bytes. A Copy counts for nothing. Neither does Ignored: a packet damaged on its
	// path, a stray of an earlier connection, or one whose sequence number cannot be.
	Kind  EventKind
	HasTS bool
	DSACK bool // the first of its SACK blocks reports a duplicate
	sacks uint8
}

// Len returns the number of packets.
func (a *Facts) Len() int { return a.n }

// At returns the i-th packet.
func (a *Facts) At(i int) *Fact { return &a.blocks[i/factsEach][i%factsEach] }

// add adds a packet.
func (a *Facts) add(x *Fact) {
	if a.n%factsEach == 0 {
		a.blocks = append(a.blocks, new([factsEach]Fact))
	}
	*a.At(a.n) = *x
	a.n++
}

// All yields the packets in capture order, with their indices.
func (a *Facts) All() iter.Seq2[int, *Fact] {
	return func(yield func(int, *Fact) bool) {
		for i := range a.n {
			if !yield(i, a.At(i)) {
				return
			}
		}
	}
}

// End returns the position after the packet's bytes.
func (x *Fact) End() int64 { return x.Start + int64(x.Len) }

// SACK returns the SACK blocks of a packet, in its order. All are shorter than 2^30 bytes; they
// need not lie in what was sent.
func (a *Facts) SACK(x *Fact) []ledger.Range {
	return a.sacks[x.firstSACK : x.firstSACK+uint32(x.sacks)]
}

// AnySACK reports whether any packet has SACK blocks.
func (a *Facts) AnySACK() bool { return len(a.sacks) > 0 }

// FreshSACK returns the blocks of SACK but for the one that reports a duplicate, in both forms of
// RFC 2883 §4.
func (a *Facts) FreshSACK(x *Fact) []ledger.Range {
	blocks := a.SACK(x)
	if x.DSACK && len(blocks) > 0 {
		return blocks[1:]
	}
	return blocks
}

// Counts reports whether a packet takes part: it is no copy, and neither damaged nor of another
// connection.
func (x *Fact) Counts() bool {
	return x.Kind != Copy && x.Kind != Ignored && (x.Start >= 0 || x.Kind == ResetSeen)
}

// SegmentEnd returns the end of the segment that begins at start in a packet, which may be longer
// than size. The FIN goes with the last one.
func (x *Fact) SegmentEnd(start, size int64) int64 {
	if cut := start + size; cut < x.End() && (x.End()-cut > 1 || !x.Flags.Has(tcp.FIN)) {
		return cut
	}
	return x.End()
}

// Retransmission returns the retransmission that a packet is, with its final kind, verdict and
// evidence; nil if it is none.
func (a *Facts) Retransmission(x *Fact) *Retransmission {
	if x.rexmit < 0 {
		return nil
	}
	return a.rexmits[x.rexmit]
}

// recordFacts begins the facts of c, if Config.Facts asks for them.
func (c *Conn) recordFacts(kept *int) {
	if c.cfg.Facts > 0 {
		c.Facts = &Facts{kept: kept}
	}
}

// classify notes the kind of the packet at hand. One that brings old bytes and new ones is
// Retransmitted, and what was missing before it says nothing about it.
func (a *Facts) classify(kind EventKind, r *Retransmission) {
	switch {
	case kind == Missing || kind == RTTSample || a.counted && a.kind != WindowProbe:
		return
	case r != nil:
		a.rexmit = r
	}
	a.kind, a.counted = kind, true
}

// ignoreFact says that the bytes of the packet at hand count for nothing.
func (f *Flow) ignoreFact(kind EventKind) {
	if a := f.conn.Facts; a != nil {
		a.kind, a.counted, a.noBytes = kind, true, true
	}
}

// note adds p, a packet of f that was handled, sent at that time by the sender's clock. kind is for
// a packet that was not classified.
func (a *Facts) note(c *Conn, p *capture.Packet, dir int, at, now wheel.Time, kind EventKind) {
	if a.counted {
		kind = a.kind
	}
	noBytes, r := a.noBytes, a.rexmit
	a.counted, a.noBytes, a.rexmit = false, false, nil
	if a.TooMany || a.Restarted {
		return
	}
	if a.n >= c.cfg.Facts || *a.kept >= c.cfg.FactsTotal {
		*a.kept -= a.n
		*a = Facts{TooMany: true, kept: a.kept}
		return
	}
	f, g := &c.Flows[dir], &c.Flows[1-dir]
	h := &p.Header
	a.sent[dir] = max(a.sent[dir], at) // what was captured first left first
	x := Fact{
		Seen: now, Sent: a.sent[dir], Number: p.Number, Ack: -1, Window: f.windowBytes(h), Flow: uint8(dir), Flags: h.Flags, Kind: kind, rexmit: -1,
		TSVal: h.Options.TSVal, TSEcr: h.Options.TSEcr, HasTS: h.Options.HasTimestamps,
	}
	if f.started {
		x.Start = f.pos(h.Seq)
	}
	if kind != Copy && kind != Ignored && kind != ResetSeen {
		if x.Len = p.SegLen(); noBytes {
			x.Len = 0
		}
		if x.Start == 0 && f.HasSYN && p.Len > 1 && !h.Flags.Has(tcp.SYN) {
			x.Start++ // as in sendData
		}
		if h.Flags.Has(tcp.ACK) && g.started && g.doubts == 0 {
			x.Ack = g.pos(h.Ack)
			a.noteSACK(&x, g, h)
		}
	}
	if r != nil {
		x.rexmit = int32(len(a.rexmits))
		a.rexmits = append(a.rexmits, r)
	}
	a.add(&x)
	*a.kept++
}

// noteSACK adds the SACK blocks of x, which acknowledges bytes of g.
func (a *Facts) noteSACK(x *Fact, g *Flow, h *tcp.Header) {
	x.firstSACK = uint32(len(a.sacks))
	for i, r := range h.Options.SACK[:h.Options.NumSACK] {
		if r.Len() == 0 || r.Len() >= maxSeqStep {
			continue
		}
		if i == 0 {
			_, x.DSACK = h.Options.DSACK(h.Ack)
		}
		start := g.pos(r.Start)
		a.sacks = append(a.sacks, ledger.Range{Start: start, End: start + int64(r.Len())})
		x.sacks++
	}
}

// windowBytes returns the window that a packet of f offers, unscaled if the scale is unknown.
func (f *Flow) windowBytes(h *tcp.Header) int32 {
	n := int32(h.Window)
	if g := f.other(); !h.Flags.Has(tcp.SYN) && f.HasSYN && g.HasSYN && f.SYN.HasWScale && g.SYN.HasWScale {
		n <<= min(f.SYN.WScale, tcp.MaxWScale)
	}
	return n
}

// beginAtSYN counts the positions of a flow from the SYN on, which was captured after its ACKs.
func (a *Facts) beginAtSYN(flow int) {
	for _, x := range a.All() {
		if int(x.Flow) == flow {
			x.Start++
		} else if x.Ack >= 0 {
			x.Ack++
		}
	}
}

// finish moves the positions of streams whose SYN was not captured, so that the first is 1.
func (a *Facts) finish(c *Conn) {
	*a.kept -= a.n
	shift := [2]int64{c.Flows[0].firstPos(), c.Flows[1].firstPos()}
	if shift == [2]int64{} {
		return
	}
	for _, x := range a.All() {
		x.Start += shift[x.Flow]
		if x.Ack >= 0 || x.sacks > 0 {
			x.Ack += shift[1-x.Flow]
		}
		for k := range a.SACK(x) {
			s := &a.sacks[int(x.firstSACK)+k]
			s.Start, s.End = s.Start+shift[1-x.Flow], s.End+shift[1-x.Flow]
		}
	}
}

// firstPos returns the position in Facts of the first number seen: 0 for a SYN, else 1.
func (s *Sent) firstPos() int64 {
	if s.HasSYN {
		return 0
	}
	return 1
}

// Place returns the position in Facts of the first bytes that an episode of f retransmitted.
func (s *Sent) Place(e *Episode) int64 { return e.place + s.firstPos() }

// TimeSpan is an interval of time, ends included.
type TimeSpan struct{ From, To wheel.Time }

// Stream is what became of the bytes of one direction. Times are by the capture's clock.
//
// A transmission is one segment: packets longer than SegmentSize are cut. Mark is the index of its
// packet in Facts, or -1.
type Stream struct {
	ledger.Ledger
	SegmentSize int64

	// ACKLoss has the times when ACKs of this stream were lost behind the point of capture, as
	// they passed it.
	ACKLoss []TimeSpan

	// Near and Far are the round trips from the point of capture to the source and to the
	// destination.
	Near, Far time.Duration
	RoundTrip time.Duration // the least of the connection, 0 if none was measured
}
