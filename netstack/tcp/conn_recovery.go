package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// recovery is the loss recovery state that outlives a flight: the loss detectors, and the current
// or last episode.
type recovery struct {
	rack  rackState
	dup   dupAckCounter
	eifel congestion.Eifel
	dsack congestion.DSACK

	recover Seq // SND.NXT when the episode began

	tlp        tlpState
	frtoCredit uint8 // new segments that F-RTO still allows
	tooBig     bool  // past.tooBigEnd is valid and not yet acknowledged
	undoable   bool
	rtoEpisode bool // the episode began with a timeout
	spurious   bool // the next RTT sample belongs to data sent after a spurious timeout
	cwndHeld   bool // the congestion window holds data back
	rwndHeld   bool // the peer's window holds data back
	appLimited bool // the application has no more to send
	forceFirst bool // the first retransmission of the episode is still to be sent
	probeDue   bool // reschedule the loss probe
	resent     bool // Conn.Resend began the episode, and it lasts
}

// respond processes the loss and congestion signals of an ACK: RFC 5681 §3.2, RFC 6675 §5,
// RFC 6582 §3.2, RFC 8985 §6.2.
func (snd *sender) respond(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	advanced := a.acked > 0
	grown := a.delivered
	if !snd.rcv.sackOn && advanced {
		// As in Linux (tcp_remove_reno_sacks), the segments of duplicate ACKs have been delivered
		// before, but one has filled the hole.
		grown = max(a.acked-min(a.acked, snd.dup.N()*snd.mss), min(a.acked, snd.mss))
	}
	snd.updateCounts(a)
	snd.applyFeedback(now, h, a, o)

	leaving := false
	growing := snd.ep.kind != CARecovery && snd.ep.kind != CACWR
	reno := snd.cfg.Reno && !snd.rcv.sackOn && snd.ep.kind == CARecovery
	if advanced && snd.ep.kind >= CACWR && (snd.una.AtOrAfter(snd.ep.recover) || reno) {
		if reno {
			snd.dup.Forget()
		}
		leaving = snd.ep.kind >= CARecovery
		growing = snd.ep.kind == CALoss
		snd.leaveRecovery(now, o)
	}
	if snd.resendOnly() {
		snd.observeResent(a)
	} else {
		snd.losses().onAck(snd, now, leaving, a, o)
		if snd.cfg.VegasCheck {
			snd.checkVegas(now, a, o)
		}
	}
	if advanced && growing && snd.ep.kind != CARecovery {
		snd.growWindow(now, a, grown, o)
	}
	if snd.reducing() {
		delivered := a.delivered
		if !snd.rcv.sackOn && (advanced || a.duplicate) {
			delivered = snd.fl.prr.DeliveredWithoutSACK(a.acked)
		}
		snd.fl.sndcnt = snd.fl.prr.OnAck(delivered, snd.pipe(), advanced, a.lost)
	}
	amiss := snd.fl.sent.Sacked().Segments > 0 || snd.dup.N() > 0
	switch {
	case snd.ep.kind == CAOpen && amiss:
		snd.ep.kind = CADisorder
	case snd.ep.kind == CADisorder && !amiss:
		snd.ep.kind = CAOpen
	}
}

// updateCounts updates the duplicate ACK count and other counts before respond evaluates the ACK.
func (snd *sender) updateCounts(a *ackFacts) {
	if a.acked > 0 || a.sacked > 0 {
		snd.tlp.due = true // or cancelled: no probe while something is SACKed
	}
	if a.acked > 0 {
		snd.ep.tooBig = snd.ep.tooBig && snd.una.Before(snd.past.tooBigEnd)
		snd.ep.undoable = snd.ep.undoable && !snd.una.After(snd.ep.recover.Add(1<<30)) // sequence numbers wrap
		snd.dup.Advanced(snd.una)
		if snd.rcv.sackOn || snd.ep.kind != CARecovery {
			snd.dup.Reset()
		} else {
			snd.dup.Repaired((a.acked - 1) / snd.mss)
		}
		snd.fl.l6675.SMSS = snd.mss
	}
	if a.duplicate && (!snd.rcv.sackOn || a.sacked > 0) {
		snd.dup.Count()
	}
}

// applyFeedback applies what an ACK says about earlier actions: the loss probe in flight,
// congestion marks, and retransmissions that were spurious.
func (snd *sender) applyFeedback(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	if snd.tlp.inFlight {
		snd.ackLossProbe(now, h, a, o)
	}
	if a.ece && (snd.ep.kind == CAOpen || snd.ep.kind == CADisorder) && snd.ecn.OnECE(snd.una, snd.nxt) {
		snd.enterCWR(now, a, o, congestion.ECN)
	}
	if a.dsack {
		snd.undoByDSACK(now, h, a, o)
	}
	// DEVIATION RFC 3522 §3.2 (5): the RFC skips an ACK with a DSACK, and a first ACK that covers
	// all outstanding data. In both cases all ACKs of the flight may have been lost, and the
	// retransmission drew this one. But then the data did arrive, and a DSACK would undo the
	// reduction too. Linux does not check either (tcp_packet_delayed).
	if a.acked > 0 && snd.ep.undoable && snd.rcv.tsOn {
		echo := h.Options.TSEcr
		if !h.Options.HasTimestamps {
			echo = snd.timestamp(now) // a middlebox stripped it: no evidence for the original
		}
		if snd.past.eifel.OnAck(echo) == congestion.Spurious {
			snd.undo(now, a, a.acked, o)
		}
	}
	if snd.fl.frto.Active() && (a.acked > 0 || a.duplicate) {
		snd.stepFRTO(now, h, a, o)
	}
}

