package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// expireRexmit handles the expiry of the single retransmission timer. RFC 6298 §5 (5.4):
// "Retransmit the earliest segment that has not been acknowledged by the TCP receiver."
func (c *Conn) expireRexmit(now wheel.Time, o *Output) {
	id := c.fl.sent.Front()
	if id == 0 {
		return
	}
	if c.probeFirst(now, o) {
		return
	}
	if c.fl.sent.seg(id).Sacked() {
		c.forgetSACKs(now, o)
	}
	if c.givesUp(now, id, o) {
		return
	}
	c.timeout(now, id, o)
}

// expireSegment handles the expiry of segment id's retransmission timer.
func (c *Conn) expireSegment(now wheel.Time, id segmentID, o *Output) {
	p := &c.cfg.Policy
	if c.probeFirst(now, o) && c.fl.sent.has(id) && c.fl.sent.seg(id).Armed {
		return // the probe was this segment; its timer was restarted
	}
	s := c.fl.sent.seg(id)
	inChain := c.caState == CALoss && s.Sent < c.fl.lossAt

	rto := c.est.RTO()
	if inChain {
		// A segment sent before an ongoing timeout event keeps the RTO from before the backoff.
		rto = c.fl.timeoutRTO
	}
	// The RTO may have grown since the timer was armed.
	due := c.segmentDue(now, id, rto)
	if due > now {
		c.timers.startSegment(o, &c.fl.sent, id, due)
		return
	}
	switch {
	case s.Sacked():
		c.forgetSACKs(now, o)
	case s.state.needsRexmit() && !c.stalled(now, id, rto):
		// The segment is known to be lost. It waits for congestion control or F-RTO; F-RTO has
		// waited long enough.
		if now.Sub(c.fl.lossAt) >= c.fl.timeoutRTO { // not part of the expiring flight
			c.fl.frto.Reset()
		}
		c.timers.startSegment(o, &c.fl.sent, id, p.Deadline(now, c.est.RTO()))
		return
	case inChain:
		// One flight, one event: the window was reduced and the RTO backed off already. Other
		// segments sent no later expire now too. Mark them lost before anything is sent, so that
		// the earliest is retransmitted first whatever the order of the timers.
		for next := c.fl.sent.oldest; next != 0 && c.fl.sent.seg(next).Sent <= s.Sent; next = c.fl.sent.oldest {
			c.markLost(next)
		}
		if !s.state.needsRexmit() {
			c.markLost(id)
		}
		c.timers.startSegment(o, &c.fl.sent, id, p.Deadline(now, c.est.RTO()))
		return
	}
	if c.givesUp(now, id, o) {
		return
	}
	c.timeout(now, id, o)
}

// segmentDue returns when the retransmission timer of segment id should expire with a timeout of
// rto.
func (c *Conn) segmentDue(now wheel.Time, id segmentID, rto time.Duration) wheel.Time {
	p := &c.cfg.Policy
	due := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: c.fl.sent.seg(id).Sent})
	if c.rec.tlp.inFlight {
		// RFC 8985 §7.3: after a probe, the RTO counts from the probe.
		due = max(due, p.Deadline(c.fl.probedAt, rto))
	}
	if front := c.fl.sent.Front(); c.caState == CARecovery && !c.sackOn && id != front {
		// Without SACK, nothing reports on segments behind a hole until the hole is filled. So this
		// segment waits as long as the first one, which was retransmitted after it.
		due = max(due, p.Deadline(c.fl.sent.seg(front).Sent, rto))
	}
	return due
}

// stalled reports whether segment id, which waits to be retransmitted, could wait forever. Either
// nothing is in flight to draw an ACK, or id is the first segment and nothing arrived for rto.
func (c *Conn) stalled(now wheel.Time, id segmentID, rto time.Duration) bool {
	if c.caState == CARecovery && c.fl.sent.Pipe().Bytes == 0 {
		return true
	}
	return id == c.fl.sent.Front() && now > c.fl.lossAt && !c.fl.frto.Active() && now.Sub(c.lastRecv) >= rto
}

