package tcp

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// AckTiming says when to acknowledge a segment.
type AckTiming uint8

const (
	AckNone    AckTiming = iota // nothing to acknowledge, or the delayed-ACK timer runs
	AckDelayed                  // start the delayed-ACK timer
	AckNow                      // send an ACK now
)

// DelAck decides when the receiver acknowledges, by RFC 5681 §4.2. It has no timer: the caller
// starts and stops one. The zero value is the start of a connection. All methods cost O(1).
type DelAck struct {
	unacked uint32 // received and not acknowledged, bytes
	mss     uint32 // the peer's full-sized segment, bytes, as far as known

	// rmss is the MSS that we announced, less the options in every segment; 0 if unknown. A longer
	// arrival is several merged segments.
	rmss uint32

	lastLen uint32        // of the last segment, bytes
	last    wheel.Time    // when the last segment arrived, if hasLast
	ato     time.Duration // ATO, the adaptive delay
	hasLast bool
	pending bool  // an ACK is delayed
	answers bool  // DelAckConfig.PingPong: the application answers what arrives
	quick   uint8 // quick ACKs sent so far, up to 255
}

// SegmentIn describes an arriving segment to DelAck.
type SegmentIn struct {
	Len       uint32 // payload bytes
	PSH       bool   // does not force an ACK, as in Linux: the response will carry it
	FIN       bool   // the FIN is in order
	Duplicate bool   // all or part is a duplicate, or the segment is unacceptable
	FilledGap bool
	Gap       bool // out-of-order data is held
	CE        bool // the CE mark has just begun or ended
	Now       bool // the application or the configuration wants an ACK now
}

// OnSegment returns when to acknowledge the segment that arrived at now. With AckDelayed it returns
// the delay for the timer.
func (d *DelAck) OnSegment(now wheel.Time, c *tcptimers.DelAckConfig, s *SegmentIn) (AckTiming, time.Duration) {
	if s.Len == 0 && !s.FIN && !s.Duplicate {
		return AckNone, 0
	}
	d.measure(s)
	if c.Min < c.Max {
		d.adapt(now, c)
	}
	d.hasLast, d.last = true, now
	d.unacked += min(s.Len, 1<<30-min(d.unacked, 1<<30))
	switch {
	case s.Gap, s.FilledGap:
		// RFC 5681 §4.2: "Out-of-order data segments SHOULD be acknowledged immediately, in order
		// to accelerate loss recovery." And: "the receiver SHOULD send an immediate ACK when it
		// receives a data segment that fills in all or part of a gap in the sequence space."
		return AckNow, 0
	case s.Duplicate, s.FIN, s.CE:
		d.answers = d.answers && !s.Duplicate
		return AckNow, 0
	case int(d.quick) < c.Quick && !d.answers, s.Now, c.Every <= 1, c.Max == 0 && c.Heartbeat == 0:
		return AckNow, 0
	case d.unacked > d.mss:
		// RFC 5681 §4.2: "an ACK SHOULD be generated for at least every second full-sized segment".
		// As in Linux, any more than one full-sized segment suffices, in case the second is
		// slightly short.
		return AckNow, 0
	case d.pending:
		return AckNone, 0 // the timer of the first unacknowledged segment runs on
	}
	delay := c.Delay
	if c.Min < c.Max {
		delay = d.ato
	}
	d.pending = true
	return AckDelayed, delay
}

// adaptiveDelay returns the adaptive delay, 0 if the delay is fixed.
func (d *DelAck) adaptiveDelay() time.Duration { return d.ato }

// OnTimeout returns AckNow if an ACK is delayed when the timer expires, else AckNone. An adaptive
// delay was too short then, and doubles.
func (d *DelAck) OnTimeout(c *tcptimers.DelAckConfig) AckTiming {
	if !d.pending {
		return AckNone
	}
	if d.ato = min(2*d.ato, c.Max); d.answers {
		d.answers, d.ato = false, c.Min
	}
	return AckNow
}

// OnAckSent records that an ACK was sent, alone or with data. The caller stops the timer.
func (d *DelAck) OnAckSent() {
	if d.unacked > 0 && d.quick < 255 {
		d.quick++
	}
	d.unacked, d.pending = 0, false
}

// onDataSent records that data was sent. Soon after an arrival it is taken for an answer: the next
// ACKs wait for answers too.
func (d *DelAck) onDataSent(now wheel.Time, c *tcptimers.DelAckConfig) {
	if c.PingPong && d.hasLast && now.Sub(d.last) < max(d.ato, c.Min) {
		d.answers = true
	}
}

// idle returns the time since the last segment, 0 if there was none.
func (d *DelAck) idle(now wheel.Time) time.Duration {
	if !d.hasLast {
		return 0
	}
	return now.Sub(d.last)
}

// requicken restarts the quick ACKs, as Linux does after idle times.
func (d *DelAck) requicken() { d.quick = 0 }

// endQuickAcks ends the quick ACKs.
func (d *DelAck) endQuickAcks() { d.quick = math.MaxUint8 }

// measure tracks the size of the peer's full segments. It is the largest seen, until two segments
// of another size arrive in a row and PSH does not mark them as the end of a write.
func (d *DelAck) measure(s *SegmentIn) {
	n := s.Len
	if d.rmss > 0 {
		n = min(n, d.rmss)
	}
	if n > d.mss || n == d.lastLen && !s.PSH && n >= 64 {
		d.mss = n
	}
	d.lastLen = n
}

// adapt moves the delay toward the gap since the last segment: halfway down, or up to the bound.
func (d *DelAck) adapt(now wheel.Time, c *tcptimers.DelAckConfig) {
	if gap := now.Sub(d.last); d.hasLast && gap >= 0 && gap < d.ato {
		d.ato = d.ato/2 + max(gap, c.Min/2)
	}
	if d.ato == 0 {
		d.ato = c.Delay
	}
	d.ato = min(max(d.ato, c.Min), c.Max)
}
