package wheel

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// leads are the times that this machine was found to take to wake a goroutine: 5 to 50 µs,
// depending on how deep its processors sleep, and so on the length of the sleep. The alarm is set
// that much earlier than the instant asked for, and the goroutine spins for the rest. Hypervisors
// advance the timers of their guests in the same way (KVM's lapic_timer_advance).
//
// A lead follows the wake-ups, down half as fast as up, so that somewhat more than half of them
// come early, by little. Where wake-ups take 20 to 40 µs, uniformly, the processor spins for 3.4
// µs and wake-ups are 1.7 µs late, on average. A lead is at most a quarter of the sleep, and
// maxLead.
type leads [17]atomic.Int64 // by length of the sleep: see leadClass

const (
	maxLead = 100 * time.Microsecond

	// leadSurprise bounds the weight of one late wake-up: on a machine busy with something else,
	// it says nothing about the next.
	leadSurprise = 32 * time.Microsecond
)

// leadClass returns the class of a sleep: one for each power of two from 16 µs to 0.5 s.
func leadClass(sleep time.Duration) int {
	return min(max(bits.Len64(uint64(sleep))-14, 0), len(leads{})-1)
}

// lead returns how much earlier to wake up.
func (l *leads) lead(class int, sleep time.Duration) time.Duration {
	return min(time.Duration(l[class].Load()), sleep/4)
}

// learn updates the lead by the time that a wake-up took.
func (l *leads) learn(class int, took time.Duration) {
	lead := time.Duration(l[class].Load())
	if more := took - lead; more < 0 {
		lead += more / 8
	} else {
		lead += min(more, leadSurprise) / 4
	}
	l[class].Store(int64(min(max(lead, 0), maxLead)))
}
