package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Init puts c into CLOSED. cfg must have passed Check and is kept; path must have passed Check too.
// iss is the initial sequence number, from Secret.ISN or a SYN cookie, and tsOffset is
// Secret.TimestampOffset.
func (c *Conn) Init(cfg *Config, path Path, iss Seq, tsOffset uint32) {
	*c = Conn{
		cfg: cfg, opts: &cfg.Socket, fl: &atRest,
		mtu: uint32(path.MTU), ipHeaderLen: uint8(path.ipHeaderLen()),
		iss: iss, sndUna: iss, sndNxt: iss, sndEnd: iss.Add(1), tsOffset: tsOffset,
		peerMSS: defaultMSS(path.IPv6), rexmit: rexmitTimerOf(&cfg.Policy),
	}
}

// opened reports whether c was ever opened. It may be closed again.
func (c *Conn) opened() bool { return c.est != nil }

// makeEstimator allocates the RTO estimator when the connection opens.
func (c *Conn) makeEstimator(o *Output) {
	if o.estimatorFor != c.cfg {
		o.estimator, o.estimatorFor = c.cfg.Policy.NewEstimator(), c.cfg
	}
	c.est = o.estimator.New()
	if s := c.cfg.Replay; s != nil && s.Estimator != nil {
		c.est = s.Estimator
	}
}

// Connect sends a SYN: an active OPEN (RFC 9293 §3.10.1). It leads to EventConnected, or to
// EventClosed with Err set. Data written meanwhile is sent after the handshake. A second call is a
// no-op.
func (c *Conn) Connect(now wheel.Time, o *Output) {
	if c.opened() {
		return
	}
	c.makeEstimator(o)
	o.Counters.ActiveOpens++
	c.setState(StateSynSent, o)
	c.rcv.win.scale = c.cfg.recvScale()
	c.sendSYN(now, o)
	c.watchUserTimeout(now, o)
}

// Accept answers the SYN that a listener received: a passive OPEN. It leads to EventConnected.
//
// DEVIATION RFC 9293 §3.10.7.2: data in the SYN is dropped and not acknowledged, so the peer
// retransmits it.
func (c *Conn) Accept(now wheel.Time, syn *Inbound, o *Output) {
	if c.opened() {
		return
	}
	c.passive = true
	c.makeEstimator(o)
	o.Counters.PassiveOpens++
	c.segsIn++
	c.setState(StateSynReceived, o)
	c.takeSYN(now, syn.Header)
	c.sendSYN(now, o)
}

// AcceptCookie establishes the connection of a SYN cookie and then processes ack, the ACK that
// returned the cookie. ck comes from Secret.TakeCookie, and ck.ISS must be the iss of Init.
func (c *Conn) AcceptCookie(now wheel.Time, ack *Inbound, ck Cookie, o *Output) Disposition {
	if c.opened() {
		return Disposition{}
	}
	h := ack.Header
	syn := Header{Seq: h.Seq - 1, Flags: SYN, Options: Options{HasMSS: true, MSS: ck.mss}}
	if opts := ck.options; ck.timestamps {
		syn.Options.HasTimestamps, syn.Options.TSVal = true, h.Options.TSVal
		syn.Options.HasWScale, syn.Options.WScale = opts.HasWScale, opts.WScale
		syn.Options.SACKPermitted = opts.SACKPermitted
		if opts.ECN {
			syn.Flags |= ECE | CWR
		}
	}
	c.passive = true
	c.makeEstimator(o)
	o.Counters.PassiveOpens++
	c.setState(StateSynReceived, o)
	c.takeSYN(now, &syn)
	c.sndNxt = c.iss.Add(1)
	return c.Input(now, ack, o)
}

// takeSYN processes the options and numbers of the peer's SYN.
func (c *Conn) takeSYN(now wheel.Time, h *Header) {
	opt := &h.Options
	if opt.HasMSS {
		c.peerMSS = opt.MSS
	}
	c.rcv.open(now, h, c.cfg, c.opts, c.synWindow(), c.announcedMSS())
	c.setDetector()
	if c.wsOn = c.cfg.WScale && opt.HasWScale; c.wsOn {
		c.sndScale = opt.WScale
	}
	agreed := ecnSetupSYN(h.Flags.Has(ECE), h.Flags.Has(CWR))
	if h.Flags.Has(ACK) {
		agreed = ecnSetupSYNAck(h.Flags.Has(ECE), h.Flags.Has(CWR))
	}
	if c.cfg.ECN && agreed {
		c.ecn.Enable()
		if id := c.fl.sent.Front(); id != 0 && c.fl.sent.Get(id).Retransmitted() {
			c.ecn.Mute() // emitSYN sent it without ECN
		}
	}
	c.lastRecv = now
	c.updateMSS()
}

// sendSYN sends the SYN or SYN-ACK for the first time.
func (c *Conn) sendSYN(now wheel.Time, o *Output) {
	if c.fl.sent.Len() == 0 {
		c.needFlight(o)
		id, ok := c.fl.sent.Push(now, c.iss, 1, sentSYN)
		if !ok {
			panic("BUG: no room for a SYN")
		}
		c.sndNxt = c.iss.Add(1)
		if c.cfg.Policy.OneSample {
			c.timed, c.fl.timedSeq, c.fl.timedAt = true, c.iss, now
		}
		c.timers.start(o, tcptimers.Handshake, c.cfg.Policy.Deadline(now, c.cfg.Policy.R2Syn(c.state == StateSynSent)))
		c.emitSYN(now, 0, o)
		c.timer().sent(c, now, id, o)
		return
	}
	// A simultaneous open: send our SYN again, as a SYN-ACK.
	id := c.fl.sent.Front()
	c.timed = false // RFC 6298 §3: Karn's algorithm
	c.fl.sent.Retransmit(now, id)
	c.emitSYN(now, c.fl.sent.Get(id).Transmissions-1, o)
	c.timer().sent(c, now, id, o)
}

