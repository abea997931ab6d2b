package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Shutdown tells that the application will write no more: a FIN follows what was written (RFC 9293 §3.10.4).
//
// DEVIATION RFC 9293 §3.10.4: in SYN-RECEIVED the FIN always waits for ESTABLISHED.
func (c *Conn) Shutdown(now wheel.Time, o *Output) {
	if c.finQueued {
		return
	}
	switch c.state {
	case StateSynSent:
		// RFC 9293 §3.10.4: "Delete the TCB and return "error: closing" responses to any queued SENDs, or RECEIVEs."
		o.Counters.AttemptFails++
		c.closed(ErrAborted, o)
		return
	case StateSynReceived:
		c.finQueued = true
		return
	case StateEstablished:
		c.setState(StateFinWait1, o)
	case StateCloseWait:
		c.setState(StateLastAck, o)
	default:
		return
	}
	c.finQueued = true
	c.corkExpired = false
	c.output(now, o)
	c.watchUserTimeout(now, o)
}

// Close tells that the application is done with the connection: it will write no more, and read no more. With a linger of 0 the
// connection is aborted; with more, EventLingered tells when that time is over, or EventClosed that the close was earlier.
// Octets that were received and not read, or that arrive later, reset it (RFC 2525 §2.17).
func (c *Conn) Close(now wheel.Time, linger time.Duration, o *Output) {
	if c.readClosed || c.state == StateClosed {
		return
	}
	c.readClosed = true
	if c.windowProbes > 0 {
		c.needRare().closedAt = now
	}
	switch {
	case c.state == StateTimeWait:
		return
	case c.rcvUser > 0 && c.state.synchronized():
		o.Counters.TCPAbortOnClose++
		c.abort(now, true, o)
		return
	case linger == 0:
		o.Counters.TCPAbortOnData++ // as in Linux
		c.Abort(now, o)
		return
	}
	c.Shutdown(now, o)
	if linger > 0 && c.state != StateClosed {
		c.start(o, tcptimers.Linger, c.cfg.Policy.Deadline(now, linger))
	}
	if c.state == StateFinWait2 && !c.runs(tcptimers.FinWait2) {
		c.awaitFIN(now, o)
	}
}

// awaitFIN starts the timer that ends FIN-WAIT-2 for an application that does not wait itself.
func (c *Conn) awaitFIN(now wheel.Time, o *Output) {
	wait := c.opts.FinWait2
	if wait == 0 {
		wait = c.cfg.Policy.FinWait2
	}
	c.start(o, tcptimers.FinWait2, c.cfg.Policy.Deadline(now, wait))
}

// Abort ends the connection at once, with a RST where RFC 9293 §3.10.5 wants one.
func (c *Conn) Abort(now wheel.Time, o *Output) { c.abort(now, false, o) }

// abort is Abort. lost tells that octets were received that nobody will read, which the peer is to learn in all states.
func (c *Conn) abort(now wheel.Time, lost bool, o *Output) {
	switch c.state {
	case StateClosed:
		return
	case StateSynSent:
		o.Counters.AttemptFails++
	case StateSynReceived:
		o.Counters.AttemptFails++
		c.sendRST(now, c.sndNxt, o)
	case StateEstablished, StateFinWait1, StateFinWait2, StateCloseWait:
		// RFC 9293 §3.10.5: "Send a reset segment: <SEQ=SND.NXT><CTL=RST>".
		if c.state == StateEstablished || c.state == StateCloseWait {
			o.Counters.EstabResets++
		}
		c.sendRST(now, c.ackSeq(), o)
	case StateClosing, StateLastAck:
		// RFC 9293 §3.10.5 has no RST here, because the FIN is out. While data waits before it, the peer knows of no close.
		if lost || !c.finSent {
			c.sendRST(now, c.ackSeq(), o)
		}
	}
	c.closed(ErrAborted, o)
}

// Forget ends a connection without a word to its peer or its application: another takes its place.
func (c *Conn) Forget(o *Output) {
	if c.state == StateClosed {
		return
	}
	c.stopAll(o)
	c.setState(StateClosed, o)
	c.dropFlight(o)
}

// timeWait enters TIME-WAIT: RFC 9293 §3.6.1. All other timers stop.
func (c *Conn) timeWait(now wheel.Time, o *Output) {
	c.setState(StateTimeWait, o)
	c.stopAll(o)
	c.dropFlight(o)
	c.restartTimeWait(now, o)
}

func (c *Conn) restartTimeWait(now wheel.Time, o *Output) {
	c.start(o, tcptimers.TimeWait, c.cfg.Policy.Deadline(now, 2*c.cfg.Policy.MSL))
}

// timedOut enters CLOSED because the peer, or the application, has waited for too long. What the network has told of the cause since
// anything was acknowledged is the error, as in BSD and Linux: RFC 9293 §3.9.2.2 (SHLD-25).
func (c *Conn) timedOut(o *Output) {
	o.Counters.TCPAbortOnTimeout++
	err := c.softErr
	if err == ErrNone {
		err = ErrTimeout
	}
	c.closed(err, o)
}

// closed enters CLOSED, because of err if it is one.
func (c *Conn) closed(err Error, o *Output) {
	if c.state == StateClosed {
		return
	}
	c.stopAll(o)
	c.setState(StateClosed, o)
	c.err = err
	o.Events |= EventClosed
	if err != ErrNone {
		o.Events |= EventFailed
	}
	c.ackDue = false
	c.dropFlight(o)
}

// dropFlight forgets what is in flight, whose timers are stopped.
func (c *Conn) dropFlight(o *Output) {
	if c.fl != &atRest {
		c.fl.sent.Ack(c.sndNxt, nil)
		c.returnFlight(o)
	}
}

// stopAll stops every timer that runs.
func (c *Conn) stopAll(o *Output) {
	for k := range tcptimers.Kind(tcptimers.Kinds) {
		c.stop(o, k)
	}
	for id := c.fl.sent.Front(); id != 0; id = c.fl.sent.Next(id) {
		c.stopSegment(id, o)
	}
}
