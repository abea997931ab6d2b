package tcp

import "tcpwheel/wheel"

// admit performs the first four steps of RFC 9293 §3.10.7.4, with the checks of RFC 7323 and
// RFC 5961, on the segment of a. ok reports whether processing goes on with the fifth. If not, the
// segment has been answered as required.
func (c *Conn) admit(now wheel.Time, in *Inbound, a Arrival, o *Output) (fit acceptability, ok bool) {
	h := in.Header
	nxt, wnd := c.rcv.nxt(), c.rcv.wnd()
	rst := h.Flags.Has(RST)

	if c.state.synchronized() && a.SYN && !rst {
		o.Counters.TCPSYNChallenge++
		c.challenge(now, o) // whatever its timestamp is
		return fit, false
	}
	if c.rcv.tsOn && !c.passesPAWS(now, h, a, o) {
		return fit, false
	}

	// First, check sequence number.
	fit = checkSequence(nxt, wnd, a.Seq, a.SegLen())
	if fit == unacceptable && !rst {
		c.refuseSegment(now, h, a, wnd, o)
		return fit, false
	}

	// Second, check the RST bit.
	if rst {
		switch checkRST(nxt, wnd, h.Seq) {
		case rstReset:
			c.peerReset(now, o)
		case rstChallenge:
			c.challenge(now, o)
		}
		return fit, false
	}

	// The third step, security compartments, is not implemented. Fourth, check the SYN bit. Only
	// SYN-RECEIVED gets here; the synchronized states have sent a challenge ACK above.
	if a.SYN && c.passive {
		// RFC 9293 §3.10.7.4: "If the connection was initiated with a passive OPEN, then return
		// this connection to the LISTEN state and return."
		c.peerReset(now, o)
		return fit, false
	}
	if a.SYN {
		o.Counters.TCPSYNChallenge++
		c.challenge(now, o)
		return fit, false
	}
	return fit, true
}

// passesPAWS reports whether a segment passes PAWS (RFC 7323 §5.3), and answers it if not.
func (c *Conn) passesPAWS(now wheel.Time, h *Header, a Arrival, o *Output) bool {
	switch c.rcv.paws.Check(now, h.Options.HasTimestamps, h.Options.TSVal, h.Flags.Has(RST)) {
	case pawsOld:
		if c.state == StateSynReceived && h.Flags&(ACK|SYN) == ACK && !opens(c, h.Ack) {
			// RFC 9293 §3.5.2: in a non-synchronized state a reset answers a segment that
			// acknowledges something not yet sent. Linux checks this before the timestamp
			// (tcp_check_req).
			c.snd.answerWithRST(h.Ack, o)
			return false
		}
		// RFC 7323 §5.3, R1: "Send an acknowledgment in reply" "and drop the segment."
		o.Counters.PAWSEstab++
		c.rcv.repeated(a, o)
		if !c.answerUnacceptable(now, o, a.SegLen() > 0 && !a.SYN) {
			o.Counters.TCPACKSkippedPAWS++
		}
		return false
	case pawsMissing:
		// DEVIATION RFC 7323 §3.2, SHOULD: the segment is processed, as in Linux and gVisor, since
		// middleboxes strip options. Config.RequireTimestamps drops it. A SYN goes on in any case:
		// its peer has restarted and must learn that the connection exists.
		return a.SYN || !c.snd.cfg.RequireTimestamps
	}
	return true
}

// refuseSegment answers an unacceptable segment; wnd is RCV.WND. RFC 9293 §3.10.7.4: "If an
// incoming segment is not acceptable, an acknowledgment should be sent in reply".
func (c *Conn) refuseSegment(now wheel.Time, h *Header, a Arrival, wnd uint32, o *Output) {
	c.rcv.repeated(a, o)
	if wnd == 0 && a.Len > 0 {
		o.Counters.TCPZeroWindowDrop++
	}
	if c.state == StateTimeWait && a.FIN {
		c.life.timeWait(c, now, o)
	}
	if !c.answerUnacceptable(now, o, a.SegLen() > 0 && !a.SYN) {
		*skippedAckCounter(c.state, o)++
	} else if c.snd.persist.ackAtEdge && h.Flags.Has(ACK) && h.Ack.After(c.snd.una) && h.Ack.AtOrBefore(c.snd.nxt) {
		// The peer has data beyond the edge of the window that we know: at that edge it would find our
		// ACK unacceptable, too, and both ends would refuse each other's ACKs forever.
		o.Segments[len(o.Segments)-1].Header.Seq, c.snd.persist.ackAtEdge = c.snd.nxt, false
	}
}

