package track

import (
	"time"

	"tcpwheel/wheel"
)

// pace tells a sender that spreads its packets over the round trip, as with BBR, from one that answers ACKs at once: it
// often begins to send when no ACK has just come, though it had more to send before. What ACKs make such a sender
// retransmit waits for its turn, too.
type pace struct {
	begun      int // times that it began to send, of late
	unprompted int // those without an ACK just before
	gaps       [4]time.Duration
	next       int
}

// paceMemory is how many beginnings count.
const paceMemory = 32

// note is told of octets that are sent for the first time, before the view is.
func (p *pace) note(f *Flow, at wheel.Time) {
	v := &f.view
	last := maxTime(v.sentNew, v.resent)
	gap := span(last, at)
	if !v.heard || !v.more || gap <= burst {
		return
	}
	if p.begun++; p.begun > paceMemory {
		p.begun, p.unprompted = p.begun/2, p.unprompted/2
	}
	if at.Sub(v.lastACK) > f.promptly() {
		p.unprompted++
		p.gaps[p.next] = gap
		p.next = (p.next + 1) % len(p.gaps)
	}
}

// turn reports whether a packet may have waited for its turn until now, and for nothing else.
func (p *pace) turn(f *Flow, now wheel.Time) bool {
	if p.unprompted < len(p.gaps) || 4*p.unprompted < p.begun {
		return false
	}
	longest := time.Duration(0)
	for _, gap := range p.gaps {
		longest = max(longest, gap)
	}
	return span(maxTime(f.view.sentNew, f.view.resent), now) <= longest+longest/4
}
