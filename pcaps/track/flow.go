package track

import (
	"net/netip"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Flow is one direction of a connection: what Src sent and how Dst answered. Its parts are embedded,
// each with what the capture shows of one matter.
type Flow struct {
	Src, Dst netip.AddrPort
	Vantage  Vantage // where the capture was made

	conn *Conn

	Sent
	Answered
	Windows
	Timestamps
	RoundTrips
	Copies
	Stack
	Recoveries
}

// sending handles the packets that Src sends: new bytes, and old ones that are retransmissions or not.
type sending struct{ *Flow }

// hearing handles the ACKs of Dst, when they are captured and when Src has them.
type hearing struct{ *Flow }

// Sent is what Src sent. Positions in the sequence space count from base and never wrap.
type Sent struct {
	HasSYN bool
	SYN    tcp.Options // options of the SYN

	Packets         int64 // all, copies included
	DataPackets     int64 // with payload, retransmissions included
	Bytes           int64 // of payload, each counted once
	Retransmissions int64 // packets, with window probes and SYNs
	Keepalives      int64

	base     tcp.Seq
	started  bool
	onlySYN  bool       // nothing but SYNs was seen
	synacked bool       // it has sent a SYN-ACK
	synCut   bool       // the options of its SYN were cut off
	spoke    bool       // it has sent something but SYNs and RSTs
	fin      bool       // finEnd is known
	doubts   int32      // packets in a row whose position is implausible
	doubt    tcp.Seq    // of the last of them
	max      int64      // SND.NXT, as far as captured
	lastSent wheel.Time // when Src last sent anything

	resets    int64
	firstSeen wheel.Time // when the first packet of a flow without a SYN, or its ACK, was captured
	firstID   uint16     // its IP identification
	finEnd    int64
	finSeen   wheel.Time
	finACK    int64      // what the last FIN acknowledged
	gaveUp    wheel.Time // when a RST of either end came, after all that was sent; else 0
	// End of the last new data that followed a silence as long as a timeout, in both directions.
	afterSilence int64
}

// Answered is how Dst answered: what Src knows by the ACKs that have reached it, and what it will.
type Answered struct {
	Reordered   int64 // segments out of order between Src and Dst
	Stale       int64 // packets that Dst drops because of their timestamp (PAWS, RFC 7323 §5.3)
	UnseenBytes int64 // acknowledged and never captured
	DupACKs     int64 // sent by Dst
	DSACKs      int64 // duplicates that Dst reported
	Duplicates  int64 // of DSACKs, those without a retransmission: the network duplicated a packet

	una        int64      // SND.UNA, as far as Src knows
	seenUna    int64      // SND.UNA, as far as captured
	unaSeen    wheel.Time // when that last moved
	ackSeen    wheel.Time // when the last ACK was captured
	seenDups   int32      // duplicate ACKs captured, which may not have reached Src yet
	acksCut    bool       // the options of an ACK of Dst were cut off
	ackedStart bool       // an ACK of all before the first position seen was captured
	finAcked   bool
	board      scoreboard
	pending    acks
	view       senderView

	bareACKs    int64   // of Dst, without data
	owed        int32   // ACKs of more than three segments with data, before which a bare one was owed
	claim       seqSpan // as ackedUnseen, or all before base, and when: see refutes
	ackedUnseen seqSpan // the last bytes that were acknowledged before they were captured
	tooBig      seqSpan // in flight, from the segment that an ICMP error called too large
}

// Windows is what Dst allowed Src to send, and what kept Src from sending.
type Windows struct {
	ZeroWindows    int64         // ACKs of Dst that closed the window
	ZeroWindowTime time.Duration // how long it was closed
	WindowProbes   int64         // probes of a closed window

	offered  int64 // the end of the window that Dst offered; 0 if unknown
	window   window
	probe    *outstanding // the last window probe, until its byte is sent
	limiting *limiting    // nil without Config.Limits, or data
}

// Timestamps is what the timestamps that Src sends and echoes show.
type Timestamps struct {
	stamps              tsLog
	lastEcho            uint32 // timestamp echoed in the last packet
	ackedTS             uint32 // timestamp of the last segment that was acknowledged
	overdueTS           uint32 // of the last ACK that Src must have got and had not echoed
	hasEcho, hasOverdue bool   // lastEcho and overdueTS are set
	staleEchoes         uint8  // packets in a row that repeat an older echo
	clock               senderClock
	echoes              echoes
}

// RoundTrips is how long packets took from Src to Dst and back.
type RoundTrips struct {
	RTT     RTT
	Delayed DelayedACKs

	sourceRTT leastRTT // between the point of capture and Src
	rtts      samples
	fitting   *timerFitting // nil until a timer expires
}

// Copies is what tells packets from their copies: captured twice, or damaged.
type Copies struct {
	copies     copies
	copiesSeen int64
	ipIDs      ipIDs
	checksums  checksumCounts
}

// Stack is what shows which host Src is, and how its TCP sends.
type Stack struct {
	mss    int32 // segment size that super-packets are cut into
	pacing pacing
	clues  vantageClues
}

// Recoveries is what Src retransmitted.
type Recoveries struct {
	TimeLost, TimerWait time.Duration // sums over the episodes kept

	Episodes        []*Episode
	EpisodesDropped int64 // episodes beyond Config.MaxEpisodes

	episode     *Episode // the open one, or nil
	recent      []*Retransmission
	waiting     []*Retransmission // of recent, those whose bytes no ACK has covered yet
	jumps       ackJumps
	stalled     int  // episodes that are settled and lost time
	lastAnyKind bool // so is that of the last retransmission: see Retransmission.anyKind
}

// seqSpan is a range that was acknowledged before it was captured, less what has been captured
// since. If the rest follows at once, or with the next IP identification, the capture reordered
// packets.
type seqSpan struct {
	start, end int64
	at         wheel.Time
}

// pos returns the position of sequence number s, near the highest position seen.
func (se *Sent) pos(s tcp.Seq) int64 { return (s - se.base).Unwrap(se.max) }

// start sets the origin of positions, unless it is set.
func (f *Flow) start(s tcp.Seq) {
	if !f.started {
		f.started, f.base = true, s
		f.max, f.una, f.seenUna = 0, 0, 0
	}
}

// plausible returns the position that s means, and reports whether to believe it. Flow data moves
// by little: a step beyond believable needs a second packet that agrees with it, so that one
// damaged field moves nothing. The flow starts again there if the step is no step forward of a
// capture with a gap.
func (f *Flow) plausible(s tcp.Seq) (pos int64, ok bool) {
	pos = f.pos(s)
	if d := pos - f.max; d < believable && d > -believable && !f.beyondWindow(pos) {
		f.doubts = 0
		return pos, true
	}
	d := s - f.doubt
	agrees := f.doubts > 0 && (d < believable || -d < believable)
	f.doubt = s
	if !agrees {
		f.doubts = 1
		return 0, false
	}
	if f.doubts++; pos > f.max && pos-f.max < maxSeqStep {
		f.doubts, f.offered = 0, 0 // ACKs were not captured
		return pos, true
	}
	if f.doubts < farPackets {
		return 0, false
	}
	f.doubts = 0
	f.abandonEpisode()
	if f.conn.Facts != nil {
		f.conn.Facts.Restarted = true
	}
	f.started = false
	f.clear()
	f.view, f.offered = senderView{}, 0
	f.start(s)
	return 0, true
}

// beyondWindow reports whether pos is so far beyond the window that Dst has offered that Src cannot
// have sent the bytes before it.
func (f *Flow) beyondWindow(pos int64) bool {
	return f.offered > 0 && pos > f.offered+maxOverrun && pos > f.max
}

// syn records the options of a SYN. It reports whether ACKs were captured just before it, and
// nothing else of the flow, so that it is no retransmission.
func (f *Flow) syn(p *capture.Packet, now wheel.Time) (late bool) {
	late = f.started && f.base == p.Header.Seq+1 && (f.max == 0 || f.Packets == 1) && now.Sub(f.firstSeen) <= queueSkew
	if f.HasSYN || f.started && f.base != p.Header.Seq && !late {
		return false
	}
	f.HasSYN, f.SYN, f.synCut = true, p.Header.Options, p.Problems.Has(capture.OptionsCut)
	if late {
		f.beginAtSYN()
	}
	f.start(p.Header.Seq)
	return late
}

// beginAtSYN moves the origin of positions from the first byte to the SYN before it. Nothing but
// ACKs was seen.
func (f *Flow) beginAtSYN() {
	f.base--
	f.max, f.una, f.seenUna = f.max+1, f.una+1, f.seenUna+1
	f.claim = seqSpan{}
	f.ackedUnseen.start, f.ackedUnseen.end = f.ackedUnseen.start+1, f.ackedUnseen.end+1
	for i := range f.board.len() {
		s := f.board.at(i)
		s.start, s.end = s.start+1, s.end+1
	}
	if f.offered > 0 {
		f.offered++
	}
	f.window.edge++
	for a := f.pending.first; f.pending.n > 0 && a != nil; a = a.next {
		a.pos++
	}
	if facts := f.conn.Facts; facts != nil {
		facts.beginAtSYN(f.index())
	}
}

// index returns the flow's index in Conn.Flows.
func (f *Flow) index() int {
	if f == &f.conn.Flows[0] {
		return 0
	}
	return 1
}

// other returns the flow of the other direction.
func (f *Flow) other() *Flow {
	return &f.conn.Flows[1-f.index()]
}

// segmentSize returns the length of the segments in a super-packet: Dst's MSS less the timestamp
// option. Without a handshake it is the most that fits Ethernet.
func (f *Flow) segmentSize() int64 {
	if f.mss == 0 {
		f.mss = f.findSegmentSize()
	}
	return int64(f.mss)
}

func (f *Flow) findSegmentSize() int32 {
	mss := int32(1460)
	if f.Src.Addr().Is6() {
		mss = 1440
	}
	if g := f.other(); g.HasSYN {
		if g.SYN.HasMSS && g.SYN.MSS >= tcp.MinMSS {
			mss = int32(g.SYN.MSS)
		} else {
			mss = tcp.DefaultMSS4
		}
	}
	if f.conn.timestamps {
		mss -= 12
	}
	return max(mss, tcp.MinMSS)
}

// clear forgets the segments and the ACKs on their way.
func (f *Flow) clear() {
	f.conn.memory.freeACKs(&f.pending)
	b := &f.board
	clear(b.last.all)
	clear(b.asked.all)
	*b = scoreboard{ring: b.ring, last: ackedRing{all: b.last.all}, asked: ackedRing{all: b.asked.all}}
}

// extend appends a segment.
func (f *Flow) extend(s outstanding) {
	*f.board.push(f.conn.memory) = s
	f.max = s.end
	f.trim()
}

// trim drops the first segments beyond Config.MaxSegments.
func (f *Flow) trim() {
	if f.board.len() > f.conn.cfg.MaxSegments {
		f.dropFirst()
	}
}

func (f *Flow) dropFirst() {
	for f.board.len() > f.conn.cfg.MaxSegments {
		s := f.board.at(0)
		f.una = max(f.una, s.end)
		f.board.pop()
	}
}
