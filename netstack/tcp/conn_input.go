package tcp

import "tcpwheel/wheel"

// Input processes a segment that has arrived (RFC 9293 §3.10.7). It returns which payload bytes the
// owner must keep. Replies, and data that the ACK allows to be sent, are in o. In CLOSED it is a
// no-op: the Engine or Listener answers.
func (c *Conn) Input(now wheel.Time, in *Inbound, o *Output) (v Disposition) {
	c.snd.stats.segsIn++
	switch c.state {
	case StateClosed:
		return Disposition{}
	case StateSynSent:
		v = c.inputSynSent(now, in, o)
	default:
		v = c.inputSynchronized(now, in, o)
	}
	c.output(now, o)
	return v
}

// inputSynSent processes a segment in SYN-SENT: RFC 9293 §3.10.7.3.
//
// DEVIATION RFC 9293 §3.10.7.3: data in a SYN without ACK is dropped and not acknowledged, so the
// peer retransmits it.
func (c *Conn) inputSynSent(now wheel.Time, in *Inbound, o *Output) Disposition {
	h := in.Header
	if h.Flags.Has(ACK) {
		// RFC 9293 §3.10.7.3: "If SEG.ACK =< ISS or SEG.ACK > SND.NXT, send a reset (unless the RST
		// bit is set, if so drop the segment and return)".
		if h.Ack.AtOrBefore(c.snd.iss) || h.Ack.After(c.snd.nxt) {
			if !h.Flags.Has(RST) {
				c.snd.sendRST(now, h.Ack, o)
			}
			return Disposition{}
		}
		// RFC 7323 §5.2 limits PAWS to synchronized states. A TSecr that is not ours still proves
		// that the segment is old.
		if ecr := h.Options.TSEcr; c.snd.cfg.Timestamps && h.Options.HasTimestamps && ecr != 0 && !h.Flags.Has(RST) &&
			!c.snd.ownEcho(now, ecr) {
			o.Counters.PAWSActive++
			c.snd.sendRST(now, h.Ack, o)
			return Disposition{}
		}
	}
	if h.Flags.Has(RST) {
		if h.Flags.Has(ACK) {
			o.Counters.AttemptFails++
			c.closed(now, ErrRefused, o)
		}
		return Disposition{}
	}
	if !h.Flags.Has(SYN) {
		return Disposition{}
	}
	c.takeSYN(now, h)
	if !h.Flags.Has(ACK) {
		// A simultaneous open. RFC 9293 §3.10.7.3: "Otherwise, enter SYN-RECEIVED, form a SYN,ACK
		// segment <SEQ=ISS><ACK=RCV.NXT><CTL=SYN,ACK> and send it."
		c.setState(StateSynReceived, o)
		c.life.handshake(c, now, o)
		return Disposition{}
	}
	c.establish(now, h, o)
	c.takeAck(now, in, false, o)
	c.rcv.ackDue = true
	// RFC 9293 §3.10.7.3: "If there are other controls or text in the segment, then continue
	// processing at the sixth step under Section 3.10.7.4 where the URG bit is checked".
	a := Arrival{Seq: h.Seq, Len: in.Len, SYN: true, FIN: h.Flags.Has(FIN)}
	c.rcv.takeUrgent(h, a.Seq, c.state, o)
	if a.Len > 0 || a.FIN {
		return c.takeData(now, in, a, o)
	}
	return Disposition{}
}

// inputSynchronized processes a segment in SYN-RECEIVED or later: RFC 9293 §3.10.7.4.
func (c *Conn) inputSynchronized(now wheel.Time, in *Inbound, o *Output) Disposition {
	h := in.Header
	a := Arrival{Seq: h.Seq, Len: in.Len, SYN: h.Flags.Has(SYN), FIN: h.Flags.Has(FIN)}
	if c.state == StateSynReceived && a.SYN && h.Seq == c.rcv.irs {
		if !h.Flags.Has(ACK) {
			c.answerSYN(now, h, o)
			return Disposition{}
		}
		// The SYN-ACK of a simultaneous open (RFC 9293 §3.5, Figure 7): its SYN was received
		// before.
		a.Seq, a.SYN = h.Seq.Add(1), false
	}
	fit, ok := c.admit(now, in, a, o)
	if !ok || !c.inputAck(now, in, a.Seq, o) {
		return Disposition{}
	}

	// Sixth, check the URG bit.
	c.rcv.takeUrgent(h, a.Seq, c.state, o)

	// Seventh, process the segment text; eighth, check the FIN bit.
	if a.Len == 0 && !a.FIN {
		o.Counters.TCPPureAcks++
		return Disposition{}
	}
	if fit == controlOnly && a.Len > 0 { // a lone FIN needs no room
		o.Counters.TCPZeroWindowDrop++
		c.rcv.ackDue = true
		return Disposition{}
	}
	return c.takeData(now, in, a, o)
}

