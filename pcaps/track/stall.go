package track

import (
	"time"

	"tcpwheel/wheel"
)

// stall is a time when the receiver's application got nothing that the path could have brought:
// a segment at SND.UNA was lost. It begins when the ACK of its first transmission was due, or of
// the data before it came, whichever is later. It ends with the ACK of its repair.
type stall struct {
	start    int64 // position of the segment
	from, to wheel.Time
	timers   time.Duration // the part that was spent waiting for timers
}

// noteStall records the stall that an ACK at that time ends, or the end of the capture if acked is
// false. SND.UNA has not moved yet.
func (f *Flow) noteStall(at wheel.Time, acked bool) {
	s, e := f.board.at(0), f.episode
	if s.probe || len(e.stalls) == maxRexmits {
		return
	}
	rtt := f.medianRTT(s.firstSent)
	if rtt == 0 && acked {
		rtt = span(s.sent, at)
	}
	st := stall{start: s.start, from: maxTime(s.firstSent.Add(rtt), f.view.unaMoved), to: at}
	long := at.Sub(st.from) >= leastTimeout // so long that a retransmission was not captured
	if at <= st.from || s.transmissions < 2 && !s.filledLate && !(s.missing && long) {
		return
	}
	for _, r := range f.recent {
		if r.ByTimer && r.Sent > st.from && r.Sent <= at {
			st.timers += span(maxTime(st.from, r.waitFrom), r.Sent)
		}
	}
	e.stalls = append(e.stalls, st)
}

// sumStalls adds up the episode's stalls. Where all retransmissions were spurious nothing was lost.
func (e *Episode) sumStalls() {
	for i := range e.stalls {
		st := &e.stalls[i]
		lost, covered := false, false
		for _, r := range e.kept {
			if r.start <= st.start && st.start < r.end {
				covered = true
				lost = lost || r.Spurious != Spurious
			}
		}
		if lost || !covered {
			e.TimeLost += st.to.Sub(st.from)
			e.TimerWait += st.timers
		}
	}
	e.stalls = nil
}
