package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// expireRexmit is the expiry of the only retransmission timer: RFC 6298 §5 (5.4): "Retransmit the
// earliest segment that has not been acknowledged by the TCP receiver."
func (c *Conn) expireRexmit(now wheel.Time, o *Output) {
	id := c.fl.sent.Front()
	if id == 0 {
		return
	}
	if c.probeFirst(now, o) {
		return
	}
	if c.fl.sent.seg(id).Sacked() {
		c.forgetSACKs(o)
	}
	if c.givesUp(now, id, o) {
		return
	}
	c.timeout(now, id, o)
}

// expireSegment is the expiry of the retransmission timer of the segment id.
func (c *Conn) expireSegment(now wheel.Time, id segmentID, o *Output) {
	p := &c.cfg.Policy
	if c.probeFirst(now, o) && c.fl.sent.has(id) && c.fl.sent.seg(id).Armed {
		return // the segment was the probe, and its timer runs again
	}
	s := c.fl.sent.seg(id)
	inChain := c.caState == CALoss && s.Sent < c.fl.lossAt

	// The timeout may have grown since the timer was armed. What left before a timeout that is an
	// event already keeps the timeout of then: backing off is for what is sent after it.
	rto := c.est.RTO()
	if inChain {
		rto = c.fl.timeoutRTO
	}
	due := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: s.Sent})
	if c.rec.tlp.inFlight {
		// RFC 8985 §7.3: after a probe, the retransmission timer counts from there.
		due = max(due, p.Deadline(c.fl.probedAt, rto))
	}
	if front := c.fl.sent.Front(); c.caState == CARecovery && !c.sackOn && id != front {
		// Without SACK there is no word of a segment behind a hole until the hole is filled: that
		// it has none of its own says nothing. The segment waits for as long as the first one may,
		// which was sent again after it.
		due = max(due, p.Deadline(c.fl.sent.seg(front).Sent, rto))
	}
	if due > now {
		c.rearmSegment(id, due, o)
		return
	}
	switch {
	case s.Sacked():
		if id != c.fl.sent.Front() {
			c.rearmSegment(id, p.Deadline(now, c.est.RTO()), o)
			return
		}
		c.forgetSACKs(o)
	case s.state.needsRexmit() && !c.stalled(now, id, rto):
		// Known to be lost, and waiting for the leave of congestion control, or for F-RTO, which
		// has waited for long enough.
		if now.Sub(c.fl.lossAt) >= c.fl.timeoutRTO { // not one of the flight that is expiring
			c.fl.frto.Reset()
		}
		c.rearmSegment(id, p.Deadline(now, c.est.RTO()), o)
		return
	case inChain:
		// One flight, one event: the window and the backoff have had theirs. What was sent no later
		// expires at this instant too, and is lost before anything leaves: so the earliest leaves
		// first, whatever the order of the timers.
		for next := c.fl.sent.oldest; next != 0 && c.fl.sent.seg(next).Sent <= s.Sent; next = c.fl.sent.oldest {
			c.markLost(next)
		}
		if !s.state.needsRexmit() {
			c.markLost(id)
		}
		c.rearmSegment(id, p.Deadline(now, c.est.RTO()), o)
		return
	}
	if c.givesUp(now, id, o) {
		return
	}
	c.timeout(now, id, o)
}

// stalled reports whether the segment id, which waits to be retransmitted, would wait for ever:
// nothing is on its way that an ACK could answer, or it is the first one, and nothing came for as
// long as the timeout.
func (c *Conn) stalled(now wheel.Time, id segmentID, rto time.Duration) bool {
	if c.caState == CARecovery && c.fl.sent.Pipe().Bytes == 0 {
		return true
	}
	return id == c.fl.sent.Front() && now > c.fl.lossAt && !c.fl.frto.Active() && now.Sub(c.lastRecv) >= rto
}

// probeFirst has a loss probe leave whose timer is due at the same instant, which takes the place
// of the timeout (RFC 8985 §7.2), and reports whether it left.
func (c *Conn) probeFirst(now wheel.Time, o *Output) bool {
	if !c.runs(tcptimers.TLP) || c.fl.probeAt > now {
		return false
	}
	c.stop(o, tcptimers.TLP)
	return c.expireProbe(now, o)
}

