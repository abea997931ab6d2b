package track

import (
	"slices"

	"tcpwheel/wheel"
)

// paid has a DSACK pay for one retransmission of each octet in it: a receiver that delays its ACKs may report several segments at once.
// RFC 3708 §3 counts them against each other: the last that can have arrived by then, or the first that is left. The echo tells nothing:
// what lies below the window does not change it (RFC 7323 §5.3).
func (f *Flow) paid(a *ack) {
	b, any := a.sack[0], false
	for b.start < b.end {
		r := f.payable(b, a.at)
		if r == nil {
			break
		}
		any, r.paid = true, true
		r.judge(Spurious, ByDSACK)
		b.start = max(b.start, r.end)
	}
	if !any {
		f.Duplicates++
	}
}

// payable returns the retransmission that a DSACK of b pays for, of those with the lowest octets, nil if there is none.
func (f *Flow) payable(b block, at wheel.Time) *Retransmission {
	var best *Retransmission
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		r := f.rexmits[i]
		if r.paid || r.start >= b.end || b.start >= r.end {
			continue
		}
		switch {
		case best == nil || r.end <= best.start:
			best = r
		case r.start >= best.end:
		case span(best.Sent, at) < f.RTT.Min*3/4:
			best = r
		}
	}
	return best
}

// answered judges the retransmissions whose octets an ACK is the first to acknowledge, before SND.UNA moves.
func (f *Flow) answered(a *ack) {
	var over []*Retransmission
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		r := f.rexmits[i]
		if r.answered || r.end > a.pos {
			continue
		}
		r.answered = true
		soon := f.RTT.Samples > 0 && f.half.known && span(r.Sent, a.at) < f.RTT.Min*3/4
		switch {
		case r.start > f.una || f.una >= r.end:
			// The ACK may have been drawn by what stands before it.
			if soon {
				r.judge(Spurious, ByTiming)
			}
			if r.start > f.una && !f.view.sackOn {
				over = append(over, r)
			}
		case r.tellsTime && a.hasTS && int32(a.echo-r.ts) < 0:
			// RFC 3522 §3.2 (step 5): "the value of the Timestamp Echo Reply field of the first acceptable ACK" is less.
			r.judge(Spurious, ByEifel)
			if r.Kind == RTO && !r.GoBack {
				f.view.lossy = false // the sender knows it, too
			}
		case r.tellsTime && a.hasTS:
			r.judge(Necessary, ByEifel)
		case soon:
			r.judge(Spurious, ByTiming)
		default:
			r.judge(Necessary, ByTiming)
		}
	}
	if len(over) > 0 {
		slices.Reverse(over) // in the order in which they were sent
		if f.view.repeated.Sub(over[0].Sent) < f.RTT.Min*15/16 {
			f.jumps.add(a.at, over)
		} // or one of them may have come before that at SND.UNA, and have drawn that ACK
	}
}

// arrivedBySACK judges the last retransmission of a segment that is SACKed for the first time: what arrives out of order is reported at
// once (RFC 5681 §4.2), so that an earlier transmission had not.
func (f *Flow) arrivedBySACK(s *segment, a *ack) {
	if s.txs < 2 && !s.late || f.RTT.Samples == 0 {
		return
	}
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		if r := f.rexmits[i]; r.start <= s.start && s.start < r.end && !r.answered {
			if span(r.Sent, a.at) < f.RTT.Min*3/4 {
				r.judge(Spurious, ByTiming)
			} else {
				r.judge(Necessary, ByTiming)
			}
			return
		}
	}
}

// settled gives a retransmission its last verdict, and its kind if that depends on the timer model.
func (f *Flow) settled(r *Retransmission) {
	if r.ambiguous {
		r.Kind = r.byModel.of(f.fitting.best())
	}
	switch {
	case !r.seen && (f.lag() > 0 || f.Vantage == AtReceiver):
		r.judge(Necessary, ByCapture)
	case r.seen && f.Vantage == AtReceiver && f.other().here() && f.acked >= r.end:
		r.judge(Spurious, ByCapture)
	}
	if f.DSACKs > 0 && !r.paid && r.answered && r.Evidence < ByDSACK && f.Duplicates == 0 && r.Spurious != Spurious {
		r.judge(Necessary, ByDSACK)
	}
}
