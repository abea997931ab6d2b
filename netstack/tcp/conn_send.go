package tcp

import (
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Wrote tells that the application has written n octets more. Where the state does not allow that, nothing is taken:
// CanWrite tells before; so do more octets than a window of 2^30 and what is unacknowledged leave room for.
func (c *Conn) Wrote(now wheel.Time, n uint32, flags WriteFlags, o *Output) {
	if !c.CanWrite() || c.sndEnd.Add(n).Sub(c.sndUna) > maxFlight || n > maxFlight {
		return
	}
	c.sndEnd = c.sndEnd.Add(n)
	c.more = flags&WriteMore != 0
	c.corkOver = false
	if flags&WriteUrgent != 0 && n > 0 {
		// RFC 9293 §3.8.5 (MUST-62): the urgent pointer is to the octet after the urgent data.
		c.sndUp, c.urgent = c.sndEnd, true
	}
	c.output(now, o)
	c.watchUser(now, o)
}

// CanWrite reports whether Wrote takes octets: from the open on, until Shutdown, Close or the end.
func (c *Conn) CanWrite() bool {
	switch c.state {
	case StateSynSent, StateSynReceived, StateEstablished, StateCloseWait:
		return !c.finQueued
	}
	return false
}

// output sends what may be sent: retransmissions, new data, the FIN, and an ACK if one is due and nothing else bore it. It
// then starts the timers that watch what is not sent.
func (c *Conn) output(now wheel.Time, o *Output) {
	if c.state >= StateEstablished && c.state != StateTimeWait {
		c.rec.limited = false
		if c.fl.sent.waitingLost() > 0 || c.ca == CARecovery {
			c.sendLost(now, o)
		}
		if !c.allSent() {
			c.sendNew(now, o)
		} else {
			c.stop(o, tcptimers.Persist)
		}
		if c.rec.probeDue {
			c.scheduleProbe(now, o)
		}
	}
	if c.ackDue && c.state >= StateEstablished {
		c.sendAck(now, o)
	}
	if c.fl.sent.Len() == 0 && c.fl != &atRest && c.ca == CAOpen {
		c.land(o)
	}
}

// segment adds a segment with ACK to what is to be sent. The pointer is good until the next one.
func (c *Conn) segment(now wheel.Time, seq Seq, flags Flags, o *Output) *Outgoing {
	o.Segments = append(o.Segments, Outgoing{})
	s := &o.Segments[len(o.Segments)-1]
	h := &s.Header
	h.Seq, h.Flags, h.Ack = seq, flags|ACK, c.rq.Nxt()
	if c.tsOn {
		h.Options.HasTimestamps, h.Options.TSVal = true, c.timestamp(now)
		h.Options.TSEcr, _ = c.paws.Recent()
	}
	if c.hasBlocks() {
		room := h.Options.Fit()
		h.Options.NumSACK = uint8(c.gen.Blocks(&c.rq, h.Options.SACK[:room]))
		if c.gen.hasDup {
			if c.gen.dup.Start.Before(h.Ack) {
				o.Counters.TCPDSACKOldSent++
			} else {
				o.Counters.TCPDSACKOfoSent++
			}
		}
		if c.gen.OnAckSent(&c.rq); c.gen.n == 0 {
			c.gen = nil
		}
	}
	h.Window = c.win.Advertise(h.Ack, c.user, c.windowMSS())
	if shut := h.Window == 0; shut != c.shut {
		c.shut = shut
		if shut {
			o.Counters.TCPToZeroWindowAdv++
		} else {
			o.Counters.TCPFromZeroWindowAdv++
		}
	}
	if c.ecn.ECE() {
		h.Flags |= ECE
	}
	if c.urgent && seq.Before(c.sndUp) {
		h.Flags |= URG
		h.Urgent = uint16(min(c.sndUp.Sub(seq), 65535)) // as far as it reaches: the urgent data goes on behind it
	}
	c.sentAck = h.Ack
	c.delack.OnAckSent()
	c.stop(o, tcptimers.DelAck)
	c.ackDue = false
	c.segsOut++
	return s
}

// hasBlocks reports whether the next segment has SACK blocks.
func (c *Conn) hasBlocks() bool {
	return c.sackOn && c.gen != nil && (c.rq.Beyond() || c.gen.hasDup)
}

// segmentMSS returns how many octets of data the next segment may have.
func (c *Conn) segmentMSS() uint32 {
	if !c.hasBlocks() {
		return c.mss
	}
	opt := Options{HasTimestamps: c.tsOn}
	opt.NumSACK = uint8(c.gen.Blocks(&c.rq, opt.SACK[:opt.Fit()]))
	return c.effectiveMSS(opt.Len())
}

// sendAck sends a segment that is nothing but an ACK.
func (c *Conn) sendAck(now wheel.Time, o *Output) { c.sendAckFrom(now, c.ackSeq(), o) }

// ackSeq returns the sequence number for a segment without octets: SND.NXT, or the right edge of the peer's window if the
// peer has taken back some of what is in flight, since it would not accept what is beyond.
func (c *Conn) ackSeq() Seq {
	if edge := c.sndUna.Add(c.snd.Wnd); c.sndNxt.After(edge.Add(1 << c.sndScale)) {
		return edge
	}
	return c.sndNxt
}

func (c *Conn) sendAckFrom(now wheel.Time, seq Seq, o *Output) {
	c.segment(now, seq, 0, o)
	o.Counters.OutSegs++
}

// sendRST sends a reset that is believed at seq: <SEQ=seq><CTL=RST>, with an ACK where the peer's numbers are known.
func (c *Conn) sendRST(now wheel.Time, seq Seq, o *Output) {
	o.Segments = append(o.Segments, Outgoing{})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = seq, RST
	if c.state.synchronized() {
		h.Flags |= ACK
		h.Ack = c.rq.Nxt()
	}
	if c.tsOn {
		// RFC 7323 §3.2: the option must be in every segment but a RST, and should be in that too.
		h.Options.HasTimestamps, h.Options.TSVal = true, c.timestamp(now)
		h.Options.TSEcr, _ = c.paws.Recent()
	}
	c.segsOut++
	o.Counters.OutSegs++
	o.Counters.OutRsts++
}

// allows reports whether congestion control lets n octets go.
func (c *Conn) allows(n uint32) bool {
	if c.fl.sent.Pipe().Octets == 0 {
		return true
	}
	switch {
	case c.ca == CARecovery:
		return n <= c.fl.sndcnt
	case c.ca == CALoss && c.sndUna == c.rec.began && c.fl.sent.RetransOut().Segments > 0:
		// RFC 5681 §3.1: after a timeout the window is that of one segment, also where more small ones would fit. Each with
		// its own timer, they could crowd out the first for ever.
		return false
	}
	return uint64(c.pipe())+uint64(n) <= uint64(c.cc.Cwnd())
}

// spend notes that n octets went by the leave of congestion control.
func (c *Conn) spend(n uint32) {
	if c.ca == CARecovery {
		c.fl.sndcnt -= min(n, c.fl.sndcnt)
		c.fl.prr.OnSent(n)
	}
}

// pace reports whether the pacer lets a segment go, and starts its timer if not. What would depart within the tick at hand may.
func (c *Conn) pace(now wheel.Time, o *Output) bool {
	if !c.cfg.Pacing {
		return true
	}
	p := &c.cfg.Policy
	next := c.few().pacer.Next(now)
	if next <= now.Add(p.Tick) {
		return true
	}
	if !c.runs(tcptimers.Pacing) {
		c.start(o, tcptimers.Pacing, p.Deadline(next.Add(-p.Tick), 0))
	}
	return false
}

func (c *Conn) paced(now wheel.Time, n uint32) {
	if c.cfg.Pacing {
		rate, _ := congestion.PacingRate(c.cc.Cwnd(), c.cc.Ssthresh(), c.est.SRTT())
		c.few().pacer.OnSent(now, n, rate)
	}
}

// sendLost retransmits what is lost, as far as congestion control allows.
func (c *Conn) sendLost(now wheel.Time, o *Output) {
	r := &c.rec
	if c.fl.frto.Active() {
		r.limited = true // by the window of one segment that the timeout left
		return           // F-RTO finds out first whether anything was lost
	}
	if c.ca == CARecovery && c.sackOn && !c.cfg.Policy.RACK {
		c.sendNextSeg(now, o)
		return
	}
	for id := c.nextLost(); id != 0; id = c.nextLost() {
		s := c.fl.sent.seg(id)
		n := min(s.Len, c.mss)
		if !r.force && (!c.allows(n) || !c.pace(now, o)) {
			r.limited = true
			return
		}
		r.force = false
		c.retransmit(now, id, o)
		c.spend(n)
		if c.ca == CALoss {
			o.Counters.TCPSlowStartRetrans++
		} else {
			o.Counters.TCPFastRetrans++
		}
	}
}

// sendNextSeg sends in the order of RFC 6675 §4, NextSeg.
func (c *Conn) sendNextSeg(now wheel.Time, o *Output) {
	r := &c.rec
	for c.fl.l6675.inRecovery {
		canSendNew := c.queued() > 0 && c.snd.Usable(c.sndUna, c.sndNxt) > 0
		id, rule := c.fl.l6675.NextSeg(&c.fl.sent, canSendNew)
		if first := c.fl.sent.Front(); r.force && first != 0 && c.fl.sent.seg(first).state.waits() {
			// RFC 6675 §5 (4.3): "Retransmit the first data segment presumed dropped -- the segment starting with sequence
			// number HighACK + 1." Others than IsLost may have presumed it.
			id, rule = first, NextSegLost
		} else if again := c.nextLost(); again != 0 && c.fl.sent.seg(again).Seq.Before(c.fl.l6675.highRxtEnd) {
			// A retransmission below HighRxt may be known to be lost too, by Vegas's check or for a smaller MTU.
			id, rule = again, NextSegLost
		}
		if rule == NextSegNone || rule == NextSegNew {
			return // new data follows
		}
		n := min(c.fl.sent.seg(id).Len, c.mss)
		if !r.force && (!c.allows(n) || !c.pace(now, o)) {
			r.limited = true
			return
		}
		r.force = false
		c.retransmit(now, id, o)
		c.fl.l6675.Retransmitted(&c.fl.sent, id, rule)
		c.spend(n)
		o.Counters.TCPFastRetrans++
	}
}

// retransmit sends the segment id again, the first MSS of it if it is longer.
func (c *Conn) retransmit(now wheel.Time, id SegmentID, o *Output) {
	s := c.fl.sent.seg(id)
	c.timed = false // RFC 6298 §3: Karn's algorithm
	if s.Flags&SegmentSYN != 0 {
		c.fl.sent.Retransmit(now, id)
		c.emitSYN(now, s.Transmissions-1, o)
		c.armRexmit(now, id, o)
		return
	}
	mss := c.segmentMSS()
	if payload := s.payload(); payload > mss {
		if second, ok := c.fl.sent.splitToFit(id, s.Seq.Add(mss)); ok {
			s = c.fl.sent.seg(id)
			if c.perSegment() {
				c.rearmSegment(second, c.cfg.Policy.Deadline(s.Sent, c.est.RTO()), o)
			}
		}
	}
	again := s.Transmissions > 1
	if c.rare != nil {
		c.rare.vegas.OnRetransmit()
	}
	if c.rec.undoable {
		if c.tsOn {
			c.rec.eifel.OnRetransmit(c.timestamp(now))
		}
		c.rec.dsack.OnRetransmit(again && s.Sent >= c.fl.lossAt)
	}
	rexmit := s.Transmissions
	seq, payload, fin := s.Seq, s.payload(), s.Flags&SegmentFIN != 0
	c.fl.sent.Retransmit(now, id)
	c.armRexmit(now, id, o)

	flags := Flags(0)
	if fin {
		flags |= FIN
	}
	if seq.Add(payload) == c.sndEnd || c.fl.sent.seg(id).Flags&SegmentPSH != 0 {
		flags |= PSH
	}
	if payload == 0 {
		flags &^= PSH
	}
	out := c.segment(now, seq, flags, o)
	out.Offset, out.Len, out.Rexmit = c.acked+uint64(seq.Sub(c.dataUna())), payload, rexmit
	c.lastSent, c.heard = now, true
	c.rexmits++
	c.bytesRexmit += uint64(payload)
	c.bytesSent += uint64(payload)
	c.dataOut++
	o.Counters.RetransSegs++
	c.paced(now, payload)
}

// payload returns how many of the sequence numbers of s are octets of data.
func (s *Segment) payload() uint32 {
	n := s.Len
	if s.Flags&SegmentSYN != 0 {
		n--
	}
	if s.Flags&SegmentFIN != 0 {
		n--
	}
	return n
}

// sendNew sends what was never sent, as far as the windows allow.
func (c *Conn) sendNew(now wheel.Time, o *Output) {
	if c.heard && c.fl.sent.Len() == 0 {
		c.cc.OnIdle(now, now.Sub(c.lastSent), c.est.RTO())
	}
	for {
		hold, sent := c.sendOne(now, false, o)
		if sent && !c.allSent() {
			c.sendTrain(now, o)
			continue
		}
		switch {
		case sent:
			c.stop(o, tcptimers.Persist)
			c.applicationLimited(now)
		case hold == HoldCork:
			c.startHold(now, o)
		case hold == HoldWindow:
			switch {
			case c.fl.sent.Len() > 0: // its ACK brings another window
				c.stop(o, tcptimers.Persist)
			case c.snd.Usable(c.sndUna, c.sndNxt) > 0:
				c.startHold(now, o) // the window is small: RFC 9293 §3.8.6.2.1, the override timeout
			default:
				c.startPersist(now, o)
			}
		case hold == HoldNagle:
			c.applicationLimited(now)
			c.stop(o, tcptimers.Persist)
		default: // ACKs, or the pacer, let the rest go
			c.stop(o, tcptimers.Persist)
		}
		return
	}
}

// applicationLimited tells congestion control that there is nothing more to send, if the window would take it.
func (c *Conn) applicationLimited(now wheel.Time) {
	if c.ca == CAOpen && c.fl.sent.Outstanding().Octets < c.cc.Cwnd() {
		c.cc.OnApplicationLimited(now)
	}
}

// sendOne sends one segment that was never sent, or tells why not: HoldNot stands for congestion control and pacing. free has
// it go without the leave of congestion control.
func (c *Conn) sendOne(now wheel.Time, free bool, o *Output) (hold SendHold, sent bool) {
	queued := c.queued()
	usable := c.snd.Usable(c.sndUna, c.sndNxt)
	if queued == 0 {
		if !c.finQueued || c.finSent {
			return HoldEmpty, false
		}
		// The FIN alone. RFC 9293 §3.4 gives it a sequence number, which has to be in the window like others.
		if usable == 0 {
			return HoldWindow, false
		}
		return HoldNot, c.push(now, 0, true, o)
	}
	mss := c.segmentMSS()
	n, hold := MaySend(SendChance{
		Queued: queued, Usable: usable, MSS: mss, MaxWnd: c.snd.MaxWnd,
		Idle: c.fl.sent.Len() == 0, SmallOut: c.smallOut(), Closing: c.finQueued,
		NoDelay: c.opts.NoDelay, Minshall: c.cfg.Minshall, Cork: c.opts.Cork, More: c.more,
		// F-RTO is to find out by this segment, whatever its size, whether what is in flight was lost.
		Override: c.corkOver || free || c.fl.frto.Active(),
	})
	if hold != HoldNot {
		return hold, false
	}
	if !free {
		if c.fl.frto.Active() {
			if c.rec.newLeft == 0 {
				c.rec.limited = true
				return HoldNot, false
			}
		} else if !c.permits(n) {
			c.rec.limited = true
			return HoldNot, false
		}
		if !c.pace(now, o) {
			return HoldNot, false
		}
	}
	if !c.push(now, n, c.finQueued && n == queued && usable > n, o) {
		return HoldNot, false
	}
	if c.cfg.Permits == nil || !c.sackOn { // else retransmissions are not to wait for what the capture let go
		c.spend(n)
	}
	if c.rec.newLeft > 0 {
		c.rec.newLeft--
	}
	if n < mss {
		c.small, c.smallSent = c.sndNxt, true
	}
	if queued == n || n < mss {
		c.corkOver = false // it was for this segment
	}
	return HoldNot, true
}

// smallOut reports whether a segment that was not full is unacknowledged, for Minshall's variant (RFC 9293 §A.3). It is enough to
// know the last one.
func (c *Conn) smallOut() bool {
	c.smallSent = c.smallSent && c.small.After(c.sndUna)
	return c.smallSent
}

// push sends n octets that were never sent, and the FIN if fin.
func (c *Conn) push(now wheel.Time, n uint32, fin bool, o *Output) bool {
	length, flags, segFlags := n, Flags(0), SegmentFlags(0)
	if fin {
		length++
		flags, segFlags = FIN, SegmentFIN
	}
	if n > 0 && n == c.queued() {
		flags |= PSH
		segFlags |= SegmentPSH
	}
	seq := c.sndNxt
	c.takeOff(o)
	id, ok := c.fl.sent.Push(now, seq, length, segFlags)
	if !ok {
		return false
	}
	c.sndNxt = seq.Add(length)
	c.finSent = c.finSent || fin
	c.probed = false
	if c.cfg.Policy.OneSample && !c.timed {
		c.timed, c.timedSeq, c.fl.timedAt = true, seq, now
	}
	c.armRexmit(now, id, o)
	out := c.segment(now, seq, flags, o)
	out.Offset, out.Len = c.acked+uint64(seq.Sub(c.dataUna())), n
	if ect, cwr := c.ecn.OnSend(n > 0); ect {
		out.ECT = true
		if cwr {
			out.Header.Flags |= CWR
		}
	}
	c.lastSent, c.heard = now, true
	c.dataOut++
	c.bytesSent += uint64(n)
	c.rec.probeDue = true
	o.Counters.OutSegs++
	if n > 0 {
		o.Counters.TCPOrigDataSent++
	}
	c.paced(now, n)
	return true
}
