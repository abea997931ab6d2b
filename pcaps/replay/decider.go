package replay

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// decider decides when the ends of a run retransmit.
type decider interface {
	// policy has what timers there are, and what the ends measure.
	policy() tcptimers.Policy

	// resendOnly says that the ends retransmit only when told.
	resendOnly() bool

	// sent hears of each transmission of an end: the n-th of [start, stop).
	sent(now wheel.Time, e *end, start, stop int64, n int)

	// forked hears of an end that is released at now.
	forked(now wheel.Time, e *end)
}

// timers leave it to a policy's timers and loss detection.
type timers struct{ p tcptimers.Policy }

func (t timers) policy() tcptimers.Policy                 { return t.p }
func (t timers) resendOnly() bool                         { return false }
func (t timers) sent(wheel.Time, *end, int64, int64, int) {}
func (t timers) forked(wheel.Time, *end)                  {}

// times retransmit when the captured sender did: each transmission follows the one before it by as
// long as in the capture, or by a part of that.
type times struct {
	captured *CapturedConn
	part     float64          // of the captured gaps; 1 for all
	measures tcptimers.Policy // decides what the ends measure
}

func (t times) policy() tcptimers.Policy { return t.measures }
func (t times) resendOnly() bool         { return true }

func (t times) sent(now wheel.Time, e *end, start, stop int64, n int) {
	p := &t.captured.Paths[e.side]
	for i := p.find(start); i < len(p.Ranges) && int64(p.Ranges[i].Start) < stop; i++ {
		t.schedule(now, now, e, &p.Ranges[i], n)
	}
}

// forked schedules the retransmissions of what is in flight.
func (t times) forked(now wheel.Time, e *end) {
	if e.conn == nil {
		return
	}
	p := &t.captured.Paths[e.side]
	for i := p.find(e.acked()); i < len(p.Ranges) && int64(p.Ranges[i].Start) < e.sent; i++ {
		r := &p.Ranges[i]
		n := 0
		for n < len(r.Tries) && r.Tries[n].Sent <= now {
			n++
		}
		if n > 0 {
			t.schedule(now, r.Tries[n-1].Sent, e, r, n)
		}
	}
}

// schedule has a range that left for the n-th time at sent leave again.
func (t times) schedule(now, sent wheel.Time, e *end, r *SentRange, n int) {
	if n < len(r.Tries) {
		gap := max(r.Tries[n].Sent.Sub(r.Tries[n-1].Sent), 0)
		e.resendAt(max(sent.Add(time.Duration(t.part*float64(gap))), now), r, n+1)
	}
}
