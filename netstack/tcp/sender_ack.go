package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ackFacts collects what an ACK says while it is processed.
type ackFacts struct {
	ack            Seq
	una            Seq    // SND.UNA before the ACK
	flight         uint32 // bytes outstanding before the ACK
	acked          uint32 // bytes newly acknowledged cumulatively
	delivered      uint32 // bytes newly acknowledged or SACKed
	sacked         uint32 // bytes newly SACKed
	segments       int    // segments cumulatively acknowledged
	segmentBytes   uint32 // bytes of these segments
	alreadySacked  uint32 // bytes cumulatively acknowledged that were SACKed before
	startedReorder bool   // it started RACK's reordering timer
	byTimer        bool   // not an ACK: RACK's reordering timer expired
	ece            bool   // it has the ECN-Echo flag
	syn            bool   // it acknowledges our SYN
	probed         bool   // it acknowledges the byte, or FIN, of a window probe
	finAcked       bool

	evidence
	timing
}

// evidence is what an ACK shows of losses, reordering and spurious retransmissions.
type evidence struct {
	lost               bool // it shows further loss
	dsack              bool
	dsackProbe         bool   // a DSACK covers the loss probe
	duplicate          bool   // RFC 5681 §2, or RFC 6675 §2
	reordered          bool   // a segment was overtaken by later ones
	distance           uint32 // by which, if reordered, bytes
	ackedRexmit        bool   // a retransmitted segment is acknowledged
	ackedOriginal      bool   // it delivers a segment sent once that later ones overtook
	sackedAboveRecover bool   // a segment not retransmitted since the timeout is delivered
}

// timing is what an ACK tells of the round trip.
type timing struct {
	rtt          time.Duration // of the first acknowledged segment sent once
	sackRTT      time.Duration // of the first SACKed segment sent once
	hasRTT       bool
	hasSack      bool
	sentAt       wheel.Time    // when the segment that gave rtt was sent
	lastRexmitAt wheel.Time    // last retransmission of an acknowledged segment whose echo is older
	staleEcho    bool          // lastRexmitAt is valid
	lastSent     wheel.Time    // when the last cumulatively acknowledged segment was sent
	sample       time.Duration // the RTT sample given to the estimator, 0 for none
	measured     bool          // the ACK measured the round trip
	measuredRTT  time.Duration // exact, before Policy.OneSample and Policy.Measure
}

// acknowledged processes the ACK number, the SACK blocks and the window of an acceptable segment:
// SND.UNA ≤ SEG.ACK ≤ SND.NXT. probed says that it is the first to acknowledge a window probe. It
// reports whether our FIN is acknowledged now.
func (snd *sender) acknowledged(now wheel.Time, in *Inbound, probed bool, o *Output) (finAcked bool) {
	h := in.Header
	a := o.newAck()
	a.ack, a.una, a.ece, a.flight, a.probed = h.Ack, snd.una, snd.ecn.echoes(h), snd.fl.sent.Outstanding().Bytes, probed
	snd.takeWindow(in, a)
	// A loss probe in flight may duplicate data that is acknowledged already.
	if snd.fl.sent.Len() == 0 && h.Ack == snd.una && !snd.tlp.inFlight && (h.Options.NumSACK == 0 || !snd.established()) {
		return a.finAcked
	}
	if h.Ack.After(snd.una) {
		snd.advance(now, h, a, o)
	}
	if snd.rcv.sackOn && h.Options.NumSACK > 0 {
		rtt, arrived := snd.rack.RTT()
		arrived = arrived && a.delivered > 0
		snd.takeSACK(now, h, a, o)
		if arrived && snd.cfg.Policy.SACKsFirst {
			snd.rack.rtt = rtt
		}
		// RFC 6675 §2: "an ACK which carries new SACK data is counted as a duplicate acknowledgment
		// under this definition even if it carries new data, changes the advertised window, or
		// moves the cumulative acknowledgment point".
		a.duplicate = a.duplicate || a.sacked > 0
	}
	snd.meter.noteReordering(a, o)
	snd.rtt.sample(snd, now, h, a)
	if a.delivered > 0 {
		snd.fl.rate.acked(snd, now, a)
	}
	snd.fl.delAckEvidence.note(snd, now, in, a)
	if snd.rtt.synLost && a.una == snd.iss {
		// RFC 6298 §5 (5.7): "the RTO MUST be re-initialized to 3 seconds when data transmission
		// begins (i.e., after the three-way handshake completes)." This holds even if timestamps
		// have just given a sample.
		snd.rtt.est.SynTimedOut()
		snd.rtt.synLost = false
	}
	if !snd.established() {
		return a.finAcked
	}
	snd.respond(now, h, a, o)
	if a.acked > 0 {
		snd.timer().acked(snd, now, o)
		if snd.fl.sent.Len() == 0 {
			if snd.allSent() {
				o.Events |= EventSent
			}
			snd.timers.stop(o, tcptimers.Reorder)
		}
	}
	snd.timer().processed(snd, now, a.acked > 0, a.startedReorder, a.sackRTT, o)
	return a.finAcked
}

