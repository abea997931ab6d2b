package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// scheduleProbe starts or stops the timer of the loss probe: RFC 8985 §7.2.
func (*ownTimers) scheduleProbe(snd *sender, now wheel.Time, o *Output) {
	snd.tlp.due = false
	p := &snd.cfg.Policy
	// RFC 8985 §4 requires SACK. RFC 8985 §7.2 allows a probe only outside recovery, with nothing
	// SACKed and something in flight.
	if !p.TLP || !snd.rcv.sackOn || snd.ep.repairing() || snd.fl.sent.Sacked().Segments > 0 || snd.fl.sent.Len() == 0 || !snd.tlp.MayProbe() {
		snd.timers.stop(o, tcptimers.TLP)
		return
	}
	rtoAt := snd.timer().expiry(snd, now)
	srtt := snd.rtt.est.SRTT()
	var in ptoInput
	in.SRTT, in.HasSRTT, in.Flight = srtt, srtt > 0, uint32(snd.fl.sent.Len())
	in.MaxAckDelay, in.Slack, in.RTOExpiry = p.MaxAckDelay, p.ProbeSlack, rtoAt
	if p.AckEvidence {
		// DEVIATION RFC 8985 §7.2, SHOULD: several small segments that fit into one full segment
		// count as one. RFC 5681 §4.2 has peers acknowledge "at least every second full-sized
		// segment", and many delay the ACK of two small ones.
		if snd.fl.sent.Outstanding().Bytes <= snd.mss {
			in.Flight = 1
		}
		in.LastSent, in.RTTVar = snd.fl.sent.seg(snd.fl.sent.Back()).Sent, snd.rtt.est.RTTVar()
		switch {
		case !snd.tlp.MayBeEarly():
		case in.Flight == 1:
			in.Prompt = snd.fl.delAckEvidence.PromptAlone(in.LastSent, srtt)
		default:
			in.Prompt = snd.fl.delAckEvidence.Prompt(in.LastSent, srtt)
		}
	}
	pto, early := probeTimeout(now, &in)
	snd.fl.probeEarly = early
	at := rtoAt // already rounded to a tick
	if now.Add(pto) < rtoAt {
		at = p.Deadline(now, pto)
	}
	if snd.timers.runs(tcptimers.TLP) && snd.fl.probeAt == at {
		return
	}
	snd.fl.probeAt = at
	snd.timers.start(o, tcptimers.TLP, at)
}

// note updates the evidence of delayed ACKs with an ACK.
func (p *delAckEvidence) note(snd *sender, now wheel.Time, in *Inbound, a *ackFacts) {
	if !snd.cfg.Policy.AckEvidence || snd.fl == &atRest || a.acked == 0 && !a.duplicate {
		return
	}
	if snd.fl.sent.Len() == 0 || !snd.ep.calm() || in.Len > 0 || in.Header.Flags.HasAny(SYN|FIN) || a.ece || a.dsack || a.sacked > 0 ||
		!a.hasRTT || a.ackedRexmit || a.acked != a.segmentBytes || snd.fl.sent.Sacked().Segments > 0 {
		p.Reset()
		return
	}
	p.Acked(now, evidenceAck{Segments: a.segments, Sent: a.lastSent, RTT: a.rtt, SRTT: snd.rtt.est.SRTT()})
}

// expire sends the loss probe: a new data segment, or else a retransmission of the last
// segment (RFC 8985 §7.3). It reports whether it did.
func (p *tlpState) expire(snd *sender, now wheel.Time, o *Output) bool {
	if snd.fl.sent.Len() == 0 || snd.ep.repairing() || !snd.timer().mayProbe(snd) {
		return false
	}
	retrans := false
	if _, sent := snd.sendOne(now, true, o); !sent {
		id := snd.fl.sent.Back()
		if snd.fl.sent.seg(id).Sacked() {
			return false
		}
		retrans = true
		snd.retransmit(now, id, o)
	}
	o.Counters.TCPLossProbes++
	p.Probed(snd.nxt, retrans, snd.fl.probeEarly)
	snd.fl.probedAt = now
	p.due = false
	snd.timer().restart(snd, now, o)
	return true
}

// start starts the window probe timer: RFC 9293 §3.8.6.1.
func (p *persist) start(snd *sender, now wheel.Time, o *Output) {
	if snd.timers.runs(tcptimers.Persist) && !p.isCork {
		return
	}
	p.isCork = false
	if p.probes == 0 {
		snd.needPast().closedAt = now
	}
	rto := snd.rtt.est.RTO()
	if n := snd.rtt.est.Backoffs(); n > 0 {
		// The interval has its own backoff, so undo the RTO's. The RTO ceiling may have cut off
		// some of it.
		rto = max(rto>>min(n, 10), snd.rtt.est.SRTT()+4*snd.rtt.est.RTTVar())
	}
	snd.timers.start(o, tcptimers.Persist, snd.cfg.Policy.Deadline(now, snd.cfg.Policy.PersistInterval(rto, int(p.probes))))
}

// startCork bounds the wait of a small segment.
func (p *persist) startCork(snd *sender, now wheel.Time, o *Output) {
	if !snd.timers.runs(tcptimers.Persist) || !p.isCork {
		p.isCork = true
		snd.timers.start(o, tcptimers.Persist, snd.cfg.Policy.Deadline(now, corkWait))
	}
}

// expire probes a closed window, or ends the wait for a full segment. It reports whether the
// connection must end.
func (p *persist) expire(snd *sender, now wheel.Time, o *Output) (over bool) {
	if snd.allSent() || !snd.established() {
		return false
	}
	if snd.wnd.Usable(snd.una, snd.nxt) > 0 {
		snd.writes.waited = true
		if snd.wnd.Wnd < snd.mss {
			snd.wnd.overridden()
			snd.updateMSS()
		}
		return false // output sends it
	}
	if snd.fl.sent.Len() > 0 {
		return false
	}
	// RFC 9293 §3.8.6.1 (MUST-37): "As long as the receiving TCP peer continues to send
	// acknowledgments in response to the probe segments, the sending TCP peer MUST allow the
	// connection to stay open." After the application has closed, R2 applies (RFC 9293 §3.8.6.1).
	if p.unanswered > 0 && snd.r2Over(now, snd.rcv.lastRecv, int(p.unanswered)) ||
		snd.rcv.closed && p.probes > 0 && snd.r2Over(now, snd.past.closedAt, int(p.probes)) {
		return true
	}
	if p := snd.needPast(); p.closedAt == 0 {
		p.closedAt = now // the window closed while a small segment waited
	}
	p.unanswered += min(1, 255-p.unanswered)
	p.probes += min(1, 255-p.probes)
	o.Counters.TCPWinProbe++
	if snd.cfg.Policy.EmptyProbes {
		snd.sendAckFrom(now, snd.una-1, o)
		p.start(snd, now, o)
		return false
	}
	p.byteOut = true
	o.Counters.OutSegs++
	// RFC 9293 §3.8.6.1 (MUST-36): "regularly transmit at least one octet of new data (if
	// available)". The byte is not in flight; it counts as sent only if it is acknowledged.
	flags := Flags(0)
	n := min(snd.queued(), 1)
	if n == 0 {
		flags = FIN
	}
	out := snd.appendSegment(now, snd.nxt, flags, o)
	out.Offset, out.Len = snd.stats.acked+uint64(snd.nxt.Sub(snd.dataUna())), n
	p.start(snd, now, o)
	return false
}
