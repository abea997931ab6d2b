package track

// paid has a DSACK pay for one retransmission. RFC 3708 §3 counts them against each other: the last that can have arrived by then, or the
// first that is left. The echo tells nothing: what lies below the window does not change it (RFC 7323 §5.3).
func (f *Flow) paid(a *ack) {
	b := a.sack[0]
	var best *Rexmit
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		r := f.rexmits[i]
		if r.paid || r.start >= b.end || b.start >= r.end {
			continue
		}
		if best == nil || span(best.At, a.at) < f.RTT.Min*3/4 {
			best = r
		}
	}
	if best == nil {
		f.Duplicates++
		return
	}
	best.paid = true
	best.judge(Spurious, ByDSACK)
}

// answered judges the retransmissions whose octets an ACK is the first to acknowledge, before SND.UNA moves.
func (f *Flow) answered(a *ack) {
	for i := len(f.rexmits) - 1; i >= 0; i-- {
		r := f.rexmits[i]
		if r.answered || r.end > a.pos {
			continue
		}
		r.answered = true
		soon := f.RTT.Samples > 0 && f.half.known && span(r.At, a.at) < f.RTT.Min*3/4
		switch {
		case r.start > f.una || f.una >= r.end:
			// The ACK may have been drawn by what stands before it.
			if soon {
				r.judge(Spurious, ByTiming)
			}
		case r.tellsTime && a.hasTS && int32(a.echo-r.ts) < 0:
			// RFC 3522 §3.2 (step 5): "the value of the Timestamp Echo Reply field of the first acceptable ACK" is less.
			r.judge(Spurious, ByEifel)
		case r.tellsTime && a.hasTS:
			r.judge(Necessary, ByEifel)
		case soon:
			r.judge(Spurious, ByTiming)
		default:
			r.judge(Necessary, ByTiming)
		}
	}
}

// settled gives a retransmission its last verdict, and its kind if that depends on the timer model.
func (f *Flow) settled(r *Rexmit) {
	if r.ambiguous {
		r.Kind = r.byModel.of(f.fit.best())
	}
	switch {
	case !r.seen && (f.lag() > 0 || f.Near == AtReceiver):
		r.judge(Necessary, ByCapture)
	case r.seen && f.Near == AtReceiver && f.other().here() && f.acked >= r.end:
		r.judge(Spurious, ByCapture)
	}
	if f.DSACKs > 0 && !r.paid && r.answered && r.Evidence < ByDSACK && f.Duplicates == 0 && r.Spurious != Spurious {
		r.judge(Necessary, ByDSACK)
	}
}
