package replay

import "time"

// Estimate is what a policy would have made of one loss. Saved is the control's recovery time less
// the policy's, by range. Low and High bound it: they are the least and the most by any key whose
// fates the capture shows, apart by what the replay of this loss may be wrong by. Low is not above
// 0 if the first retransmission was lost, too: the path may not have been there before the repair.
type Estimate struct {
	Control, TRec    time.Duration
	Saved, Low, High time.Duration
}

// Estimate returns what a choice would have made of a loss. Without one, why says what is missing:
// the loss has not passed the gate, the captured timers are not known, or the repair depends on
// packets whose fate the capture does not show.
func (r *Result) Estimate(loss, choice int) (e Estimate, why string) {
	switch gate := r.Gates[loss]; {
	case gate != Passed:
		return e, gate.String()
	case r.Policies[choice].Unknown:
		return e, "the captured timers are not known"
	}
	rec, ok := r.Recovery(loss, choice, ByRange)
	if !ok {
		return e, notShown
	}
	e.Control, e.TRec = r.Control[loss].TRec, rec.TRec
	e.Saved = e.Control - e.TRec
	e.Low, e.High = e.Saved, e.Saved
	for k := range Keys {
		if rec, ok := r.Recovery(loss, choice, Key(k)); ok {
			e.Low, e.High = min(e.Low, e.Control-rec.TRec), max(e.High, e.Control-rec.TRec)
		}
	}
	e.Low, e.High = e.Low-r.Doubts[loss], e.High+r.Doubts[loss]
	if r.mayBeOut(loss) {
		e.Low = min(e.Low, 0)
	}
	return e, ""
}

// mayBeOut reports whether all was lost in a row that left from a loss to its first retransmission
// or later. Nothing shows that the path carried anything before the captured repair.
func (r *Result) mayBeOut(loss int) bool {
	l := &r.Captured.Losses[loss]
	p := &r.Captured.Paths[l.Flow]
	for _, s := range p.LossSpans {
		if s.From <= l.Sent && l.Sent <= s.To {
			return s.To >= l.Sent.Add(l.D)
		}
	}
	return false
}
