package tcp

import (
	"math"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

// undo restores the window after a reduction that was spurious (RFC 4015 §3.4), and reports whether
// it did. acked bounds the burst that may follow, together with the initial window.
func (e *episode) undo(snd *sender, now wheel.Time, a *ackFacts, acked uint32, o *Output) bool {
	e.undoable = false
	if a.ece {
		return false // RFC 4015 §3.4: with ECN-Echo on the ACK the congestion was real.
	}
	if !snd.cc.Undo(now, snd.fl.sent.Outstanding().Bytes, acked) {
		return false
	}
	if snd.fl != &atRest {
		snd.fl.sent.forgetLosses()
		snd.fl.frto.Reset()
	}
	e.frtoCredit = 0
	if snd.rack.learns && !e.byTimeout {
		// All that RACK thought lost was late. A timeout is too short for the round trip, whatever
		// the order.
		snd.rack.reorderingSeen = true
	}
	switch {
	case e.afterTimeout():
		o.Counters.TCPLossUndo++
	case e.fast() && snd.una.Before(e.recover):
		o.Counters.TCPPartialUndo++
	default:
		o.Counters.TCPFullUndo++
	}
	if e.byTimeout {
		// RFC 4015 §3.6 samples the RTT of data sent after the timeout. This ACK's sample is at
		// least as long as the RTO that was too short, and protects the segments in flight from
		// another timeout.
		if a.sample > 0 {
			snd.rtt.est.Spurious(a.sample)
		} else {
			snd.rtt.spurious, snd.needPast().spuriousAt = true, now
		}
	}
	if e.repairing() {
		snd.fl.l6675.Leave()
		e.forceFirst = false
		e.kind = CAOpen
	}
	return true
}

// undoByDSACK counts a duplicate against the retransmissions of the episode (RFC 3708). It undoes
// the reduction once all were duplicates.
func (e *episode) undoByDSACK(snd *sender, now wheel.Time, h *Header, a *ackFacts, o *Output) {
	b := h.Options.SACK[0]
	if !e.undoable || b.Start.Before(snd.past.startUna) || !b.Start.Before(e.recover) {
		return
	}
	n := (b.Len() + snd.mss - 1) / snd.mss
	// The data in flight was acknowledged earlier: this ACK may acknowledge nothing.
	if snd.past.dsack.OnDuplicate(n) == congestion.Spurious && e.undo(snd, now, a, math.MaxUint32, o) {
		o.Counters.TCPDSACKUndo++
	}
}

// stepFRTO performs steps 2 and 3 of F-RTO (RFC 5682).
func (e *episode) stepFRTO(snd *sender, now wheel.Time, h *Header, a *ackFacts, o *Output) {
	probing := snd.fl.frto.Probing()
	verdict, next := snd.fl.frto.OnAck(uint32(a.una), uint32(a.ack), uint32(snd.nxt), a.ackedOriginal, a.sackedAboveRecover)
	if verdict == congestion.Spurious {
		o.Counters.TCPSpuriousRTOs++
		e.undo(snd, now, a, a.acked, o)
		return
	}
	e.frtoCredit = 0
	if verdict == congestion.Genuine && probing && snd.fl.sent.pendingRexmits() > 0 {
		// RFC 5682 §2.1 (3a): the window may be 3·MSS, and new segments took two. So one
		// retransmission is sent at once.
		e.forceFirst = true
	}
	if next == congestion.SendNew {
		if snd.queued() == 0 || snd.wnd.Usable(snd.una, snd.nxt) == 0 {
			snd.fl.frto.NoNewData()
			return
		}
		e.frtoCredit = 2
	}
}

// acknowledged processes an ACK while a loss probe is in flight: RFC 8985 §7.4.2.
func (p *tlpState) acknowledged(snd *sender, now wheel.Time, h *Header, a *ackFacts, o *Output) {
	a.dsackProbe = a.dsack && h.Options.SACK[0].End.AtOrAfter(p.endSeq) && h.Options.SACK[0].Start.Before(p.endSeq)
	if p.Acked(tlpAck{Ack: a.ack, DSACKProbe: a.dsackProbe, DupNoSACK: a.duplicate && h.Options.NumSACK == 0}) {
		o.Counters.TCPLossProbeRecovery++
		if !snd.ep.on() {
			snd.ep.enterCWR(snd, now, a, o, congestion.FastRetransmit)
			if snd.una.AtOrAfter(snd.ep.recover) {
				snd.ep.end()
			}
		}
	}
}
