package tcptimers

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// DelAckConfig says when an acknowledgement is delayed, and for how long.
type DelAckConfig struct {
	// Every is how many full-sized segments may arrive before an ACK leaves at once: 1 or 2. 1
	// delays no ACK. RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second
	// full-sized segment".
	Every int

	// Quick is how many segments are acknowledged at once at the start of a connection, or after
	// it was idle, so that the peer's slow start is not held up: 0 to 64. Linux's
	// TCP_MAX_QUICKACKS is 16.
	Quick int

	// PingPong ends the quick ACKs while the application answers what arrives, since its answers
	// carry the ACKs, as in Linux (inet_csk_in_pingpong_mode). A delayed ACK that no answer
	// carried lets them go on.
	PingPong bool

	// Delay is the initial delay of an ACK. As in Linux it may follow the gaps between segments,
	// from Min to Max, and is fixed where the two are equal. All are 0 to 500 ms. RFC 5681 §4.2:
	// the ACK "MUST be generated within 500 ms of the arrival of the first unacknowledged
	// packet".
	Delay, Min, Max time.Duration

	// Heartbeat, if above 0, sends delayed ACKs at its multiples from Policy.Origin, and no timer
	// is armed for the delay: 4.4BSD's fast timeout of 200 ms. At most 500 ms.
	Heartbeat time.Duration
}

const maxDelAck = 500 * time.Millisecond

// ParseDelAck reads how ACKs are delayed: "off"; a timer of fixed length, as in "40ms"; or
// "heartbeat:200ms", the ticks of a clock as in 4.4BSD. A delayed ACK leaves with the second full
// segment at the latest.
func ParseDelAck(text string) (d DelAckConfig, err error) {
	if text == "off" {
		return DelAckConfig{Every: 1}, nil
	}
	span, isHeartbeat := strings.CutPrefix(text, "heartbeat:")
	at, err := time.ParseDuration(span)
	if err != nil || at < minTick || at > maxDelAck {
		return d, fmt.Errorf("%q, want off, a delay such as 40ms, or heartbeat:200ms, %v to %v",
			text, minTick, maxDelAck)
	}
	if isHeartbeat {
		return DelAckConfig{Every: 2, Heartbeat: at, Max: at}, nil
	}
	return DelAckConfig{Every: 2, Delay: at, Min: at, Max: at}, nil
}

// String returns the text that ParseDelAck reads, or for other values one like it.
func (d DelAckConfig) String() string {
	switch {
	case d.Every == 1:
		return "off"
	case d.Heartbeat > 0:
		return "heartbeat:" + d.Heartbeat.String()
	case d.Min == d.Max:
		return d.Max.String()
	}
	return fmt.Sprintf("%v to %v", d.Min, d.Max)
}

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

// DelAckDeadline returns the latest instant for an ACK that is delayed from now on by delay,
// clamped to DelAck.Min and Max. With a heartbeat it is the first beat after now, whatever the
// delay: segments that arrive at random wait for half a beat on average.
func (p *Policy) DelAckDeadline(now wheel.Time, delay time.Duration) wheel.Time {
	if beat := p.DelAck.Heartbeat; beat > 0 {
		return floorTo(now, p.Origin, beat).Add(beat)
	}
	return p.Deadline(now, min(max(delay, p.DelAck.Min), p.DelAck.Max))
}
