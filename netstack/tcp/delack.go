package tcp

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// AckTiming is when to acknowledge.
type AckTiming uint8

// What may follow a segment.
const (
	AckNone    AckTiming = iota // nothing to do: there is nothing to acknowledge, or it is put off already
	AckDelayed                  // start the delayed-ACK timer
	AckNow                      // send an ACK in this step
)

// DelAck decides when the receiver acknowledges, by RFC 5681 §4.2. It holds no timer: the caller
// arms one when told, and stops it when it reports an ACK as sent. The zero value is the start of a
// connection. All methods cost O(1).
type DelAck struct {
	octets uint32 // received and not acknowledged
	mss    uint32 // the peer's full-sized segment, as far as it is known

	// rmss is RMSS, which the peer was told, less the options that all segments have, 0 for none:
	// what is longer is several segments, received as one.
	rmss uint32

	lastLen uint32        // of the last segment, bytes
	last    wheel.Time    // when it came, if hasLast
	ato     time.Duration // the delay that follows the gaps between segments
	hasLast bool
	pending bool  // an ACK was put off
	quick   uint8 // ACKs so far that count towards the quick ones at the start
}

// SegmentIn is what DelAck wants to know of an arriving segment that takes up sequence numbers or
// draws an ACK.
type SegmentIn struct {
	Len       uint32 // bytes of payload
	PSH       bool   // it does not make an ACK leave, as in Linux: a request with PSH is what an answer will acknowledge
	FIN       bool   // the FIN is reached
	Duplicate bool   // all or part was received before, or it is not acceptable
	FilledGap bool
	Gap       bool // bytes are held out of order after it
	CE        bool // it came with the first or last of congestion marks, which the sender wants to know at once
	Now       bool // the application, or the configuration, wants it acknowledged at once
}

// OnSegment says when to acknowledge what arrived at now. For AckDelayed it gives the delay that
// the timer is started with.
func (d *DelAck) OnSegment(now wheel.Time, c *tcptimers.DelAckConfig, s SegmentIn) (AckTiming, time.Duration) {
	if s.Len == 0 && !s.FIN && !s.Duplicate {
		return AckNone, 0
	}
	d.measure(s)
	if c.Min < c.Max {
		d.adapt(now, c)
	}
	d.hasLast, d.last = true, now
	d.octets += min(s.Len, 1<<30-min(d.octets, 1<<30))
	switch {
	case s.Gap, s.FilledGap:
		// RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order
		// to accelerate loss recovery." And: "the receiver SHOULD send an immediate ACK when it
		// receives a data segment that fills in all or part of a gap in the sequence space."
		return AckNow, 0
	case s.Duplicate, s.FIN, s.CE:
		return AckNow, 0
	case int(d.quick) < c.Quick, s.Now, c.Every <= 1, c.Max == 0 && c.Heartbeat == 0:
		return AckNow, 0
	case d.octets > d.mss:
		// RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
		// As in Linux, more than one full-sized segment is enough, so that two are never waited for
		// in vain when the second is a little short.
		return AckNow, 0
	case d.pending:
		return AckNone, 0 // the first unacknowledged segment's timer goes on
	}
	delay := c.Delay
	if c.Min < c.Max {
		delay = d.ato
	}
	d.pending = true
	return AckDelayed, delay
}

// isPending reports whether an ACK was put off.
func (d *DelAck) isPending() bool { return d.pending }

// timeout returns the delay that follows the gaps between segments, 0 if it is fixed.
func (d *DelAck) timeout() time.Duration { return d.ato }

// OnTimeout says what to do when the delayed-ACK timer expires: AckNow if an ACK was put off, else
// AckNone. An ATO that follows the gaps was too short then, and is doubled.
func (d *DelAck) OnTimeout(c *tcptimers.DelAckConfig) AckTiming {
	if !d.pending {
		return AckNone
	}
	d.ato = min(2*d.ato, c.Max)
	return AckNow
}

// OnAckSent notes that a segment with an ACK left, alone or with data. The delayed-ACK timer is to
// be stopped.
func (d *DelAck) OnAckSent() {
	if d.octets > 0 && d.quick < 255 {
		d.quick++
	}
	d.octets, d.pending = 0, false
}

// idle returns how long ago the last segment came, 0 if none did.
func (d *DelAck) idle(now wheel.Time) time.Duration {
	if !d.hasLast {
		return 0
	}
	return now.Sub(d.last)
}

// requicken begins the quick acknowledgements anew, as Linux does after idle times.
func (d *DelAck) requicken() { d.quick = 0 }

// endQuickAcks ends them.
func (d *DelAck) endQuickAcks() { d.quick = math.MaxUint8 }

// measure follows the size of the peer's full-sized segments: the largest, until two of another
// size come in a row of which no PSH says that they are the end of a write.
func (d *DelAck) measure(s SegmentIn) {
	n := s.Len
	if d.rmss > 0 {
		n = min(n, d.rmss)
	}
	if n > d.mss || n == d.lastLen && !s.PSH && n >= 64 {
		d.mss = n
	}
	d.lastLen = n
}

// adapt moves the ATO towards the gap since the last segment: half of the way down, and up to the
// bound.
func (d *DelAck) adapt(now wheel.Time, c *tcptimers.DelAckConfig) {
	if gap := now.Sub(d.last); d.hasLast && gap >= 0 && gap < d.ato {
		d.ato = d.ato/2 + max(gap, c.Min/2)
	}
	if d.ato == 0 {
		d.ato = c.Delay
	}
	d.ato = min(max(d.ato, c.Min), c.Max)
}
