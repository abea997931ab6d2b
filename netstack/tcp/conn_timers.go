package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// corkWait is how long a cork, or a window too small for a full segment, holds data back.
// RFC 9293 §3.8.6.2.1 wants an override timeout of 0.1 to 1.0 s; Linux's cork waits 200 ms.
const corkWait = 200 * time.Millisecond

// Expire handles the expiry of the timer of a slot. It is a no-op if c has not started that timer,
// or has stopped it since.
func (c *Conn) Expire(now wheel.Time, slot Slot, o *Output) {
	if c.state == StateClosed {
		return
	}
	o.expiring = true
	c.expire(now, slot, o)
	o.expiring = false
}

func (c *Conn) expire(now wheel.Time, slot Slot, o *Output) {
	if !c.timers.expired(&c.fl.sent, slot) {
		return
	}
	n, k := len(o.Segments), slot.Kind()
	if id := slot.segment(); id != 0 {
		c.timer().expired(c, now, id, o)
	} else {
		c.expireKind(now, k, o)
	}
	c.output(now, o)
	o.noteCause(n, k)
}

// expireKind handles the expiry of the timer of kind k.
func (c *Conn) expireKind(now wheel.Time, k tcptimers.Kind, o *Output) {
	switch k {
	case tcptimers.Rexmit:
		c.timer().expired(c, now, 0, o)
	case tcptimers.DelAck:
		if c.rcv.delack.OnTimeout(&c.cfg.Policy.DelAck) == AckNow {
			o.Counters.DelayedACKs++
			c.rcv.ackDue = true
		}
	case tcptimers.Keepalive:
		c.expireKeepalive(now, o)
	case tcptimers.Persist:
		c.expirePersist(now, o)
	case tcptimers.TLP:
		c.expireProbe(now, o)
	case tcptimers.Reorder:
		c.losses().onTimer(c, now, o)
	case tcptimers.UserTimeout:
		c.expireUserTimeout(now, o)
	case tcptimers.Handshake:
		o.Counters.AttemptFails++
		c.timedOut(now, o)
	case tcptimers.FinWait2, tcptimers.TimeWait:
		if k == tcptimers.TimeWait {
			o.Counters.TW++
		}
		c.closed(now, ErrNone, o)
	case tcptimers.Linger:
		o.Events |= EventLingered
	}
	c.timer().expiredAny(c, now, o)
}

// noteCause records that timer k caused the segments from index n on.
func (o *Output) noteCause(n int, k tcptimers.Kind) {
	for i := n; i < len(o.Segments); i++ {
		o.Segments[i].Timed, o.Segments[i].Cause = true, k
	}
}

// expireKeepalive sends a keepalive probe or gives up: RFC 9293 §3.8.4.
func (c *Conn) expireKeepalive(now wheel.Time, o *Output) {
	if !c.opts.Keepalive || !c.state.synchronized() || c.state == StateTimeWait {
		return
	}
	p := &c.cfg.Policy
	if c.fl.sent.Len() > 0 || !c.allSent() {
		// Data in flight, or behind a closed window, has its own timers.
		c.timers.start(o, tcptimers.Keepalive, p.Deadline(now, c.opts.KeepIdle))
		return
	}
	if at := p.Deadline(c.lastRecv, c.opts.KeepIdle); c.unanswered == 0 && at > now {
		c.timers.start(o, tcptimers.Keepalive, at)
		return
	}
	over := int(c.unanswered) >= c.opts.KeepCount
	if uto := c.opts.UserTimeout; uto > 0 {
		over = c.unanswered > 0 && now.Sub(c.lastRecv) >= uto
	}
	if over {
		c.sendRST(now, c.rstSeq(), o)
		c.timedOut(now, o)
		return
	}
	// RFC 9293 §3.8.4: the probe has SEG.SEQ = SND.NXT-1, with or without a garbage byte (MAY-6).
	c.unanswered += min(1, 255-c.unanswered)
	o.Counters.TCPKeepAlive++
	c.sendAckFrom(now, c.sndNxt-1, o)
	c.timers.start(o, tcptimers.Keepalive, p.Deadline(now, c.opts.KeepInterval))
}

// watchUserTimeout starts the user timeout unless it runs already.
func (c *Conn) watchUserTimeout(now wheel.Time, o *Output) {
	if c.opts.UserTimeout != 0 && !c.timers.runs(tcptimers.UserTimeout) {
		c.armUserTimeout(now, o)
	}
}

// armUserTimeout starts the user timeout if data is unacknowledged or unsent, and stops it
// otherwise.
func (c *Conn) armUserTimeout(now wheel.Time, o *Output) {
	if c.opts.UserTimeout == 0 || c.fl.sent.Len() == 0 && c.allSent() {
		c.timers.stop(o, tcptimers.UserTimeout)
		return
	}
	c.timers.start(o, tcptimers.UserTimeout, c.cfg.Policy.Deadline(c.waitingSince(now), c.opts.UserTimeout))
}

// waitingSince returns since when the oldest byte has waited for its ACK or for the window.
func (c *Conn) waitingSince(now wheel.Time) wheel.Time {
	if id := c.fl.sent.Front(); id != 0 {
		return c.fl.sent.seg(id).FirstSent
	}
	if c.windowProbes > 0 {
		return c.rare.closedAt
	}
	return now
}

func (c *Conn) expireUserTimeout(now wheel.Time, o *Output) {
	if c.opts.UserTimeout == 0 || c.fl.sent.Len() == 0 && c.allSent() {
		return
	}
	if at := c.cfg.Policy.Deadline(c.waitingSince(now), c.opts.UserTimeout); at > now {
		c.timers.start(o, tcptimers.UserTimeout, at)
		return
	}
	// RFC 9293 §3.10.8: "For any state if the user timeout expires, flush all queues, signal the
	// user "error: connection aborted due to user timeout" in general and for any outstanding
	// calls, delete the TCB, enter the CLOSED state".
	c.timedOut(now, o)
}