// forgetSACKs is what follows from a first segment that is SACKed and still not acknowledged a
// timeout later: the receiver has dropped what it held. RFC 2018 §5: "After a retransmit timeout
// the data sender SHOULD turn off all of the SACKed bits".
//
// DEVIATION RFC 2018 §5: at other timeouts the bits stay, as in Linux; RFC 6675 §5.1 knows of the
// practice.
func (c *Conn) forgetSACKs(o *Output) {
	o.Counters.TCPSACKReneging++
	c.fl.sent.ForgetSacks(nil)
	c.fl.rexmitHint = c.sndUna
}

// r2Over reports whether R2 of the policy is over. A user timeout takes its place, and has a timer
// of its own. RFC 9293 §3.8.3: "An application MUST (MUST-21) be able to set the value for R2 for a
// particular connection."
func (c *Conn) r2Over(now, first wheel.Time, rexmits int) bool {
	return c.opts.UserTimeout == 0 && c.cfg.Policy.GivesUp(now, first, rexmits)
}

// givesUp closes the connection at R2 (RFC 9293 §3.8.3), and tells the application at R1.
func (c *Conn) givesUp(now wheel.Time, id segmentID, o *Output) bool {
	p := &c.cfg.Policy
	s := c.fl.sent.seg(id)
	n := int(s.Transmissions) - 1
	if n+1 == p.R1 {
		// RFC 9293 §3.8.3: at R1, "pass negative advice" "to the IP layer", and tell the
		// application (SHLD-9), of SYNs too.
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
		// A peer that still answers, with a window that it has closed behind us, is alive.
		if c.snd.Wnd == 0 && c.lastRecv > s.FirstSent && !c.readClosed && !c.r2Over(now, c.lastRecv, 0) {
			return false
		}
		if !c.r2Over(now, s.FirstSent, n) {
			return false
		}
	}
	c.timedOut(o)
	return true
}

// timeout is the event: RFC 6298 §5 (5.4) to (5.6), RFC 5681 §3.1, RFC 8985 §6.3.
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
	// One segment leaves whatever the window says: RFC 6298 §5 (5.4): "Retransmit the earliest
	// segment".
	if first := c.nextToRexmit(); first != id {
		if c.perSegment() {
			c.rearmSegment(id, c.cfg.Policy.Deadline(now, c.est.RTO()), o)
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
	// RFC 5682 §3.1: not if the sender was in loss recovery already.
	if c.cfg.Policy.FRTO && atFront && was != CARecovery {
		c.fl.frto.OnTimeout(uint32(c.sndUna), uint32(end), uint32(c.sndNxt), c.sackOn)
	} else {
		c.fl.frto.Reset()
	}
}

// timeoutSYN is the timeout of our SYN or SYN-ACK, which is the segment id.
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

// enterLoss has congestion control respond to the timeout of the segment id, which was base, and
// begins the episode, or the next in a chain of them.
func (c *Conn) enterLoss(now wheel.Time, id segmentID, base time.Duration, o *Output) {
	r := &c.rec
	s := c.fl.sent.seg(id)
	chained := c.caState == CALoss
	first := !(chained && s.Retransmitted() && s.Seq.Before(r.recover)) // it was not retransmitted by a timeout of this episode
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
	c.fl.lossAt = now
	undoable := r.undoable || !chained
	c.beginEpisode(o)
	r.rtoEpisode, r.undoable = true, undoable
	r.forceFirst, r.frtoCredit = false, 0
	c.fl.sndcnt = 0
	c.stop(o, tcptimers.Reorder)
	c.stop(o, tcptimers.Pacing)
}

// markTimeout marks what the timeout of the segment id, which was base, shows to be lost.
func (c *Conn) markTimeout(now wheel.Time, id segmentID, base time.Duration) {
	s := c.fl.sent.seg(id)
	switch {
	case c.perSegment():
		// The others of the flight have timers of their own, and are lost when these expire. Some
		// do at this very instant.
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
