package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// takeData processes the data and FIN of an acceptable segment.
func (c *Conn) takeData(now wheel.Time, in *Inbound, a Arrival, o *Output) (v Disposition) {
	if !c.state.canReceive() {
		// RFC 9293 §3.10.7.4: in the other states "This should not occur since a FIN has been
		// received from the remote side. Ignore the segment text."
		if a.FIN || a.Len > 0 {
			c.insertOld(a, o)
			c.ackDue = true
			if c.state == StateTimeWait && a.FIN {
				c.restartTimeWait(now, o)
			}
		}
		return Disposition{}
	}
	before := c.rq.Nxt()
	wnd := c.win.Wnd(before)
	if c.readClosed && a.payload().End.After(before) && a.Len > 0 {
		// RFC 2525 §2.17: data that no application will read must not be acknowledged; the peer
		// learns of it by a RST.
		o.Counters.TCPAbortOnData++
		switch {
		case c.cfg.ResetAtAck:
			c.answerWithRST(in.Header.Ack, o)
		case c.frontMissing(now, in.Header):
			c.sendRST(now, c.sndUna, o)
		default:
			c.sendRST(now, c.rstSeq(), o)
		}
		c.closed(now, ErrAborted, o)
		return Disposition{}
	}
	if a.Len > 0 {
		c.dataIn++
		c.ecn.OnData(in.CE, in.Header.Flags.Has(CWR))
	}
	var ins insertion
	c.rq.Insert(a, wnd, &ins)
	if c.sackOn {
		c.noteInsertion(&ins)
	}
	v = Disposition{Offset: ins.Offset, Len: ins.Keep.Len(), InOrder: ins.InOrder}
	if v.Len > 0 {
		v.Stream = c.received + uint64(ins.Keep.Start.Sub(before))
	}
	c.received += uint64(ins.InOrder)
	c.rcvUser += ins.InOrder
	if ins.InOrder > 0 {
		o.Events |= EventReadable
	}
	c.countArrival(&ins, a, o)
	c.sampleRcvRTT(now, in.Header, a)
	c.delayAck(now, in, a, &ins, o)
	if ins.FIN {
		c.reachFIN(now, o)
	} else if a.FIN {
		c.ackDue = true // out of order: RFC 5681 §4.2 applies as for data
	}
	return v
}

// frontMissing reports whether the peer had not received the first segment in flight when it sent
// h: h acknowledges nothing of it, and arrived more than a round trip after it left. SND.UNA was
// RCV.NXT then, the only number at which the peer obeys a RST (RFC 5961 §3.2).
func (c *Conn) frontMissing(now wheel.Time, h *Header) bool {
	id := c.fl.sent.Front()
	if id == 0 || h.Ack != c.sndUna || c.est.SRTT() == 0 {
		return false
	}
	return now.Sub(c.fl.sent.seg(id).Sent) >= c.est.SRTT()+c.est.RTTVar()
}

// sampleRcvRTT measures the receiver's RTT, by the timestamp that a full segment echoes, or else by
// window rounds.
func (c *Conn) sampleRcvRTT(now wheel.Time, h *Header, a Arrival) {
	if !c.tsOn {
		nxt := c.rq.Nxt()
		c.rcvRTT.OnData(now, nxt, c.win.Wnd(nxt))
		return
	}
	if h.Options.TSEcr == 0 || a.Len < c.delack.mss {
		return
	}
	if ticks := int32(c.timestamp(now) - h.Options.TSEcr); ticks >= 0 {
		c.rcvRTT.OnTimestamp(c.cfg.TimestampTick * time.Duration(max(ticks, 1)))
	}
}

// noteInsertion makes SACK blocks report the segment.
func (c *Conn) noteInsertion(ins *insertion) {
	if ins.Duplicate.Len() == 0 && ins.Block.Len() == 0 {
		return
	}
	if c.gen == nil {
		c.gen = new(sackGenerator)
	}
	c.gen.OnInsert(ins)
}

// countArrival updates the counters of out-of-order segments.
func (c *Conn) countArrival(ins *insertion, a Arrival, o *Output) {
	switch {
	case ins.Dropped > 0 && ins.Keep.Len() == 0 && a.Len > 0:
		if ins.Block.Len() == 0 && ins.InOrder == 0 {
			o.Counters.TCPOFODrop++
		}
	case ins.Block.Len() > 0 && ins.Keep.Len() > 0:
		o.Counters.TCPOFOQueue++
	case ins.Block.Len() > 0 && a.Len > 0:
		o.Counters.TCPOFOMerge++
	}
}

// delayAck decides when to acknowledge the segment.
func (c *Conn) delayAck(now wheel.Time, in *Inbound, a Arrival, ins *insertion, o *Output) {
	ce := c.ecn.On() && in.CE != c.lastCE && a.Len > 0
	if a.Len > 0 {
		c.lastCE = in.CE
	}
	if a.Len > 0 && !c.opts.NoQuickAck && c.delack.idle(now) > c.est.RTO() {
		// After an idle time the peer restarts with a small window: RFC 5681 §4.1.
		c.delack.requicken()
	}
	var s SegmentIn
	s.Len, s.PSH, s.FIN = a.Len, in.Header.Flags.Has(PSH), ins.FIN
	s.Duplicate = ins.Duplicate.Len() > 0 || ins.Dropped > 0
	s.FilledGap, s.Gap, s.CE = ins.FilledGap, len(c.rq.Held()) > 0, ce
	s.Now = c.opts.QuickAck || c.cfg.AckPush && s.PSH
	when, delay := c.delack.OnSegment(now, &c.cfg.Policy.DelAck, &s)
	switch when {
	case AckNow:
		c.ackDue = true
	case AckDelayed:
		c.timers.start(o, tcptimers.DelAck, c.cfg.Policy.DelAckDeadline(now, delay))
	}
}

// Consumed reports that the application has read n bytes, at most the readable ones. It sends an
// ACK if the window has opened enough (RFC 9293 §3.8.6.2.2), and may grow the receive buffer.
func (c *Conn) Consumed(now wheel.Time, n uint32, o *Output) {
	n = min(n, c.rcvUser)
	c.rcvUser -= n
	if c.rcvUrgent && c.rare.rcvUp.AtOrBefore(c.rq.Nxt()-Seq(c.rcvUser)) {
		c.rcvUrgent = false // all urgent data is read
	}
	if !c.state.canReceive() {
		return
	}
	if most := c.cfg.RecvBufferMax; most > c.cfg.RecvBuffer && !c.recvBufferFixed {
		if rtt, ok := c.rcvRTT.RTT(); ok {
			if buff, ok := c.tune.OnRead(now, n, rtt, c.mss, most); ok {
				c.win.Grow(buff)
			}
		}
	}
	c.updateWindow(now, o)
}

// UpdateDue reports whether Consumed(n) would open the window enough for an ACK of its own. The
// owner may let reads add up until then.
func (c *Conn) UpdateDue(n uint32) bool {
	return c.win.UpdateDue(c.rq.Nxt(), c.rcvUser-min(n, c.rcvUser), c.windowMSS())
}

// windowMSS returns the smallest step by which the window opens. RFC 9293 §3.8.6.2.2: "the receiver
// must use its own Eff.snd.MSS, making the assumption that it is the same as the sender's". If the
// peer is known to send larger segments, their size counts instead.
func (c *Conn) windowMSS() uint32 { return max(c.delack.mss, c.mss) }

// recvMSS returns the size of the peer's full segments, as far as known.
func (c *Conn) recvMSS() uint32 {
	if c.delack.mss > 0 {
		return c.delack.mss
	}
	return c.mss
}
