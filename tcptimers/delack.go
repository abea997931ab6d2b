package tcptimers

import (
	"fmt"
	"time"

	"tcpwheel/wheel"
)

// DelAckConfig says when an acknowledgement may wait for company.
type DelAckConfig struct {
	// Every is how many full-sized segments may come before an ACK leaves at once: 1 to 2. 1 delays none. RFC 5681 §4.2:
	// "an ACK SHOULD be generated for at least every second full-sized segment".
	Every int

	// Quick is how many segments at the start of a connection, or after it was idle, are acknowledged at once, so that
	// the peer's slow start is not held up: 0 to 64. Linux's TCP_MAX_QUICKACKS is 16.
	Quick int

	// Delay is what a timer waits to begin with. It may follow the gaps between segments from Min to Max, as Linux's
	// does, and is fixed where the two are equal. RFC 5681 §4.2: the ACK "MUST be generated within 500 ms of the arrival of
	// the first unacknowledged packet".
	Delay, Min, Max time.Duration

	// Heartbeat, if above 0, sends what waits at its multiples from Policy.Origin, and no timer is armed for the delay:
	// 4.4BSD's fast timeout of 200 ms. It is up to 500 ms.
	Heartbeat time.Duration
}

const maxDelAck = 500 * time.Millisecond

func (d *DelAckConfig) check() error {
	switch {
	case d.Every < 1 || d.Every > 2:
		return fmt.Errorf("tcptimers: ACK every %d segments, want 1..2", d.Every)
	case d.Quick < 0 || d.Quick > 64:
		return fmt.Errorf("tcptimers: quick ACKs %d, want 0..64", d.Quick)
	case d.Heartbeat < 0 || d.Heartbeat > maxDelAck:
		return fmt.Errorf("tcptimers: delayed ACK heartbeat %v, want 0 to %v", d.Heartbeat, maxDelAck)
	case d.Min < 0 || d.Min > maxDelAck:
		return fmt.Errorf("tcptimers: minimum ACK delay %v, want 0 to %v", d.Min, maxDelAck)
	case d.Max < d.Min || d.Max > maxDelAck:
		return fmt.Errorf("tcptimers: maximum ACK delay %v, want %v (the minimum) to %v", d.Max, d.Min, maxDelAck)
	case d.Delay < d.Min || d.Delay > d.Max:
		return fmt.Errorf("tcptimers: ACK delay %v, want %v (the minimum) to %v (the maximum)", d.Delay, d.Min, d.Max)
	}
	return nil
}

// DelAckDeadline returns the instant at which an ACK leaves at the latest that is put off now by delay, which is held
// within DelAck.Min and Max. With a heartbeat it is the first beat after now, whatever the delay: segments that come at
// random wait from above 0 to a whole beat, and half of one on average.
func (p *Policy) DelAckDeadline(now wheel.Time, delay time.Duration) wheel.Time {
	if beat := p.DelAck.Heartbeat; beat > 0 {
		return floorTo(now, p.Origin, beat).Add(beat)
	}
	return p.Deadline(now, min(max(delay, p.DelAck.Min), p.DelAck.Max))
}
