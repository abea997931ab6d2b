package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Shutdown closes the write side: a FIN follows the written data (RFC 9293 §3.10.4). It is a no-op
// if the write side is closed.
//
// DEVIATION RFC 9293 §3.10.4: in SYN-RECEIVED the FIN always waits for ESTABLISHED.
func (c *Conn) Shutdown(now wheel.Time, o *Output) {
	if c.snd.writes.fin {
		return
	}
	switch c.state {
	case StateSynSent:
		// RFC 9293 §3.10.4: "Delete the TCB and return "error: closing" responses to any queued
		// SENDs, or RECEIVEs."
		o.Counters.AttemptFails++
		c.closed(now, ErrAborted, o)
		return
	case StateSynReceived:
		c.snd.writes.fin = true
		return
	case StateEstablished:
		c.setState(StateFinWait1, o)
	case StateCloseWait:
		c.setState(StateLastAck, o)
	default:
		return
	}
	c.snd.writes.fin = true
	c.snd.writes.waited = false
	c.output(now, o)
	c.life.watchUser(c, now, o)
}

// Close closes both directions. A linger of 0 aborts the connection. With a positive linger,
// EventLingered reports that the time is over, unless EventClosed comes first. NoLinger closes in
// the background. Received data that is unread, or that arrives later, resets the connection
// (RFC 2525 §2.17).
func (c *Conn) Close(now wheel.Time, linger time.Duration, o *Output) {
	if c.rcv.closed || c.state == StateClosed {
		return
	}
	c.rcv.closed = true
	if c.snd.persist.probes > 0 {
		c.snd.needPast().closedAt = now
	}
	switch {
	case c.state == StateTimeWait:
		return
	case c.rcv.user > 0 && c.state.synchronized():
		o.Counters.TCPAbortOnClose++
		c.Abort(now, o)
		return
	case linger == 0:
		o.Counters.TCPAbortOnData++ // as in Linux
		c.Abort(now, o)
		return
	}
	c.Shutdown(now, o)
	if linger > 0 && c.state != StateClosed {
		c.life.start(o, tcptimers.Linger, c.snd.cfg.Policy.Deadline(now, linger))
	}
	if c.state == StateFinWait2 && !c.life.runs(tcptimers.FinWait2) {
		c.life.awaitFIN(c, now, o)
	}
}

// Abort ends the connection at once, and sends a RST if RFC 9293 §3.10.5 asks for one.
func (c *Conn) Abort(now wheel.Time, o *Output) {
	switch c.state {
	case StateClosed:
		return
	case StateSynSent:
		o.Counters.AttemptFails++
	case StateSynReceived:
		o.Counters.AttemptFails++
		c.snd.sendRST(now, c.snd.nxt, o)
	case StateEstablished, StateFinWait1, StateFinWait2, StateCloseWait:
		// RFC 9293 §3.10.5: "Send a reset segment: <SEQ=SND.NXT><CTL=RST>".
		if c.state == StateEstablished || c.state == StateCloseWait {
			o.Counters.EstabResets++
		}
		c.snd.sendRST(now, c.snd.rstSeq(), o)
	case StateClosing, StateLastAck:
		// RFC 9293 §3.10.5 has no RST here, because the FIN is out. If data still waits before the
		// FIN, the peer does not know of the close.
		unread := c.rcv.closed && c.rcv.user > 0 // discarded by Close, which the peer must learn
		if unread || !c.snd.writes.finSent {
			c.snd.sendRST(now, c.snd.rstSeq(), o)
		}
	}
	c.closed(now, ErrAborted, o)
}

// Forget ends a connection without telling its peer or its application, because another takes its
// place.
func (c *Conn) Forget(o *Output) {
	if c.state == StateClosed {
		return
	}
	c.life.end(c, o)
	c.setState(StateClosed, o)
	c.snd.dropFlight(o)
}

// timeWait enters TIME-WAIT (RFC 9293 §3.6.1). All other timers stop.
func (c *Conn) timeWait(now wheel.Time, o *Output) {
	c.setState(StateTimeWait, o)
	c.life.end(c, o)
	c.snd.dropFlight(o)
	c.life.timeWait(c, now, o)
}

// timedOut closes the connection after a timeout. The error is the last soft error since the peer
// acknowledged data, if any, as in BSD and Linux: RFC 9293 §3.9.2.2 (SHLD-25).
func (c *Conn) timedOut(now wheel.Time, o *Output) {
	o.Counters.TCPAbortOnTimeout++
	err := c.snd.softErr
	if err == ErrNone {
		err = ErrTimeout
	}
	c.closed(now, err, o)
}

// closed enters CLOSED with err, which may be ErrNone.
func (c *Conn) closed(now wheel.Time, err Error, o *Output) {
	if c.state == StateClosed {
		return
	}
	c.life.end(c, o)
	c.setState(StateClosed, o)
	c.err = err
	if c.snd.meter != nil {
		c.snd.meter.setLimit(now, limitNone)
	}
	o.Events |= EventClosed
	if err != ErrNone {
		o.Events |= EventFailed
	}
	c.rcv.ackDue = false
	c.snd.dropFlight(o)
}
