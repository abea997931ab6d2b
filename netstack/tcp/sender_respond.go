package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

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
	growing := !snd.ep.on() || snd.ep.afterTimeout()
	early := snd.ep.fast() && snd.losses().partialEnds()
	if advanced && snd.ep.on() && (snd.una.AtOrAfter(snd.ep.recover) || early) {
		if early {
			snd.dup.Forget()
		}
		leaving = snd.ep.repairing()
		growing = snd.ep.afterTimeout()
		snd.ep.leave(snd, now, o)
	}
	if snd.cfg.Replay.resendOnly() {
		snd.ep.observeResent(snd, a)
	} else {
		snd.losses().onAck(snd, now, leaving, a, o)
		if snd.cfg.VegasCheck {
			snd.needPast().checkVegas(snd, now, a, o)
		}
	}
	if reorders := snd.rack.learns && snd.meter.reorders(snd.mss); (advanced || reorders && a.sacked > 0) && growing && !snd.ep.fast() {
		snd.cc.grow(snd, now, a, grown, reorders, o)
	}
	if snd.ep.reducing(snd) {
		delivered := a.delivered
		if !snd.rcv.sackOn && (advanced || a.duplicate) {
			delivered = snd.fl.prr.DeliveredWithoutSACK(a.acked)
		}
		snd.fl.sndcnt = snd.fl.prr.OnAck(delivered, snd.pipe(), advanced, a.lost)
	}
	snd.ep.disordered(snd.fl.sent.Sacked().Segments > 0 || snd.dup.N() > 0)
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
		if snd.rcv.sackOn || !snd.ep.fast() {
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
		snd.tlp.acknowledged(snd, now, h, a, o)
	}
	if a.ece && !snd.ep.on() && snd.ecn.OnECE(snd.una, snd.nxt) {
		snd.ep.enterCWR(snd, now, a, o, congestion.ECN)
	}
	if a.dsack {
		snd.ep.undoByDSACK(snd, now, h, a, o)
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
			snd.ep.undo(snd, now, a, a.acked, o)
		}
	}
	if snd.fl.frto.Active() && (a.acked > 0 || a.duplicate) {
		snd.ep.stepFRTO(snd, now, h, a, o)
	}
}

// pipe returns how many bytes are estimated to be in the network. Without SACK, each duplicate ACK
// counts as one delivered segment.
func (snd *sender) pipe() uint32 {
	n := snd.fl.sent.Pipe().Bytes
	if !snd.rcv.sackOn && !snd.ep.afterTimeout() {
		dups := snd.dup.N()
		if !snd.ep.fast() {
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
func (a *ackFacts) dsackWidens(snd *sender) bool {
	return a.dsack && (!snd.cfg.Policy.ReorderedDSACKs || snd.rack.ReorderingSeen() && !a.dsackProbe)
}
