package tcp

import (
	"fmt"
	"time"

	"tcpwheel/wheel"
)

// DelAckConfig says how acknowledgements are put off.
type DelAckConfig struct {
	// Delay is the longest that a segment waits for its acknowledgement, 0..500 ms; 0 acknowledges each at once.
	// RFC 5681 §4.2: an ACK "MUST be generated within 500 ms of the arrival of the first unacknowledged packet."
	Delay time.Duration
	// MinDelay, if not 0, lets the delay follow the gaps between segments, between it and Delay, as Linux's ATO does
	// between 40 and 200 ms.
	MinDelay time.Duration
	// Quick is how many segments are acknowledged one by one at the start, so that slow start is not held up. Linux: 16 at most.
	Quick int
	// AckPush acknowledges a segment with PSH at once. Linux does not (there PSH only makes it acknowledge once the
	// application has read everything), because a request with PSH is what an answer will acknowledge; nor does the default.
	AckPush bool
}

// Check returns an error for a field outside its bounds.
func (c *DelAckConfig) Check() error {
	switch {
	case c.Delay < 0 || c.Delay > 500*time.Millisecond:
		return fmt.Errorf("tcp: delayed ACK delay %v, want 0..500ms", c.Delay)
	case c.MinDelay < 0 || c.MinDelay > c.Delay:
		return fmt.Errorf("tcp: delayed ACK least delay %v, want 0..%v", c.MinDelay, c.Delay)
	case c.Quick < 0 || c.Quick > 255:
		return fmt.Errorf("tcp: quick ACKs %d, want 0..255", c.Quick)
	}
	return nil
}

// AckWhen is when to acknowledge.
type AckWhen uint8

// What may follow a segment.
const (
	AckNone    AckWhen = iota // nothing to do: there is nothing to acknowledge, or it is put off already
	AckDelayed                // start the delayed-ACK timer
	AckNow                    // send an ACK in this step
)

// DelAck decides when the receiver acknowledges, by RFC 5681 §4.2. It holds no timer: the caller arms one when told, and
// stops it when it reports an ACK as sent. The zero value is the start of a connection. All methods cost O(1).
type DelAck struct {
	octets   uint32 // received and not acknowledged
	mss      uint32 // the peer's full-sized segment, as far as it is known
	lastLen  uint32
	pending  bool
	any      bool // a segment came: last is good
	quick    uint8
	last     wheel.Time
	ato      time.Duration
	deadline wheel.Time
}

// SegmentIn is what DelAck wants to know of an arriving segment that takes up sequence numbers or draws an ACK.
type SegmentIn struct {
	Len       uint32 // octets of payload
	PSH       bool
	FIN       bool // the FIN is reached
	Duplicate bool // all or part was received before, or it is not acceptable
	FilledGap bool
	Gap       bool // octets are held out of order after it
	CE        bool // it came with the first or last of congestion marks, which the sender wants to know at once
}

// OnSegment says when to acknowledge what arrived at now. For AckDelayed it gives the delay that the timer is started with.
func (d *DelAck) OnSegment(now wheel.Time, c *DelAckConfig, s SegmentIn) (AckWhen, time.Duration) {
	if s.Len == 0 && !s.FIN && !s.Duplicate {
		return AckNone, 0
	}
	d.measure(s)
	if c.MinDelay > 0 {
		d.adapt(now, c)
	}
	d.any, d.last = true, now
	d.octets += min(s.Len, 1<<30-min(d.octets, 1<<30))
	switch {
	case s.Gap, s.FilledGap:
		// RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order to accelerate loss recovery."
		// And: "the receiver SHOULD send an immediate ACK when it receives a data segment that fills in all or part of a gap
		// in the sequence space."
		return AckNow, 0
	case s.Duplicate, s.FIN, s.CE:
		return AckNow, 0
	case int(d.quick) < c.Quick, s.PSH && c.AckPush, c.Delay == 0:
		return AckNow, 0
	case d.octets > d.mss:
		// RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment". As in Linux, more than one
		// full-sized segment is enough, so that two are never waited for in vain when the second is a little short.
		return AckNow, 0
	case d.pending:
		return AckNone, 0 // the first unacknowledged segment's timer goes on
	}
	delay := c.Delay
	if c.MinDelay > 0 {
		delay = d.ato
	}
	d.pending, d.deadline = true, now.Add(delay)
	return AckDelayed, delay
}

// Deadline returns by when an ACK that was put off is due, and whether one is.
func (d *DelAck) Deadline() (at wheel.Time, ok bool) { return d.deadline, d.pending }

// OnTimeout says what to do when the delayed-ACK timer expires: AckNow if an ACK is due at now, else AckNone. An ATO that
// follows the gaps was too short then, and is doubled.
func (d *DelAck) OnTimeout(now wheel.Time, c *DelAckConfig) AckWhen {
	if !d.pending || now.Before(d.deadline) {
		return AckNone
	}
	d.ato = min(2*d.ato, c.Delay)
	return AckNow
}

// OnAckSent notes that a segment with an ACK left, alone or with data. The delayed-ACK timer is to be stopped.
func (d *DelAck) OnAckSent() {
	if d.octets > 0 && d.quick < 255 {
		d.quick++
	}
	d.octets, d.pending = 0, false
}

// Requicken begins the quick acknowledgements anew, as Linux does after idle times and losses.
func (d *DelAck) Requicken() { d.quick = 0 }

// measure follows the size of the peer's full-sized segments: the largest, until two of another size come in a row of
// which no PSH says that they are the end of a write.
func (d *DelAck) measure(s SegmentIn) {
	if s.Len > d.mss || s.Len == d.lastLen && !s.PSH && s.Len >= 64 {
		d.mss = s.Len
	}
	d.lastLen = s.Len
}

// adapt moves the ATO towards the gap since the last segment: half of the way down, and up to the bound.
func (d *DelAck) adapt(now wheel.Time, c *DelAckConfig) {
	if gap := now.Sub(d.last); d.any && gap >= 0 && gap < d.ato {
		d.ato = d.ato/2 + max(gap, c.MinDelay/2)
	}
	d.ato = min(max(d.ato, c.MinDelay), c.Delay)
}
