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
	for id := snd.fl.nextToRexmit(); id != 0; id = snd.fl.nextToRexmit() {
		s := snd.fl.sent.seg(id)
		n := min(s.Len, snd.mss)
		if !snd.ep.forceFirst && (!snd.cc.allows(snd, n) || !snd.cc.departs(snd, now, o)) {
			snd.held.cwnd = true
			return
		}
		snd.ep.forceFirst = false
		snd.retransmit(now, id, o)
		snd.cc.spend(snd, n)
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
	p := snd.needPast()
	stamp := p.stampRexmit(snd, now, s)
	if snd.ep.undoable {
		if snd.rcv.tsOn {
			snd.past.eifel.OnRetransmit(stamp)
		}
		snd.past.dsack.OnRetransmit(again && s.Sent >= snd.fl.lossAt)
	}
	rexmit := s.Transmissions
	seq, payload, fin := s.Seq, s.payload(), s.Flags&sentFIN != 0
	snd.fl.sent.Retransmit(now, id)
	snd.timer().sent(snd, now, id, o)
	snd.fl.rate.retransmitted(seq, snd.fl.sent.seg(id).End())

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
	if snd.rcv.tsOn {
		out.Header.Options.TSVal = stamp
	}
	snd.stats.lastSent, snd.hasSent = now, true
	p.rexmits++
	p.rexmitBytes += uint64(payload)
	snd.stats.data++
	o.Counters.RetransSegs++
	snd.cc.departed(snd, now, payload)
}

// stampRexmit returns the timestamp of a retransmission of s.
//
// DEVIATION RFC 7323 §3.2: where the path reorders it is older, by the reordering window. A
// retransmission that fills a gap sets TS.Recent. With the timestamp of now PAWS would drop the
// late packets that left before the retransmission and arrive after it, and their loss would be
// repaired with more of this. It stays above that of the transmission before, for Eifel.
func (p *past) stampRexmit(snd *sender, now wheel.Time, s *sentSegment) uint32 {
	if r := &snd.rack; r.learns && r.reorderingSeen && !r.bySteps {
		p.stampLag = max(p.stampLag, r.reoWnd)
		p.stampedAt = max(p.stampedAt, now.Add(-r.reoWnd), s.Sent.Add(snd.cfg.TimestampTick))
		now = min(now, p.stampedAt)
	}
	return snd.timestamp(now)
}

// staleEcho reports whether an echoed timestamp is older than that of the last transmission of s, a
// retransmission.
func (p *past) staleEcho(snd *sender, echo uint32, s *sentSegment) bool {
	return tsBefore(echo, snd.timestamp(max(s.Sent.Add(-p.stampLag), s.FirstSent.Add(min(p.stampLag, snd.cfg.TimestampTick)))))
}
