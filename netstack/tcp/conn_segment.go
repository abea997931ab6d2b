package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// appendSegment appends a segment with ACK to the Output. The pointer is valid until the next
// append.
func (c *Conn) appendSegment(now wheel.Time, seq Seq, flags Flags, o *Output) *Outgoing {
	o.Segments = append(o.Segments, Outgoing{})
	s := &o.Segments[len(o.Segments)-1]
	h := &s.Header
	h.Seq, h.Flags = seq, flags|ACK
	if c.rcv.tsOn {
		h.Options.HasTimestamps, h.Options.TSVal = true, c.timestamp(now)
	}
	c.rcv.stamp(h, c.mss, o)
	c.timers.stop(o, tcptimers.DelAck)
	c.ackAtEdge = false
	if c.ecn.ECE() {
		h.Flags |= ECE
	}
	if c.urgent && seq.Before(c.rare.sndUp) {
		h.Flags |= URG
		// The field has 16 bits; later segments repeat it.
		h.Urgent = uint16(min(c.rare.sndUp.Sub(seq), 65535))
	}
	c.segsOut++
	return s
}

// segmentMSS returns how many data bytes the next segment may carry.
func (c *Conn) segmentMSS() uint32 {
	if !c.rcv.reports() {
		return c.mss
	}
	opt := Options{HasTimestamps: c.rcv.tsOn}
	opt.NumSACK = c.rcv.blocks(opt.SACK[:opt.sackRoom()])
	return c.effectiveMSS(opt.encodedLen())
}

// sendAck sends a pure ACK. Its sequence number is SND.NXT, or the right edge of the peer's window
// if that is below SND.NXT.
//
// A peer whose scale rounds the window down (gVisor, BSD) takes back up to 2^scale - 1 bytes of it.
// gVisor drops pure ACKs beyond the edge, and data too once the window rounds to zero. If its
// application does not read until we acknowledge what it wrote, SND.NXT would block both directions
// forever. Linux sends SND.NXT here (tcp_acceptable_seq), which a Linux peer accepts.
//
// A peer that has taken the bytes beyond the edge may drop an ACK at the edge as old. Its ACK of
// these bytes then draws another one from us: see advance.
func (c *Conn) sendAck(now wheel.Time, o *Output) {
	seq := c.sndNxt
	if edge := c.sndUna.Add(c.snd.Wnd); seq.After(edge) && c.state >= StateEstablished {
		seq = edge
	}
	c.sendAckFrom(now, seq, o)
	c.ackAtEdge = seq != c.sndNxt
}

// rstSeq returns the sequence number of a reset. The peer obeys it at its RCV.NXT only (RFC 5961
// §3.2): that is SND.NXT, unless the peer shrank its window by more than its scale rounds. Then it
// has dropped what is beyond the edge.
func (c *Conn) rstSeq() Seq {
	if edge := c.sndUna.Add(c.snd.Wnd); c.sndNxt.After(edge.Add(1 << c.sndScale)) {
		return edge
	}
	return c.sndNxt
}

func (c *Conn) sendAckFrom(now wheel.Time, seq Seq, o *Output) {
	c.appendSegment(now, seq, 0, o)
	o.Counters.OutSegs++
	if o.coalesceACKs() {
		c.segsOut--
	}
}

// answerWithRST sends the reset that answers a segment with ACK number ack, as if there were no
// connection: <SEQ=SEG.ACK><CTL=RST>.
func (c *Conn) answerWithRST(ack Seq, o *Output) {
	o.Segments = append(o.Segments, Outgoing{Header: Header{Seq: ack, Flags: RST}})
	c.segsOut++
	o.Counters.OutSegs++
	o.Counters.OutRsts++
}

// sendRST sends a reset that the peer accepts at seq: <SEQ=seq><CTL=RST>, with an ACK in the
// synchronized states.
func (c *Conn) sendRST(now wheel.Time, seq Seq, o *Output) {
	o.Segments = append(o.Segments, Outgoing{})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = seq, RST
	if c.state.synchronized() {
		h.Flags |= ACK
		h.Ack = c.rcv.nxt()
	}
	if c.rcv.tsOn {
		// RFC 7323 §3.2: timestamps are mandatory except in a RST, and recommended there.
		h.Options.HasTimestamps, h.Options.TSVal = true, c.timestamp(now)
		h.Options.TSEcr, _ = c.rcv.paws.Recent()
	}
	c.segsOut++
	o.Counters.OutSegs++
	o.Counters.OutRsts++
}
