package tcp

import (
	"math"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/wheel"
)

// undo restores the window after a reduction that was spurious (RFC 4015 §3.4), and reports whether
// it did. acked bounds the burst that may follow, together with the initial window.
func (c *Conn) undo(now wheel.Time, a *ackFacts, acked uint32, o *Output) bool {
	r := &c.rec
	r.undoable = false
	if a.ece {
		return false // RFC 4015 §3.4: with ECN-Echo on the ACK the congestion was real.
	}
	if !c.cc.Undo(now, c.fl.sent.Outstanding().Bytes, acked) {
		return false
	}
	if c.fl != &atRest {
		c.fl.sent.forgetLosses()
		c.fl.frto.Reset()
	}
	r.frtoCredit = 0
	switch {
	case c.caState == CALoss:
		o.Counters.TCPLossUndo++
	case c.caState == CARecovery && c.sndUna.Before(r.recover):
		o.Counters.TCPPartialUndo++
	default:
		o.Counters.TCPFullUndo++
	}
	if r.rtoEpisode {
		// RFC 4015 §3.6 samples the RTT of data sent after the timeout. This ACK's sample is at
		// least as long as the RTO that was too short, and protects the segments in flight from
		// another timeout.
		if a.sample > 0 {
			c.est.Spurious(a.sample)
		} else {
			r.spurious, c.needRare().spuriousAt = true, now
		}
	}
	if c.caState >= CARecovery {
		c.fl.l6675.Leave()
		r.forceFirst = false
		c.caState = CAOpen
	}
	return true
}

// undoByDSACK counts a duplicate against the retransmissions of the episode (RFC 3708). It undoes
// the reduction once all were duplicates.
func (c *Conn) undoByDSACK(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	r := &c.rec
	b := h.Options.SACK[0]
	if !r.undoable || b.Start.Before(c.rare.startUna) || !b.Start.Before(r.recover) {
		return
	}
	n := (b.Len() + c.mss - 1) / c.mss
	// The data in flight was acknowledged earlier: this ACK may acknowledge nothing.
	if r.dsack.OnDuplicate(n) == congestion.Spurious && c.undo(now, a, math.MaxUint32, o) {
		o.Counters.TCPDSACKUndo++
	}
}

// stepFRTO performs steps 2 and 3 of F-RTO (RFC 5682).
func (c *Conn) stepFRTO(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	r := &c.rec
	probing := c.fl.frto.Probing()
	verdict, next := c.fl.frto.OnAck(uint32(a.una), uint32(a.ack), uint32(c.sndNxt), a.ackedOriginal, a.sackedAboveRecover)
	if verdict == congestion.Spurious {
		o.Counters.TCPSpuriousRTOs++
		c.undo(now, a, a.acked, o)
		return
	}
	r.frtoCredit = 0
	if verdict == congestion.Genuine && probing && c.fl.sent.pendingRexmits() > 0 {
		// RFC 5682 §2.1 (3a): the window may be 3·MSS, and new segments took two. So one
		// retransmission is sent at once.
		r.forceFirst = true
	}
	if next == congestion.SendNew {
		if c.queued() == 0 || c.snd.Usable(c.sndUna, c.sndNxt) == 0 {
			c.fl.frto.NoNewData()
			return
		}
		r.frtoCredit = 2
	}
}

// ackLossProbe processes an ACK while a loss probe is in flight: RFC 8985 §7.4.2.
func (c *Conn) ackLossProbe(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	r := &c.rec
	a.dsackProbe = a.dsack && h.Options.SACK[0].End.AtOrAfter(r.tlp.endSeq) && h.Options.SACK[0].Start.Before(r.tlp.endSeq)
	if r.tlp.Acked(tlpAck{Ack: a.ack, DSACKProbe: a.dsackProbe, DupNoSACK: a.duplicate && h.Options.NumSACK == 0}) {
		o.Counters.TCPLossProbeRecovery++
		if c.caState < CACWR {
			c.enterCWR(now, a, o, congestion.FastRetransmit)
			if c.sndUna.AtOrAfter(c.rec.recover) {
				c.caState = CAOpen
			}
		}
	}
}
