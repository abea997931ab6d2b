package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Init puts c into CLOSED. cfg must have passed Check and is kept; path must have passed Check too.
// iss is the initial sequence number, from Secret.ISN or a SYN cookie, and tsOffset is
// Secret.TimestampOffset.
func (c *Conn) Init(cfg *Config, path Path, iss Seq, tsOffset uint32) {
	*c = Conn{}
	c.snd.init(cfg, path, iss, tsOffset, &c.rcv)
}

// open allocates the RTO estimator when the connection opens.
func (r *rttState) open(snd *sender, o *Output) {
	if o.estimatorFor != snd.cfg {
		o.estimator, o.estimatorFor = snd.cfg.Policy.NewEstimator(), snd.cfg
	}
	r.est = o.estimator.New()
	if s := snd.cfg.Replay; s != nil && s.Estimator != nil {
		r.est = s.Estimator
	}
}

// Connect sends a SYN: an active OPEN (RFC 9293 §3.10.1). It leads to EventConnected, or to
// EventClosed with Err set. Data written meanwhile is sent after the handshake. A second call is a
// no-op.
func (c *Conn) Connect(now wheel.Time, o *Output) {
	if c.snd.rtt.est != nil {
		return
	}
	c.snd.rtt.open(&c.snd, o)
	o.Counters.ActiveOpens++
	c.setState(StateSynSent, o)
	c.rcv.win.scale = c.snd.cfg.recvScale()
	c.life.handshake(c, now, o)
	c.life.watchUser(c, now, o)
}

// Accept answers the SYN that a listener received: a passive OPEN. It leads to EventConnected.
//
// DEVIATION RFC 9293 §3.10.7.2: data in the SYN is dropped and not acknowledged, so the peer
// retransmits it.
func (c *Conn) Accept(now wheel.Time, syn *Inbound, o *Output) {
	if c.snd.rtt.est != nil {
		return
	}
	c.passive = true
	c.snd.rtt.open(&c.snd, o)
	o.Counters.PassiveOpens++
	c.snd.stats.segsIn++
	c.setState(StateSynReceived, o)
	c.takeSYN(now, syn.Header)
	c.life.handshake(c, now, o)
}

