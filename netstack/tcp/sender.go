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
		rack:  rackState{learns: cfg.LateOriginals, bySteps: cfg.Policy.ReorderedDSACKs},
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
	cfg.MSS, cfg.SYNLost, cfg.Paced, cfg.KeepCurve = snd.mss, snd.rtt.synLost, snd.cfg.Pacing, snd.cfg.LateOriginals
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

// releaseMore ends the wait that WriteMore began, when an ACK arrives. In Linux MSG_MORE corks only
// what the call itself pushes; tcp_data_snd_check then sends as Nagle's algorithm allows.
func (w *writes) releaseMore() {
	if w.more == moreHeld {
		w.more = moreReleased
	}
}

// dataUna returns SND.UNA, or ISS+1 while the SYN is unacknowledged.
func (snd *sender) dataUna() Seq {
	if snd.una == snd.iss && !snd.established() {
		return snd.iss.Add(1)
	}
	return snd.una
}

// queued returns how many written bytes were never sent.
func (snd *sender) queued() uint32 {
	if snd.writes.finSent {
		return 0
	}
	if snd.nxt == snd.iss && !snd.established() {
		return snd.end.Sub(snd.iss.Add(1)) // the SYN is still to be sent
	}
	return snd.end.Sub(snd.nxt)
}

// allSent reports whether all data, and the FIN if any, was sent.
func (snd *sender) allSent() bool { return snd.writes.finSent || !snd.writes.fin && snd.queued() == 0 }

// timestamp returns the value of the timestamp clock.
func (snd *sender) timestamp(now wheel.Time) uint32 {
	return snd.cfg.timestamp(now, snd.terms.tsOffset)
}

// wrote takes n bytes that the application has written, or none of them if more than 2^30 would be
// unacknowledged. It reports whether it has.
func (snd *sender) wrote(n uint32, flags WriteFlags) bool {
	if snd.end.Add(n).Sub(snd.una) > maxFlight || n > maxFlight {
		return false
	}
	snd.end = snd.end.Add(n)
	w := &snd.writes
	switch {
	case flags&WriteMore == 0:
		w.more = moreNone
	case flags&WritePart != 0:
		w.more = morePart
	default:
		w.more = moreHeld
	}
	w.waited = false
	if flags&WriteUrgent != 0 && n > 0 {
		// RFC 9293 §3.8.5 (MUST-62): the urgent pointer points behind the urgent data.
		snd.needMarks().up, w.urgent = snd.end, true
	}
	if flags&WriteEOR != 0 && n > 0 {
		m := snd.needMarks()
		m.records, w.hasRecords = append(m.records, snd.end), true
	}
	return true
}

// next sends what may leave now: lost data first, then new data and the FIN. It starts the timers
// that watch unsent data.
func (snd *sender) next(now wheel.Time, o *Output) {
	snd.held = held{}
	before := snd.stats.data
	if snd.fl.sent.pendingRexmits() > 0 || snd.ep.fast() {
		snd.sendLost(now, o)
	}
	if !snd.allSent() {
		snd.sendNew(now, o)
	} else {
		snd.timers.stop(o, tcptimers.Persist)
	}
	if snd.stats.data != before || snd.held.cwnd {
		snd.fl.use.note(snd)
	}
	if snd.held.app && snd.ep.calm() && !snd.fl.use.full {
		snd.cc.OnApplicationLimited(now)
	}
	if snd.tlp.due {
		snd.timer().scheduleProbe(snd, now, o)
	}
}

// expired handles the expiry of a timer of the sender. It reports whether the connection must end.
func (snd *sender) expired(now wheel.Time, slot Slot, o *Output) (over bool) {
	switch slot.Kind() {
	case tcptimers.Rexmit:
		over = snd.timer().expired(snd, now, slot.segment(), o)
	case tcptimers.Persist:
		over = snd.persist.expire(snd, now, o)
	case tcptimers.TLP:
		snd.tlp.expire(snd, now, o)
	case tcptimers.Reorder:
		snd.losses().onTimer(snd, now, o)
	}
	if !over && slot.segment() == 0 {
		snd.timer().expiredAny(snd, now, o)
	}
	return over
}

// icmp takes the message that a packet was too big: it lowers the path MTU, and reports whether
// segments that did not fit are to be retransmitted.
func (snd *sender) icmp(m ICMPError) bool {
	if !snd.established() {
		return false // a SYN always fits, and its MSS option describes our receive side (RFC 9293 §3.7.2)
	}
	if snd.terms.ipHeaderLen == ipv6HeaderLen && m.MTU < minMTU6 {
		// RFC 8201 §4: "If a node receives a Packet Too Big message reporting a next-hop MTU that
		// is less than the IPv6 minimum link MTU, it must discard it."
		return false
	}
	mtu := int(min(m.MTU, 1<<16))
	if mtu == 0 {
		for _, p := range plateaus {
			if mtu = p; p < int(snd.terms.mtu) {
				break
			}
		}
	}
	// DEVIATION RFC 1191 §3: the floor is not 68 bytes. A forged message must not make a host send
	// every 48 bytes in a segment of their own.
	// DEVIATION RFC 5927 §7.2: the message counts at once, not only once the segment has timed out.
	// Linux and gVisor do not wait either, and the floor bounds what a forged one does.
	mtu = max(mtu, minPMTU)
	if mtu >= int(snd.terms.mtu) {
		return false
	}
	before := snd.mss
	snd.terms.mtu = uint32(mtu)
	snd.updateMSS()
	if snd.mss >= before || !snd.established() {
		return false
	}
	// Segments longer than the path MTU are lost, which is no sign of congestion (RFC 8201 §5.4).
	found := false
	for id := snd.fl.sent.nextUnsacked(snd.fl.sent.Front()); id != 0; id = snd.fl.sent.nextUnsacked(snd.fl.sent.seg(id).next) {
		if s := snd.fl.sent.seg(id); s.payload() > snd.mss && !s.state.needsRexmit() {
			snd.fl.markLost(id)
			found = true
		}
	}
	if found {
		snd.ep.tooBig, snd.needPast().tooBigEnd = true, snd.nxt
		snd.fl.frto.Reset()
	}
	return found
}
