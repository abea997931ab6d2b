package tcp

import (
	"fmt"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// perSegment gives each segment in flight a timer of its own (Varghese and Lauck's motive for timing
// wheels). It is started by each transmission, expires an RTO later, and is stopped by the ACK or
// SACK of the segment. Segments of one flight that expire together are one timeout event.
type perSegment struct{ ownTimers }

// sent starts the timer of segment id.
func (*perSegment) sent(c *Conn, now wheel.Time, id segmentID, o *Output) {
	c.fl.rexmitAt = c.cfg.Policy.RexmitDeadline(now, c.rto(o), tcptimers.Flight{Sent: c.fl.sent.seg(id).Sent})
	c.timers.startSegment(o, &c.fl.sent, id, c.fl.rexmitAt)
}

func (*perSegment) arm(c *Conn, id segmentID, at wheel.Time, o *Output) {
	c.timers.startSegment(o, &c.fl.sent, id, at)
}

// timed reports whether segment id must have a timer. A SACKed segment has arrived and needs none,
// except as the first: it reveals a peer that reneges.
func (*perSegment) timed(c *Conn, id segmentID) bool {
	return !c.fl.sent.seg(id).Sacked() || id == c.fl.sent.Front()
}

// advanced starts the timer of a SACKed segment that has become the first. A peer that keeps it
// acknowledges it within its RTO, or within an RTO from now.
func (*perSegment) advanced(c *Conn, now wheel.Time, o *Output) {
	id := c.fl.sent.Front()
	if id == 0 || c.fl.sent.seg(id).Armed {
		return
	}
	p, rto := &c.cfg.Policy, c.est.RTO()
	at := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: c.fl.sent.seg(id).Sent})
	if at <= now {
		at = p.Deadline(now, rto)
	}
	c.timers.startSegment(o, &c.fl.sent, id, at)
}

func (*perSegment) acked(*Conn, wheel.Time, *Output)   {} // each acknowledged segment's was stopped
func (*perSegment) restart(*Conn, wheel.Time, *Output) {} // sent has done so

// rebase starts the timers of all segments, none to expire before now.
func (t *perSegment) rebase(c *Conn, now, _ wheel.Time, o *Output) {
	for id := c.fl.sent.Front(); id != 0; id = c.fl.sent.Next(id) {
		if t.timed(c, id) {
			at := c.cfg.Policy.RexmitDeadline(now, c.rto(o), tcptimers.Flight{Sent: c.fl.sent.Get(id).Sent})
			c.timers.startSegment(o, &c.fl.sent, id, max(at, now))
		}
	}
}

func (*perSegment) postpone(c *Conn, id segmentID, until wheel.Time, o *Output) {
	c.timers.startSegment(o, &c.fl.sent, id, until)
}

// expired handles the expiry of segment id's timer.
func (t *perSegment) expired(c *Conn, now wheel.Time, id segmentID, o *Output) {
	p := &c.cfg.Policy
	if c.probeFirst(now, o) && c.fl.sent.has(id) && c.fl.sent.seg(id).Armed {
		return // the probe was this segment; its timer was restarted
	}
	s := c.fl.sent.seg(id)
	inChain := c.caState == CALoss && s.Sent < c.fl.lossAt

	rto := c.est.RTO()
	if inChain {
		// A segment sent before an ongoing timeout event keeps the RTO from before the backoff.
		rto = c.fl.timeoutRTO
	}
	// The RTO may have grown since the timer was armed.
	due := t.due(c, now, id, rto)
	if due > now {
		c.timers.startSegment(o, &c.fl.sent, id, due)
		return
	}
	switch {
	case s.Sacked():
		c.forgetSACKs(now, o)
	case s.state.needsRexmit() && !t.stalled(c, now, id, rto):
		// The segment is known to be lost. It waits for congestion control or F-RTO; F-RTO has
		// waited long enough.
		if now.Sub(c.fl.lossAt) >= c.fl.timeoutRTO { // not part of the expiring flight
			c.fl.frto.Reset()
		}
		c.timers.startSegment(o, &c.fl.sent, id, p.Deadline(now, c.est.RTO()))
		return
	case inChain:
		// One flight, one event: the window was reduced and the RTO backed off already. Other
		// segments sent no later expire now too. Mark them lost before anything is sent, so that
		// the earliest is retransmitted first whatever the order of the timers.
		for next := c.fl.sent.oldest; next != 0 && c.fl.sent.seg(next).Sent <= s.Sent; next = c.fl.sent.oldest {
			c.markLost(next)
		}
		if !s.state.needsRexmit() {
			c.markLost(id)
		}
		c.timers.startSegment(o, &c.fl.sent, id, p.Deadline(now, c.est.RTO()))
		return
	}
	if !c.givesUp(now, id, o) {
		c.timeout(now, id, o)
	}
}

// due returns when the timer of segment id should expire with a timeout of rto.
func (*perSegment) due(c *Conn, now wheel.Time, id segmentID, rto time.Duration) wheel.Time {
	p := &c.cfg.Policy
	due := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: c.fl.sent.seg(id).Sent})
	if c.rec.tlp.inFlight {
		// RFC 8985 §7.3: after a probe, the RTO counts from the probe.
		due = max(due, p.Deadline(c.fl.probedAt, rto))
	}
	if front := c.fl.sent.Front(); c.caState == CARecovery && !c.rcv.sackOn && id != front {
		// Without SACK, nothing reports on segments behind a hole until the hole is filled. So this
		// segment waits as long as the first one, which was retransmitted after it.
		due = max(due, p.Deadline(c.fl.sent.seg(front).Sent, rto))
	}
	return due
}

// stalled reports whether segment id, which waits to be retransmitted, could wait forever. Either
// nothing is in flight to draw an ACK, or id is the first segment and nothing arrived for rto.
func (*perSegment) stalled(c *Conn, now wheel.Time, id segmentID, rto time.Duration) bool {
	if c.caState == CARecovery && c.fl.sent.Pipe().Bytes == 0 {
		return true
	}
	return id == c.fl.sent.Front() && now > c.fl.lossAt && !c.fl.frto.Active() && now.Sub(c.lastRecv) >= rto
}

// markLost marks the segments that expire at this instant. The others of the flight are lost when
// their own timers expire.
func (*perSegment) markLost(c *Conn, now wheel.Time, id segmentID, rto time.Duration) {
	if !c.fl.sent.seg(id).state.needsRexmit() {
		c.markLost(id)
	}
	for next := c.fl.sent.oldest; next != 0 && c.cfg.Policy.Deadline(c.fl.sent.seg(next).Sent, rto) <= now; next = c.fl.sent.oldest {
		c.markLost(next)
	}
}

func (*perSegment) expiry(c *Conn, now wheel.Time) wheel.Time {
	front := c.fl.sent.seg(c.fl.sent.Front())
	return c.cfg.Policy.RexmitDeadline(now, c.est.RTO(), tcptimers.Flight{Sent: front.Sent})
}

// check: every segment that has not arrived has exactly one running timer, and so has the first.
func (t *perSegment) check(c *Conn) error {
	for id := c.fl.sent.Front(); id != 0; id = c.fl.sent.Next(id) {
		if s, want := c.fl.sent.seg(id), t.timed(c, id); s.Armed != want {
			return fmt.Errorf("tcp: segment at %d: timer %v, want %v", s.Seq-c.iss, s.Armed, want)
		}
	}
	return nil
}
