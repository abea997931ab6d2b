package track

import (
	"slices"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// creditDSACK accounts each byte of a DSACK to one retransmission: a delayed ACK may report several
// segments at once. A DSACK of a part of a retransmission shows nothing about the rest. RFC 3708
// §3 counts DSACKs against retransmissions. The echo does not help: segments below the window do
// not change it (RFC 7323 §5.3).
func (f *Flow) creditDSACK(a *ack) {
	b, any := a.sack[0], false
	for b.start < b.end {
		r := f.dsackTarget(b, a.at)
		if r == nil {
			break
		}
		any, r.reported = true, true
		r.duplicate.Add(ledger.Range{Start: max(b.start, r.start), End: min(b.end, r.end)})
		end := r.end
		if f.fin && end == f.finEnd && end-r.start > 1 {
			end-- // no receiver reports the FIN behind data
		}
		if r.dsacked = r.duplicate.Contains(ledger.Range{Start: r.start, End: end}); r.dsacked {
			r.judge(Spurious, ByDSACK, a.number)
		}
		b.start = max(b.start, r.end)
	}
	if !any {
		f.Duplicates++
	}
}

// dsackTarget returns the retransmission that a DSACK of b accounts for, or nil. Of those with the
// lowest bytes it is the last that can have arrived by then, or else the first one left.
func (f *Flow) dsackTarget(b block, at wheel.Time) *Retransmission {
	var best *Retransmission
	for i := len(f.recent) - 1; i >= 0; i-- {
		r := f.recent[i]
		if r.dsacked || r.start >= b.end || b.start >= r.end {
			continue
		}
		switch {
		case best == nil || r.end <= best.start:
			best = r
		case r.start >= best.end:
		case span(best.Sent, at) < f.leastAnswer():
			best = r
		}
	}
	return best
}

// judgeAcked judges the retransmissions whose bytes the ACK is the first to acknowledge. SND.UNA
// has not moved yet.
func (f *Flow) judgeAcked(a *ack) {
	var over []*Retransmission
	for _, r := range slices.Backward(f.waiting) {
		if r.end > a.pos {
			r.pathSlow = r.pathSlow || f.slowerThan(r, a)
			continue
		}
		r.acked = true
		if s := f.board.find(r.start); s < f.board.len() {
			r.notKept = r.notKept || f.board.at(s).denied && r.originalSeen
		}
		soon, inTime := f.answers(r.Sent, a.at)
		soon = soon && f.RTT.Samples > 0 && f.lagSure()
		switch {
		case r.start > f.una || f.una >= r.end:
			// A segment before it may have caused the ACK.
			if soon {
				r.judge(Spurious, ByTiming, a.number)
			}
			if r.start > f.una && !f.view.hasSACK {
				over = append(over, r)
			}
		case r.tsDiffers && a.hasTS && int32(a.echo-r.ts) < 0 && f.sentStamp(a.echo, a.pos):
			// RFC 3522 §3.2 (step 5): "the value of the Timestamp Echo Reply field of the first
			// acceptable ACK" is less.
			r.judge(Spurious, ByEifel, a.number)
			if r.Kind == RTO && !r.GoBack {
				f.view.afterTimeout = false // the sender knows it as well
			}
		case r.tsDiffers && a.hasTS && f.sentStamp(a.echo, a.pos):
			r.judge(Necessary, ByEifel, a.number)
		case soon:
			r.judge(Spurious, ByTiming, a.number)
		case f.answersEither(r):
		case f.mayHaveDelayed(r, a):
			r.DelayedACK = a.number
		case inTime || f.conn.unsure(r.Sent, a.at) == 0:
			r.judge(Necessary, ByTiming, a.number)
		}
		r.answered = a.at
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(r *Retransmission) bool { return r.acked })
	if len(over) > 0 {
		slices.Reverse(over) // in the order of transmission
		if f.view.plainDup.Sub(over[0].Sent) < f.RTT.Min*15/16 {
			f.jumps.add(a.at, over)
		} // else one of them may have arrived before the one at SND.UNA and caused that duplicate ACK
	}
}

// answersEither reports whether an ACK that answers a retransmission by its time may answer the
// transmission before it as well: the path was slow, or no answer to that one can have come before
// the retransmission left, and no router said that it was too large.
func (f *Flow) answersEither(r *Retransmission) bool {
	return r.pathSlow || r.originalSeen && r.Kind != PMTU && span(r.PrevSent, r.Sent) < f.leastAnswer()
}

// mayHaveDelayed reports whether Dst may have got the only segment in flight and delayed its ACK, as
// the first of two segments. A duplicate is acknowledged at once (RFC 9293 §3.10.7.4), so an ACK
// just behind the copy is no evidence that the first transmission was lost. It is evidence if it
// comes later, if no ACK is delayed so long, or if Dst has never delayed one half as long.
func (f *Flow) mayHaveDelayed(r *Retransmission, a *ack) bool {
	i := f.board.find(r.start)
	if !r.lone || i >= f.board.len() {
		return false
	}
	s := f.board.at(i)
	waited := span(s.firstSent, s.sent)
	atOnce := f.RTT.Samples == 0 || span(s.sent, a.at) <= f.RTT.Min*5/4+f.answerTime()
	return atOnce && waited < usualMaxAckDelay && !f.Delayed.neverLonger(waited/2)
}

// slowerThan reports whether an ACK came when the answer to a retransmission was due long since,
// and yet acknowledges only a segment that left once, before. The path was slow then, or the other
// end.
func (f *Flow) slowerThan(r *Retransmission, a *ack) bool {
	s := f.board.at(0)
	return s.end <= a.pos && a.pos <= r.start && s.transmissions == 1 && !s.filledLate && s.sent <= r.PrevSent &&
		f.RTT.Samples > 0 && span(r.Sent, a.at) > f.RTT.Min*5/4+f.answerTime()
}

// noteDenial marks the segment that an ACK asks for although it was captured before. At the
// receiver's host that shows that it was not kept.
func (f *Flow) noteDenial(pos int64, now wheel.Time) {
	if i := f.board.find(pos); i < f.board.len() {
		s := f.board.at(i)
		s.denied = s.denied || s.start <= pos && !s.missing && now.Sub(s.seen) > queueSkew
	}
}

// judgeSACKed judges the last retransmission of a segment that is SACKed for the first time. Data
// out of order is acknowledged at once (RFC 5681 §4.2), so no earlier transmission had arrived.
func (f *Flow) judgeSACKed(s *outstanding, a *ack) {
	if s.transmissions < 2 && !s.filledLate || f.RTT.Samples == 0 {
		return
	}
	for _, r := range slices.Backward(f.waiting) {
		if r.start <= s.start && s.start < r.end {
			switch soon, inTime := f.answers(r.Sent, a.at); {
			case soon && f.lagSure():
				r.judge(Spurious, ByTiming, a.number)
			case inTime && !f.answersEither(r):
				r.judge(Necessary, ByTiming, a.number)
			}
			r.answered = a.at
			return
		}
	}
}

// finishVerdict sets the final verdict, and the kind if the timer model decides it.
func (f *Flow) finishVerdict(r *Retransmission) {
	if r.ambiguous {
		r.Kind = r.byModel.of(f.fit().best())
	}
	f.waitByStamps(r)
	if r.anyKind {
		r.Kind = Unknown
	}
	f.nameTimer(r)
	f.doubtTiming(r)
	switch {
	case !r.originalSeen && (f.lag() > 0 || f.Vantage == AtReceiver):
		r.judge(Necessary, ByCapture, 0)
	case r.notKept && f.Vantage == AtReceiver:
		r.judge(Necessary, ByCapture, 0)
	case r.originalSeen && f.Vantage == AtReceiver && f.other().isCaptureHost() && f.seenUna >= r.end:
		r.judge(Spurious, ByCapture, 0)
	}
	if f.DSACKs > 0 && !r.reported && r.acked && r.Evidence < ByDSACK && f.Duplicates == 0 && r.Spurious != Spurious {
		r.judge(Necessary, ByDSACK, 0)
	}
}

// nameTimer calls a retransmission one by the timer that nothing else explains, if its segment was
// alone in flight and waited for more than a round trip. So does it where timestamps show that the
// times were captured late by which a model of timers chose.
func (f *Flow) nameTimer(r *Retransmission) {
	known := r.Kind == Unknown || r.offClock && r.ambiguous
	if !known || !r.alone || r.originalSeen && r.FirstPacket == 0 || f.RTT.Samples == 0 || f.conn.unsure(r.PrevSent, r.Sent) > 0 {
		return
	}
	if span(r.PrevSent, r.Sent) > max(f.medianRTT(r.PrevSent), leastTimer) {
		r.Kind, r.ByTimer, r.anyTimer = RTO, true, true
		r.rule = "the only segment in flight, longer than a round trip: a timer that no model explains"
	}
}

// doubtTiming takes back a verdict by timing that the capture's clock, as it is known by now, does
// not carry.
func (f *Flow) doubtTiming(r *Retransmission) {
	if r.Evidence != ByTiming || f.conn.unsure(r.Sent, r.answered) == 0 {
		return
	}
	if soon, inTime := f.answers(r.Sent, r.answered); r.Spurious == Spurious && !soon || r.Spurious == Necessary && !inTime {
		r.Spurious, r.Evidence, r.JudgedBy = Undecided, NoEvidence, 0
	}
}
