package tcp

import "tcpwheel/wheel"

// admit is the first four steps of RFC 9293 §3.10.7.4, with what RFC 7323 and RFC 5961 have added, for the segment that a stands
// for. It reports whether the fifth is to follow; if not, the segment was answered as it must be.
func (c *Conn) admit(now wheel.Time, in *Inbound, a Arrival, o *Output) (fit acceptability, ok bool) {
	h := in.Header
	nxt := c.rq.Nxt()
	wnd := c.win.Wnd(nxt)
	rst := h.Flags.Has(RST)

	if c.state.synchronized() && a.SYN && !rst {
		c.challengeSYN(now, o) // whatever its timestamp is, too
		return fit, false
	}
	if c.tsOn && !c.passesPAWS(now, h, a, o) {
		return fit, false
	}

	// First, check sequence number.
	fit = checkSequence(nxt, wnd, a.Seq, a.SegLen())
	if fit == unacceptable && !rst {
		c.refuseSegment(now, a, wnd, o)
		return fit, false
	}

	// Second, check the RST bit.
	if rst {
		switch checkRST(nxt, wnd, h.Seq) {
		case rstReset:
			c.peerReset(o)
		case rstChallenge:
			c.challenge(now, o)
		}
		return fit, false
	}

	// The third step, of security compartments, is not done. Fourth, check the SYN bit: in SYN-RECEIVED, as the other states have
	// come no further than to the challenge.
	if a.SYN && c.passive {
		// RFC 9293 §3.10.7.4: "If the connection was initiated with a passive OPEN, then return this connection to the LISTEN
		// state and return."
		c.peerReset(o)
		return fit, false
	}
	if a.SYN {
		c.challengeSYN(now, o)
		return fit, false
	}
	return fit, true
}

// passesPAWS reports whether the timestamp of a segment lets it go on (RFC 7323 §5.3), and answers it if not.
func (c *Conn) passesPAWS(now wheel.Time, h *Header, a Arrival, o *Output) bool {
	switch c.paws.Check(now, h.Options.HasTimestamps, h.Options.TSVal, h.Flags.Has(RST)) {
	case pawsOld:
		// RFC 7323 §5.3, R1: "Send an acknowledgment in reply" "and drop the segment."
		o.Counters.PAWSEstab++
		c.insertOld(a, o)
		if !c.answerUnacceptable(now, o, a.SegLen() > 0 && !a.SYN) {
			o.Counters.TCPACKSkippedPAWS++
		}
		return false
	case pawsMissing:
		return a.SYN // of a peer that has begun anew, and is to learn that there is a connection
	}
	return true
}

// refuse answers a segment that is not in the window of wnd octets. RFC 9293 §3.10.7.4: "If an incoming segment is not acceptable, an
// acknowledgment should be sent in reply".
func (c *Conn) refuseSegment(now wheel.Time, a Arrival, wnd uint32, o *Output) {
	c.insertOld(a, o)
	if wnd == 0 && a.Len > 0 {
		o.Counters.TCPZeroWindowDrop++
	}
	if c.state == StateTimeWait && a.FIN {
		c.restartTimeWait(now, o)
	}
	if !c.answerUnacceptable(now, o, a.SegLen() > 0 && !a.SYN) {
		*c.skippedAckCounter(o)++
	}
}

// insertOld has the next ACK report what of a segment that is not acceptable was received before (RFC 2883 §4).
func (c *Conn) insertOld(a Arrival, o *Output) {
	if a.Len == 0 {
		return
	}
	fit := trimToWindow(c.rq.Nxt(), 0, a)
	if fit.Old.Len() == 0 {
		return
	}
	o.Counters.DelayedACKLost++
	if c.sackOn {
		c.noteInsertion(&insertion{Duplicate: fit.Old})
	}
}

// answer sends an ACK for a segment that is not acceptable: at once if it has data or a FIN, which is no part of a war of ACKs,
// and no more often than the interval if not. It reports whether it did.
func (c *Conn) answerUnacceptable(now wheel.Time, o *Output, always bool) bool {
	if r := c.rare; !always && r != nil && r.answered && now.Sub(r.answeredAt) < c.cfg.InvalidAckInterval {
		return false
	}
	if !always {
		r := c.needRare()
		r.answeredAt, r.answered = now, true
	}
	if c.state == StateSynReceived {
		if id := c.fl.sent.Front(); id != 0 {
			// DEVIATION RFC 9293 §3.10.7.4: a SYN-ACK goes out, not an ACK alone, as in Linux; the timer stays as it is.
			// Which of them the ACK will be for nobody knows: it is no sample of the round trip (RFC 6298 §3).
			s := c.fl.sent.Get(id)
			c.emitSYN(now, s.Transmissions, o)
			s.Transmissions = min(s.Transmissions, 254) + 1
			c.timed = false
		}
		return true
	}
	c.sendAck(now, o)
	return true
}

// answerSYN answers the peer's SYN that has come once more: our SYN-ACK was lost.
func (c *Conn) answerSYN(now wheel.Time, h *Header, o *Output) {
	if c.fl.sent.Len() == 0 || h.Flags.Has(RST) {
		return
	}
	if !ecnSetupSYN(h.Flags.Has(ECE), h.Flags.Has(CWR)) {
		// RFC 3168 §6.1.1: a host that has received a SYN without ECN should not set ECT.
		c.ecn.Disable()
	}
	c.answerUnacceptable(now, o, true)
}

// skipped is the counter of answers that were not given, as Linux has them by state.
func (c *Conn) skippedAckCounter(o *Output) *uint64 {
	switch c.state {
	case StateSynReceived:
		return &o.Counters.TCPACKSkippedSynRecv
	case StateFinWait2:
		return &o.Counters.TCPACKSkippedFinWait2
	case StateTimeWait:
		return &o.Counters.TCPACKSkippedTimeWait
	}
	return &o.Counters.TCPACKSkippedSeq
}

// challenge sends a challenge ACK, as far as there may be one (RFC 5961 §7).
func (c *Conn) challenge(now wheel.Time, o *Output) {
	if o.Challenge != nil && !o.Challenge.Allow(now) {
		o.Counters.TCPACKSkippedChallenge++
		return
	}
	o.Counters.TCPChallengeACK++
	c.sendAck(now, o)
}

// challengeSYN answers a SYN on a connection that is there. RFC 5961 §4.2: "If the SYN bit is set, irrespective of the sequence number,
// TCP MUST send an ACK (also referred to as challenge ACK) to the remote peer".
func (c *Conn) challengeSYN(now wheel.Time, o *Output) {
	o.Counters.TCPSYNChallenge++
	c.challenge(now, o)
}

// reset is what an acceptable RST does: RFC 9293 §3.10.7.4, second.
func (c *Conn) peerReset(o *Output) {
	switch c.state {
	case StateSynReceived:
		o.Counters.AttemptFails++
		o.Counters.EmbryonicRsts++
		if c.passive {
			c.closed(ErrReset, o) // back to LISTEN, which is the listener's
		} else {
			c.closed(ErrRefused, o)
		}
	case StateEstablished, StateCloseWait:
		o.Counters.EstabResets++
		c.closed(ErrReset, o)
	case StateFinWait1, StateFinWait2:
		c.closed(ErrReset, o)
	default: // CLOSING, LAST-ACK, TIME-WAIT
		// RFC 9293 §3.6 (MUST-12): the application is to know whether the connection "closed normally or was aborted". With
		// data unacknowledged it was not normal.
		err := ErrNone
		if c.sndUna.Before(c.sndEnd) {
			err = ErrReset
		}
		c.closed(err, o)
	}
}
