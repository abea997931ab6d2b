package tcp

import (
	"math"

	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Wrote reports that the application has written n more bytes. The owner keeps them until Acked has
// passed them. It is all or nothing: it is a no-op if CanWrite is false, or if more than 2^30 bytes
// would be unacknowledged.
func (c *Conn) Wrote(now wheel.Time, n uint32, flags WriteFlags, o *Output) {
	if !c.CanWrite() || c.sndEnd.Add(n).Sub(c.sndUna) > maxFlight || n > maxFlight {
		return
	}
	c.sndEnd = c.sndEnd.Add(n)
	switch {
	case flags&WriteMore == 0:
		c.more = moreNone
	case flags&WritePart != 0:
		c.more = morePart
	default:
		c.more = moreHeld
	}
	c.corkExpired = false
	if flags&WriteUrgent != 0 && n > 0 {
		// RFC 9293 §3.8.5 (MUST-62): the urgent pointer points behind the urgent data.
		c.needRare().sndUp, c.urgent = c.sndEnd, true
	}
	if flags&WriteEOR != 0 && n > 0 {
		r := c.needRare()
		r.records, c.hasRecords = append(r.records, c.sndEnd), true
	}
	c.output(now, o)
	c.watchUserTimeout(now, o)
}

// CanWrite reports whether Wrote accepts data: from the open until Shutdown, Close or the end.
func (c *Conn) CanWrite() bool {
	switch c.state {
	case StateSynSent, StateSynReceived, StateEstablished, StateCloseWait:
		return !c.finQueued
	}
	return false
}

// WriteRoom returns how many bytes SocketOptions.NotSentLowat lets the application write at once,
// while pending bytes of writes were not reported yet. As in Linux a write takes one buffer after
// the other while less than the bound is unsent, and a buffer has the full segments of half the
// peer's largest window, 64 KiB at most.
func (c *Conn) WriteRoom(pending uint32) uint32 {
	switch low := c.opts.NotSentLowat; {
	case low == 0:
		return math.MaxUint32
	case uint64(c.queued())+uint64(pending) >= uint64(low):
		return 0
	}
	mss := max(c.mss, 1)
	return max(min(c.snd.MaxWnd/2, 1<<16)/mss, 1) * mss
}

// LittleUnsent reports whether an application that waits for room, as in poll(2), is woken: less
// than half of SocketOptions.NotSentLowat is unsent, as in Linux, so that not each segment wakes
// it.
func (c *Conn) LittleUnsent(pending uint32) bool {
	low := c.opts.NotSentLowat
	return low == 0 || 2*(uint64(c.queued())+uint64(pending)) < uint64(low)
}

// unsentRecord returns how many of the queued bytes may be in the next segment: those of the first
// record, or all.
func (c *Conn) unsentRecord(queued uint32) uint32 {
	if !c.hasRecords {
		return queued
	}
	r := c.rare
	for len(r.records) > 0 && r.records[0].AtOrBefore(c.sndNxt) {
		r.records = r.records[1:]
	}
	if len(r.records) == 0 {
		r.records, c.hasRecords = nil, false
		return queued
	}
	return r.records[0].Sub(c.sndNxt)
}

// output sends what may be sent: retransmissions, new data, the FIN, and an ACK if one is due and
// no other segment carried it. It also starts the timers that watch unsent data.
func (c *Conn) output(now wheel.Time, o *Output) {
	full := !c.LittleUnsent(0)
	if c.state >= StateEstablished && c.state != StateTimeWait {
		c.rec.cwndHeld, c.rec.rwndHeld, c.rec.appLimited = false, false, false
		before := c.dataOut
		if c.fl.sent.pendingRexmits() > 0 || c.caState == CARecovery {
			c.sendLost(now, o)
		}
		if !c.allSent() {
			c.sendNew(now, o)
		} else {
			c.timers.stop(o, tcptimers.Persist)
		}
		if c.dataOut != before || c.rec.cwndHeld {
			c.noteWindowUse()
		}
		if c.rec.appLimited && c.caState == CAOpen && !c.fl.use.full {
			c.cc.OnApplicationLimited(now)
		}
		if c.rec.probeDue {
			c.timer().scheduleProbe(c, now, o)
		}
	}
	if full && c.LittleUnsent(0) {
		o.Events |= EventWritable
	}
	if c.state >= StateEstablished {
		c.updateMeter(now)
	}
	if c.rcv.ackDue && c.state >= StateEstablished {
		c.sendAck(now, o)
	}
	if c.fl.sent.Len() == 0 && c.fl != &atRest && c.caState == CAOpen {
		c.returnFlight(o)
	}
}

// cwndAllows reports whether congestion control allows n more bytes.
func (c *Conn) cwndAllows(n uint32) bool {
	if c.fl.sent.Pipe().Bytes == 0 {
		return true // with nothing in flight no ACK would ever allow more
	}
	switch {
	case c.reducing():
		return n <= c.fl.sndcnt
	case c.caState == CALoss && c.fl.sent.RetransOut().Segments > c.delivered-c.fl.lossDelivered:
		// RFC 5681 §3.1: after a timeout the window is one segment, and a delivered segment makes
		// room for one more. In bytes alone hundreds of small ones would fit and overrun the path.
		return false
	}
	return uint64(c.pipe())+uint64(n) <= uint64(c.cc.Cwnd())
}

// spendSndcnt charges n sent bytes to PRR during fast recovery.
func (c *Conn) spendSndcnt(n uint32) {
	if c.reducing() {
		c.fl.sndcnt -= min(n, c.fl.sndcnt)
		c.fl.prr.OnSent(n)
	}
}

// pacerAllows reports whether the pacer allows a segment now, and starts its timer if not.
// Departures within the current tick are allowed.
func (c *Conn) pacerAllows(now wheel.Time, o *Output) bool {
	if !c.cfg.Pacing {
		return true
	}
	p := &c.cfg.Policy
	next := c.needRare().pacer.Next(now)
	if next <= now.Add(p.Tick) {
		return true
	}
	if !c.timers.runs(tcptimers.Pacing) {
		c.timers.start(o, tcptimers.Pacing, p.Deadline(next.Add(-p.Tick), 0))
	}
	return false
}

func (c *Conn) notePaced(now wheel.Time, n uint32) {
	if c.cfg.Pacing {
		rate, _ := congestion.PacingRate(c.cc.Cwnd(), c.cc.Ssthresh(), c.est.SRTT())
		c.needRare().pacer.OnSent(now, n, rate)
	}
}

// sendNew sends new data as far as the windows allow.
func (c *Conn) sendNew(now wheel.Time, o *Output) {
	// Data that waits at a closed window is no idle time. Linux checks when data is queued
	// (tcp_skb_entail), and when the window opens (tcp_ack_update_window), not when data leaves.
	if waits := c.timers.runs(tcptimers.Persist) && !c.persistIsCork; c.hasSent && c.fl.sent.Len() == 0 && !waits {
		c.cc.OnIdle(now, now.Sub(c.lastSent), c.est.RTO())
	}
	for {
		hold, sent := c.sendOne(now, false, o)
		if sent && !c.allSent() {
			c.sendBurst(now, o)
			continue
		}
		switch {
		case sent:
			c.timers.stop(o, tcptimers.Persist)
			c.rec.appLimited = true
		case hold == holdCork:
			c.startCorkTimer(now, o)
		case hold == holdWindow:
			c.rec.rwndHeld = true
			switch {
			case c.fl.sent.Len() > 0: // its ACK opens the window
				c.timers.stop(o, tcptimers.Persist)
			case c.snd.Usable(c.sndUna, c.sndNxt) > 0:
				c.startCorkTimer(now, o) // the window is small: override timeout, RFC 9293 §3.8.6.2.1
			default:
				c.startPersist(now, o)
			}
		case hold == holdNagle:
			c.rec.appLimited = true
			c.timers.stop(o, tcptimers.Persist)
		default: // an ACK or the pacer will release it
			c.timers.stop(o, tcptimers.Persist)
		}
		return
	}
}

// sendOne sends one new segment, or returns why not. (holdNone, false) means that congestion
// control or pacing held it back. free bypasses both.
func (c *Conn) sendOne(now wheel.Time, free bool, o *Output) (hold holdReason, sent bool) {
	queued := c.queued()
	usable := c.snd.Usable(c.sndUna, c.sndNxt)
	if queued == 0 {
		if !c.finQueued || c.finSent {
			return holdEmpty, false
		}
		// A lone FIN. RFC 9293 §3.4 gives it a sequence number, so it must be in the peer's window.
		// The congestion window and the pacer do not hold it, because it has no data, as in Linux
		// (tcp_cwnd_test). A FIN on a data segment waits with the data.
		if usable == 0 {
			return holdWindow, false
		}
		return holdNone, c.sendData(now, 0, true, o)
	}
	mss := c.segmentMSS()
	n, record := mss, c.unsentRecord(queued)
	if record < mss || usable < mss {
		n, hold = nextSegmentLen(sendInput{
			Queued: record, Usable: usable, MSS: mss, MaxWnd: c.snd.Recent,
			Idle: c.fl.sent.Len() == 0, SmallOut: c.smallOut(), Complete: c.finQueued || record < queued,
			NoDelay: c.opts.NoDelay, Minshall: c.cfg.Minshall, Cork: c.opts.Cork, More: c.more >= moreHeld,
			// F-RTO needs this segment, whatever its size, to find out whether the flight was lost.
			Override: c.corkExpired || free || c.fl.frto.Active(),
		})
		if hold != holdNone {
			return hold, false
		}
	}
	if !free {
		if c.fl.frto.Active() {
			if c.rec.frtoCredit == 0 {
				c.rec.cwndHeld = true
				return holdNone, false
			}
		} else if !c.allowsNew(n) {
			c.rec.cwndHeld = true
			return holdNone, false
		}
		if !c.pacerAllows(now, o) {
			return holdNone, false
		}
	}
	if !c.sendData(now, n, c.finQueued && n == queued && usable > n, o) {
		return holdNone, false
	}
	// Else retransmissions would wait for what the replay let leave.
	if !c.replayLimits() || !c.rcv.sackOn {
		c.spendSndcnt(n)
	}
	if c.rec.frtoCredit > 0 {
		c.rec.frtoCredit--
	}
	if n < mss {
		c.sndSml, c.hasSndSml = c.sndNxt, true
	}
	if queued == n || n < mss {
		c.corkExpired = false // the wait was for this segment
	}
	return holdNone, true
}

// smallOut reports whether a small segment is unacknowledged, for Minshall's variant
// (RFC 9293 §A.3). Knowing the last one suffices.
func (c *Conn) smallOut() bool {
	c.hasSndSml = c.hasSndSml && c.sndSml.After(c.sndUna)
	return c.hasSndSml
}

// sendData sends n bytes of new data, and the FIN if fin. It reports false if the flight is full.
func (c *Conn) sendData(now wheel.Time, n uint32, fin bool, o *Output) bool {
	length, flags, segFlags := n, Flags(0), sentFlags(0)
	if fin {
		length++
		flags, segFlags = FIN, sentFIN
	}
	queued := c.queued()
	record := c.unsentRecord(queued)
	if n > 0 && n == record && (record < queued || c.more == moreNone || c.corkExpired || c.finQueued) {
		// RFC 9293 §3.9.1.2 (MUST-61): PSH is set "in the last buffered segment (i.e., when there is no
		// more queued data to be sent)". MSG_MORE announces more, until the wait for it is over. Each
		// record has its own end.
		flags |= PSH
		segFlags |= sentPSH
	}
	seq := c.sndNxt
	c.needFlight(o)
	c.meterSent(now, seq.Add(length))
	id, ok := c.fl.sent.Push(now, seq, length, segFlags)
	if !ok {
		return false
	}
	c.sndNxt = seq.Add(length)
	c.finSent = c.finSent || fin
	c.windowProbeOut = false
	if c.cfg.Policy.OneSample && !c.timed {
		c.timed, c.fl.timedSeq, c.fl.timedAt = true, seq, now
	}
	c.timer().sent(c, now, id, o)
	c.rcv.delack.onDataSent(now, &c.cfg.Policy.DelAck)
	out := c.appendSegment(now, seq, flags, o)
	out.Offset, out.Len = c.acked+uint64(seq.Sub(c.dataUna())), n
	if ect, cwr := c.ecn.OnSend(n > 0); ect {
		out.ECT = true
		if cwr {
			out.Header.Flags |= CWR
		}
	}
	c.lastSent, c.hasSent = now, true
	c.dataOut++
	c.bytesSent += uint64(n)
	c.rec.probeDue = true
	o.Counters.OutSegs++
	if n > 0 {
		o.Counters.TCPOrigDataSent++
	}
	c.notePaced(now, n)
	return true
}
