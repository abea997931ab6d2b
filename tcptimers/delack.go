package tcptimers

import (
	"fmt"
	"strings"
	"time"

	"tcpwheel/wheel"
)

// DelAckConfig says when an acknowledgement is delayed, and for how long. Its text is that of
// ParseDelAck.
type DelAckConfig struct {
	// Every is how many full-sized segments may arrive before an ACK leaves at once. 1 delays no
	// ACK. RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
	Every int `set:"every" min:"1" max:"2" help:"full segments for which one ACK may wait"`

	// Quick is how many segments are acknowledged at once at the start of a connection, or after
	// it was idle, so that the peer's slow start is not held up. Linux's TCP_MAX_QUICKACKS is 16.
	Quick int `set:"quick" min:"0" max:"64" help:"segments that are acknowledged at once at the start"`

	// PingPong ends the quick ACKs while the application answers what arrives, since its answers
	// carry the ACKs, as in Linux (inet_csk_in_pingpong_mode). A delayed ACK that no answer
	// carried lets them go on.
	PingPong bool `set:"ping-pong" help:"answers of the application end the quick ACKs, as in Linux"`

	// Delay is the initial delay of an ACK. As in Linux it may follow the gaps between segments,
	// from Min to Max, and is fixed where the two are equal. RFC 5681 §4.2: the ACK "MUST be
	// generated within 500 ms of the arrival of the first unacknowledged packet".
	Delay time.Duration `set:"delay" max:"500ms" help:"initial delay of an ACK, from delack-min to delack-max"`
	Min   time.Duration `set:"min" max:"500ms" help:"shortest delay of an ACK"`
	Max   time.Duration `set:"max" max:"500ms" help:"longest delay of an ACK"`

	// Heartbeat, if above 0, sends delayed ACKs at its multiples from Policy.Origin, and no timer
	// is armed for the delay: 4.4BSD's fast timeout of 200 ms.
	Heartbeat time.Duration `set:"heartbeat" alias:"heartbeat" max:"500ms" help:"clock at whose ticks delayed ACKs leave; 0s is none"`
}

const maxDelAck = 500 * time.Millisecond

const delAckAllowed = "off, a delay such as 40ms, or heartbeat:200ms, 1µs to 500ms"

// ParseDelAck reads how ACKs are delayed: "off"; a timer of fixed length, as in "40ms"; or
// "heartbeat:200ms", the ticks of a clock as in 4.4BSD. A delayed ACK leaves with the second full
// segment at the latest.
func ParseDelAck(text string) (d DelAckConfig, err error) {
	if text == "off" || text == "0" {
		return DelAckConfig{Every: 1}, nil
	}
	span, isHeartbeat := strings.CutPrefix(text, "heartbeat:")
	at, err := time.ParseDuration(span)
	if err != nil || at < minTick || at > maxDelAck {
		return d, fmt.Errorf("%q, want %s", text, delAckAllowed)
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

// UnmarshalText calls ParseDelAck.
func (d *DelAckConfig) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDelAck(string(text))
	return err
}

// Allowed says what UnmarshalText accepts.
func (*DelAckConfig) Allowed() string { return delAckAllowed }

// check returns an error if the delays are not in order.
func (d *DelAckConfig) check() error {
	switch {
	case d.Max < d.Min:
		return fmt.Errorf("tcptimers: delack-max %v, want %v (delack-min) to %v", d.Max, d.Min, maxDelAck)
	case d.Delay < d.Min || d.Delay > d.Max:
		return fmt.Errorf("tcptimers: delack-delay %v, want %v (delack-min) to %v (delack-max)", d.Delay, d.Min, d.Max)
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