// probeFirst sends the loss probe if its timer is due now too, in place of the timeout
// (RFC 8985 §7.2). It reports whether it did.
func (c *Conn) probeFirst(now wheel.Time, o *Output) bool {
	if !c.timers.runs(tcptimers.TLP) || c.fl.probeAt > now {
		return false
	}
	c.timers.stop(o, tcptimers.TLP)
	return c.expireProbe(now, o)
}

// forgetSACKs handles reneging: the first segment is SACKed, but not acknowledged a timeout later,
// so the receiver must have dropped it. RFC 2018 §5: "After a retransmit timeout the data sender
// SHOULD turn off all of the SACKed bits".
//
// DEVIATION RFC 2018 §5: other timeouts keep the bits, as in Linux; RFC 6675 §5.1 mentions the
// practice.
func (c *Conn) forgetSACKs(now wheel.Time, o *Output) {
	o.Counters.TCPSACKReneging++
	c.fl.sent.ForgetSacks(func(id segmentID) {
		if c.perSegment() {
			c.timers.startSegment(o, &c.fl.sent, id, c.cfg.Policy.Deadline(now, c.est.RTO()))
		}
	})
	c.fl.rexmitHint = c.sndUna
}

// r2Over reports whether the policy's R2 is over. A user timeout replaces R2 and has its own timer.
// RFC 9293 §3.8.3: "An application MUST (MUST-21) be able to set the value for R2 for a particular
// connection."
func (c *Conn) r2Over(now, first wheel.Time, rexmits int) bool {
	return c.opts.UserTimeout == 0 && c.cfg.Policy.GivesUp(now, first, rexmits)
}

// givesUp closes the connection at R2 and reports whether it did. At R1 it warns the application.
// RFC 9293 §3.8.3.
func (c *Conn) givesUp(now wheel.Time, id segmentID, o *Output) bool {
	p := &c.cfg.Policy
	s := c.fl.sent.seg(id)
	n := int(s.Transmissions) - 1
	if n+1 == p.R1 {
		// RFC 9293 §3.8.3: at R1, "pass negative advice" "to the IP layer", and tell the
		// application (SHLD-9), for SYNs too.
		if c.softErr == ErrNone {
			c.softErr = ErrTimeout
		}
		o.Events |= EventSoftError
	}
	if c.state == StateSynSent || c.state == StateSynReceived {
		if !p.GivesUpSyn(now, s.FirstSent, c.state == StateSynSent) {
			return false
		}
		o.Counters.AttemptFails++
	} else {
		// A peer that answers with a window that it closed behind our data is alive.
		if c.snd.Wnd == 0 && c.lastRecv > s.FirstSent && !c.readClosed && !c.r2Over(now, c.lastRecv, 0) {
			return false
		}
		if !c.r2Over(now, s.FirstSent, n) {
			return false
		}
	}
	c.timedOut(now, o)
	return true
}

// timeout handles a retransmission timeout: RFC 6298 §5 (5.4) to (5.6), RFC 5681 §3.1,
// RFC 8985 §6.3.
func (c *Conn) timeout(now wheel.Time, id segmentID, o *Output) {
	o.Counters.TCPTimeouts++
	if c.state == StateSynSent || c.state == StateSynReceived {
		c.timeoutSYN(now, id, o)
		return
	}
	base := c.est.RTO()
	// RFC 6298 §5 (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer")."
	c.est.Backoff()
	was := c.caState
	c.enterLoss(now, id, base, o)
	c.markTimeout(now, id, base)
	c.fl.rexmitHint = c.sndUna
	// One segment is sent whatever the window: RFC 6298 §5 (5.4): "Retransmit the earliest
	// segment".
	if first := c.nextToRexmit(); first != id {
		if c.perSegment() {
			c.timers.startSegment(o, &c.fl.sent, id, c.cfg.Policy.Deadline(now, c.est.RTO()))
		}
		id = first
	}
	end := c.fl.sent.seg(id).End()
	atFront := id == c.fl.sent.Front()
	c.retransmit(now, id, o)
	if !c.perSegment() {
		// RFC 6298 §5 (5.6): "Start the retransmission timer, such that it expires after RTO
		// seconds".
		c.restartRexmit(now, o)
	}
	// RFC 5682 §3.1: not if the sender was in recovery already.
	if c.cfg.Policy.FRTO && atFront && was != CARecovery {
		c.fl.frto.OnTimeout(uint32(c.sndUna), uint32(end), uint32(c.sndNxt), c.sackOn)
	} else {
		c.fl.frto.Reset()
	}
}

