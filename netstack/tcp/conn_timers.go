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
	if !c.life.owner(c, slot).expired(&c.snd.fl.sent, slot) {
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
		c.life.expireKeepalive(c, now, o)
	case tcptimers.UserTimeout:
		c.life.expireUser(c, now, o)
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
