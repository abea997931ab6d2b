package track

import (
	"time"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// stall is a time when the receiver's application got nothing that the path could have brought:
// a segment at SND.UNA was lost. It begins when the ACK of its first transmission was due, or of
// the data before it came, whichever is later. It ends with the ACK of its repair.
type stall struct {
	start    int64 // position of the segment
	from, to wheel.Time
	timers   time.Duration // the part that was spent waiting for timers
	acked    bool          // else the capture ended it
}

// noteStall records the stall that an ACK at that time ends, or the end of the capture if acked is
// false. SND.UNA has not moved yet.
func (f *Flow) noteStall(at wheel.Time, acked bool) {
	s, e := f.board.at(0), f.episode
	if s.probe || len(e.stalls) == maxRexmits || f.isBareFIN(s) {
		return
	}
	rtt := f.medianRTT(s.firstSent)
	if rtt == 0 && acked {
		rtt = span(s.sent, at)
	}
	st := stall{start: s.start, from: maxTime(s.firstSent.Add(rtt), f.view.unaMoved), to: at, acked: acked}
	if at <= st.from || s.transmissions < 2 && !s.filledLate {
		return
	}
	if acked && f.gapBefore(s.sent, at, span(e.PrevSent, e.Detected)) != NoGap {
		return
	}
	for _, r := range f.recent {
		if r.ByTimer && r.Sent > st.from && r.Sent <= at {
			st.timers += span(maxTime(st.from, r.waitFrom), r.Sent)
		}
	}
	e.stalls = append(e.stalls, st)
}

// endWait notes a RST of either end. If f sends nothing after it, no application waits any more.
func (f *Flow) endWait(now wheel.Time) {
	if f.gaveUp <= maxTime(f.view.newData, f.view.retransmitted) {
		f.gaveUp = now
	}
}

// isBareFIN reports whether s is a FIN alone: no data waits behind it.
func (se *Sent) isBareFIN(s *outstanding) bool {
	return se.fin && s.end == se.finEnd && s.end-s.start == 1
}

// sumStalls adds up the stalls of f's episode e that a needed retransmission ended, without the
// time of stalls that count already. Those at the end of the capture are Unrepaired.
func (f *Flow) sumStalls(e *Episode) {
	c := f.conn
	for i := range e.stalls {
		st := &e.stalls[i]
		needed, spurious := false, true
		for _, r := range e.kept {
			if r.start <= st.start && st.start < r.end {
				needed = needed || r.Spurious == Necessary
				spurious = spurious && r.Spurious == Spurious
			}
		}
		switch {
		case !st.acked && !spurious:
			e.Unrepaired += span(st.from, min(st.to, c.Last))
		case st.acked && needed && e.Gap == NoGap:
			// Its end may lie a lag behind the last packet.
			lost := time.Duration(c.lost.Add(ledger.Range{Start: int64(st.from), End: int64(min(st.to, c.Last))}))
			e.TimeLost += lost
			e.TimerWait += min(st.timers, lost)
		}
	}
	if n := len(c.lost); n > maxRexmits {
		c.lost = append(c.lost[:0], c.lost[n/2:]...)
	}
	e.stalls = nil
}