// timeoutSYN handles the timeout of our SYN or SYN-ACK, segment id.
func (c *Conn) timeoutSYN(now wheel.Time, id segmentID, o *Output) {
	if c.state == StateSynReceived || c.cfg.Policy.BacksOffSyn(int(c.fl.sent.seg(id).Transmissions)-1) {
		c.est.Backoff()
	}
	c.synLost = c.synLost || !c.openDeferred
	c.retransmit(now, id, o)
	if !c.perSegment() {
		c.restartRexmit(now, o)
	}
}

// enterLoss applies the congestion response to the timeout of segment id, whose RTO was base. It
// begins a recovery episode, or continues a chain of timeouts.
func (c *Conn) enterLoss(now wheel.Time, id segmentID, base time.Duration, o *Output) {
	r := &c.rec
	s := c.fl.sent.seg(id)
	chained := c.caState == CALoss
	// The segment was not yet retransmitted by a timeout of this episode.
	first := !(chained && s.Retransmitted() && s.Seq.Before(r.recover))
	c.cc.OnTimeout(now, c.fl.sent.Outstanding().Bytes, first)
	if first {
		c.fl.timeoutRTO = base
	}
	switch {
	case chained:
		o.Counters.TCPLossFailures++
	case c.caState == CARecovery && c.sackOn:
		o.Counters.TCPSackFailures++
	case c.caState == CARecovery:
		o.Counters.TCPRenoFailures++
	}
	c.fl.l6675.Leave()
	c.caState = CALoss
	c.fl.lossAt, c.fl.lossDelivered = now, c.delivered
	undoable := r.undoable || !chained
	c.beginEpisode(o)
	r.rtoEpisode, r.undoable = true, undoable
	r.forceFirst, r.frtoCredit = false, 0
	c.fl.sndcnt = 0
	c.timers.stop(o, tcptimers.Reorder)
	c.timers.stop(o, tcptimers.Pacing)
}

// markTimeout marks what the timeout of segment id, whose RTO was base, shows to be lost.
func (c *Conn) markTimeout(now wheel.Time, id segmentID, base time.Duration) {
	s := c.fl.sent.seg(id)
	switch {
	case c.perSegment():
		// The other segments of the flight have their own timers and are lost when these expire.
		// Some expire at this instant.
		if !s.state.needsRexmit() {
			c.markLost(id)
		}
		for next := c.fl.sent.oldest; next != 0 && c.cfg.Policy.Deadline(c.fl.sent.seg(next).Sent, base) <= now; next = c.fl.sent.oldest {
			c.markLost(next)
		}
	case c.sackOn && c.cfg.Policy.RACK:
		c.rec.rack.MarkLossesOnRTO(now, &c.fl.sent, c.lowerRexmitHint)
		if s = c.fl.sent.seg(id); !s.Lost() || s.RetransOut() {
			c.markLost(id)
		}
	default:
		for next := c.fl.sent.nextUnsacked(c.fl.sent.Front()); next != 0; next = c.fl.sent.nextUnsacked(c.fl.sent.seg(next).next) {
			if !c.fl.sent.seg(next).state.needsRexmit() {
				c.markLost(next)
			}
		}
	}
}
