package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// first sends the loss probe if its timer is due now too, in place of the timeout
// (RFC 8985 §7.2). It reports whether it did.
func (p *tlpState) first(snd *sender, now wheel.Time, o *Output) bool {
	if !snd.timers.runs(tcptimers.TLP) || snd.fl.probeAt > now {
		return false
	}
	snd.timers.stop(o, tcptimers.TLP)
	return p.expire(snd, now, o)
}

// forgetSACKs handles reneging: the first segment is SACKed, but not acknowledged a timeout later,
// so the receiver must have dropped it. RFC 2018 §5: "After a retransmit timeout the data sender
// SHOULD turn off all of the SACKed bits".
//
// DEVIATION RFC 2018 §5: other timeouts keep the bits, as in Linux; RFC 6675 §5.1 mentions the
// practice.
func (snd *sender) forgetSACKs(now wheel.Time, o *Output) {
	o.Counters.TCPSACKReneging++
	snd.fl.sent.ForgetSacks(func(id segmentID) {
		snd.timer().arm(snd, id, snd.cfg.Policy.Deadline(now, snd.rtt.est.RTO()), o)
	})
	snd.fl.rexmitHint = snd.una
}

// r2Over reports whether the policy's R2 is over. A user timeout replaces R2 and has its own timer.
// RFC 9293 §3.8.3: "An application MUST (MUST-21) be able to set the value for R2 for a particular
// connection."
func (snd *sender) r2Over(now, first wheel.Time, rexmits int) bool {
	return snd.opts.UserTimeout == 0 && snd.cfg.Policy.GivesUp(now, first, rexmits)
}

// givesUp reports whether R2 is reached: the connection must end. At R1 it warns the application.
// RFC 9293 §3.8.3.
func (snd *sender) givesUp(now wheel.Time, id segmentID, o *Output) bool {
	p := &snd.cfg.Policy
	s := snd.fl.sent.seg(id)
	n := int(s.Transmissions) - 1
	if n+1 == p.R1 {
		// RFC 9293 §3.8.3: at R1, "pass negative advice" "to the IP layer", and tell the
		// application (SHLD-9), for SYNs too.
		if snd.softErr == ErrNone {
			snd.softErr = ErrTimeout
		}
		o.Events |= EventSoftError
	}
	if !snd.established() {
		if !p.GivesUpSyn(now, s.FirstSent, !snd.rcv.opened) {
			return false
		}
		o.Counters.AttemptFails++
	} else {
		// A peer that answers with a window that it closed behind our data is alive.
		if snd.wnd.Wnd == 0 && snd.rcv.lastRecv > s.FirstSent && !snd.rcv.closed && !snd.r2Over(now, snd.rcv.lastRecv, 0) {
			return false
		}
		if !snd.r2Over(now, s.FirstSent, n) {
			return false
		}
	}
	return true
}

// timeout handles a retransmission timeout: RFC 6298 §5 (5.4) to (5.6), RFC 5681 §3.1,
// RFC 8985 §6.3.
func (snd *sender) timeout(now wheel.Time, id segmentID, o *Output) {
	o.Counters.TCPTimeouts++
	if !snd.established() {
		snd.timeoutSYN(now, id, o)
		return
	}
	base := snd.rtt.est.RTO()
	// RFC 6298 §5 (5.5): "The host MUST set RTO <- RTO * 2 ("back off the timer")."
	snd.rtt.est.Backoff()
	repairing := snd.ep.fast()
	snd.ep.enterLoss(snd, now, id, base, o)
	snd.timer().markLost(snd, now, id, base)
	snd.fl.rexmitHint = snd.una
	// One segment is sent whatever the window: RFC 6298 §5 (5.4): "Retransmit the earliest
	// segment".
	if first := snd.fl.nextToRexmit(); first != id {
		snd.timer().arm(snd, id, snd.cfg.Policy.Deadline(now, snd.rtt.est.RTO()), o)
		id = first
	}
	end := snd.fl.sent.seg(id).End()
	atFront := id == snd.fl.sent.Front()
	snd.retransmit(now, id, o)
	snd.timer().restart(snd, now, o) // RFC 6298 §5 (5.6)
	// RFC 5682 §3.1: not if the sender was in recovery already.
	if snd.cfg.Policy.FRTO && atFront && !repairing {
		snd.fl.frto.OnTimeout(uint32(snd.una), uint32(end), uint32(snd.nxt), snd.rcv.sackOn)
	} else {
		snd.fl.frto.Reset()
	}
}

// timeoutSYN handles the timeout of our SYN or SYN-ACK, segment id.
func (snd *sender) timeoutSYN(now wheel.Time, id segmentID, o *Output) {
	if snd.rcv.opened || snd.cfg.Policy.BacksOffSyn(int(snd.fl.sent.seg(id).Transmissions)-1) {
		snd.rtt.est.Backoff()
	}
	snd.rtt.synLost = snd.rtt.synLost || !snd.rtt.deferred
	snd.retransmit(now, id, o)
	snd.timer().restart(snd, now, o)
}

// changeTimers makes the timers follow the new policy.
func (snd *sender) changeTimers(now wheel.Time, was *Config, o *Output) {
	p, old := &snd.cfg.Policy, &was.Policy
	if *p == *old {
		return
	}
	if p.Estimator != old.Estimator || p.Bounds != old.Bounds || p.RTTTick != old.RTTTick || p.VarMin != old.VarMin {
		srtt := snd.rtt.est.SRTT()
		snd.rtt.est = p.NewEstimator()
		if srtt > 0 || !snd.rtt.synLost { // the handshake gave a sample, perhaps of 0
			snd.rtt.est.Sample(tcptimers.Sample{RTT: max(srtt, 1), Round: true, Expected: 1})
		}
	}
	snd.rtt.timed = snd.rtt.timed && p.OneSample
	if !p.TLP {
		snd.timers.stop(o, tcptimers.TLP)
	}
	snd.timers.stop(o, tcptimers.Rexmit)
	snd.timers.stopSegments(o, &snd.fl.sent)
	if snd.fl.sent.Len() > 0 {
		snd.timer().rebase(snd, now, now, o)
	}
}
