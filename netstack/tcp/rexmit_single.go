package tcp

import (
	"fmt"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// singleTimer gives all segments in flight one timer. Policy.RexmitDeadline says how far an ACK of
// new data restarts it: in full (RFC 6298 §5, 5.3), or less if the flight is too small for a fast
// retransmit (RFC 7765 §4).
type singleTimer struct{ ownTimers }

// sent starts the timer if it does not run.
func (t *singleTimer) sent(c *Conn, now wheel.Time, id segmentID, o *Output) {
	// RFC 6298 §5 (5.1): "Every time a packet containing data is sent (including a retransmission),
	// if the timer is not running, start it running so that it will expire after RTO seconds".
	// Also: "a segment is never retransmitted too early, i.e., less than one RTO after the previous
	// transmission of that segment." So a fast retransmission of the first segment moves the timer,
	// as in 4.4BSD and Linux.
	s := c.fl.sent.seg(id)
	if again := s.Retransmitted() && s.Flags&sentSYN == 0; !c.timers.runs(tcptimers.Rexmit) || again && id == c.fl.sent.Front() {
		t.restart(c, now, o)
	}
}

func (*singleTimer) arm(*Conn, segmentID, wheel.Time, *Output) {} // no segment has its own
func (*singleTimer) advanced(*Conn, wheel.Time, *Output)       {}

func (t *singleTimer) acked(c *Conn, now wheel.Time, o *Output) {
	if c.fl.sent.Len() == 0 {
		// RFC 6298 §5 (5.2): "When all outstanding data has been acknowledged, turn off the
		// retransmission timer."
		c.timers.stop(o, tcptimers.Rexmit)
		return
	}
	// RFC 6298 §5 (5.3): "When an ACK is received that acknowledges new data, restart the
	// retransmission timer so that it will expire after RTO seconds".
	t.restart(c, now, o)
}

// restart restarts the timer. RFC 6298 §5 (5.6): "Start the retransmission timer, such that it
// expires after RTO seconds". RFC 8985 §7.3: "After attempting to send a loss probe, regardless of
// whether a loss probe was sent, the sender MUST re-arm the RTO timer".
func (*singleTimer) restart(c *Conn, now wheel.Time, o *Output) {
	id := c.fl.sent.Front()
	f := tcptimers.Flight{Earliest: c.fl.sent.Get(id).Sent, Segments: c.fl.sent.Len() + int((c.queued()+c.mss-1)/max(c.mss, 1))}
	c.fl.rexmitAt = c.cfg.Policy.RexmitDeadline(now, c.rto(o), f)
	c.timer().startLoss(c, tcptimers.Rexmit, c.fl.rexmitAt, o)
}

func (t *singleTimer) rebase(c *Conn, _, acked wheel.Time, o *Output) {
	t.restart(c, max(acked, c.fl.sent.seg(c.fl.sent.Front()).Sent), o)
}

func (*singleTimer) postpone(c *Conn, _ segmentID, until wheel.Time, o *Output) {
	c.fl.rexmitAt = until
	c.timers.start(o, tcptimers.Rexmit, until)
}

// expired handles the expiry of the timer. RFC 6298 §5 (5.4): "Retransmit the earliest segment that
// has not been acknowledged by the TCP receiver."
func (*singleTimer) expired(c *Conn, now wheel.Time, _ segmentID, o *Output) {
	id := c.fl.sent.Front()
	if id == 0 || c.probeFirst(now, o) {
		return
	}
	if c.fl.sent.seg(id).Sacked() {
		c.forgetSACKs(now, o)
	}
	if !c.givesUp(now, id, o) {
		c.timeout(now, id, o)
	}
}

func (*singleTimer) markLost(c *Conn, now wheel.Time, id segmentID, _ time.Duration) {
	c.losses().onTimeout(c, now, id)
}

func (*singleTimer) expiry(c *Conn, _ wheel.Time) wheel.Time { return c.fl.rexmitAt }

// check: the timer runs if anything is in flight, and no segment has one.
func (*singleTimer) check(c *Conn) error { return c.checkOneTimer(c.timers.runs(tcptimers.Rexmit)) }

// checkOneTimer is check where runs says whether the only timer runs.
func (c *Conn) checkOneTimer(runs bool) error {
	if n := c.fl.sent.Len(); n > 0 != runs {
		return fmt.Errorf("tcp: %d segments in flight, and the retransmission timer runs: %v", n, runs)
	}
	for id := c.fl.sent.Front(); id != 0; id = c.fl.sent.Next(id) {
		if s := c.fl.sent.seg(id); s.Armed {
			return fmt.Errorf("tcp: segment at %d has a timer of its own", s.Seq-c.iss)
		}
	}
	return nil
}