// answerUnacceptable sends an ACK for an unacceptable segment, and reports whether it did. always
// is set for segments with data or a FIN, which cannot start an ACK war. Other answers are at least
// InvalidAckInterval apart.
func (c *Conn) answerUnacceptable(now wheel.Time, o *Output, always bool) bool {
	if !always && c.answered && now.Sub(c.answeredAt) < c.snd.cfg.InvalidAckInterval {
		return false
	}
	if !always {
		c.answeredAt, c.answered = now, true
	}
	if c.state == StateSynReceived {
		if id := c.snd.fl.sent.Front(); id != 0 {
			// DEVIATION RFC 9293 §3.10.7.4: the answer is a SYN-ACK, not a plain ACK: if ours was
			// lost, it repairs that. The timer keeps running. The ACK may be for either SYN-ACK, so
			// it gives no RTT sample (RFC 6298 §3).
			s := c.snd.fl.sent.Get(id)
			c.snd.emitSYN(now, s.Transmissions, o)
			s.Transmissions = min(s.Transmissions, 254) + 1
			c.snd.rtt.timed = false
		}
		return true
	}
	c.snd.sendAck(now, o)
	return true
}

// answerSYN answers a duplicate of the peer's SYN: our SYN-ACK was lost.
func (c *Conn) answerSYN(now wheel.Time, h *Header, o *Output) {
	if c.snd.fl.sent.Len() == 0 || h.Flags.Has(RST) {
		return
	}
	if !ecnSetupSYN(h.Flags.Has(ECE), h.Flags.Has(CWR)) {
		// RFC 3168 §6.1.1: a host that received a SYN without ECN should not set ECT.
		c.snd.ecn.Disable()
	}
	c.answerUnacceptable(now, o, true)
}

// skippedAckCounter returns Linux's counter of unsent answers for the state.
func skippedAckCounter(s State, o *Output) *uint64 {
	switch s {
	case StateSynReceived:
		return &o.Counters.TCPACKSkippedSynRecv
	case StateFinWait2:
		return &o.Counters.TCPACKSkippedFinWait2
	case StateTimeWait:
		return &o.Counters.TCPACKSkippedTimeWait
	}
	return &o.Counters.TCPACKSkippedSeq
}

// challenge sends a challenge ACK if the limiter allows (RFC 5961 §7). RFC 5961 §4.2: "If the SYN bit
// is set, irrespective of the sequence number, TCP MUST send an ACK (also referred to as challenge
// ACK) to the remote peer".
func (c *Conn) challenge(now wheel.Time, o *Output) {
	if o.Challenge != nil && !o.Challenge.Allow(now) {
		o.Counters.TCPACKSkippedChallenge++
		return
	}
	o.Counters.TCPChallengeACK++
	c.snd.sendAck(now, o)
}

// peerReset processes an acceptable RST: RFC 9293 §3.10.7.4, second.
func (c *Conn) peerReset(now wheel.Time, o *Output) {
	switch c.state {
	case StateSynReceived:
		o.Counters.AttemptFails++
		o.Counters.EmbryonicRsts++
		if c.passive {
			c.closed(now, ErrReset, o) // back to LISTEN: the listener's business
		} else {
			c.closed(now, ErrRefused, o)
		}
	case StateEstablished, StateCloseWait:
		o.Counters.EstabResets++
		c.closed(now, ErrReset, o)
	case StateFinWait1, StateFinWait2:
		c.closed(now, ErrReset, o)
	default: // CLOSING, LAST-ACK, TIME-WAIT
		// RFC 9293 §3.6 (MUST-12): the application must learn whether the connection "closed
		// normally or was aborted". With unacknowledged data it was aborted.
		err := ErrNone
		if c.snd.una.Before(c.snd.end) {
			err = ErrReset
		}
		c.closed(now, err, o)
	}
}
