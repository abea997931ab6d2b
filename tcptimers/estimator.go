package tcptimers

import (
	"fmt"
	"time"

	"tcpwheel/internal/setting"
)

// Sample is one measured round-trip time: of a segment sent only once (Karn's algorithm, RFC 6298
// §3), or by an echoed timestamp, which identifies the transmission (RFC 7323 §4).
type Sample struct {
	RTT time.Duration // clamped to 0..1 h

	// Round is set on the first sample of each round trip: of the first ACK above SND.NXT at the
	// previous such sample.
	Round bool

	// Expected is how many samples a round trip is expected to give: ⌈FlightSize/(2·SMSS)⌉ if
	// each ACK gives one, 1 if one segment is timed at a time. 0 counts as 1.
	Expected int
}

// Estimator computes the retransmission timeout from samples of the round-trip time. One serves
// one connection. It is a value of about 100 bytes that holds no timer and reads no clock.
type Estimator interface {
	// Sample adds a measurement and ends the backing off of the timer.
	Sample(s Sample)

	// RTO returns the retransmission timeout for a segment that is sent now, backed off and
	// within the bounds.
	RTO() time.Duration

	// Backoff doubles the timeout after an expiry, up to the ceiling.
	Backoff()

	// Backoffs returns the number of calls of Backoff since the last sample.
	Backoffs() int

	// SynTimedOut must be called when the handshake completes, if its timer had expired (RFC 6298
	// §5, rule 5.7). The timeout is then at least 3 s until the next sample.
	SynTimedOut()

	// SRTT and RTTVar return the smoothed round-trip time and its variation, 0 before the first
	// sample.
	SRTT() time.Duration
	RTTVar() time.Duration

	// Spurious reports that the last timeout was spurious, instead of Sample. rtt is the
	// round-trip time of the first data sent after it. The standard estimator adapts at once (RFC
	// 4015 §3); the others follow their implementations.
	Spurious(rtt time.Duration)

	// New returns an estimator with the same parameters and no sample. The two share constant
	// data, so New is cheaper than the constructors.
	New() Estimator

	// Copy returns another one in the same state.
	Copy() Estimator
}

// maxRTT is the longest round trip that counts. It keeps sums in estimators from overflowing.
const maxRTT = time.Hour

// maxTimeout bounds all bounds.
const maxTimeout = 24 * time.Hour

// synFallback is the timeout after a SYN timed out. RFC 6298 §5 (5.7): "the RTO MUST be
// re-initialized to 3 seconds when data transmission begins (i.e., after the three-way handshake
// completes)."
const synFallback = 3 * time.Second

// maxBackoffs bounds the exponent of the back-off. 2^63 times the smallest timeout is above every
// ceiling.
const maxBackoffs = 63

// backoffs counts how often the timer was backed off, for embedding in estimators.
type backoffs uint8

func (n *backoffs) Backoff() {
	if *n < maxBackoffs {
		*n++
	}
}

func (n *backoffs) Backoffs() int { return int(*n) }

// clampRTT returns rtt clamped to 0..maxRTT.
func clampRTT(rtt time.Duration) time.Duration { return min(max(rtt, 0), maxRTT) }

// Bounds are the limits of a retransmission timeout. To the constructors of estimators a zero
// field means its default; for no floor, set Min to 1 ns.
type Bounds struct {
	// Initial is the timeout before the first sample. Min and Max apply to it too, and Max to a
	// timeout that is backed off.
	Initial time.Duration `set:"initial" min:"1ns" max:"24h" help:"RTO before the first sample"`
	Min     time.Duration `set:"min" alias:"floor" min:"1ns" max:"24h" help:"floor on the RTO, or on the variation for the estimator linux"`
	Max     time.Duration `set:"max" max:"24h" help:"ceiling of the RTO"`
}

// check returns an error for the first field out of bounds.
func (b Bounds) check() error {
	if err := setting.Check(&b); err != nil {
		return fmt.Errorf("tcptimers: RTO %w", err)
	}
	if b.Max < b.Min {
		return fmt.Errorf("tcptimers: rto-max %v, want %v (rto-min) to %v", b.Max, b.Min, maxTimeout)
	}
	return nil
}

// or returns b with zero fields replaced by those of d. It panics if the result is invalid.
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
	if err := b.check(); err != nil {
		panic("BUG: " + err.Error())
	}
	return b
}

// clamp returns rto clamped to the bounds.
func (b *Bounds) clamp(rto time.Duration) time.Duration { return min(max(rto, b.Min), b.Max) }

// backedOff returns rto doubled n times, clamped to the bounds.
func (b *Bounds) backedOff(rto time.Duration, n backoffs) time.Duration {
	rto = b.clamp(rto)
	for ; n > 0 && rto < b.Max; n-- {
		rto = b.clamp(2 * rto)
	}
	return rto
}
