package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// recovery is the loss recovery state that outlives a flight: the loss detectors, and the current
// or last episode.
type recovery struct {
	rack  rackState
	dup   dupAckCounter
	eifel congestion.Eifel
	dsack congestion.DSACK

	recover Seq // SND.NXT when the episode began

	tlp        tlpState
	frtoCredit uint8 // new segments that F-RTO still allows
	tooBig     bool  // rareState.tooBigEnd is valid and not yet acknowledged
	undoable   bool
	rtoEpisode bool // the episode began with a timeout
	spurious   bool // the next RTT sample belongs to data sent after a spurious timeout
	cwndHeld   bool // the congestion window holds data back
	rwndHeld   bool // the peer's window holds data back
	appLimited bool // the application has no more to send
	forceFirst bool // the first retransmission of the episode is still to be sent
	probeDue   bool // reschedule the loss probe
	resent     bool // Conn.Resend began the episode, and it lasts
}

// respond processes the loss and congestion signals of an ACK: RFC 5681 §3.2, RFC 6675 §5,
// RFC 6582 §3.2, RFC 8985 §6.2.
func (c *Conn) respond(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	advanced := a.acked > 0
	grown := a.delivered
	if !c.rcv.sackOn && advanced {
		// As in Linux (tcp_remove_reno_sacks), the segments of duplicate ACKs have been delivered
		// before, but one has filled the hole.
		grown = max(a.acked-min(a.acked, c.rec.dup.N()*c.mss), min(a.acked, c.mss))
	}
	c.updateCounts(a)
	c.applyFeedback(now, h, a, o)

	leaving := false
	growing := c.caState != CARecovery && c.caState != CACWR
	reno := c.cfg.Reno && !c.rcv.sackOn && c.caState == CARecovery
	if advanced && c.caState >= CACWR && (c.sndUna.AtOrAfter(c.rec.recover) || reno) {
		if reno {
			c.rec.dup.Forget()
		}
		leaving = c.caState >= CARecovery
		growing = c.caState == CALoss
		c.leaveRecovery(now, o)
	}
	if c.resendOnly() {
		c.observeResent(a)
	} else {
		c.losses().onAck(c, now, leaving, a, o)
		if c.cfg.VegasCheck {
			c.checkVegas(now, a, o)
		}
	}
	if advanced && growing && c.caState != CARecovery {
		c.growWindow(now, a, grown, o)
	}
	if c.reducing() {
		delivered := a.delivered
		if !c.rcv.sackOn && (advanced || a.duplicate) {
			delivered = c.fl.prr.DeliveredWithoutSACK(a.acked)
		}
		c.fl.sndcnt = c.fl.prr.OnAck(delivered, c.pipe(), advanced, a.lost)
	}
	amiss := c.fl.sent.Sacked().Segments > 0 || c.rec.dup.N() > 0
	switch {
	case c.caState == CAOpen && amiss:
		c.caState = CADisorder
	case c.caState == CADisorder && !amiss:
		c.caState = CAOpen
	}
}

// updateCounts updates the duplicate ACK count and other counts before respond evaluates the ACK.
func (c *Conn) updateCounts(a *ackFacts) {
	r := &c.rec
	if a.acked > 0 || a.sacked > 0 {
		r.probeDue = true // or cancelled: no probe while something is SACKed
	}
	if a.acked > 0 {
		r.tooBig = r.tooBig && c.sndUna.Before(c.rare.tooBigEnd)
		r.undoable = r.undoable && !c.sndUna.After(r.recover.Add(1<<30)) // sequence numbers wrap
		r.dup.Advanced(c.sndUna)
		if c.rcv.sackOn || c.caState != CARecovery {
			r.dup.Reset()
		} else {
			r.dup.Repaired((a.acked - 1) / c.mss)
		}
		c.fl.l6675.SMSS = c.mss
	}
	if a.duplicate && (!c.rcv.sackOn || a.sacked > 0) {
		r.dup.Count()
	}
}

// applyFeedback applies what an ACK says about earlier actions: the loss probe in flight,
// congestion marks, and retransmissions that were spurious.
func (c *Conn) applyFeedback(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	r := &c.rec
	if r.tlp.inFlight {
		c.ackLossProbe(now, h, a, o)
	}
	if a.ece && (c.caState == CAOpen || c.caState == CADisorder) && c.ecn.OnECE(c.sndUna, c.sndNxt) {
		c.enterCWR(now, a, o, congestion.ECN)
	}
	if a.dsack {
		c.undoByDSACK(now, h, a, o)
	}
	// DEVIATION RFC 3522 §3.2 (5): the RFC skips an ACK with a DSACK, and a first ACK that covers
	// all outstanding data. In both cases all ACKs of the flight may have been lost, and the
	// retransmission drew this one. But then the data did arrive, and a DSACK would undo the
	// reduction too. Linux does not check either (tcp_packet_delayed).
	if a.acked > 0 && r.undoable && c.rcv.tsOn {
		echo := h.Options.TSEcr
		if !h.Options.HasTimestamps {
			echo = c.timestamp(now) // a middlebox stripped it: no evidence for the original
		}
		if r.eifel.OnAck(echo) == congestion.Spurious {
			c.undo(now, a, a.acked, o)
		}
	}
	if c.fl.frto.Active() && (a.acked > 0 || a.duplicate) {
		c.stepFRTO(now, h, a, o)
	}
}

