package tcp

import "tcpwheel/wheel"

// sendLost retransmits lost segments as far as congestion control allows.
func (c *Conn) sendLost(now wheel.Time, o *Output) {
	if c.fl.frto.Active() {
		c.rec.cwndHeld = true // the timeout left a window of one segment
		return                // F-RTO first finds out whether anything was lost
	}
	c.losses().sendLost(c, now, o)
}

// sendMarked retransmits the segments marked lost, the first one first.
func (c *Conn) sendMarked(now wheel.Time, o *Output) {
	r := &c.rec
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
		if c.rcv.tsOn {
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