// inputAck performs the fifth step of RFC 9293 §3.10.7.4, the ACK field, on a segment that begins
// at seq. It reports whether processing goes on with the sixth.
func (c *Conn) inputAck(now wheel.Time, in *Inbound, seq Seq, o *Output) bool {
	h := in.Header
	if !h.Flags.Has(ACK) {
		return false
	}
	if c.state == StateSynReceived {
		// RFC 9293 §3.10.7.4: "If SND.UNA < SEG.ACK =< SND.NXT, then enter ESTABLISHED state", else
		// a reset.
		if !h.Ack.After(c.snd.una) || h.Ack.After(c.snd.nxt) {
			c.snd.sendRST(now, h.Ack, o)
			return false
		}
		c.establish(now, h, o)
		if c.snd.writes.fin && c.state == StateEstablished { // the application has closed meanwhile
			c.setState(StateFinWait1, o)
		}
	}
	probed := c.snd.persist.byteOut && h.Ack == c.snd.nxt.Add(1)
	if probed {
		c.snd.persist.arrived(&c.snd, now, o) // the byte of a window probe, beyond SND.NXT
	}
	standing := checkAck(c.snd.una, c.snd.nxt, c.snd.wnd.MaxWnd, h.Ack)
	if standing == ackUnacceptable {
		// RFC 5961 §5.2: data is not taken from a segment with such an ACK.
		if !h.Ack.After(c.snd.nxt) {
			c.challenge(now, o)
		} else if !c.answerUnacceptable(now, o, false) {
			// RFC 9293 §3.10.7.4: "send an ACK, drop the segment, and return"
			*skippedAckCounter(c.state, o)++
		}
		return false
	}
	if c.rcv.tsOn && h.Options.HasTimestamps {
		c.rcv.paws.Record(now, h.Options.TSVal, seq, c.rcv.lastAckSent)
	}
	if standing == ackOld {
		c.snd.takeOldSACK(now, h, o)
		return true
	}
	c.rcv.lastRecv, c.snd.persist.unanswered = now, 0
	c.snd.writes.releaseMore()
	c.takeAck(now, in, probed, o)
	return c.state != StateClosed
}

// takeAck gives an acceptable ACK to the sender. probed says that it is the first to acknowledge a
// window probe.
func (c *Conn) takeAck(now wheel.Time, in *Inbound, probed bool, o *Output) {
	una := c.snd.una
	finAcked := c.snd.acknowledged(now, in, probed, o)
	if c.snd.una != una && c.snd.opts.UserTimeout != 0 {
		c.life.armUser(c, now, o)
	}
	if finAcked {
		c.onFINAcked(now, o)
	}
}

// reachFIN changes state when the peer's FIN is reached: RFC 9293 §3.10.7.4, eighth.
func (c *Conn) reachFIN(now wheel.Time, o *Output) {
	o.Events |= EventPeerClosed | EventReadable
	c.rcv.ackDue = true
	switch c.state {
	case StateSynReceived, StateEstablished:
		c.setState(StateCloseWait, o)
	case StateFinWait1:
		// Our FIN is unacknowledged: an ACK of it in this segment would have led to FIN-WAIT-2.
		c.setState(StateClosing, o)
	case StateFinWait2:
		c.timeWait(now, o)
	}
}

// onFINAcked changes state when our FIN is acknowledged: RFC 9293 §3.10.7.4, fifth.
func (c *Conn) onFINAcked(now wheel.Time, o *Output) {
	switch c.state {
	case StateFinWait1:
		c.setState(StateFinWait2, o)
		if c.rcv.closed {
			c.life.awaitFIN(c, now, o)
		}
	case StateClosing:
		c.timeWait(now, o)
	case StateLastAck:
		c.closed(now, ErrNone, o)
	}
}
