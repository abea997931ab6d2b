package track

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Flow is one direction of a connection: what Src sent, and what Dst said of it.
type Flow struct {
	Src, Dst netip.AddrPort

	HasSYN bool
	SYN    tcp.Options // of the SYN

	Packets         int64 // all, copies too
	DataPackets     int64 // with payload, retransmissions too
	Bytes           int64 // of payload, each once
	Retransmissions int64 // packets that were sent again, probes and SYNs too

	Reordered    int64 // segments that overtook others, or were overtaken, between Src and Dst
	Stale        int64 // packets with a timestamp older than one that Dst had echoed, which Dst drops (RFC 7323 §5.3)
	UnseenBytes  int64 // octets that were acknowledged and never captured
	Keepalives   int64
	WindowProbes int64 // of a closed window
	DupACKs      int64 // from Dst
	DSACKs       int64 // reports from Dst of what came twice
	Duplicates   int64 // of these, those that no retransmission accounts for: the network has copied a packet

	ZeroWindows    int64         // ACKs of Dst that closed the window
	ZeroWindowTime time.Duration // for how long it was closed

	Vantage         Vantage  // where the capture was made
	VantageEvidence []string // what tells that; a is the first flow's Src, b its Dst
	RTT             RTT      // from Src to Dst and back
	Delayed         DelayedACKs
	Timers          Fit

	Episodes        []*Episode
	EpisodesDropped int64 // episodes that were not kept

	conn *Conn

	// Places in the sequence space are counted from base, without end.
	base     tcp.Seq
	started  bool
	onlySYN  bool  // nothing but SYNs was seen of it
	synacked bool  // it has sent a SYN-ACK
	odd      int   // packets in a row that lie nowhere near
	max      int64 // SND.NXT, as far as was seen
	una      int64 // SND.UNA, as far as Src knows
	acked    int64 // SND.UNA, as far as was seen
	dupsSeen int   // ACKs captured that repeat the one before, and may not have reached Src yet
	mss      int64 // of the segments that super-packets are cut into

	fin      bool
	finEnd   int64
	finSeen  wheel.Time
	finAcked bool
	missed   missed // the last octets that were acknowledged before they were seen

	book    book
	past    past
	pending acks
	marks   stamps
	clock   senderClock
	spoke   wheel.Time // when Src last sent anything
	echoed  uint32     // and the timestamp that it echoed
	overdue uint32     // the timestamp of the last ACK that had not been echoed when it must have arrived
	deaf    uint8      // packets in a row that had an older echo, always the same

	echoes, hasOverdue bool // whether there are any

	copies  copies
	sums    sums
	half    half // between the point of capture and Src
	window  window
	view    view
	fitting fitting
	rtts    samples
	ep      *Episode // the open one
	rexmits []*Retransmission
	jumps   jumps
	site    where
	idents  idents
	pace    pace
	broke   int64 // the end of the last octets that were seen for the first time after a silence as long as a timeout, of both directions
}

// reset makes f, which may have been another flow, one of which nothing was seen.
func (f *Flow) reset(c *Conn, src, dst netip.AddrPort) {
	*f = Flow{Src: src, Dst: dst, conn: c, marks: stamps{ring: f.marks.ring}}
}

// missed is a range that was acknowledged before it was seen, less what came after all. If that comes at once, or with the next
// identification, the capture has changed the order.
type missed struct {
	start, end int64
	at         wheel.Time
}

// view is what Src knows at an instant, from the ACKs that have reached it.
type view struct {
	heard    bool
	lastACK  wheel.Time // when the last one came
	advanced wheel.Time // when SND.UNA last moved
	began    wheel.Time // when something was in flight again, after nothing was
	sentNew  wheel.Time // when octets were last sent for the first time
	stood    wheel.Time // when a packet without octets last told that none were sent beyond those seen
	more     bool       // and not the last of what the application had written
	resent   wheel.Time // the same, sent again
	timed    wheel.Time // when a timer last sent something
	fresh    bool       // no ACK has come since then
	cause    Kind       // of the last retransmission
	dups     int        // duplicate ACKs since SND.UNA moved
	repeated wheel.Time // when the last ACK came that only repeats another, and is no receipt
	sackOn   bool
	fack     int64 // the end of the highest that was delivered
	hasFack  bool
	rackSent wheel.Time // when the latest was sent of those that were delivered
	rackRTT  time.Duration
	probed   bool     // no round trip was measured since the last probe (RFC 8985 §7.3)
	blocks   [4]block // the last SACK blocks
	lossy    bool     // after a timeout, until recover
	recover  int64
}

type block struct{ start, end int64 }

// pos returns the place of a number, near the last one seen.
func (f *Flow) pos(s tcp.Seq) int64 { return f.max + int64(int32(s-(f.base+tcp.Seq(f.max)))) }

