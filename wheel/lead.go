package wheel

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// leads is what an alarm has learnt of how long this machine takes to wake a goroutine up: 5 µs or 50, by how deep its
// processors sleep, and so by how long. The alarm is set so much earlier than the instant that is asked for, and the
// rest, if there is any, is waited for with a busy processor. Hypervisors advance the timers of their guests in the
// same way (KVM's lapic_timer_advance).
//
// A lead follows what wake-ups take, down half as fast as up, so that somewhat more than half of them come early, and
// by little: where they take 20 to 40 µs, evenly spread, the processor is busy for 3.4 µs on average, and wake-ups are
// late by 1.7 µs on average. A lead is at most a quarter of the time to sleep, and maxLead.
type leads [17]atomic.Int64 // by length of the sleep: see leadClass

const (
	maxLead = 100 * time.Microsecond

	// leadSurprise is what one late wake-up can count for: those of a machine that was busy with something else say
	// nothing about the next.
	leadSurprise = 32 * time.Microsecond
)

// leadClass returns the class of a sleep: one for each power of two from 16 µs to 0.5 s.
func leadClass(sleep time.Duration) int {
	return min(max(bits.Len64(uint64(sleep))-14, 0), len(leads{})-1)
}

// lead returns how much earlier to be woken up.
func (l *leads) lead(class int, sleep time.Duration) time.Duration {
	return min(time.Duration(l[class].Load()), sleep/4)
}

// learn takes notice of how long a wake-up took.
func (l *leads) learn(class int, took time.Duration) {
	lead := time.Duration(l[class].Load())
	if more := took - lead; more < 0 {
		lead += more / 8
	} else {
		lead += min(more, leadSurprise) / 4
	}
	l[class].Store(int64(min(max(lead, 0), maxLead)))
}