// pipe returns how many bytes are estimated to be in the network. Without SACK, each duplicate ACK
// counts as one delivered segment.
func (c *Conn) pipe() uint32 {
	n := c.fl.sent.Pipe().Bytes
	if !c.rcv.sackOn && c.caState != CALoss {
		dups := c.rec.dup.N()
		if c.caState != CARecovery {
			dups = min(dups, dupThresh-1) // RFC 3042 §2: limited transmit
		}
		// RFC 5681 §3.2: duplicate ACKs count for no more than what is outstanding. A lost
		// segment was not delivered.
		arrived := c.fl.sent.Outstanding().Segments
		dups = min(dups, arrived-min(arrived, max(c.fl.sent.Lost().Segments, 1)))
		n -= min(n, uint32(min(uint64(dups)*uint64(c.mss), 1<<30)))
	}
	return n
}

// dsackWidens reports whether the ACK's DSACK, if any, widens RACK's reordering window.
func (c *Conn) dsackWidens(a *ackFacts) bool {
	return a.dsack && (!c.cfg.Policy.ReorderedDSACKs || c.rec.rack.ReorderingSeen() && !a.dsackProbe)
}

// beginEpisode starts a recovery episode and forgets the previous one.
func (c *Conn) beginEpisode(o *Output) {
	r := &c.rec
	r.recover, c.needRare().startUna = c.sndNxt, c.sndUna
	if c.fl.sent.RetransOut().Segments == 0 {
		r.eifel.Reset()
	} else {
		r.eifel.Continue()
	}
	r.dsack.Reset()
	r.tlp.Reset()
	r.undoable, r.forceFirst = true, true
	r.dup.Recover(c.sndNxt)
	c.ecn.OnReduced(c.sndNxt)
	c.timer().stopLoss(c, tcptimers.TLP, o)
}

// enterRecovery starts fast recovery.
func (c *Conn) enterRecovery(now wheel.Time, a *ackFacts, o *Output) {
	r := &c.rec
	reduced := c.caState == CACWR
	if !reduced {
		c.cc.OnCongestion(now, c.fl.sent.Outstanding().Bytes, congestion.FastRetransmit)
	}
	c.beginEpisode(o)
	r.undoable = !reduced // the reduction for an ECN mark or a probe-repaired loss stays
	r.rtoEpisode = false
	recoverFS := congestion.RecoverFS(c.fl.sent.Outstanding().Bytes, c.fl.sent.Sacked().Bytes, a.sacked, a.acked)
	c.fl.prr.Start(c.cc.Ssthresh(), c.mss, recoverFS)
	c.caState = CARecovery
	c.losses().entered(c, o)
}

// enterCWR reduces the window for congestion with no loss to repair. a.flight is the flight that
// caused it.
func (c *Conn) enterCWR(now wheel.Time, a *ackFacts, o *Output, cause congestion.Cause) {
	c.cc.OnCongestion(now, a.flight, cause)
	c.caState = CACWR
	if c.reducing() && c.fl != &atRest {
		c.fl.prr.Start(c.cc.Ssthresh(), c.mss, congestion.RecoverFS(c.fl.sent.Outstanding().Bytes, c.fl.sent.Sacked().Bytes, a.sacked, a.acked))
	}
	c.rec.recover, c.rec.undoable = c.sndNxt, false
	c.ecn.OnReduced(c.sndNxt)
}

// reducing reports whether PRR decides what to send.
func (c *Conn) reducing() bool {
	return c.caState == CARecovery || c.caState == CACWR && c.cfg.PRRInCWR && c.fl != &atRest
}

// leaveRecovery ends the episode after SND.UNA has reached its end.
func (c *Conn) leaveRecovery(now wheel.Time, o *Output) {
	r := &c.rec
	if c.caState == CARecovery {
		c.cc.OnRecovered(now, c.fl.sent.Outstanding().Bytes)
		c.fl.l6675.Leave()
	}
	c.fl.frto.Reset()
	r.forceFirst, r.frtoCredit = false, 0
	c.caState = CAOpen
	r.dup.Reset()
}
