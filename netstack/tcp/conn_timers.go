package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

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

// noteCause records that timer k caused the segments from index n on.
func (o *Output) noteCause(n int, k tcptimers.Kind) {
	for i := n; i < len(o.Segments); i++ {
		o.Segments[i].Timed, o.Segments[i].Cause = true, k
	}
}
