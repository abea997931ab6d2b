package tcp

import (
	"slices"

	"tcpwheel/wheel"
)

// takeSACK processes the SACK blocks of an ACK. The first may report a duplicate (RFC 2883 §4).
func (c *Conn) takeSACK(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	blocks := h.Options.SACK[:h.Options.NumSACK]
	first := 0
	if c.isDSACK(h) {
		first = 1
		a.dsack = true
		c.needRare().dsacks++
		if blocks[0].Start.Before(h.Ack) {
			o.Counters.TCPDSACKRecv++
		} else {
			o.Counters.TCPDSACKOfoRecv++
		}
	}
	// The blocks come latest first (RFC 2018 §4). Sorted by number, none looks overtaken.
	var sorted [len(h.Options.SACK)]SeqRange
	blocks = sorted[:copy(sorted[:], blocks[first:])]
	slices.SortFunc(blocks, func(a, b SeqRange) int { return int(int32(a.Start - b.Start)) })
	for _, b := range blocks {
		if b.Start.Before(b.End) && b.End.AtOrBefore(c.sndUna) {
			continue // of an ACK that was overtaken
		}
		if !b.Start.Before(b.End) || b.Start.Before(c.sndUna) || b.End.After(c.sndNxt) {
			o.Counters.TCPSACKDiscard++
			continue
		}
		if c.cfg.WholeSACKs {
			if b = c.wholeSegments(b); b.Start == b.End {
				continue
			}
		}
		n := c.fl.sent.Len()
		c.fl.sent.Sack(b, func(id segmentID) {
			s := c.fl.sent.seg(id)
			hadRTT := a.hasRTT
			c.noteDelivered(now, s, h, a, o)
			if a.hasRTT && !hadRTT {
				a.sackRTT, a.hasSack, a.hasRTT = a.rtt, true, false
			}
			if id != c.fl.sent.Front() {
				c.timers.stopSegment(o, &c.fl.sent, id)
			}
			a.sacked += s.Len
			if s.End().After(c.rec.recover) {
				a.sackedAboveRecover = true
			}
		})
		if c.fl.sent.Len() != n {
			c.armSplit(b.Start, o)
			c.armSplit(b.End, o)
		}
	}
}

// wholeSegments returns the part of a SACK block, inside the flight, that covers whole segments; an
// empty range if none.
func (c *Conn) wholeSegments(b SeqRange) SeqRange {
	if id := c.fl.sent.Find(b.Start); id != 0 {
		if s := c.fl.sent.seg(id); s.Seq != b.Start {
			b.Start = s.End()
		}
	}
	if id := c.fl.sent.Find(b.End); id != 0 {
		b.End = c.fl.sent.seg(id).Seq
	}
	if !b.Start.Before(b.End) {
		return SeqRange{}
	}
	return b
}

// takeOldSACK processes the SACK blocks of an ACK below SND.UNA, which a later ACK has overtaken.
// Like Linux (tcp_ack, old_ack) it takes nothing else from the ACK: no window, RTT or ECN-Echo.
func (c *Conn) takeOldSACK(now wheel.Time, h *Header, o *Output) {
	if !c.rcv.sackOn || h.Options.NumSACK == 0 || c.cc == nil {
		return
	}
	// RFC 2018 §5: "When an ACK is received containing a SACK option, the data sender SHOULD record
	// the selective acknowledgment for future reference."
	a := o.newAck()
	a.ack, a.una, a.flight = c.sndUna, c.sndUna, c.fl.sent.Outstanding().Bytes
	c.takeSACK(now, h, a, o)
	if a.sacked == 0 && !a.dsack {
		return
	}
	c.noteReordering(a, o)
	a.duplicate = a.sacked > 0
	c.respond(now, h, a, o)
}

// armSplit starts the timer of the segment at seq if a split has just created it.
func (c *Conn) armSplit(seq Seq, o *Output) {
	if id := c.fl.sent.Find(seq); id != 0 && !c.fl.sent.seg(id).Armed && (!c.fl.sent.seg(id).Sacked() || id == c.fl.sent.Front()) {
		c.timer().arm(c, id, c.cfg.Policy.Deadline(c.fl.sent.seg(id).Sent, c.est.RTO()), o)
	}
}

// isDSACK reports whether the first block is a DSACK: it is below ack or inside the second block.
func (c *Conn) isDSACK(h *Header) bool {
	b, dsack := h.Options.DSACK(h.Ack)
	return dsack && uint64(b.Len()) <= c.acked+uint64(c.sndNxt.Sub(c.sndUna))
}