// AcceptCookie establishes the connection of a SYN cookie and then processes ack, the ACK that
// returned the cookie. ck comes from Secret.TakeCookie, and ck.ISS must be the iss of Init.
func (c *Conn) AcceptCookie(now wheel.Time, ack *Inbound, ck Cookie, o *Output) Disposition {
	if c.snd.rtt.est != nil {
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
	c.snd.rtt.open(&c.snd, o)
	o.Counters.PassiveOpens++
	c.setState(StateSynReceived, o)
	c.takeSYN(now, &syn)
	c.snd.nxt = c.snd.iss.Add(1)
	return c.Input(now, ack, o)
}

// takeSYN processes the options and numbers of the peer's SYN.
func (c *Conn) takeSYN(now wheel.Time, h *Header) {
	opt := &h.Options
	if opt.HasMSS {
		c.snd.terms.peerMSS = opt.MSS
	}
	c.rcv.open(now, h, c.snd.cfg, c.snd.opts, synWindow(c.snd.cfg, c.snd.opts), c.snd.terms.announcedMSS(c.snd.opts.MaxSeg))
	c.snd.detector = lossDetectorOf(c.snd.cfg, c.rcv.sackOn)
	if c.rcv.win.scaled {
		c.snd.terms.scale = opt.WScale
	}
	agreed := ecnSetupSYN(h.Flags.Has(ECE), h.Flags.Has(CWR))
	if h.Flags.Has(ACK) {
		agreed = ecnSetupSYNAck(h.Flags.Has(ECE), h.Flags.Has(CWR))
	}
	if c.snd.cfg.ECN && agreed {
		c.snd.ecn.Enable()
		if id := c.snd.fl.sent.Front(); id != 0 && c.snd.fl.sent.Get(id).Retransmitted() {
			c.snd.ecn.Mute() // emitSYN sent it without ECN
		}
	}
	c.snd.updateMSS()
}

// sendSYN sends the SYN or SYN-ACK for the first time.
func (snd *sender) sendSYN(now wheel.Time, o *Output) {
	if snd.fl.sent.Len() == 0 {
		snd.needFlight(o)
		id, ok := snd.fl.sent.Push(now, snd.iss, 1, sentSYN)
		if !ok {
			panic("BUG: no room for a SYN")
		}
		snd.nxt = snd.iss.Add(1)
		if snd.cfg.Policy.OneSample {
			snd.rtt.timed, snd.fl.timedSeq, snd.fl.timedAt = true, snd.iss, now
		}
		snd.emitSYN(now, 0, o)
		snd.timer().sent(snd, now, id, o)
		return
	}
	// A simultaneous open: send our SYN again, as a SYN-ACK.
	id := snd.fl.sent.Front()
	snd.rtt.timed = false // RFC 6298 §3: Karn's algorithm
	snd.fl.sent.Retransmit(now, id)
	snd.emitSYN(now, snd.fl.sent.Get(id).Transmissions-1, o)
	snd.timer().sent(snd, now, id, o)
}

// synWindow returns the window field of our SYN.
func synWindow(cfg *Config, opts *SocketOptions) uint16 {
	wnd := cfg.RecvBuffer
	if n := opts.WindowClamp; n != 0 {
		wnd = min(wnd, n)
	}
	return synWindowField(wnd)
}

// announcedMSS returns RMSS, the MSS that our SYN announces.
func (t *terms) announcedMSS(maxSeg uint16) uint16 {
	mss := advertisedMSS(int(t.mtu), int(t.ipHeaderLen))
	if maxSeg != 0 {
		mss = min(mss, maxSeg)
	}
	return mss
}

// emitSYN builds the SYN, or the SYN-ACK once the peer's SYN has arrived. rexmit counts earlier
// transmissions.
func (snd *sender) emitSYN(now wheel.Time, rexmit uint8, o *Output) {
	o.Segments = append(o.Segments, Outgoing{Rexmit: rexmit})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = snd.iss, SYN
	h.Window = synWindow(snd.cfg, snd.opts)
	opt := &h.Options
	opt.HasMSS, opt.MSS = true, snd.terms.announcedMSS(snd.opts.MaxSeg)
	ack := snd.rcv.opened
	if ack {
		h.Flags |= ACK
		h.Ack = snd.rcv.nxt()
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = snd.rcv.tsOn, snd.rcv.sackOn, snd.rcv.win.scaled
		opt.TSEcr, _ = snd.rcv.paws.Recent()
		if snd.ecn.On() {
			h.Flags |= ECE
		}
	} else {
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = snd.cfg.Timestamps, snd.cfg.SACK, snd.cfg.WScale
		// RFC 3168 §6.1.1.1: a host may retransmit its SYN without ECN, in case ECN caused the
		// loss.
		if snd.cfg.ECN && rexmit == 0 {
			h.Flags |= ECE | CWR
		}
	}
	if opt.HasTimestamps {
		opt.TSVal = snd.timestamp(now)
	}
	if opt.HasWScale {
		opt.WScale = snd.rcv.win.scale
	}
	snd.stats.segments++
	if rexmit > 0 {
		o.Counters.RetransSegs++
		o.Counters.TCPSynRetrans++
		snd.needPast().rexmits++
	} else {
		o.Counters.OutSegs++
	}
}

// DeferOpen replaces Input for an ACK that must not complete the handshake yet (TCP_DEFER_ACCEPT).
// since is when the SYN arrived, and wait is how long to wait for data. The ACK gives an RTT
// sample. When the wait is over, the timer retransmits the SYN-ACK to draw another ACK. Further
// calls are no-ops.
func (c *Conn) DeferOpen(now, since wheel.Time, wait time.Duration, o *Output) {
	until := c.snd.cfg.Policy.Deadline(since, wait)
	id := c.snd.fl.sent.Front()
	if c.snd.rtt.deferred || id == 0 {
		return
	}
	c.snd.rtt.deferred = true
	if s := c.snd.fl.sent.Get(id); s.Transmissions == 1 {
		c.snd.rack.SampleRTT(now, now.Sub(s.Sent))
		c.snd.rtt.est.Sample(tcptimers.Sample{RTT: c.snd.cfg.Policy.Measure(s.Sent, now), Round: true, Expected: 1})
	}
	c.snd.timer().postpone(&c.snd, id, until, o)
}

// establish completes the handshake. h is the segment that acknowledges our SYN; its window is
// scaled unless it is a SYN.
func (c *Conn) establish(now wheel.Time, h *Header, o *Output) {
	c.snd.establish(h)
	c.life.stop(o, tcptimers.Handshake)
	c.setState(StateEstablished, o)
	o.Events |= EventConnected | EventWritable
	if c.snd.opts.Keepalive {
		c.life.start(o, tcptimers.Keepalive, c.snd.cfg.Policy.Deadline(now, c.snd.opts.KeepIdle))
	}
}

// updateMSS recomputes Eff.snd.MSS.
func (snd *sender) updateMSS() {
	optionLen := 0
	if snd.rcv.tsOn {
		optionLen = timestampsLen
	}
	snd.mss = snd.terms.effectiveMSS(snd, optionLen)
	if snd.established() {
		snd.cc.SetMSS(snd.mss)
	}
}

func (t *terms) effectiveMSS(snd *sender, optionLen int) uint32 {
	peer := t.peerMSS
	if snd.opts.MaxSeg != 0 {
		peer = min(peer, snd.opts.MaxSeg)
	}
	mss := uint32(effectiveMSS(peer, int(t.mtu), int(t.ipHeaderLen), optionLen))
	if snd.cfg.Replay != nil { // the captured sender has bounded it
		return mss
	}
	return snd.wnd.boundMSS(mss)
}