// synWindow returns the window field of our SYN.
func (c *Conn) synWindow() uint16 {
	wnd := c.cfg.RecvBuffer
	if n := c.opts.WindowClamp; n != 0 {
		wnd = min(wnd, n)
	}
	return synWindowField(wnd)
}

// announcedMSS returns RMSS, the MSS that our SYN announces.
func (c *Conn) announcedMSS() uint16 {
	mss := advertisedMSS(int(c.mtu), int(c.ipHeaderLen))
	if c.opts.MaxSeg != 0 {
		mss = min(mss, c.opts.MaxSeg)
	}
	return mss
}

// emitSYN builds the SYN, or the SYN-ACK once the peer's SYN has arrived. rexmit counts earlier
// transmissions.
func (c *Conn) emitSYN(now wheel.Time, rexmit uint8, o *Output) {
	o.Segments = append(o.Segments, Outgoing{Rexmit: rexmit})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = c.iss, SYN
	h.Window = c.synWindow()
	opt := &h.Options
	opt.HasMSS, opt.MSS = true, c.announcedMSS()
	ack := c.state == StateSynReceived
	if ack {
		h.Flags |= ACK
		h.Ack = c.rcv.nxt()
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = c.rcv.tsOn, c.rcv.sackOn, c.wsOn
		opt.TSEcr, _ = c.rcv.paws.Recent()
		if c.ecn.On() {
			h.Flags |= ECE
		}
	} else {
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = c.cfg.Timestamps, c.cfg.SACK, c.cfg.WScale
		// RFC 3168 §6.1.1.1: a host may retransmit its SYN without ECN, in case ECN caused the
		// loss.
		if c.cfg.ECN && rexmit == 0 {
			h.Flags |= ECE | CWR
		}
	}
	if opt.HasTimestamps {
		opt.TSVal = c.timestamp(now)
	}
	if opt.HasWScale {
		opt.WScale = c.rcv.win.scale
	}
	c.segsOut++
	if rexmit > 0 {
		o.Counters.RetransSegs++
		o.Counters.TCPSynRetrans++
		c.needRare().rexmits++
	} else {
		o.Counters.OutSegs++
	}
}

// Opens reports whether a segment that acknowledges ack would complete a passive open.
func (c *Conn) Opens(ack Seq) bool { return c.state == StateSynReceived && ack == c.sndNxt }

// DeferOpen replaces Input for an ACK that must not complete the handshake yet (TCP_DEFER_ACCEPT).
// since is when the SYN arrived, and wait is how long to wait for data. The ACK gives an RTT
// sample. When the wait is over, the timer retransmits the SYN-ACK to draw another ACK. Further
// calls are no-ops.
func (c *Conn) DeferOpen(now, since wheel.Time, wait time.Duration, o *Output) {
	until := c.cfg.Policy.Deadline(since, wait)
	id := c.fl.sent.Front()
	if c.openDeferred || id == 0 {
		return
	}
	c.openDeferred = true
	if s := c.fl.sent.Get(id); s.Transmissions == 1 {
		c.rec.rack.SampleRTT(now, now.Sub(s.Sent))
		c.est.Sample(tcptimers.Sample{RTT: c.cfg.Policy.Measure(s.Sent, now), Round: true, Expected: 1})
	}
	c.timer().postpone(c, id, until, o)
}

// establish completes the handshake. h is the segment that acknowledges our SYN; its window is
// scaled unless it is a SYN.
func (c *Conn) establish(now wheel.Time, h *Header, o *Output) {
	wnd := uint32(h.Window)
	if !h.Flags.Has(SYN) {
		wnd <<= c.sndScale
	}
	c.snd.Init(h.Seq, h.Ack, wnd)
	c.updateMSS()
	c.timers.stop(o, tcptimers.Handshake)
	cfg := c.cfg.Congestion
	cfg.MSS, cfg.SYNLost, cfg.Paced = c.mss, c.synLost, c.cfg.Pacing
	cc, err := congestion.New(c.cfg.Control, cfg)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	c.cc = cc
	c.rec.recover = c.sndNxt
	c.setState(StateEstablished, o)
	o.Events |= EventConnected | EventWritable
	if c.opts.Keepalive {
		c.timers.start(o, tcptimers.Keepalive, c.cfg.Policy.Deadline(now, c.opts.KeepIdle))
	}
	c.roundEnd = c.iss
}

// closeAfterOpen continues a close that the application requested during the handshake.
func (c *Conn) closeAfterOpen(o *Output) {
	if c.finQueued && c.state == StateEstablished {
		c.setState(StateFinWait1, o)
	}
}

// updateMSS recomputes Eff.snd.MSS.
func (c *Conn) updateMSS() {
	optionLen := 0
	if c.rcv.tsOn {
		optionLen = timestampsLen
	}
	c.mss = c.effectiveMSS(optionLen)
	if c.cc != nil {
		c.cc.SetMSS(c.mss)
	}
}

func (c *Conn) effectiveMSS(optionLen int) uint32 {
	peer := c.peerMSS
	if c.opts.MaxSeg != 0 {
		peer = min(peer, c.opts.MaxSeg)
	}
	mss := uint32(effectiveMSS(peer, int(c.mtu), int(c.ipHeaderLen), optionLen))
	if c.cfg.Replay != nil { // the captured sender has bounded it
		return mss
	}
	return c.snd.boundMSS(mss)
}
