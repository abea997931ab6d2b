package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// appendSegment appends a segment with ACK to the Output. The pointer is valid until the next
// append.
func (snd *sender) appendSegment(now wheel.Time, seq Seq, flags Flags, o *Output) *Outgoing {
	o.Segments = append(o.Segments, Outgoing{})
	s := &o.Segments[len(o.Segments)-1]
	h := &s.Header
	h.Seq, h.Flags = seq, flags|ACK
	if snd.rcv.tsOn {
		h.Options.HasTimestamps, h.Options.TSVal = true, snd.timestamp(now)
	}
	snd.rcv.stamp(h, snd.mss, o)
	snd.timers.stop(o, tcptimers.DelAck)
	snd.persist.ackAtEdge = false
	if snd.ecn.ECE() {
		h.Flags |= ECE
	}
	if snd.writes.urgent && seq.Before(snd.marks.up) {
		h.Flags |= URG
		// The field has 16 bits; later segments repeat it.
		h.Urgent = uint16(min(snd.marks.up.Sub(seq), 65535))
	}
	snd.stats.segments++
	return s
}

// segmentMSS returns how many data bytes the next segment may carry.
func (snd *sender) segmentMSS() uint32 {
	if !snd.rcv.reports() {
		return snd.mss
	}
	opt := Options{HasTimestamps: snd.rcv.tsOn}
	opt.NumSACK = snd.rcv.blocks(opt.SACK[:opt.sackRoom()])
	return snd.terms.effectiveMSS(snd, opt.encodedLen())
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
func (snd *sender) sendAck(now wheel.Time, o *Output) {
	seq := snd.nxt
	if edge := snd.una.Add(snd.wnd.Wnd); seq.After(edge) && snd.established() {
		seq = edge
	}
	snd.sendAckFrom(now, seq, o)
	snd.persist.ackAtEdge = seq != snd.nxt
}

// rstSeq returns the sequence number of a reset. The peer obeys it at its RCV.NXT only (RFC 5961
// §3.2): that is SND.NXT, unless the peer shrank its window by more than its scale rounds. Then it
// has dropped what is beyond the edge.
func (snd *sender) rstSeq() Seq {
	if edge := snd.una.Add(snd.wnd.Wnd); snd.nxt.After(edge.Add(1 << snd.terms.scale)) {
		return edge
	}
	return snd.nxt
}

func (snd *sender) sendAckFrom(now wheel.Time, seq Seq, o *Output) {
	snd.appendSegment(now, seq, 0, o)
	o.Counters.OutSegs++
	if o.coalesceACKs() {
		snd.stats.segments--
	}
}

// answerWithRST sends the reset that answers a segment with ACK number ack, as if there were no
// connection: <SEQ=SEG.ACK><CTL=RST>.
func (snd *sender) answerWithRST(ack Seq, o *Output) {
	o.Segments = append(o.Segments, Outgoing{Header: Header{Seq: ack, Flags: RST}})
	snd.stats.segments++
	o.Counters.OutSegs++
	o.Counters.OutRsts++
}

// sendRST sends a reset that the peer accepts at seq: <SEQ=seq><CTL=RST>, with an ACK in the
// synchronized states.
func (snd *sender) sendRST(now wheel.Time, seq Seq, o *Output) {
	o.Segments = append(o.Segments, Outgoing{})
	h := &o.Segments[len(o.Segments)-1].Header
	h.Seq, h.Flags = seq, RST
	if snd.established() {
		h.Flags |= ACK
		h.Ack = snd.rcv.nxt()
	}
	if snd.rcv.tsOn {
		// RFC 7323 §3.2: timestamps are mandatory except in a RST, and recommended there.
		h.Options.HasTimestamps, h.Options.TSVal = true, snd.timestamp(now)
		h.Options.TSEcr, _ = snd.rcv.paws.Recent()
	}
	snd.stats.segments++
	o.Counters.OutSegs++
	o.Counters.OutRsts++
}
