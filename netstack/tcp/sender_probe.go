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
