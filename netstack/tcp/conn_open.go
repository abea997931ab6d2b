package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Init makes c a connection in CLOSED. cfg is kept; cfg and path have been checked. iss is the
// initial sequence number, as Secret.ISN or synCookie gives it, and tsOffset the offset of
// timestamps, as Secret.TimestampOffset does.
func (c *Conn) Init(cfg *Config, path Path, iss Seq, tsOffset uint32) {
	*c = Conn{
		cfg: cfg, opts: &cfg.Socket, fl: &atRest,
		mtu: uint32(path.MTU), ipHeaderLen: uint8(path.ipHeaderLen()), ipv6: path.IPv6,
		iss: iss, sndUna: iss, sndNxt: iss, sndEnd: iss.Add(1), tsOffset: tsOffset,
		peerMSS: defaultMSS(path.IPv6),
	}
}

// opened reports whether c was opened already: it may have come to its end since.
func (c *Conn) opened() bool { return c.est != nil }

// makeEstimator makes what takes memory, when the connection is opened.
func (c *Conn) makeEstimator(o *Output) {
	if o.estimatorFor != c.cfg {
		o.estimator, o.estimatorFor = c.cfg.Policy.NewEstimator(), c.cfg
	}
	c.est = o.estimator.New()
	if c.cfg.VegasCheck {
		// Its timeout is that of the fine clock, without a floor.
		c.needRare().fine = tcptimers.NewRFC6298(tcptimers.StandardConfig{Bounds: tcptimers.Bounds{Min: 1}})
	}
}

// Connect sends a SYN: an active OPEN (RFC 9293 §3.10.1). It leads to EventConnected, or to
// EventClosed with Err telling why not. What the application writes meanwhile is kept, and sent
// behind the handshake. A second call does nothing.
func (c *Conn) Connect(now wheel.Time, o *Output) {
	if c.opened() {
		return
	}
	c.makeEstimator(o)
	o.Counters.ActiveOpens++
	c.setState(StateSynSent, o)
	c.rcvScale = windowScaleFor(max(c.cfg.RecvBuffer, c.cfg.RecvBufferMax))
	c.sendSYN(now, o)
	c.watchUserTimeout(now, o)
}

// Accept takes the SYN that a listener received, and answers it: a passive OPEN, which ends in
// EventConnected.
//
// DEVIATION RFC 9293 §3.10.7.2: text in the SYN is not kept for later; it is not acknowledged, so
// that the peer sends it again.
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

// AcceptCookie takes the ACK that ends the handshake of a SYN cookie, of which Secret.TakeCookie
// has told ck. Its ISS is the one of Init. The connection is established then, and the ACK is input
// to it.
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

// takeSYN takes what the peer's SYN says.
func (c *Conn) takeSYN(now wheel.Time, h *Header) {
	opt := &h.Options
	c.irs = h.Seq
	if opt.HasMSS {
		c.peerMSS = opt.MSS
	}
	c.tsOn = c.cfg.Timestamps && opt.HasTimestamps
	c.sackOn = c.cfg.SACK && opt.SACKPermitted
	// RFC 7323 §2.2: "This option is an offer, not a promise; both sides MUST send Window Scale
	// options in their <SYN> segments to enable window scaling in either direction."
	c.wsOn = c.cfg.WScale && opt.HasWScale
	c.rcvScale = 0
	if c.wsOn {
		c.sndScale = opt.WScale
		c.rcvScale = windowScaleFor(max(c.cfg.RecvBuffer, c.cfg.RecvBufferMax))
	}
	if c.tsOn {
		c.paws.Start(now, opt.TSVal)
	}
	agreed := ecnSetupSYN(h.Flags.Has(ECE), h.Flags.Has(CWR))
	if h.Flags.Has(ACK) {
		agreed = ecnSetupSYNAck(h.Flags.Has(ECE), h.Flags.Has(CWR))
	}
	if c.cfg.ECN && agreed {
		c.ecn.Enable()
		if id := c.fl.sent.Front(); id != 0 && c.fl.sent.Get(id).Retransmitted() {
			c.ecn.Mute() // emitSYN has sent it without ECN
		}
	}
	nxt := h.Seq.Add(1)
	if err := c.rq.Init(nxt, c.cfg.MaxOutOfOrder); err != nil {
		panic("BUG: " + err.Error())
	}
	if err := c.win.Init(nxt, c.synWindow(), c.cfg.RecvBuffer, c.rcvScale); err != nil {
		panic("BUG: " + err.Error())
	}
	c.win.Clamp(c.opts.WindowClamp)
	c.lastAckSent = nxt
	if c.opts.NoQuickAck {
		c.delack.endQuickAcks()
	}
	// The peer takes the options off what it was told (RFC 9293 §3.7.1), and a full segment with
	// the first bytes of the next, received as one, would look like a full one.
	c.delack.rmss = uint32(c.announcedMSS())
	if opts := (&Options{HasTimestamps: c.tsOn}).encodedLen(); c.delack.rmss > uint32(opts) {
		c.delack.rmss -= uint32(opts)
	}
	c.delack.mss = min(c.delack.rmss, DefaultMSS4) // until larger ones come, or several of one size: as in Linux
	c.lastRecv = now
	c.tune.Init(now, c.cfg.RecvBuffer/2)
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
			c.timed, c.timedSeq, c.fl.timedAt = true, c.iss, now
		}
		c.start(o, tcptimers.Handshake, c.cfg.Policy.Deadline(now, c.cfg.Policy.R2Syn(c.state == StateSynSent)))
		c.emitSYN(now, 0, o)
		c.armRexmit(now, id, o)
		return
	}
	// A simultaneous open: our SYN leaves once more, as a SYN-ACK.
	id := c.fl.sent.Front()
	c.timed = false // RFC 6298 §3: Karn's algorithm
	c.fl.sent.Retransmit(now, id)
	c.emitSYN(now, c.fl.sent.Get(id).Transmissions-1, o)
	c.armRexmit(now, id, o)
}

