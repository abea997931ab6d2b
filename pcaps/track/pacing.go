package track

import (
	"time"

	"tcpwheel/wheel"
)

// pacing recognises a sender that spreads its packets over the round trip, as BBR does. Such a
// sender often starts to send when no ACK has just come, though it had more to send before.
// Retransmissions that ACKs cause wait for their turn as well.
type pacing struct {
	gaps       [4]time.Duration
	begun      uint8 // recent times that it started to send
	unprompted uint8 // of these, without an ACK just before
	next       uint8
}

// note records new data, before the view is updated.
func (p *pacing) note(f *Flow, at wheel.Time) {
	v := &f.view
	last := maxTime(v.newData, v.retransmitted)
	gap := span(last, at)
	if !v.heard || !v.moreWritten || gap <= oneBurst {
		return
	}
	if p.begun++; p.begun > paceMemory {
		p.begun, p.unprompted = p.begun/2, p.unprompted/2
	}
	if at.Sub(v.lastACK) > f.answerTime() {
		p.unprompted++
		p.gaps[p.next] = gap
		p.next = (p.next + 1) % uint8(len(p.gaps))
	}
}

// mayHaveWaited reports whether pacing alone can have delayed a packet until now.
func (p *pacing) mayHaveWaited(f *Flow, now wheel.Time) bool {
	if int(p.unprompted) < len(p.gaps) || 4*p.unprompted < p.begun {
		return false
	}
	longest := time.Duration(0)
	for _, gap := range p.gaps {
		longest = max(longest, gap)
	}
	return span(maxTime(f.view.newData, f.view.retransmitted), now) <= longest+longest/4
}