// start sets the origin, if there is none yet.
func (f *Flow) start(s tcp.Seq) {
	if !f.started {
		f.started, f.base = true, s
		f.max, f.una, f.acked = 0, 0, 0
	}
}

// farOff is how far from the others a number may be. RFC 7323 §2.3: windows are less than 2^30 octets.
const farOff = 1 << 30

// near reports whether a place may be one of the flow. After four packets in a row that are nowhere near, the flow begins anew.
func (f *Flow) near(pos int64, s tcp.Seq) (int64, bool) {
	if d := pos - f.max; d < farOff && d > -farOff {
		f.odd = 0
		return pos, true
	}
	if f.odd++; f.odd < 4 {
		return 0, false
	}
	f.odd = 0
	f.abandon()
	f.started = false
	f.book, f.pending = book{}, acks{}
	f.view = view{}
	f.start(s)
	return 0, true
}

// syn takes the options of a SYN.
func (f *Flow) syn(p *capture.Packet) {
	if f.HasSYN && f.base == p.Header.Seq {
		return
	}
	if !f.HasSYN && !f.started {
		f.HasSYN, f.SYN = true, p.Header.Options
		f.start(p.Header.Seq)
	} else if !f.HasSYN && f.base == p.Header.Seq {
		f.HasSYN, f.SYN = true, p.Header.Options
	}
}

// other returns the flow in the other direction.
func (f *Flow) other() *Flow {
	if f == &f.conn.Flows[0] {
		return &f.conn.Flows[1]
	}
	return &f.conn.Flows[0]
}

// segmentSize returns how long the segments of a super-packet are: the MSS that Dst allows, less the timestamps, or where the handshake
// was not seen, the longest that an Ethernet carries.
func (f *Flow) segmentSize() int64 {
	if f.mss > 0 {
		return f.mss
	}
	mss := int64(1460)
	if f.Src.Addr().Is6() {
		mss = 1440
	}
	if g := f.other(); g.HasSYN {
		if g.SYN.HasMSS && g.SYN.MSS >= tcp.MinMSS {
			mss = int64(g.SYN.MSS)
		} else {
			mss = tcp.DefaultMSS4
		}
	}
	if f.conn.timestamps {
		mss -= 12
	}
	f.mss = max(mss, tcp.MinMSS)
	return f.mss
}

// send takes in what a packet carries that was captured now, and sent at that instant.
func (f *Flow) send(p *capture.Packet, at, now wheel.Time) {
	h := &p.Header
	if !f.started {
		if p.SegLen() == 0 {
			f.start(h.Seq)
			return
		}
		f.start(h.Seq)
	}
	start, ok := f.near(f.pos(h.Seq), h.Seq)
	if !ok {
		return
	}
	n := int64(p.SegLen())
	end := start + n
	if start == 0 && f.HasSYN && p.Len > 1 && !h.Flags.Has(tcp.SYN) {
		start++ // it has no SYN, whatever its number says
	}
	if p.Len > 0 {
		f.DataPackets++
	}
	if f.isKeepalive(p, start) {
		if f.window.closed() {
			f.WindowProbes++
			f.tell(WindowProbe, p.Number, now, at, start, end, nil)
		} else {
			f.Keepalives++
			f.tell(Keepalive, p.Number, now, at, start, end, nil)
		}
		return
	}
	if n == 0 {
		if start > f.max && !f.isStale(h) {
			f.gap(p, start, at, now) // it carries nothing, and tells all the same how much was sent before
		} else if start == f.max {
			f.view.stood = at
		}
		return
	}
	if f.isStale(h) {
		f.Stale++
		return
	}
	if h.Flags.Has(tcp.FIN) {
		if f.resendsFIN(p, start, at) {
			f.finSeen = at
			return
		}
		f.fin, f.finEnd, f.finSeen = true, end, at
	}
	probe := f.window.closed() && p.Len <= 1 && start >= f.acked && !h.Flags.HasAny(tcp.SYN|tcp.FIN)
	if probe {
		f.WindowProbes++
		f.tell(WindowProbe, p.Number, now, at, start, end, nil)
	}
	if h.Flags.Has(tcp.SYN) && f.answersSYN(p, start) {
		return
	}
	if start < f.max {
		f.again(p, at, now, start, min(end, f.max), probe)
		start = f.max
	} else if start > f.max {
		f.gap(p, start, at, now)
	}
	if end <= start {
		return
	}
	if f.book.len() == 0 {
		f.view.began = at
	}
	if last := maxTime(f.view.sentNew, f.view.resent); last != 0 && at.Sub(last) >= max(leastTimeout, f.RTT.Min) && f.other().view.sentNew <= last {
		f.broke = end
	}
	f.pace.note(f, at)
	f.view.sentNew, f.view.more = at, !h.Flags.HasAny(tcp.PSH|tcp.FIN|tcp.SYN)
	f.tell(SentNew, p.Number, now, at, start, end, nil)
	size := f.segmentSize()
	if n > 3*size && f.conn.Handshake.SYN == 0 && !f.superSized() {
		size = n // segments of that size are usual here
	}
	payload := end - start
	if h.Flags.Has(tcp.FIN) {
		payload--
	}
	if h.Flags.Has(tcp.SYN) {
		payload--
	}
	f.Bytes += max(payload, 0)
	for start < end {
		cut := min(start+size, end)
		if end-cut == 1 && h.Flags.Has(tcp.FIN) {
			cut = end // the FIN goes with the last segment
		}
		f.extend(segment{
			start: start, end: cut, seen: now, first: at, sent: at, number: p.Number, id: identOf(p), place: placeOf(p), firstTS: h.Options.TSVal, ts: h.Options.TSVal,
			txs: 1, hasTS: h.Options.HasTimestamps,
		})
		start = cut
	}
}