// synWindow is the window that our SYN offers.
func (c *Conn) synWindow() uint16 {
	wnd := c.cfg.RecvBuffer
	if n := c.opts.WindowClamp; n != 0 {
		wnd = min(wnd, n)
	}
	return synWindowField(wnd)
}

// announcedMSS is RMSS, the MSS that our SYN tells the peer.
func (c *Conn) announcedMSS() uint16 {
	mss := advertisedMSS(int(c.mtu), int(c.ipHeaderLen))
	if c.opts.MaxSeg != 0 {
		mss = min(mss, c.opts.MaxSeg)
	}
	return mss
}

// emitSYN sends the SYN, or the SYN-ACK if a SYN was received.
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
		h.Ack = c.rq.Nxt()
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = c.tsOn, c.sackOn, c.wsOn
		opt.TSEcr, _ = c.paws.Recent()
		if c.ecn.On() {
			h.Flags |= ECE
		}
	} else {
		opt.HasTimestamps, opt.SACKPermitted, opt.HasWScale = c.cfg.Timestamps, c.cfg.SACK, c.cfg.WScale
		// RFC 3168 §6.1.1.1: a host may retransmit its SYN without ECN, in case that it was lost
		// for that.
		if c.cfg.ECN && rexmit == 0 {
			h.Flags |= ECE | CWR
		}
	}
	if opt.HasTimestamps {
		opt.TSVal = c.timestamp(now)
	}
	if opt.HasWScale {
		opt.WScale = c.rcvScale
	}
	c.segsOut++
	if rexmit > 0 {
		o.Counters.RetransSegs++
		o.Counters.TCPSynRetrans++
		c.rexmits++
	} else {
		o.Counters.OutSegs++
	}
}

// Opens reports whether a segment that acknowledges ack would end the handshake of a passive open.
func (c *Conn) Opens(ack Seq) bool { return c.state == StateSynReceived && ack == c.sndNxt }

// DeferOpen takes, in place of Input, an ACK that would end the handshake and must not yet:
// TCP_DEFER_ACCEPT, for a SYN that came at since and a wait for data of wait. The round trip is
// measured by it, and the SYN-ACK is sent again when the wait is over, to draw another ACK. From
// the second call on it changes nothing.
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
	if c.perSegment() {
		c.rearmSegment(id, until, o)
		return
	}
	c.fl.rexmitAt = until
	c.start(o, tcptimers.Rexmit, until)
}

// establish ends the handshake. h is the segment that acknowledges our SYN, whose window is to be
// scaled unless it is a SYN.
func (c *Conn) establish(now wheel.Time, h *Header, o *Output) {
	wnd := uint32(h.Window)
	if !h.Flags.Has(SYN) {
		wnd <<= c.sndScale
	}
	c.snd.Init(h.Seq, h.Ack, wnd)
	c.stop(o, tcptimers.Handshake)
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
		c.start(o, tcptimers.Keepalive, c.cfg.Policy.Deadline(now, c.opts.KeepIdle))
	}
	c.roundEnd = c.iss
}

// closeAfterOpen moves on if the application closed during the handshake.
func (c *Conn) closeAfterOpen(o *Output) {
	if c.finQueued && c.state == StateEstablished {
		c.setState(StateFinWait1, o)
	}
}

// updateMSS computes Eff.snd.MSS anew.
func (c *Conn) updateMSS() {
	optionLen := 0
	if c.tsOn {
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
	return uint32(effectiveMSS(peer, int(c.mtu), int(c.ipHeaderLen), optionLen))
}
