package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// life has the timers of a connection's life: the handshake's, keepalive, the user timeout,
// FIN-WAIT-2, TIME-WAIT and linger. The sender has the others.
type life struct{ timers }

// owner returns the timers that a slot is one of.
func (l *life) owner(c *Conn, slot Slot) *timers {
	switch slot.Kind() {
	case tcptimers.Rexmit, tcptimers.Persist, tcptimers.TLP, tcptimers.Reorder, tcptimers.Pacing, tcptimers.DelAck:
		return &c.snd.timers
	}
	return &l.timers
}

// all returns all running timers of the connection but those of segments.
func (l *life) all(c *Conn) *timers { return &timers{l.running | c.snd.timers.running} }

// end stops every running timer of the connection.
func (l *life) end(c *Conn, o *Output) {
	c.snd.timers.stopAll(o)
	l.stopAll(o)
	c.snd.timers.stopSegments(o, &c.snd.fl.sent)
}

// handshake sends the SYN, or a SYN-ACK once the peer's SYN has arrived, and bounds the handshake.
func (l *life) handshake(c *Conn, now wheel.Time, o *Output) {
	p := &c.snd.cfg.Policy
	if c.snd.fl.sent.Len() == 0 {
		l.start(o, tcptimers.Handshake, p.Deadline(now, p.R2Syn(c.state == StateSynSent)))
	}
	c.snd.sendSYN(now, o)
}

// expireKeepalive sends a keepalive probe or gives up: RFC 9293 §3.8.4.
func (l *life) expireKeepalive(c *Conn, now wheel.Time, o *Output) {
	if !c.snd.opts.Keepalive || !c.state.synchronized() || c.state == StateTimeWait {
		return
	}
	p := &c.snd.cfg.Policy
	if c.snd.fl.sent.Len() > 0 || !c.snd.allSent() {
		// Data in flight, or behind a closed window, has its own timers.
		l.start(o, tcptimers.Keepalive, p.Deadline(now, c.snd.opts.KeepIdle))
		return
	}
	if at := p.Deadline(c.rcv.lastRecv, c.snd.opts.KeepIdle); c.snd.persist.unanswered == 0 && at > now {
		l.start(o, tcptimers.Keepalive, at)
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
	l.start(o, tcptimers.Keepalive, p.Deadline(now, c.snd.opts.KeepInterval))
}

// watchUser starts the user timeout unless it runs already.
func (l *life) watchUser(c *Conn, now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout != 0 && !l.runs(tcptimers.UserTimeout) {
		l.armUser(c, now, o)
	}
}

// armUser starts the user timeout if data is unacknowledged or unsent, and stops it
// otherwise.
func (l *life) armUser(c *Conn, now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout == 0 || c.snd.fl.sent.Len() == 0 && c.snd.allSent() {
		l.stop(o, tcptimers.UserTimeout)
		return
	}
	l.start(o, tcptimers.UserTimeout, c.snd.cfg.Policy.Deadline(c.snd.waitingSince(now), c.snd.opts.UserTimeout))
}

// expireUser closes the connection, unless its oldest byte waits for a shorter time.
func (l *life) expireUser(c *Conn, now wheel.Time, o *Output) {
	if c.snd.opts.UserTimeout == 0 || c.snd.fl.sent.Len() == 0 && c.snd.allSent() {
		return
	}
	if at := c.snd.cfg.Policy.Deadline(c.snd.waitingSince(now), c.snd.opts.UserTimeout); at > now {
		l.start(o, tcptimers.UserTimeout, at)
		return
	}
	// RFC 9293 §3.10.8: "For any state if the user timeout expires, flush all queues, signal the
	// user "error: connection aborted due to user timeout" in general and for any outstanding
	// calls, delete the TCB, enter the CLOSED state".
	c.timedOut(now, o)
}

// awaitFIN starts the FIN-WAIT-2 timer after the application has closed.
func (l *life) awaitFIN(c *Conn, now wheel.Time, o *Output) {
	wait := c.snd.opts.FinWait2
	if wait == 0 {
		wait = c.snd.cfg.Policy.FinWait2
	}
	l.start(o, tcptimers.FinWait2, c.snd.cfg.Policy.Deadline(now, wait))
}

// timeWait starts the TIME-WAIT timer again.
func (l *life) timeWait(c *Conn, now wheel.Time, o *Output) {
	wait := c.snd.opts.TimeWait
	if wait == 0 {
		wait = 2 * c.snd.cfg.Policy.MSL
	}
	l.start(o, tcptimers.TimeWait, c.snd.cfg.Policy.Deadline(now, wait))
}
