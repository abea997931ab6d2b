package tcptimers

import (
	"fmt"
	"time"
)

// Sample is one round-trip time that was measured, of a segment that was sent once only (Karn's algorithm, RFC 6298 §3)
// or whose echo of a timestamp tells which transmission it answers (RFC 7323 §4).
type Sample struct {
	RTT time.Duration // from 0, where a negative one counts as 0, to an hour, where a longer one counts as that

	// Round is set on the first sample of each round trip: of an ACK above what SND.NXT was at the last such sample.
	Round bool

	// Expected is how many samples a round trip is expected to give: ⌈FlightSize/(2·SMSS)⌉ where each ACK gives one, 1
	// where one segment is timed at a time. 0 counts as 1.
	Expected int
}

// Estimator turns samples of the round-trip time into the retransmission timeout. One serves one connection, and is a
// plain value of about a hundred bytes behind the interface: it holds no timer and reads no clock.
type Estimator interface {
	// Sample takes a measurement in, and ends the backing off of the timer.
	Sample(s Sample)

	// RTO returns the retransmission timeout for a segment that is sent now, backed off, within the bounds.
	RTO() time.Duration

	// Backoff doubles the timeout after an expiry, as far as the ceiling lets it.
	Backoff()

	// Backoffs returns how many times Backoff was called since the last sample or ResetBackoff.
	Backoffs() int

	// ResetBackoff ends the backing off without a sample, for a policy that takes an ACK of new data for proof enough.
	// RFC 6298 §5 leaves it to the next sample, and so do Linux and 4.4BSD: no policy here calls for it.
	ResetBackoff()

	// SynTimedOut is to be called when the handshake completes, if its timer had expired (RFC 6298 §5, rule 5.7): the
	// timeout is then 3 s at least, until a sample says otherwise.
	SynTimedOut()

	// SRTT and RTTVar return the smoothed round-trip time and its variation, 0 before the first sample.
	SRTT() time.Duration
	RTTVar() time.Duration

	// Spurious tells the estimator that the last timeout was spurious, in place of Sample: rtt is the round-trip time of
	// the first data that was sent after it. The standard estimator adapts to it at once (RFC 4015 §3); the others
	// take it as their implementations do.
	Spurious(rtt time.Duration)

	// New returns another one with the same parameters, which has measured nothing. The two share what never changes, so
	// that it is cheaper than the constructors.
	New() Estimator

	// Copy returns another one in the same state.
	Copy() Estimator
}

// maxRTT is the longest round trip that counts, so that no sum in an estimator can overflow.
const maxRTT = time.Hour

// maxTimeout is the most that a bound may be.
const maxTimeout = 24 * time.Hour

// synFallback is the timeout after a SYN timed out. RFC 6298 §5 (5.7): "the RTO MUST be re-initialized to 3 seconds when
// data transmission begins (i.e., after the three-way handshake completes)."
const synFallback = 3 * time.Second

// maxBackoffs bounds the exponent of the back-off. 2^63 times the smallest timeout is past every ceiling.
const maxBackoffs = 63

// backoffs counts how often the timer was backed off, for the estimators to embed.
type backoffs uint8

func (n *backoffs) Backoff() {
	if *n < maxBackoffs {
		*n++
	}
}

func (n *backoffs) Backoffs() int { return int(*n) }
func (n *backoffs) ResetBackoff() { *n = 0 }

// holdRTT returns a sample within what counts.
func holdRTT(rtt time.Duration) time.Duration { return min(max(rtt, 0), maxRTT) }

// Bounds are the limits of a retransmission timeout. To the constructors of estimators, a field that is 0 stands for its
// default; whoever wants no floor asks for one of a nanosecond.
type Bounds struct {
	Initial time.Duration // before the first sample; Min and Max hold for it too
	Min     time.Duration // the floor
	Max     time.Duration // the ceiling, which bounds the backed-off timeout too: up to 24 h
}

// check returns the first field that is out of its bounds.
func (b Bounds) check() error {
	switch {
	case b.Initial <= 0 || b.Initial > maxTimeout:
		return fmt.Errorf("tcptimers: initial RTO %v, want above 0 and up to %v", b.Initial, maxTimeout)
	case b.Min <= 0 || b.Min > maxTimeout:
		return fmt.Errorf("tcptimers: minimum RTO %v, want above 0 and up to %v", b.Min, maxTimeout)
	case b.Max < b.Min || b.Max > maxTimeout:
		return fmt.Errorf("tcptimers: maximum RTO %v, want %v (the minimum) to %v", b.Max, b.Min, maxTimeout)
	}
	return nil
}

// or returns b with what is zero taken from d, and panics if the bounds do not hold then.
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

// hold returns rto within the bounds.
func (b *Bounds) hold(rto time.Duration) time.Duration { return min(max(rto, b.Min), b.Max) }

// backedOff returns rto doubled n times, within the bounds.
func (b *Bounds) backedOff(rto time.Duration, n backoffs) time.Duration {
	rto = b.hold(rto)
	for ; n > 0 && rto < b.Max; n-- {
		rto = b.hold(2 * rto)
	}
	return rto
}