// pipe returns how many bytes are estimated to be in the network. Without SACK, each duplicate ACK
// counts as one delivered segment.
func (snd *sender) pipe() uint32 {
	n := snd.fl.sent.Pipe().Bytes
	if !snd.rcv.sackOn && snd.ep.kind != CALoss {
		dups := snd.dup.N()
		if snd.ep.kind != CARecovery {
			dups = min(dups, dupThresh-1) // RFC 3042 §2: limited transmit
		}
		// RFC 5681 §3.2: duplicate ACKs count for no more than what is outstanding. A lost
		// segment was not delivered.
		arrived := snd.fl.sent.Outstanding().Segments
		dups = min(dups, arrived-min(arrived, max(snd.fl.sent.Lost().Segments, 1)))
		n -= min(n, uint32(min(uint64(dups)*uint64(snd.mss), 1<<30)))
	}
	return n
}

// dsackWidens reports whether the ACK's DSACK, if any, widens RACK's reordering window.
func (snd *sender) dsackWidens(a *ackFacts) bool {
	return a.dsack && (!snd.cfg.Policy.ReorderedDSACKs || snd.rack.ReorderingSeen() && !a.dsackProbe)
}

// beginEpisode starts a recovery episode and forgets the previous one.
func (snd *sender) beginEpisode(o *Output) {
	p := snd.needPast()
	snd.ep.recover, p.startUna = snd.nxt, snd.una
	if snd.fl.sent.RetransOut().Segments == 0 {
		p.eifel.Reset()
	} else {
		p.eifel.Continue()
	}
	p.dsack.Reset()
	snd.tlp.Reset()
	snd.ep.undoable, snd.ep.forceFirst = true, true
	snd.dup.Recover(snd.nxt)
	snd.ecn.OnReduced(snd.nxt)
	snd.timer().stopLoss(snd, tcptimers.TLP, o)
}

// enterRecovery starts fast recovery.
func (snd *sender) enterRecovery(now wheel.Time, a *ackFacts, o *Output) {
	reduced := snd.ep.kind == CACWR
	if !reduced {
		snd.cc.OnCongestion(now, snd.fl.sent.Outstanding().Bytes, congestion.FastRetransmit)
	}
	snd.beginEpisode(o)
	snd.ep.undoable = !reduced // the reduction for an ECN mark or a probe-repaired loss stays
	snd.ep.byTimeout = false
	recoverFS := congestion.RecoverFS(snd.fl.sent.Outstanding().Bytes, snd.fl.sent.Sacked().Bytes, a.sacked, a.acked)
	snd.fl.prr.Start(snd.cc.Ssthresh(), snd.mss, recoverFS)
	snd.ep.kind = CARecovery
	snd.losses().entered(snd, o)
}

// enterCWR reduces the window for congestion with no loss to repair. a.flight is the flight that
// caused it.
func (snd *sender) enterCWR(now wheel.Time, a *ackFacts, o *Output, cause congestion.Cause) {
	snd.cc.OnCongestion(now, a.flight, cause)
	snd.ep.kind = CACWR
	if snd.reducing() && snd.fl != &atRest {
		snd.fl.prr.Start(snd.cc.Ssthresh(), snd.mss, congestion.RecoverFS(snd.fl.sent.Outstanding().Bytes, snd.fl.sent.Sacked().Bytes, a.sacked, a.acked))
	}
	snd.ep.recover, snd.ep.undoable = snd.nxt, false
	snd.ecn.OnReduced(snd.nxt)
}

// reducing reports whether PRR decides what to send.
func (snd *sender) reducing() bool {
	return snd.ep.kind == CARecovery || snd.ep.kind == CACWR && snd.cfg.PRRInCWR && snd.fl != &atRest
}

// leaveRecovery ends the episode after SND.UNA has reached its end.
func (snd *sender) leaveRecovery(now wheel.Time, o *Output) {
	if snd.ep.kind == CARecovery {
		snd.cc.OnRecovered(now, snd.fl.sent.Outstanding().Bytes)
		snd.fl.l6675.Leave()
	}
	snd.fl.frto.Reset()
	snd.ep.forceFirst, snd.ep.frtoCredit = false, 0
	snd.ep.kind = CAOpen
	snd.dup.Reset()
}
