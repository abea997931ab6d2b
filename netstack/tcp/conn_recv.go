package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// takeData processes the data and FIN of an acceptable segment.
func (c *Conn) takeData(now wheel.Time, in *Inbound, a Arrival, o *Output) Disposition {
	if !c.state.canReceive() {
		// RFC 9293 §3.10.7.4: in the other states "This should not occur since a FIN has been
		// received from the remote side. Ignore the segment text."
		if a.FIN || a.Len > 0 {
			c.rcv.repeated(a, o)
			c.rcv.ackDue = true
			if c.state == StateTimeWait && a.FIN {
				c.life.timeWait(c, now, o)
			}
		}
		return Disposition{}
	}
	if c.rcv.closed && a.payload().End.After(c.rcv.nxt()) && a.Len > 0 {
		// RFC 2525 §2.17: data that no application will read must not be acknowledged; the peer
		// learns of it by a RST.
		o.Counters.TCPAbortOnData++
		switch {
		case c.snd.cfg.ResetAtAck:
			c.snd.answerWithRST(in.Header.Ack, o)
		case c.snd.rtt.frontMissing(&c.snd, now, in.Header):
			c.snd.sendRST(now, c.snd.una, o)
		default:
			c.snd.sendRST(now, c.snd.rstSeq(), o)
		}
		c.closed(now, ErrAborted, o)
		return Disposition{}
	}
	if a.Len > 0 {
		c.snd.ecn.OnData(in.CE, in.Header.Flags.Has(CWR))
	}
	t := c.rcv.arrived(now, in, a, recvContext{c.snd.cfg, c.snd.opts, c.snd.rtt.est.RTO(), c.snd.terms.tsOffset, c.snd.ecn.On()}, o)
	if t.ack == AckDelayed {
		c.snd.timers.start(o, tcptimers.DelAck, c.snd.cfg.Policy.DelAckDeadline(now, t.delay))
	}
	if t.fin {
		c.reachFIN(now, o)
	}
	return t.Disposition
}

// Consumed reports that the application has read n bytes, at most the readable ones. It sends an
// ACK if the window has opened enough (RFC 9293 §3.8.6.2.2), and may grow the receive buffer.
func (c *Conn) Consumed(now wheel.Time, n uint32, o *Output) {
	if n = c.rcv.consumed(n); c.state.canReceive() {
		c.rcv.resize(now, n, c.snd.mss, c.snd.cfg)
		if c.UpdateDue(0) {
			c.rcv.ackDue = true
			c.output(now, o)
		}
	}
}

// UpdateDue reports whether Consumed(n) would open the window enough for an ACK of its own. The
// owner may let reads add up until then.
func (c *Conn) UpdateDue(n uint32) bool { return c.rcv.updateDue(n, c.snd.mss) }
