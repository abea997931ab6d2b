package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// recovery is what a connection knows of losses, also while nothing is in flight: the detectors,
// and the episode that it is in or that may still be undone.
type recovery struct {
	rack  rackState
	tlp   tlpState
	dup   dupAckCounter
	eifel congestion.Eifel
	dsack congestion.DSACK

	recover     Seq   // SND.NXT when the episode began
	tooBigEnd   Seq   // SND.NXT when the path took no more what was in flight
	startUna    Seq   // SND.UNA then
	frtoCredit  uint8 // segments that F-RTO lets go
	tooBig      bool  // tooBigEnd is valid, and not acknowledged yet
	undoable    bool
	rtoEpisode  bool // of what may be undone: it began with a timeout
	spurious    bool // the next sample is of what was sent after a spurious timeout
	cwndLimited bool // the congestion window was what held data back
	forceFirst  bool // the first retransmission of the episode is still to be made
	probeDue    bool // new data left, or SND.UNA advanced: the loss probe is to be scheduled
}

// respond is the response to an ACK: RFC 5681 §3.2, RFC 6675 §5, RFC 6582 §3.2, RFC 8985 §6.2.
func (c *Conn) respond(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	advanced := a.acked > 0
	c.updateCounts(a)
	c.applyFeedback(now, h, a, o)

	leaving := false
	growing := c.caState != CARecovery && c.caState != CACWR
	reno := c.cfg.Reno && !c.sackOn && c.caState == CARecovery
	if advanced && c.caState >= CACWR && (c.sndUna.AtOrAfter(c.rec.recover) || reno) {
		if reno {
			c.rec.dup.Forget()
		}
		leaving = c.caState >= CARecovery
		growing = c.caState == CALoss
		c.leaveRecovery(now, o)
	}
	c.detect(now, a, leaving, o)
	if advanced && growing && c.caState != CARecovery {
		c.growWindow(now, a, o)
	}
	if c.caState == CARecovery {
		delivered := a.delivered
		if !c.sackOn && (advanced || a.duplicate) {
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

// updateCounts takes what an ACK changes before anything is judged by it: duplicate ACKs, and
// whether a loss probe is to be scheduled.
func (c *Conn) updateCounts(a *ackFacts) {
	r := &c.rec
	if a.acked > 0 || a.sacked > 0 {
		r.probeDue = true // or to be taken back: there is none while something is SACKed
	}
	if a.acked > 0 {
		r.tooBig = r.tooBig && c.sndUna.Before(r.tooBigEnd)
		r.undoable = r.undoable && !c.sndUna.After(r.recover.Add(1<<30)) // numbers come round again
		r.dup.Advanced(c.sndUna)
		if c.sackOn || c.caState != CARecovery {
			r.dup.Reset()
		} else {
			r.dup.Repaired((a.acked - 1) / c.mss)
		}
		c.fl.l6675.SMSS = c.mss
	}
	if a.duplicate && (!c.sackOn || a.sacked > 0) {
		r.dup.Count()
	}
}

// applyFeedback takes what an ACK says of what was done before it: of the loss probe in flight, of
// marks, and of what was spurious.
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
	// DEVIATION RFC 3522 §3.2 (5): there is no verdict by an ACK with a DSACK, nor by one of all
	// outstanding data while none has come before, since all ACKs of the flight may have been lost,
	// and the retransmission drawn this one. Then the data arrived all the same, and a DSACK would
	// undo it, too; Linux does not ask (tcp_packet_delayed).
	if a.acked > 0 && r.undoable && c.tsOn && r.eifel.OnAck(h.Options.TSEcr) == congestion.Spurious {
		c.undo(now, a, a.acked, o)
	}
	if c.fl.frto.Active() && (a.acked > 0 || a.duplicate) {
		c.stepFRTO(now, h, a, o)
	}
}

// pipe returns how many bytes are deemed to be on their way. Without SACK, each duplicate ACK
// tells of a segment that has arrived.
func (c *Conn) pipe() uint32 {
	n := c.fl.sent.Pipe().Bytes
	if !c.sackOn && c.caState != CALoss {
		dups := c.rec.dup.N()
		if c.caState != CARecovery {
			dups = min(dups, dupThresh-1) // RFC 3042 §2: limited transmit
		}
		// RFC 5681 §3.2: the sender may limit what duplicate ACKs stand for to what is outstanding.
		// A hole did not arrive.
		arrived := c.fl.sent.Outstanding().Segments
		dups = min(dups, arrived-min(arrived, max(c.fl.sent.Lost().Segments, 1)))
		n -= min(n, uint32(min(uint64(dups)*uint64(c.mss), 1<<30)))
	}
	return n
}

// detect finds what the ACK has shown to be lost, and enters recovery for it.
func (c *Conn) detect(now wheel.Time, a *ackFacts, leaving bool, o *Output) {
	r := &c.rec
	switch {
	case c.resendOnly():
		return
	case c.sackOn && c.cfg.Policy.RACK:
		if a.delivered > 0 || a.dsack || leaving {
			c.detectRACK(now, a, leaving, o)
		}
	case c.sackOn:
		before := c.fl.sent.Lost().Segments
		c.fl.l6675.Update(&c.fl.sent, func(id segmentID) { c.lowerRexmitHint(id) })
		a.lost = c.fl.sent.Lost().Segments > before
		if c.caState < CARecovery && c.fl.sent.Len() > 0 {
			// RFC 6675 §5: recovery begins with DupThresh duplicate ACKs, or when IsLost finds the
			// first segment lost.
			if r.dup.N() >= dupThresh && !c.beforeRecover() && !c.fl.sent.seg(c.fl.sent.Front()).Sacked() {
				c.markLost(c.fl.sent.Front())
				a.lost = true
			}
			if c.fl.sent.Lost().Segments > 0 && !c.beforeRecover() && (a.lost || !r.tooBig) {
				c.enterRecovery(now, a, o)
			}
		}
	case c.caState == CARecovery && a.acked > 0 && c.fl.sent.Len() > 0:
		// RFC 6582 §3.2 step 3: a partial ACK; "retransmit the first unacknowledged segment." It
		// does whatever PRR says, which counts on no more than was in flight, and has counted the
		// duplicate ACKs.
		c.markLost(c.fl.sent.Front())
		a.lost, r.forceFirst = true, true
	case c.caState < CARecovery && a.duplicate && c.fl.sent.Len() > 0 && r.dup.FastRetransmit(a.ack):
		c.markLost(c.fl.sent.Front())
		c.enterRecovery(now, a, o)
	}
	if c.rare != nil && c.rare.fine != nil {
		c.checkVegas(now, a, o)
	}
}

// checkVegas has the first segment be lost if it was sent longer ago than the fine-grained timeout,
// as TCP Vegas looks at duplicate ACKs and at the first ACKs after a retransmission.
func (c *Conn) checkVegas(now wheel.Time, a *ackFacts, o *Output) {
	if c.fl.sent.Len() == 0 || c.caState >= CALoss || !a.duplicate && a.acked == 0 {
		return
	}
	s := c.fl.sent.seg(c.fl.sent.Front())
	if s.Sacked() || s.RetransOut() || !c.rare.vegas.OnAck(now, a.duplicate, s.Sent, c.rare.fine.RTO()) {
		return
	}
	c.markLost(c.fl.sent.Front())
	if c.cfg.Reno && c.caState < CACWR && s.Seq.Before(c.rec.recover) {
		c.caState = CACWR // of a flight for which the window was reduced already, as Brakmo and Peterson have it
	}
	if c.caState != CARecovery {
		c.enterRecovery(now, a, o)
	}
}

// beforeRecover reports whether what is outstanding was sent before the last recovery by timeout
// began, so that a new one must not begin (RFC 6675 §5.1, RFC 6582 §3.2 step 2).
func (c *Conn) beforeRecover() bool { return c.caState == CALoss && c.sndUna.Before(c.rec.recover) }

// detectRACK is RACK's, for an ACK and when its timer expires.
func (c *Conn) detectRACK(now wheel.Time, a *ackFacts, leaving bool, o *Output) {
	r := &c.rec
	before := uint32(0)
	if a.byTimer {
		before = c.pipe()
	}
	found := false
	// With nothing in flight too: DSACKs and the end of a recovery change the window of reordering.
	timeout, ok := r.rack.Detect(now, &c.fl.sent, rackInput{
		SndUna: c.sndUna, SndNxt: c.sndNxt, SRTT: c.est.SRTT(),
		InRecovery: c.caState >= CARecovery, LeavingRecovery: leaving, DSACK: c.dsackWidens(a),
	}, func(id segmentID) {
		found = true
		if c.fl.sent.seg(id).RetransOut() {
			o.Counters.TCPLostRetransmit++
		}
		c.lowerRexmitHint(id)
	})
	switch shared := c.cfg.Policy.SharedTimer; {
	case !ok:
		c.stopLoss(o, tcptimers.Reorder)
	case !(shared && a.byTimer): // tcp_rack_reo_timeout of Linux looks once
		c.startLoss(o, tcptimers.Reorder, c.cfg.Policy.Deadline(now, timeout+c.cfg.Policy.ProbeSlack))
		a.startedReorder = true
	}
	a.lost = a.lost || found
	if c.caState < CARecovery && (found || c.fl.sent.pendingRexmits() > 0 && !r.tooBig) {
		c.enterRecovery(now, a, o)
		if a.byTimer { // no ACK follows to move PRR
			c.fl.sndcnt = c.fl.prr.OnAck(1, c.pipe(), false, true)
		}
	} else if a.byTimer && c.caState == CARecovery {
		// What turned out to be lost has left the room that it took, as in Linux.
		c.fl.sndcnt += before - c.pipe()
	}
}

// dsackWidens reports whether the DSACK of an ACK, if it has one, makes RACK's window of reordering
// grow.
func (c *Conn) dsackWidens(a *ackFacts) bool {
	return a.dsack && (!c.cfg.Policy.ReorderedDSACKs || c.rec.rack.ReorderingSeen() && !a.dsackProbe)
}

// beginEpisode resets what is known of the episode before.
func (c *Conn) beginEpisode(o *Output) {
	r := &c.rec
	r.recover, r.startUna = c.sndNxt, c.sndUna
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
	c.stopLoss(o, tcptimers.TLP)
}

// enterRecovery begins a fast recovery.
func (c *Conn) enterRecovery(now wheel.Time, a *ackFacts, o *Output) {
	r := &c.rec
	reduced := c.caState == CACWR
	if !reduced {
		c.cc.OnCongestion(now, c.fl.sent.Outstanding().Bytes, congestion.FastRetransmit)
	}
	c.beginEpisode(o)
	r.undoable = !reduced // that was for a congestion mark, or a loss that a probe has repaired: it stays
	r.rtoEpisode = false
	recoverFS := congestion.RecoverFS(c.fl.sent.Outstanding().Bytes, c.fl.sent.Sacked().Bytes, a.sacked, a.acked)
	c.fl.prr.Start(c.cc.Ssthresh(), c.mss, recoverFS)
	c.caState = CARecovery
	if c.sackOn {
		o.Counters.TCPSackRecovery++
		if !c.cfg.Policy.RACK {
			c.fl.l6675.Enter(c.sndUna, c.sndNxt)
		}
	} else {
		o.Counters.TCPRenoRecovery++
	}
}

// enterCWR reduces the window for congestion without a loss to repair. What was in flight before
// the ACK is what was too much.
func (c *Conn) enterCWR(now wheel.Time, a *ackFacts, o *Output, cause congestion.Cause) {
	c.cc.OnCongestion(now, a.flight, cause)
	c.caState = CACWR
	c.rec.recover, c.rec.undoable = c.sndNxt, false
	c.ecn.OnReduced(c.sndNxt)
}

// leaveRecovery ends the episode: what was outstanding when it began is acknowledged.
func (c *Conn) leaveRecovery(now wheel.Time, o *Output) {
	r := &c.rec
	if c.caState == CARecovery {
		c.cc.OnRecovered(now, c.fl.sent.Outstanding().Bytes)
		if !c.cfg.Policy.RACK || !c.sackOn {
			c.fl.l6675.Leave()
		}
	}
	c.fl.frto.Reset()
	r.forceFirst, r.frtoCredit = false, 0
	c.caState = CAOpen
	r.dup.Reset()
}
