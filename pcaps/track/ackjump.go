package track

import (
	"tcpwheel/wheel"
)

// ackJump is a set of retransmissions that an ACK skipped over, beyond the one at SND.UNA. Without
// SACK the ACK does not show which of them it answers. But a duplicate segment is acknowledged at
// once (RFC 9293 §3.10.7.4) by a duplicate ACK. If as many of these come as were skipped, when
// their answers are due, all of the retransmissions were spurious.
type ackJump struct {
	at      wheel.Time // when the ACK arrived
	skipped []*Retransmission
	dupACKs int
	moved   bool // one of the duplicate ACKs changed the window

	// unsure counts duplicate ACKs that later segments may also have caused, if the segment at
	// SND.UNA was lost. That one was sent at first.
	unsure int
	first  wheel.Time
}

// ackJumps are the last open ones.
type ackJumps struct{ open []ackJump }

// maxJumps bounds ackJumps.open.
const maxJumps = 8

// add appends one, and drops the oldest beyond maxJumps.
func (j *ackJumps) add(at wheel.Time, over []*Retransmission) {
	if len(j.open) == maxJumps {
		j.open = append(j.open[:0], j.open[1:]...)
	}
	j.open = append(j.open, ackJump{at: at, skipped: over})
}

// filter keeps those for which keep returns true.
func (j *ackJumps) filter(keep func(*ackJump) bool) {
	open := j.open[:0]
	for i := range j.open {
		if keep(&j.open[i]) {
			open = append(open, j.open[i])
		}
	}
	j.open = open
}

// settled reports whether there is a duplicate ACK for each retransmission. If so it judges them
// spurious.
func (g *ackJump) settled() bool {
	if g.dupACKs < len(g.skipped) {
		return false
	}
	for _, r := range g.skipped {
		r.judge(Spurious, ByDupACK, 0, "as many duplicate ACKs as retransmissions that an ACK skipped")
	}
	return true
}

// matchJump reports whether a duplicate ACK without SACK answers a skipped retransmission. One per
// jump may change the window: the application has read the data.
func (f hearing) matchJump(a *ack) (taken bool) {
	f.jumps.filter(func(g *ackJump) bool {
		first, last := g.skipped[0], g.skipped[len(g.skipped)-1]
		if span(g.at, a.at) > max(f.RTT.Min/2, dupACKSlack)+span(first.Sent, last.Sent) {
			return g.unsure > 0
		}
		if taken || span(last.Sent, a.at) < f.leastAnswer() || g.moved && f.window.moved || g.dupACKs+g.unsure == len(g.skipped) {
			return true
		}
		taken = true
		g.moved = g.moved || f.window.moved
		if f.noneLate(first.Sent, a.at) {
			g.dupACKs++
		} else {
			g.unsure++
			g.first = f.board.at(0).sent
		}
		return !g.settled()
	})
	return taken
}

// confirmJumps counts the unsure duplicate ACKs once SND.UNA moves past a segment that was not
// retransmitted. Segments sent after it arrived after it, so they caused no duplicate ACK.
func (f hearing) confirmJumps() {
	f.jumps.filter(func(g *ackJump) bool {
		if g.unsure == 0 {
			return true
		}
		if s := f.board.at(0); s.sent != g.first {
			return false
		}
		g.dupACKs, g.unsure = g.dupACKs+g.unsure, 0
		return !g.settled()
	})
}

// noneLate reports whether no segment sent since then, beyond the one at SND.UNA, can have just
// arrived and caused a duplicate ACK. Segments sent earlier arrived earlier, if at all.
func (f hearing) noneLate(since, now wheel.Time) bool {
	for i := 1; i < f.board.len(); i++ {
		if s := f.board.at(i); s.sent >= since && span(s.sent, now) >= f.RTT.Min*3/4 {
			return false
		}
	}
	return true
}
