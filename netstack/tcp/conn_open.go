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
