package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// scheduleProbe starts or stops the timer of the loss probe: RFC 8985 §7.2.
func (*ownTimers) scheduleProbe(c *Conn, now wheel.Time, o *Output) {
	r := &c.rec
	r.probeDue = false
	p := &c.cfg.Policy
	// RFC 8985 §4 requires SACK. RFC 8985 §7.2 allows a probe only outside recovery, with nothing
	// SACKed and something in flight.
	if !p.TLP || !c.rcv.sackOn || c.caState >= CARecovery || c.fl.sent.Sacked().Segments > 0 || c.fl.sent.Len() == 0 || !r.tlp.MayProbe() {
		c.timers.stop(o, tcptimers.TLP)
		return
	}
	rtoAt := c.timer().expiry(c, now)
	srtt := c.est.SRTT()
	var in ptoInput
	in.SRTT, in.HasSRTT, in.Flight = srtt, srtt > 0, uint32(c.fl.sent.Len())
	in.MaxAckDelay, in.Slack, in.RTOExpiry = p.MaxAckDelay, p.ProbeSlack, rtoAt
	if p.AckEvidence {
		// DEVIATION RFC 8985 §7.2, SHOULD: several small segments that fit into one full segment
		// count as one. RFC 5681 §4.2 has peers acknowledge "at least every second full-sized
		// segment", and many delay the ACK of two small ones.
		if c.fl.sent.Outstanding().Bytes <= c.mss {
			in.Flight = 1
		}
		in.LastSent, in.RTTVar = c.fl.sent.seg(c.fl.sent.Back()).Sent, c.est.RTTVar()
		switch {
		case !r.tlp.MayBeEarly():
		case in.Flight == 1:
			in.Prompt = c.fl.delAckEvidence.PromptAlone(in.LastSent, srtt)
		default:
			in.Prompt = c.fl.delAckEvidence.Prompt(in.LastSent, srtt)
		}
	}
	pto, early := probeTimeout(now, &in)
	c.fl.probeEarly = early
	at := rtoAt // already rounded to a tick
	if now.Add(pto) < rtoAt {
		at = p.Deadline(now, pto)
	}
	if c.timers.runs(tcptimers.TLP) && c.fl.probeAt == at {
		return
	}
	c.fl.probeAt = at
	c.timers.start(o, tcptimers.TLP, at)
}

// noteDelAckEvidence updates the evidence of delayed ACKs with an ACK.
func (c *Conn) noteDelAckEvidence(now wheel.Time, in *Inbound, a *ackFacts) {
	if !c.cfg.Policy.AckEvidence || c.fl == &atRest || a.acked == 0 && !a.duplicate {
		return
	}
	p := &c.fl.delAckEvidence
	if c.fl.sent.Len() == 0 || c.caState != CAOpen || in.Len > 0 || in.Header.Flags.HasAny(SYN|FIN) || a.ece || a.dsack || a.sacked > 0 ||
		!a.hasRTT || a.ackedRexmit || a.acked != a.segmentBytes || c.fl.sent.Sacked().Segments > 0 {
		p.Reset()
		return
	}
	p.Acked(now, evidenceAck{Segments: a.segments, Sent: a.lastSent, RTT: a.rtt, SRTT: c.est.SRTT()})
}

// expireProbe sends the loss probe: a new data segment, or else a retransmission of the last
// segment (RFC 8985 §7.3). It reports whether it did.
func (c *Conn) expireProbe(now wheel.Time, o *Output) bool {
	r := &c.rec
	if c.fl.sent.Len() == 0 || c.caState >= CARecovery || !c.timer().mayProbe(c) {
		return false
	}
	retrans := false
	if _, sent := c.sendOne(now, true, o); !sent {
		id := c.fl.sent.Back()
		if c.fl.sent.seg(id).Sacked() {
			return false
		}
		retrans = true
		c.retransmit(now, id, o)
	}
	o.Counters.TCPLossProbes++
	r.tlp.Probed(c.sndNxt, retrans, c.fl.probeEarly)
	c.fl.probedAt = now
	r.probeDue = false
	c.timer().restart(c, now, o)
	return true
}

// startPersist starts the window probe timer: RFC 9293 §3.8.6.1.
func (c *Conn) startPersist(now wheel.Time, o *Output) {
	if c.timers.runs(tcptimers.Persist) && !c.persistIsCork {
		return
	}
	c.persistIsCork = false
	if c.windowProbes == 0 {
		c.needRare().closedAt = now
	}
	rto := c.est.RTO()
	if n := c.est.Backoffs(); n > 0 {
		// The interval has its own backoff, so undo the RTO's. The RTO ceiling may have cut off
		// some of it.
		rto = max(rto>>min(n, 10), c.est.SRTT()+4*c.est.RTTVar())
	}
	c.timers.start(o, tcptimers.Persist, c.cfg.Policy.Deadline(now, c.cfg.Policy.PersistInterval(rto, int(c.windowProbes))))
}

// startCorkTimer bounds the wait of a small segment.
func (c *Conn) startCorkTimer(now wheel.Time, o *Output) {
	if !c.timers.runs(tcptimers.Persist) || !c.persistIsCork {
		c.persistIsCork = true
		c.timers.start(o, tcptimers.Persist, c.cfg.Policy.Deadline(now, corkWait))
	}
}

// expirePersist probes a closed window, or ends the wait for a full segment.
func (c *Conn) expirePersist(now wheel.Time, o *Output) {
	if c.allSent() || c.state < StateEstablished || c.state == StateTimeWait {
		return
	}
	if c.snd.Usable(c.sndUna, c.sndNxt) > 0 {
		c.corkExpired = true
		if c.snd.Wnd < c.mss {
			c.snd.overridden()
			c.updateMSS()
		}
		return // output sends it
	}
	if c.fl.sent.Len() > 0 {
		return
	}
	// RFC 9293 §3.8.6.1 (MUST-37): "As long as the receiving TCP peer continues to send
	// acknowledgments in response to the probe segments, the sending TCP peer MUST allow the
	// connection to stay open." After the application has closed, R2 applies (RFC 9293 §3.8.6.1).
	if c.unanswered > 0 && c.r2Over(now, c.lastRecv, int(c.unanswered)) ||
		c.readClosed && c.windowProbes > 0 && c.r2Over(now, c.rare.closedAt, int(c.windowProbes)) {
		c.timedOut(now, o)
		return
	}
	if c.needRare().closedAt == 0 {
		c.rare.closedAt = now // the window closed while a small segment waited
	}
	c.unanswered += min(1, 255-c.unanswered)
	c.windowProbes += min(1, 255-c.windowProbes)
	o.Counters.TCPWinProbe++
	if c.cfg.Policy.EmptyProbes {
		c.sendAckFrom(now, c.sndUna-1, o)
		c.startPersist(now, o)
		return
	}
	c.windowProbeOut = true
	o.Counters.OutSegs++
	// RFC 9293 §3.8.6.1 (MUST-36): "regularly transmit at least one octet of new data (if
	// available)". The byte is not in flight; it counts as sent only if it is acknowledged.
	flags := Flags(0)
	n := min(c.queued(), 1)
	if n == 0 {
		flags = FIN
	}
	out := c.appendSegment(now, c.sndNxt, flags, o)
	out.Offset, out.Len = c.acked+uint64(c.sndNxt.Sub(c.dataUna())), n
	c.startPersist(now, o)
}
