package track

import (
	"time"

	"tcpwheel/wheel"
)

// jump is retransmissions that an ACK has jumped over, beyond the one at SND.UNA: without SACK nothing tells whether
// that one has drawn the ACK, so that they were needless, or one of them. But what arrives twice is acknowledged at
// once (RFC 9293 §3.10.7.4), by a duplicate ACK. If there are as many of these as were jumped over, at the time at
// which their answers are due, all were needless.
type jump struct {
	at       wheel.Time // of the ACK
	over     []*Retransmission
	receipts int
	moved    bool // one of them has moved the window, too

	// Duplicate ACKs that later segments may have drawn, too, if the first that is not acknowledged was lost, which was
	// sent then.
	unsure int
	first  wheel.Time
}

// jumps are the last ones that are not settled.
type jumps struct{ open []jump }

const (
	maxJumps = 8

	// leastWindow is how much later than they might answers come.
	leastWindow = 4 * time.Millisecond
)

// add notes one.
func (j *jumps) add(at wheel.Time, over []*Retransmission) {
	if len(j.open) == maxJumps {
		j.open = append(j.open[:0], j.open[1:]...)
	}
	j.open = append(j.open, jump{at: at, over: over})
}

// each keeps those for which keep says so.
func (j *jumps) each(keep func(*jump) bool) {
	open := j.open[:0]
	for i := range j.open {
		if keep(&j.open[i]) {
			open = append(open, j.open[i])
		}
	}
	j.open = open
}

// settled reports whether there are receipts for all, and judges them then.
func (g *jump) settled() bool {
	if g.receipts < len(g.over) {
		return false
	}
	for _, r := range g.over {
		r.judge(Spurious, ByDupACK)
	}
	return true
}

// receipt takes a duplicate ACK without SACK, and reports whether it belongs to a jump. One of those for a jump may
// move the window: the application has read what the jump brought.
func (f *Flow) receipt(a *ack) (taken bool) {
	f.jumps.each(func(g *jump) bool {
		first, last := g.over[0], g.over[len(g.over)-1]
		if span(g.at, a.at) > max(f.RTT.Min/2, leastWindow)+span(first.Sent, last.Sent) {
			return g.unsure > 0
		}
		if taken || span(last.Sent, a.at) < f.RTT.Min*3/4 || g.moved && f.window.moved || g.receipts+g.unsure == len(g.over) {
			return true
		}
		taken = true
		g.moved = g.moved || f.window.moved
		if f.noneLate(first.Sent, a.at) {
			g.receipts++
		} else {
			g.unsure++
			g.first = f.book.at(0).sent
		}
		return !g.settled()
	})
	return taken
}

// confirm takes duplicate ACKs for receipts once the first segment is acknowledged, and was not sent again: those that
// were sent after it arrived after it, and have drawn none before.
func (f *Flow) confirm() {
	f.jumps.each(func(g *jump) bool {
		if g.unsure == 0 {
			return true
		}
		if s := f.book.at(0); s.sent != g.first {
			return false
		}
		g.receipts, g.unsure = g.receipts+g.unsure, 0
		return !g.settled()
	})
}

// noneLate reports whether no segment that left since then, beyond the first that is not acknowledged, can have arrived
// just now, and have drawn a duplicate ACK. What left before has arrived before, if at all.
func (f *Flow) noneLate(since, now wheel.Time) bool {
	for i := 1; i < f.book.len(); i++ {
		if s := f.book.at(i); s.sent >= since && span(s.sent, now) >= f.RTT.Min*3/4 {
			return false
		}
	}
	return true
}
