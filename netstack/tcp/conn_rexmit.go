package tcp

import "tcpwheel/wheel"

// sendLost retransmits lost segments as far as congestion control allows.
func (c *Conn) sendLost(now wheel.Time, o *Output) {
	r := &c.rec
	if c.fl.frto.Active() {
		r.cwndHeld = true // the timeout left a window of one segment
		return            // F-RTO first finds out whether anything was lost
	}
	if c.caState == CARecovery && c.sackOn && !c.cfg.Policy.RACK {
		c.sendNextSeg(now, o)
		return
	}
	for id := c.nextToRexmit(); id != 0; id = c.nextToRexmit() {
		s := c.fl.sent.seg(id)
		n := min(s.Len, c.mss)
		if !r.forceFirst && (!c.cwndAllows(n) || !c.pacerAllows(now, o)) {
			r.cwndHeld = true
			return
		}
		r.forceFirst = false
		c.retransmit(now, id, o)
		c.spendSndcnt(n)
		if c.caState == CALoss {
			o.Counters.TCPSlowStartRetrans++
		} else {
			o.Counters.TCPFastRetrans++
		}
	}
}

// sendNextSeg retransmits in the order of NextSeg (RFC 6675 §4).
func (c *Conn) sendNextSeg(now wheel.Time, o *Output) {
	r := &c.rec
	for c.fl.l6675.inRecovery {
		canSendNew := c.queued() > 0 && c.snd.Usable(c.sndUna, c.sndNxt) > 0
		id, rule := c.fl.l6675.NextSeg(&c.fl.sent, canSendNew)
		if first := c.fl.sent.Front(); r.forceFirst && first != 0 && c.fl.sent.seg(first).state.needsRexmit() {
			// RFC 6675 §5 (4.3): "Retransmit the first data segment presumed dropped -- the segment
			// starting with sequence number HighACK + 1." It may have been presumed dropped by
			// other means than IsLost.
			id, rule = first, nextSegLost
		} else if again := c.nextToRexmit(); again != 0 && c.fl.sent.seg(again).Seq.Before(c.fl.l6675.highRxtEnd) {
			// A retransmission below HighRxt may be known lost too, by the Vegas check or for a
			// smaller MTU.
			id, rule = again, nextSegLost
		}
		if rule == nextSegNone || rule == nextSegNew {
			return // sendNew sends the new data
		}
		n := min(c.fl.sent.seg(id).Len, c.mss)
		if !r.forceFirst && (!c.cwndAllows(n) || !c.pacerAllows(now, o)) {
			r.cwndHeld = true
			return
		}
		r.forceFirst = false
		c.retransmit(now, id, o)
		c.fl.l6675.Retransmitted(&c.fl.sent, id, rule)
		c.spendSndcnt(n)
		o.Counters.TCPFastRetrans++
	}
}

// retransmit retransmits segment id, or its first MSS bytes if it is longer.
func (c *Conn) retransmit(now wheel.Time, id segmentID, o *Output) {
	s := c.fl.sent.seg(id)
	c.timed = false // RFC 6298 §3: Karn's algorithm
	if s.Flags&sentSYN != 0 {
		c.fl.sent.Retransmit(now, id)
		c.emitSYN(now, s.Transmissions-1, o)
		c.timer().sent(c, now, id, o)
		return
	}
	mss := c.segmentMSS()
	if payload := s.payload(); payload > mss {
		if second, ok := c.fl.sent.splitToFit(id, s.Seq.Add(mss)); ok {
			s = c.fl.sent.seg(id)
			c.timer().arm(c, second, c.cfg.Policy.Deadline(s.Sent, c.est.RTO()), o)
		}
	}
	again := s.Transmissions > 1
	if c.rec.undoable {
		if c.tsOn {
			c.rec.eifel.OnRetransmit(c.timestamp(now))
		}
		c.rec.dsack.OnRetransmit(again && s.Sent >= c.fl.lossAt)
	}
	rexmit := s.Transmissions
	seq, payload, fin := s.Seq, s.payload(), s.Flags&sentFIN != 0
	c.fl.sent.Retransmit(now, id)
	c.timer().sent(c, now, id, o)
	c.meterRetransmit(seq, c.fl.sent.seg(id).End())

	flags := Flags(0)
	if fin {
		flags |= FIN
	}
	if seq.Add(payload) == c.sndEnd || c.fl.sent.seg(id).Flags&sentPSH != 0 {
		flags |= PSH
	}
	if payload == 0 {
		flags &^= PSH
	}
	out := c.appendSegment(now, seq, flags, o)
	out.Offset, out.Len, out.Rexmit = c.acked+uint64(seq.Sub(c.dataUna())), payload, rexmit
	c.lastSent, c.hasSent = now, true
	rare := c.needRare()
	rare.rexmits++
	rare.bytesRexmit += uint64(payload)
	c.bytesSent += uint64(payload)
	c.dataOut++
	o.Counters.RetransSegs++
	c.notePaced(now, payload)
}

// markLost marks segment id lost.
func (c *Conn) markLost(id segmentID) {
	c.lowerRexmitHint(id)
	c.fl.sent.MarkLost(id)
}

// lowerRexmitHint must be called before segment id is marked lost.
func (c *Conn) lowerRexmitHint(id segmentID) {
	if s := c.fl.sent.seg(id); s.Seq.Before(c.fl.rexmitHint) || c.fl.sent.pendingRexmits() == 0 {
		c.fl.rexmitHint = s.Seq
	}
}

// nextToRexmit returns the first segment that is lost and not yet retransmitted, 0 if there is
// none.
func (c *Conn) nextToRexmit() segmentID {
	if c.fl.sent.pendingRexmits() == 0 {
		return 0
	}
	if id := c.toRexmitFrom(c.fl.sent.Find(MaxSeq(c.fl.rexmitHint, c.sndUna))); id != 0 {
		return id
	}
	// The hint was too high: search once from the start.
	if id := c.toRexmitFrom(c.fl.sent.Front()); id != 0 {
		return id
	}
	panic("BUG: a lost segment that waits is not found")
}

// toRexmitFrom is nextToRexmit from segment id on. It moves the hint to the segment it returns.
func (c *Conn) toRexmitFrom(id segmentID) segmentID {
	for id = c.fl.sent.nextUnsacked(id); id != 0; id = c.fl.sent.nextUnsacked(c.fl.sent.seg(id).next) {
		if s := c.fl.sent.seg(id); s.state.needsRexmit() {
			c.fl.rexmitHint = s.Seq
			return id
		}
	}
	return 0
}
