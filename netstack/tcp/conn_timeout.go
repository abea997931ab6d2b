package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

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
		c.timer().arm(c, id, c.cfg.Policy.Deadline(now, c.est.RTO()), o)
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
	c.timer().markLost(c, now, id, base)
	c.fl.rexmitHint = c.sndUna
	// One segment is sent whatever the window: RFC 6298 §5 (5.4): "Retransmit the earliest
	// segment".
	if first := c.nextToRexmit(); first != id {
		c.timer().arm(c, id, c.cfg.Policy.Deadline(now, c.est.RTO()), o)
		id = first
	}
	end := c.fl.sent.seg(id).End()
	atFront := id == c.fl.sent.Front()
	c.retransmit(now, id, o)
	c.timer().restart(c, now, o) // RFC 6298 §5 (5.6)
	// RFC 5682 §3.1: not if the sender was in recovery already.
	if c.cfg.Policy.FRTO && atFront && was != CARecovery {
		c.fl.frto.OnTimeout(uint32(c.sndUna), uint32(end), uint32(c.sndNxt), c.rcv.sackOn)
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
	c.timer().restart(c, now, o)
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
	case c.caState == CARecovery:
		c.losses().failed(o)
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
