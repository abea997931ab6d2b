package tcp

import (
	"time"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// ackFacts collects what an ACK says while it is processed.
type ackFacts struct {
	ack                Seq
	una                Seq    // SND.UNA before the ACK
	flight             uint32 // bytes outstanding before the ACK
	acked              uint32 // bytes newly acknowledged cumulatively
	delivered          uint32 // bytes newly acknowledged or SACKed
	sacked             uint32 // bytes newly SACKed
	segments           int    // segments cumulatively acknowledged
	segmentBytes       uint32 // bytes of these segments
	alreadySacked      uint32 // bytes cumulatively acknowledged that were SACKed before
	lost               bool   // it shows further loss
	byTimer            bool   // not an ACK: RACK's reordering timer expired
	dsackProbe         bool   // a DSACK covers the loss probe
	dsack              bool
	ece                bool   // it has the ECN-Echo flag
	syn                bool   // it acknowledges our SYN
	startedReorder     bool   // it started RACK's reordering timer
	reordered          bool   // a segment was overtaken by later ones
	distance           uint32 // by which, if reordered, bytes
	duplicate          bool   // RFC 5681 §2, or RFC 6675 §2
	ackedRexmit        bool   // a retransmitted segment is acknowledged
	ackedOriginal      bool   // it delivers a segment sent once that later ones overtook
	sackedAboveRecover bool   // a segment not retransmitted since the timeout is delivered

	rtt          time.Duration // of the first acknowledged segment sent once
	sackRTT      time.Duration // of the first SACKed segment sent once
	hasRTT       bool
	hasSack      bool
	sentAt       wheel.Time    // when the segment that gave rtt was sent
	lastRexmitAt wheel.Time    // last retransmission of an acknowledged segment whose echo is older
	staleEcho    bool          // lastRexmitAt is valid
	probed       bool          // it acknowledges the byte, or FIN, of a window probe
	lastSent     wheel.Time    // when the last cumulatively acknowledged segment was sent
	sample       time.Duration // the RTT sample given to the estimator, 0 for none
	finAcked     bool

	measured    bool          // the ACK measured the round trip
	measuredRTT time.Duration // exact, before Policy.OneSample and Policy.Measure
}

// takeAck processes the ACK number, the SACK blocks and the window of an acceptable segment:
// SND.UNA ≤ SEG.ACK ≤ SND.NXT. probed says that it is the first to acknowledge a window probe.
func (c *Conn) takeAck(now wheel.Time, in *Inbound, probed bool, o *Output) {
	h := in.Header
	a := o.newAck()
	a.ack, a.una, a.ece, a.flight, a.probed = h.Ack, c.sndUna, c.echoes(h), c.fl.sent.Outstanding().Bytes, probed
	c.takeWindow(in, a)
	// A loss probe in flight may duplicate data that is acknowledged already.
	if c.fl.sent.Len() == 0 && h.Ack == c.sndUna && !c.rec.tlp.inFlight && (h.Options.NumSACK == 0 || c.cc == nil) {
		return
	}
	if h.Ack.After(c.sndUna) {
		c.advance(now, h, a, o)
	}
	if c.rcv.sackOn && h.Options.NumSACK > 0 {
		rtt, arrived := c.rec.rack.RTT()
		arrived = arrived && a.delivered > 0
		c.takeSACK(now, h, a, o)
		if arrived && c.cfg.Policy.SACKsFirst {
			c.rec.rack.rtt = rtt
		}
		// RFC 6675 §2: "an ACK which carries new SACK data is counted as a duplicate acknowledgment
		// under this definition even if it carries new data, changes the advertised window, or
		// moves the cumulative acknowledgment point".
		a.duplicate = a.duplicate || a.sacked > 0
	}
	c.noteReordering(a, o)
	c.sampleRTT(now, h, a)
	if a.delivered > 0 {
		c.meterAck(now, a)
	}
	c.noteDelAckEvidence(now, in, a)
	if c.synLost && a.una == c.iss {
		// RFC 6298 §5 (5.7): "the RTO MUST be re-initialized to 3 seconds when data transmission
		// begins (i.e., after the three-way handshake completes)." This holds even if timestamps
		// have just given a sample.
		c.est.SynTimedOut()
		c.synLost = false
	}
	if c.cc == nil {
		return
	}
	c.respond(now, h, a, o)
	if a.acked > 0 {
		c.afterAdvance(now, a, o)
	}
	c.timer().processed(c, now, a.acked > 0, a.startedReorder, a.sackRTT, o)
}

// takeWindow updates SND.WND from an ACK, and finds out whether the ACK is a duplicate.
func (c *Conn) takeWindow(in *Inbound, a *ackFacts) {
	h := in.Header
	wnd := uint32(h.Window)
	if !h.Flags.Has(SYN) {
		wnd <<= c.sndScale
	}
	was, most := c.snd.Wnd, c.snd.Recent
	if c.snd.Update(h.Seq, h.Ack, wnd); c.snd.Recent > most && most/2 <= c.mss {
		c.updateMSS()
	}
	a.duplicate = isDuplicateAck(dupAckInput{
		Ack: h.Ack, SndUna: c.sndUna, SegLen: in.Len, SYNOrFIN: h.Flags.HasAny(SYN | FIN),
		SameWindow: was == c.snd.Wnd, HasInFlight: c.fl.sent.Len() > 0 || c.rec.tlp.inFlight,
	})
	if c.snd.Wnd > 0 && was == 0 {
		c.windowProbes = 0
		if c.rare != nil {
			c.rare.closedAt = 0
		}
	}
}

// advance moves SND.UNA and removes what is acknowledged from the flight.
func (c *Conn) advance(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	fin := c.finSent
	c.fl.sent.Ack(h.Ack, func(id segmentID) {
		s := c.fl.sent.seg(id)
		c.timers.stopSegment(o, &c.fl.sent, id)
		c.noteDelivered(now, s, h, a, o)
		a.segments, a.segmentBytes, a.lastSent = a.segments+1, a.segmentBytes+s.Len, s.Sent
	})
	if c.fl.sent.Sacked().Segments > 0 {
		c.timer().advanced(c, now, o)
	}
	a.acked = a.flight - c.fl.sent.Outstanding().Bytes
	// The acknowledged part of a segment that remains is delivered too.
	a.delivered += a.acked - min(a.acked, a.delivered+a.alreadySacked)
	// SYN and FIN are not bytes of the stream.
	streamBytes := uint64(h.Ack.Sub(c.sndUna))
	if c.sndUna == c.iss && c.acked == 0 { // not after sequence numbers have wrapped
		streamBytes--
		a.syn = true
	}
	c.sndUna = h.Ack
	c.rcv.ackDue = c.rcv.ackDue || c.ackAtEdge // the peer may have dropped that ACK
	c.softErr = ErrNone
	if fin && h.Ack == c.sndNxt {
		streamBytes--
		a.finAcked = true
	}
	c.acked += streamBytes
	if streamBytes > 0 {
		o.Events |= EventWritable
	}
	c.ecn.OnAck(c.sndUna)
	if c.urgent && c.sndUna.AtOrAfter(c.rare.sndUp) {
		c.urgent = false
	}
}

// echoes reports whether a segment echoes a congestion mark. RFC 3168 §6.1.1: on a SYN-ACK, ECE
// only says that its sender is ECN-capable.
func (c *Conn) echoes(h *Header) bool { return c.ecn.On() && h.Flags&(ECE|SYN) == ECE }

// noteDelivered notes that s is newly acknowledged or SACKed; s still has its state from before.
func (c *Conn) noteDelivered(now wheel.Time, s *sentSegment, h *Header, a *ackFacts, o *Output) {
	if s.Sacked() {
		a.alreadySacked += s.Len
		return
	}
	a.delivered += s.Len
	c.delivered++
	o.Counters.TCPDelivered++
	if a.ece {
		c.needRare().deliveredCE++
		o.Counters.TCPDeliveredCE++
	}
	stale := false
	if s.Retransmitted() {
		a.ackedRexmit = true
		if stale = c.rcv.tsOn && h.Options.HasTimestamps && tsBefore(h.Options.TSEcr, c.timestamp(s.Sent)); stale {
			a.lastRexmitAt, a.staleEcho = max(a.lastRexmitAt, s.Sent), true
		}
		// DEVIATION RFC 8985 §6.2 step 2: the echo is ignored for a segment that is SACKed.
		// RFC 7323 §4.3: the ACK of an out-of-order segment echoes the last in-order segment. With
		// the echo a SACKed loss probe would never reveal a loss. Linux relies on the minimum RTT
		// alone.
		stale = stale && s.End().AtOrBefore(h.Ack)
		if c.caState == CALoss && s.Sent < c.fl.lossAt {
			a.ackedOriginal = true
		}
	} else {
		a.ackedOriginal = true
		if !a.hasRTT {
			a.rtt, a.hasRTT, a.sentAt = now.Sub(s.Sent), true, s.Sent
		}
	}
	// Not by lossDetector: a call for each segment costs 3 % of a bulk sender.
	if c.cfg.Policy.RACK && c.rcv.sackOn && c.rec.rack.Delivered(now, s, stale, c.timingSlack()) {
		a.reordered, a.distance = true, max(a.distance, c.rec.rack.fack.Sub(s.Seq))
	}
}

// growWindow passes an ACK of new data, which delivers so many bytes, to the congestion controller.
func (c *Conn) growWindow(now wheel.Time, a *ackFacts, delivered uint32, o *Output) {
	rtt := time.Duration(0)
	if a.hasRTT && !a.ackedRexmit {
		rtt = a.rtt
	}
	delayed := c.cc.OnAck(now, congestion.Ack{
		Acked: a.acked, Delivered: delivered, Flight: a.flight,
		Una: uint32(c.sndUna), Nxt: uint32(c.sndNxt),
		RTT: rtt, SRTT: c.est.SRTT(), Limited: c.cwndLimited(), ECE: a.ece, SYN: a.syn,
	})
	if delayed {
		o.Counters.TCPHystartDelayDetect++
		o.Counters.TCPHystartDelayCwnd += uint64(c.cc.Cwnd() / c.mss)
	}
}

// afterAdvance updates timers and state after SND.UNA has advanced.
func (c *Conn) afterAdvance(now wheel.Time, a *ackFacts, o *Output) {
	c.timer().acked(c, now, o)
	if c.opts.UserTimeout != 0 {
		c.armUserTimeout(now, o)
	}
	if c.fl.sent.Len() == 0 {
		if c.allSent() {
			o.Events |= EventSent
		}
		c.timers.stop(o, tcptimers.Reorder)
	}
	if a.finAcked {
		c.onFINAcked(now, o)
	}
}