// takeWindow updates SND.WND from an ACK, and finds out whether the ACK is a duplicate.
func (snd *sender) takeWindow(in *Inbound, a *ackFacts) {
	h := in.Header
	wnd := uint32(h.Window)
	if !h.Flags.Has(SYN) {
		wnd <<= snd.terms.scale
	}
	was, most := snd.wnd.Wnd, snd.wnd.Recent
	if snd.wnd.Update(h.Seq, h.Ack, wnd); snd.wnd.Recent > most && most/2 <= snd.mss {
		snd.updateMSS()
	}
	a.duplicate = isDuplicateAck(dupAckInput{
		Ack: h.Ack, SndUna: snd.una, SegLen: in.Len, SYNOrFIN: h.Flags.HasAny(SYN | FIN),
		SameWindow: was == snd.wnd.Wnd, HasInFlight: snd.fl.sent.Len() > 0 || snd.tlp.inFlight,
	})
	if snd.wnd.Wnd > 0 && was == 0 {
		snd.persist.probes = 0
		if snd.past != nil {
			snd.past.closedAt = 0
		}
	}
}

// advance moves SND.UNA and removes what is acknowledged from the flight.
func (snd *sender) advance(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	fin := snd.writes.finSent
	snd.fl.sent.Ack(h.Ack, func(id segmentID) {
		s := snd.fl.sent.seg(id)
		snd.timers.stopSegment(o, &snd.fl.sent, id)
		a.noteDelivered(snd, now, s, h, o)
		a.segments, a.segmentBytes, a.lastSent = a.segments+1, a.segmentBytes+s.Len, s.Sent
	})
	if snd.fl.sent.Sacked().Segments > 0 {
		snd.timer().advanced(snd, now, o)
	}
	a.acked = a.flight - snd.fl.sent.Outstanding().Bytes
	// The acknowledged part of a segment that remains is delivered too.
	a.delivered += a.acked - min(a.acked, a.delivered+a.alreadySacked)
	// SYN and FIN are not bytes of the stream.
	streamBytes := uint64(h.Ack.Sub(snd.una))
	if snd.una == snd.iss && snd.stats.acked == 0 { // not after sequence numbers have wrapped
		streamBytes--
		a.syn = true
	}
	snd.una = h.Ack
	snd.rcv.ackDue = snd.rcv.ackDue || snd.persist.ackAtEdge // the peer may have dropped that ACK
	snd.softErr = ErrNone
	if fin && h.Ack == snd.nxt {
		streamBytes--
		a.finAcked = true
	}
	snd.stats.acked += streamBytes
	if streamBytes > 0 {
		o.Events |= EventWritable
	}
	snd.ecn.OnAck(snd.una)
	if snd.writes.urgent && snd.una.AtOrAfter(snd.marks.up) {
		snd.writes.urgent = false
	}
}

// noteDelivered notes that s is newly acknowledged or SACKed; s still has its state from before.
func (a *ackFacts) noteDelivered(snd *sender, now wheel.Time, s *sentSegment, h *Header, o *Output) {
	if s.Sacked() {
		a.alreadySacked += s.Len
		return
	}
	a.delivered += s.Len
	snd.stats.delivered++
	o.Counters.TCPDelivered++
	if a.ece {
		snd.needPast().deliveredCE++
		o.Counters.TCPDeliveredCE++
	}
	stale := false
	if s.Retransmitted() {
		a.ackedRexmit = true
		if stale = snd.rcv.tsOn && h.Options.HasTimestamps && snd.needPast().staleEcho(snd, h.Options.TSEcr, s); stale {
			a.lastRexmitAt, a.staleEcho = max(a.lastRexmitAt, s.Sent), true
		}
		// DEVIATION RFC 8985 §6.2 step 2: the echo is ignored for a segment that is SACKed.
		// RFC 7323 §4.3: the ACK of an out-of-order segment echoes the last in-order segment. With
		// the echo a SACKed loss probe would never reveal a loss. Linux relies on the minimum RTT
		// alone.
		stale = stale && s.End().AtOrBefore(h.Ack)
		if snd.ep.afterTimeout() && s.Sent < snd.fl.lossAt {
			a.ackedOriginal = true
		}
	} else {
		a.ackedOriginal = true
		if !a.hasRTT {
			a.rtt, a.hasRTT, a.sentAt = now.Sub(s.Sent), true, s.Sent
		}
	}
	// Not by lossDetector: a call for each segment costs 3 % of a bulk sender.
	if snd.cfg.Policy.RACK && snd.rcv.sackOn && snd.rack.Delivered(now, s, stale, snd.cfg.Replay.slack()) {
		a.reordered, a.distance = true, max(a.distance, snd.rack.fack.Sub(s.Seq))
	}
}
