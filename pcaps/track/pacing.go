package track

import (
	"slices"
	"time"

	"tcpwheel/wheel"
)

// pacing recognises a sender that spreads its packets over the round trip, as BBR does. Such a
// sender often starts to send when no ACK has just come, though it had more to send before.
// Retransmissions that ACKs cause wait for their turn as well: the longer, the more was sent
// before.
type pacing struct {
	paces      [4]float32 // ns for each byte that it sent before such a start
	burst      float32    // bytes that it sent since it last started
	begun      uint8      // recent times that it started to send
	unprompted uint8      // of these, without an ACK just before
	next       uint8
}

// note records new data, before the view is updated.
func (p *pacing) note(f *Flow, at wheel.Time, bytes int64) {
	v := &f.view
	last := maxTime(v.newData, v.retransmitted)
	gap := span(last, at)
	if gap <= oneBurst {
		p.burst += float32(bytes)
		return
	}
	before := p.burst
	p.burst = float32(bytes)
	if !v.heard || !v.moreWritten {
		return
	}
	if p.begun++; p.begun > paceMemory {
		p.begun, p.unprompted = p.begun/2, p.unprompted/2
	}
	if idle := at.Sub(v.lastACK) - f.answerTime(); idle > 0 && idle > 2*f.conn.captured.resolution() {
		p.unprompted++
		p.paces[p.next] = float32(gap) / max(before, 1)
		p.next = (p.next + 1) % uint8(len(p.paces))
	}
}

// mayHaveWaited reports whether pacing alone can have delayed a packet until now. It spreads a
// window over a round trip: a longer wait is a timer's, however slow the sender was before.
func (p *pacing) mayHaveWaited(f *Flow, now wheel.Time) bool {
	if int(p.unprompted) < len(p.paces) || 4*p.unprompted < p.begun {
		return false
	}
	longest := time.Duration(slices.Max(p.paces[:]) * p.burst)
	return span(maxTime(f.view.newData, f.view.retransmitted), now) <= min(longest+longest/4, f.longestAnswer(now))
}
