package tcptimers

import (
	"time"
)

// Sample is one round-trip time that was measured, of a segment that was sent once only (Karn's algorithm, RFC 6298 §3)
// or whose echo of a timestamp tells which transmission it answers (RFC 7323 §4).
type Sample struct {
	RTT time.Duration // at least 0

	// Round is set on the first sample of each round trip: of an ACK above what SND.NXT was at the last such sample.
	Round bool

	// Expected is how many samples a round trip is expected to give: ⌈FlightSize/(2·SMSS)⌉ where each ACK gives one, 1
	// where one segment is timed at a time. 0 counts as 1.
	Expected int
}

// Estimator turns samples of the round-trip time into the retransmission timeout. One serves one connection, and is a
// plain value of some tens of bytes behind the interface: it holds no timer and reads no clock.
type Estimator interface {
	// Sample takes a measurement in, and ends the backing off of the timer.
	Sample(s Sample)

	// RTO returns the retransmission timeout for a segment that is sent now, backed off, within the bounds.
	RTO() time.Duration

	// Backoff doubles the timeout after an expiry, as far as the ceiling lets it.
	Backoff()

	// Backoffs returns how many times Backoff was called since the last sample or ResetBackoff.
	Backoffs() int

	// ResetBackoff ends the backing off: on an ACK of new data (RFC 6298 §5.7 leaves it to the next sample, which Karn's
	// algorithm may put off), or when the timeout proved spurious.
	ResetBackoff()

	// SRTT and RTTVar return the smoothed round-trip time and its variation, 0 before the first sample.
	SRTT() time.Duration
	RTTVar() time.Duration

	// Spurious tells the estimator that the last timeout was spurious, with the round-trip time that was measured then, so
	// that it can take the delay into account (RFC 4015 §3.3).
	Spurious(rtt time.Duration)
}

// maxBackoffs bounds the exponent of the back-off. 2^12 times the smallest timeout is past every ceiling.
const maxBackoffs = 12

// Bounds are the limits of a retransmission timeout.
type Bounds struct {
	Initial time.Duration // before the first sample
	Min     time.Duration // the floor
	Max     time.Duration // the ceiling, which bounds the backed-off timeout too
}

// or returns b with what is zero taken from d.
func (b Bounds) or(d Bounds) Bounds {
	if b.Initial == 0 {
		b.Initial = d.Initial
	}
	if b.Min == 0 {
		b.Min = d.Min
	}
	if b.Max == 0 {
		b.Max = d.Max
	}
	return b
}

// hold returns rto within the bounds.
func (b *Bounds) hold(rto time.Duration) time.Duration { return min(max(rto, b.Min), b.Max) }

// backedOff returns rto doubled n times, within the bounds.
func (b *Bounds) backedOff(rto time.Duration, n int) time.Duration {
	rto = b.hold(rto)
	for ; n > 0 && rto < b.Max; n-- {
		rto = b.hold(2 * rto)
	}
	return rto
}
