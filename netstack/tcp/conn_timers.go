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
	if !c.owner(slot).expired(&c.snd.fl.sent, slot) {
		return
	}
	n, k := len(o.Segments), slot.Kind()
	switch k {
	case tcptimers.DelAck:
		if c.rcv.delack.OnTimeout(&c.snd.cfg.Policy.DelAck) == AckNow {
			o.Counters.DelayedACKs++
			c.rcv.ackDue = true
		}
	case tcptimers.Keepalive:
		c.expireKeepalive(now, o)
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
	default:
		if c.snd.expired(now, slot, o) {
			c.timedOut(now, o)
		}
	}
	c.output(now, o)
	o.noteCause(n, k)
}

// owner returns the timers that a slot is one of.
func (c *Conn) owner(slot Slot) *timers {
	switch slot.Kind() {
	case tcptimers.Rexmit, tcptimers.Persist, tcptimers.TLP, tcptimers.Reorder, tcptimers.Pacing, tcptimers.DelAck:
		return &c.snd.timers
	}
	return &c.timers
}

// running returns all timers of the connection.
func (c *Conn) running() *timers {
	return &timers{c.timers.running | c.snd.timers.running}
}

// expired handles the expiry of a timer of the sender. It reports whether the connection must end.
func (snd *sender) expired(now wheel.Time, slot Slot, o *Output) (over bool) {
	switch slot.Kind() {
	case tcptimers.Rexmit:
		over = snd.timer().expired(snd, now, slot.segment(), o)
	case tcptimers.Persist:
		over = snd.persist.expire(snd, now, o)
	case tcptimers.TLP:
		snd.tlp.expire(snd, now, o)
	case tcptimers.Reorder:
		snd.losses().onTimer(snd, now, o)
	}
	if !over && slot.segment() == 0 {
		snd.timer().expiredAny(snd, now, o)
	}
	return over
}

// noteCause records that timer k caused the segments from index n on.
func (o *Output) noteCause(n int, k tcptimers.Kind) {
	for i := n; i < len(o.Segments); i++ {
		o.Segments[i].Timed, o.Segments[i].Cause = true, k
	}
}

// expireKeepalive sends a keepalive probe or gives up: RFC 9293 §3.8.4.
func (c *Conn) expireKeepalive(now wheel.Time, o *Output) {
	if !c.snd.opts.Keepalive || !c.state.synchronized() || c.state == StateTimeWait {
		return
	}
	p := &c.snd.cfg.Policy
	if c.snd.fl.sent.Len() > 0 || !c.snd.allSent() {
		// Data in flight, or behind a closed window, has its own timers.
		c.timers.start(o, tcptimers.Keepalive, p.Deadline(now, c.snd.opts.KeepIdle))
		return
	}
	if at := p.Deadline(c.rcv.lastRecv, c.snd.opts.KeepIdle); c.snd.persist.unanswered == 0 && at > now {
		c.timers.start(o, tcptimers.Keepalive, at)
		return
	}
	over := int(c.snd.persist.unanswered) >= c.snd.opts.KeepCount
	if uto := c.snd.opts.UserTimeout; uto > 0 {
		over = c.snd.persist.unanswered > 0 && now.Sub(c.rcv.lastRecv) >= uto
	}
	if over {
		c.snd.sendRST(now, c.snd.rstSeq(), o)
		c.timedOut(now, o)
		return
	}
	// RFC 9293 §3.8.4: the probe has SEG.SEQ = SND.NXT-1, with or without a garbage byte (MAY-6).
	c.snd.persist.unanswered += min(1, 255-c.snd.persist.unanswered)
	o.Counters.TCPKeepAlive++
	c.snd.sendAckFrom(now, c.snd.nxt-1, o)
	c.timers.start(o, tcptimers.Keepalive, p.Deadline(now, c.snd.opts.KeepInterval))
}

// watchUserTimeout starts the user timeout unless it runs already.
func (c *Conn) watchUserTimeout(now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout != 0 && !c.timers.runs(tcptimers.UserTimeout) {
		c.armUserTimeout(now, o)
	}
}

// armUserTimeout starts the user timeout if data is unacknowledged or unsent, and stops it
// otherwise.
func (c *Conn) armUserTimeout(now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout == 0 || c.snd.fl.sent.Len() == 0 && c.snd.allSent() {
		c.timers.stop(o, tcptimers.UserTimeout)
		return
	}
	c.timers.start(o, tcptimers.UserTimeout, c.snd.cfg.Policy.Deadline(c.snd.waitingSince(now), c.snd.opts.UserTimeout))
}

// waitingSince returns since when the oldest byte has waited for its ACK or for the window.
func (snd *sender) waitingSince(now wheel.Time) wheel.Time {
	if id := snd.fl.sent.Front(); id != 0 {
		return snd.fl.sent.seg(id).FirstSent
	}
	if snd.persist.probes > 0 {
		return snd.past.closedAt
	}
	return now
}

func (c *Conn) expireUserTimeout(now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout == 0 || c.snd.fl.sent.Len() == 0 && c.snd.allSent() {
		return
	}
	if at := c.snd.cfg.Policy.Deadline(c.snd.waitingSince(now), c.snd.opts.UserTimeout); at > now {
		c.timers.start(o, tcptimers.UserTimeout, at)
		return
	}
	// RFC 9293 §3.10.8: "For any state if the user timeout expires, flush all queues, signal the
	// user "error: connection aborted due to user timeout" in general and for any outstanding
	// calls, delete the TCB, enter the CLOSED state".
	c.timedOut(now, o)
}
