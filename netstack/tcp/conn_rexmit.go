package tcp

import "tcpwheel/wheel"

// sendLost retransmits lost segments as far as congestion control allows.
func (snd *sender) sendLost(now wheel.Time, o *Output) {
	if snd.fl.frto.Active() {
		snd.held.cwnd = true // the timeout left a window of one segment
		return               // F-RTO first finds out whether anything was lost
	}
	snd.losses().sendLost(snd, now, o)
}

// sendMarked retransmits the segments marked lost, the first one first.
func (snd *sender) sendMarked(now wheel.Time, o *Output) {
	for id := snd.nextToRexmit(); id != 0; id = snd.nextToRexmit() {
		s := snd.fl.sent.seg(id)
		n := min(s.Len, snd.mss)
		if !snd.ep.forceFirst && (!snd.cwndAllows(n) || !snd.pacerAllows(now, o)) {
			snd.held.cwnd = true
			return
		}
		snd.ep.forceFirst = false
		snd.retransmit(now, id, o)
		snd.spendSndcnt(n)
		if snd.ep.afterTimeout() {
			o.Counters.TCPSlowStartRetrans++
		} else {
			o.Counters.TCPFastRetrans++
		}
	}
}

// retransmit retransmits segment id, or its first MSS bytes if it is longer.
func (snd *sender) retransmit(now wheel.Time, id segmentID, o *Output) {
	s := snd.fl.sent.seg(id)
	snd.rtt.timed = false // RFC 6298 §3: Karn's algorithm
	if s.Flags&sentSYN != 0 {
		snd.fl.sent.Retransmit(now, id)
		snd.emitSYN(now, s.Transmissions-1, o)
		snd.timer().sent(snd, now, id, o)
		return
	}
	mss := snd.segmentMSS()
	if payload := s.payload(); payload > mss {
		if second, ok := snd.fl.sent.splitToFit(id, s.Seq.Add(mss)); ok {
			s = snd.fl.sent.seg(id)
			snd.timer().arm(snd, second, snd.cfg.Policy.Deadline(s.Sent, snd.rtt.est.RTO()), o)
		}
	}
	again := s.Transmissions > 1
	if snd.ep.undoable {
		if snd.rcv.tsOn {
			snd.past.eifel.OnRetransmit(snd.timestamp(now))
		}
		snd.past.dsack.OnRetransmit(again && s.Sent >= snd.fl.lossAt)
	}
	rexmit := s.Transmissions
	seq, payload, fin := s.Seq, s.payload(), s.Flags&sentFIN != 0
	snd.fl.sent.Retransmit(now, id)
	snd.timer().sent(snd, now, id, o)
	snd.meterRetransmit(seq, snd.fl.sent.seg(id).End())

	flags := Flags(0)
	if fin {
		flags |= FIN
	}
	if seq.Add(payload) == snd.end || snd.fl.sent.seg(id).Flags&sentPSH != 0 {
		flags |= PSH
	}
	if payload == 0 {
		flags &^= PSH
	}
	out := snd.appendSegment(now, seq, flags, o)
	out.Offset, out.Len, out.Rexmit = snd.stats.acked+uint64(seq.Sub(snd.dataUna())), payload, rexmit
	snd.stats.lastSent, snd.hasSent = now, true
	p := snd.needPast()
	p.rexmits++
	p.rexmitBytes += uint64(payload)
	snd.stats.data++
	o.Counters.RetransSegs++
	snd.notePaced(now, payload)
}

// markLost marks segment id lost.
func (snd *sender) markLost(id segmentID) {
	snd.lowerRexmitHint(id)
	snd.fl.sent.MarkLost(id)
}

// lowerRexmitHint must be called before segment id is marked lost.
func (snd *sender) lowerRexmitHint(id segmentID) {
	if s := snd.fl.sent.seg(id); s.Seq.Before(snd.fl.rexmitHint) || snd.fl.sent.pendingRexmits() == 0 {
		snd.fl.rexmitHint = s.Seq
	}
}

// nextToRexmit returns the first segment that is lost and not yet retransmitted, 0 if there is
// none.
func (snd *sender) nextToRexmit() segmentID {
	if snd.fl.sent.pendingRexmits() == 0 {
		return 0
	}
	if id := snd.toRexmitFrom(snd.fl.sent.Find(MaxSeq(snd.fl.rexmitHint, snd.una))); id != 0 {
		return id
	}
	// The hint was too high: search once from the start.
	if id := snd.toRexmitFrom(snd.fl.sent.Front()); id != 0 {
		return id
	}
	panic("BUG: a lost segment that waits is not found")
}

// toRexmitFrom is nextToRexmit from segment id on. It moves the hint to the segment it returns.
func (snd *sender) toRexmitFrom(id segmentID) segmentID {
	for id = snd.fl.sent.nextUnsacked(id); id != 0; id = snd.fl.sent.nextUnsacked(snd.fl.sent.seg(id).next) {
		if s := snd.fl.sent.seg(id); s.state.needsRexmit() {
			snd.fl.rexmitHint = s.Seq
			return id
		}
	}
	return 0
}
