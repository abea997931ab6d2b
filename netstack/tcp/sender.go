package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// sender is the sending half of a connection, SND.* of RFC 9293 §3.3.1: what was written and sent,
// congestion, loss and retransmission. It knows nothing of states; before it is established only
// the SYN is in flight. Its owner tells it what happens:
//
//	wrote         the application wrote
//	acknowledged  an acceptable ACK arrived, with its SACK blocks, timestamp and window
//	expired       a timer of its own expired
//	icmp          a packet was too big for the path
//
// and asks for next: the segments that may leave now, lost data first, then new data. The
// retransmission timer and the loss detector, of rexmit.go and loss.go, decide what is lost.
type sender struct {
	cfg  *Config
	opts *SocketOptions // cfg's until SetOptions
	rcv  *receiver      // each segment carries its ACK
	fl   *flight        // &atRest if nothing is in flight

	iss Seq
	una Seq
	nxt Seq // counts new data only; fl.sent knows about retransmissions
	end Seq // the end of the data that the application wrote

	mss      uint32 // Eff.snd.MSS of a segment without SACK blocks, bytes
	terms    terms
	wnd      sendWindow
	ecn      ecnState
	writes   writes
	persist  persist
	held     held
	softErr  Error  // the last one since the peer acknowledged data
	rexmit   uint8  // of rexmitTimers, as the policy asks
	detector uint8  // of lossDetectors, as the handshake has agreed
	timers   timers // its own, and that of the delayed ACK, which each segment stops
	hasSent  bool   // stats.lastSent is valid
	ep       episode
	tlp      tlpState
	dup      dupAckCounter
	rack     rackState
	past     *past  // allocated on first use
	marks    *marks // allocated on first use

	cc    control
	rtt   rttState
	stats sendStats
	meter *sendMeter // allocated when data is first written
}

// control is congestion control: how much may be in the network, and at what pace.
type control struct {
	congestion.Controller // nil before ESTABLISHED
}

// terms are what the path and the handshake have settled.
type terms struct {
	mtu         uint32 // path MTU
	tsOffset    uint32 // offset of the timestamp clock
	peerMSS     uint16
	ipHeaderLen uint8 // bytes
	scale       uint8 // of the windows that the peer advertises
}

// writes are what the application has asked for.
type writes struct {
	small      Seq // SND.sml: the end of the last small segment (RFC 9293 §A.3), if hasSmall
	more       moreState
	fin        bool // it is done writing: a FIN follows the data
	finSent    bool // SND.NXT is beyond the FIN
	urgent     bool // SND.UP is valid
	hasSmall   bool // small is valid
	waited     bool // the cork, or the small window, has waited long enough
	hasRecords bool // sender.marks has some
	blocked    bool // the application waits for room in the send buffer
}

// marks are positions in the stream that few applications set.
type marks struct {
	records []Seq // ends of records (WriteEOR) that may have unsent bytes, in order
	up      Seq   // SND.UP, if writes.urgent
}

// needMarks returns the marks, allocated on first use.
func (snd *sender) needMarks() *marks {
	if snd.marks == nil {
		snd.marks = new(marks)
	}
	return snd.marks
}

// persist is what the sender does at a closed window.
type persist struct {
	unanswered uint8 // window and keepalive probes without an answer
	probes     uint8 // window probes since the window closed
	byteOut    bool  // a window probe sent the byte, or FIN, at SND.NXT
	ackAtEdge  bool  // the last ACK was at the edge of the peer's window, below SND.NXT
	isCork     bool  // the timer, if running, times the cork or the small window
}

// held says why the last next has sent no more.
type held struct {
	cwnd bool // the congestion window holds data back
	peer bool // the peer's window does
	app  bool // the application has no more to send
}

// rttState is what measures the round trip.
type rttState struct {
	est      tcptimers.Estimator
	roundEnd Seq  // SND.NXT at the first RTT sample of this round
	timed    bool // Policy.OneSample: one segment is being timed
	spurious bool // the next sample belongs to data sent after a spurious timeout
	synLost  bool // the timer retransmitted our SYN or SYN-ACK
	deferred bool // TCP_DEFER_ACCEPT: our SYN-ACK was measured, the listener waits for data
}

// sendStats counts what was sent, delivered and, for Info, received.
type sendStats struct {
	acked     uint64     // written bytes that are acknowledged
	lastSent  wheel.Time // when data was last sent
	segments  uint32
	data      uint32 // segments with data
	delivered uint32 // segments
	segsIn    uint32
}

// init makes the sender of a connection that is not open yet.
func (snd *sender) init(cfg *Config, path Path, iss Seq, tsOffset uint32, rcv *receiver) {
	*snd = sender{
		cfg: cfg, opts: &cfg.Socket, rcv: rcv, fl: &atRest,
		iss: iss, una: iss, nxt: iss, end: iss.Add(1), rexmit: rexmitTimerOf(&cfg.Policy),
		terms: terms{mtu: uint32(path.MTU), tsOffset: tsOffset, peerMSS: defaultMSS(path.IPv6), ipHeaderLen: uint8(path.ipHeaderLen())},
	}
}

// established reports whether both ends have each other's SYN.
func (snd *sender) established() bool { return snd.cc.Controller != nil }

// establish completes the handshake. h acknowledges our SYN; its window is scaled unless it is a SYN.
func (snd *sender) establish(h *Header) {
	wnd := uint32(h.Window)
	if !h.Flags.Has(SYN) {
		wnd <<= snd.terms.scale
	}
	snd.wnd.Init(h.Seq, h.Ack, wnd)
	snd.updateMSS()
	cfg := snd.cfg.Congestion
	cfg.MSS, cfg.SYNLost, cfg.Paced = snd.mss, snd.rtt.synLost, snd.cfg.Pacing
	cc, err := congestion.New(snd.cfg.Control, cfg)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	snd.cc.Controller = cc
	snd.ep.recover, snd.rtt.roundEnd = snd.nxt, snd.iss
}

// bytesSent returns how many bytes of payload were sent, retransmissions included.
func (snd *sender) bytesSent() uint64 {
	n := snd.stats.acked + uint64(snd.nxt.Sub(snd.dataUna()))
	if snd.writes.finSent && snd.una != snd.nxt {
		n-- // the FIN
	}
	if snd.past != nil {
		n += snd.past.rexmitBytes
	}
	return n
}