// gap notes that octets are missing, which were sent since all that was seen before: lost on the way here, late, or not captured.
func (f *Flow) gap(p *capture.Packet, start int64, at, now wheel.Time) {
	f.tell(Missing, p.Number, now, at, f.max, start, nil)
	if f.timedOut(start, at) {
		f.view.lossy, f.view.recover = true, start
	}
	after := maxTime(f.view.sentNew, f.view.stood)
	f.extend(segment{
		start: f.max, end: start, seen: now, first: at, sent: at, after: after, missing: true,
		id: identOf(p), firstTS: p.Header.Options.TSVal, hasTS: p.Header.Options.HasTimestamps,
		tail: f.view.more && at.Sub(after) > f.leastRTT()/4,
	})
}

// timedOut reports whether what is missing up to there was sent before a timeout: after a silence there came a segment
// alone, and its ACK drew what stands further behind it than that ACK allowed. Then the segment was a retransmission of
// what was never seen here, and so will be what is missing. One more may have been lost of those that left with the
// segment, and in slow start one of two that the ACK drew.
func (f *Flow) timedOut(start int64, at wheel.Time) bool {
	return f.lag() > 0 && start-f.max > 2*f.segmentSize() && f.broke != 0 && f.broke == f.max && f.una == f.max && at.Sub(f.view.advanced) <= f.promptly()
}

// superSized reports whether packets above the MTU of Ethernet can only be super-packets: between machines they are.
func (f *Flow) superSized() bool { return !f.Src.Addr().IsLoopback() }

// isStale reports whether Dst drops a packet because of its timestamp: it has echoed a later one. RFC 7323 §5.3 (R1). A tick is let
// pass, as Linux does.
func (f *Flow) isStale(h *tcp.Header) bool {
	m := &f.marks
	return h.Options.HasTimestamps && m.any && !h.Flags.Has(tcp.SYN) && int32(h.Options.TSVal-m.echoed) < -1
}

// answersSYN reports whether a packet is the SYN-ACK of an end that has sent a SYN before it got one: both opened the connection at the
// same time, and nothing was lost (RFC 9293 §3.5, Figure 8).
func (f *Flow) answersSYN(p *capture.Packet, start int64) bool {
	if !p.Header.Flags.Has(tcp.ACK) {
		return false
	}
	first := !f.synacked
	f.synacked = true
	return first && f.HasSYN && start == 0 && f.max > 0 && f.other().HasSYN
}

// resendsFIN reports whether a packet is an ACK that has the FIN with it once more, as some stacks send it where both ends close at the
// same time: it leaves at once, and acknowledges the FIN of the other end.
func (f *Flow) resendsFIN(p *capture.Packet, start int64, at wheel.Time) bool {
	g := f.other()
	return p.Len == 0 && f.fin && start == f.finEnd-1 && g.fin && g.pos(p.Header.Ack) == g.finEnd && at.Sub(g.finSeen) <= f.lag()+f.promptly()
}

// isKeepalive reports whether a packet is a keepalive, or a probe of a closed window that looks the same: it begins at SND.NXT-1 with
// an octet or none, where all is acknowledged (RFC 9293 §3.8.4).
func (f *Flow) isKeepalive(p *capture.Packet, start int64) bool {
	return p.Len <= 1 && !p.Header.Flags.HasAny(tcp.SYN|tcp.FIN) && p.Header.Flags.Has(tcp.ACK) &&
		start == f.max-1 && f.acked == f.max && f.other().started
}

// extend adds a segment behind all others.
func (f *Flow) extend(s segment) {
	f.book.push(s)
	f.max = s.end
	f.trim()
}

// trim gives the first segments up if there are too many.
func (f *Flow) trim() {
	for f.book.len() > f.conn.cfg.MaxSegments {
		s := f.book.at(0)
		f.una = max(f.una, s.end)
		f.book.pop()
	}
}
