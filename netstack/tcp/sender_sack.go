package tcp

import (
	"slices"

	"tcpwheel/wheel"
)

// takeSACK processes the SACK blocks of an ACK. The first may report a duplicate (RFC 2883 §4).
func (snd *sender) takeSACK(now wheel.Time, h *Header, a *ackFacts, o *Output) {
	blocks := h.Options.SACK[:h.Options.NumSACK]
	first := 0
	// It is a duplicate if it is below ack or inside the second block.
	if b, dsack := h.Options.DSACK(h.Ack); dsack && uint64(b.Len()) <= snd.stats.acked+uint64(snd.nxt.Sub(snd.una)) {
		first = 1
		a.dsack = true
		snd.needPast().dsacks++
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
		if b.Start.Before(b.End) && b.End.AtOrBefore(snd.una) {
			continue // of an ACK that was overtaken
		}
		if !b.Start.Before(b.End) || b.Start.Before(snd.una) || b.End.After(snd.nxt) {
			o.Counters.TCPSACKDiscard++
			continue
		}
		if snd.cfg.WholeSACKs {
			if b = snd.fl.wholeSegments(b); b.Start == b.End {
				continue
			}
		}
		n := snd.fl.sent.Len()
		snd.fl.sent.Sack(b, func(id segmentID) {
			s := snd.fl.sent.seg(id)
			hadRTT := a.hasRTT
			a.noteDelivered(snd, now, s, h, o)
			if a.hasRTT && !hadRTT {
				a.sackRTT, a.hasSack, a.hasRTT = a.rtt, true, false
			}
			if id != snd.fl.sent.Front() {
				snd.timers.stopSegment(o, &snd.fl.sent, id)
			}
			a.sacked += s.Len
			if s.End().After(snd.ep.recover) {
				a.sackedAboveRecover = true
			}
		})
		if snd.fl.sent.Len() != n {
			snd.armSplit(b.Start, o)
			snd.armSplit(b.End, o)
		}
	}
}

// takeOldSACK processes the SACK blocks of an ACK below SND.UNA, which a later ACK has overtaken.
// Like Linux (tcp_ack, old_ack) it takes nothing else from the ACK: no window, RTT or ECN-Echo.
func (snd *sender) takeOldSACK(now wheel.Time, h *Header, o *Output) {
	if !snd.rcv.sackOn || h.Options.NumSACK == 0 || !snd.established() {
		return
	}
	// RFC 2018 §5: "When an ACK is received containing a SACK option, the data sender SHOULD record
	// the selective acknowledgment for future reference."
	a := o.newAck()
	a.ack, a.una, a.flight = snd.una, snd.una, snd.fl.sent.Outstanding().Bytes
	snd.takeSACK(now, h, a, o)
	if a.sacked == 0 && !a.dsack {
		return
	}
	snd.meter.noteReordering(a, o)
	a.duplicate = a.sacked > 0
	snd.respond(now, h, a, o)
}

// armSplit starts the timer of the segment at seq if a split has just created it.
func (snd *sender) armSplit(seq Seq, o *Output) {
	if id := snd.fl.sent.Find(seq); id != 0 && !snd.fl.sent.seg(id).Armed && (!snd.fl.sent.seg(id).Sacked() || id == snd.fl.sent.Front()) {
		snd.timer().arm(snd, id, snd.cfg.Policy.Deadline(snd.fl.sent.seg(id).Sent, snd.rtt.est.RTO()), o)
	}
}
