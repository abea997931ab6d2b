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
	snd.stats.lastSent, snd.hasSent = now, true
	p := snd.needPast()
	p.rexmits++
	p.rexmitBytes += uint64(payload)
	snd.stats.data++
	o.Counters.RetransSegs++
	snd.cc.departed(snd, now, payload)
}
