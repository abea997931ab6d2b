package tcp

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// lossTimers are the kinds that one timer serves under Policy.SharedTimer.
var lossTimers = [...]tcptimers.Kind{tcptimers.Rexmit, tcptimers.TLP, tcptimers.Reorder}

// startLoss starts a timer that finds losses: under Policy.SharedTimer in place of the one that runs.
func (c *Conn) startLoss(o *Output, k tcptimers.Kind, at wheel.Time) {
	if c.cfg.Policy.SharedTimer {
		for _, other := range lossTimers {
			if other != k {
				c.stop(o, other)
			}
		}
	}
	c.start(o, k, at)
}

// stopLoss stops a timer that finds losses, if another one goes on.
func (c *Conn) stopLoss(o *Output, k tcptimers.Kind) {
	if !c.cfg.Policy.SharedTimer {
		c.stop(o, k)
	}
}

// lossTimerRuns reports whether the retransmission timer runs, or under Policy.SharedTimer what took its place.
func (c *Conn) lossTimerRuns() bool {
	return c.runs(tcptimers.Rexmit) || c.cfg.Policy.SharedTimer && (c.runs(tcptimers.TLP) || c.runs(tcptimers.Reorder))
}

// armShared is armRexmit under Policy.SharedTimer: tcp_event_new_data_sent of Linux for what was never sent, which moves a probe that waits,
// and tcp_xmit_retransmit_queue for what was, which leaves RACK's timer be.
func (c *Conn) armShared(now wheel.Time, id segmentID, o *Output) {
	switch s := c.fl.sent.Get(id); {
	case s.Retransmitted() && s.Flags&sentSYN == 0:
		if id == c.fl.sent.Front() && !c.runs(tcptimers.Reorder) {
			c.restartRexmit(now, o)
		}
	case c.fl.sent.Len() == 1 || !c.lossTimerRuns():
		c.restartRexmit(now, o)
	case c.runs(tcptimers.TLP):
		c.resumeRexmit(now, o)
	}
}

// resumeRexmit starts the retransmission timer in place of the probe's or RACK's: it counts from when the first segment was last sent, and not
// from now (tcp_rearm_rto and tcp_rto_delta_us of Linux). It is a tick away at least.
func (c *Conn) resumeRexmit(now wheel.Time, o *Output) {
	c.fl.rexmitAt = c.cfg.Policy.Deadline(now, max(c.untilRTO(now, o), 1))
	c.startLoss(o, tcptimers.Rexmit, c.fl.rexmitAt)
}

// untilRTO returns how long from now the timeout of the first segment is over, which may be past.
func (c *Conn) untilRTO(now wheel.Time, o *Output) time.Duration {
	return c.fl.sent.seg(c.fl.sent.Front()).Sent.Add(c.rto(o)).Sub(now)
}

// setLossTimer is tcp_set_xmit_timer of Linux, which follows from an ACK under Policy.SharedTimer: it starts the probe's timer, or else the
// retransmission timer, unless the ACK has started RACK's. RFC 6298 §5 (5.3) has an ACK of new data restart the timer. Here one that SACKs
// does so, too, if what it tells of left before the first segment was sent last (tcp_clean_rtx_queue).
func (c *Conn) setLossTimer(now wheel.Time, a *ackFacts, o *Output) {
	c.rec.probeDue = false
	if c.fl.sent.Len() == 0 {
		c.stop(o, tcptimers.TLP)
		return
	}
	if a.startedReorder || a.acked == 0 && !(a.hasSack && a.sackRTT > now.Sub(c.fl.sent.seg(c.fl.sent.Front()).Sent)) {
		return
	}
	switch {
	case c.scheduleSharedProbe(now, c.rto(o)):
		c.startLoss(o, tcptimers.TLP, c.fl.probeAt)
	case c.runs(tcptimers.Rexmit):
		c.restartRexmit(now, o)
	default:
		c.resumeRexmit(now, o)
	}
}

// shareProbe finds when the loss probe is due under Policy.SharedTimer, and whether there is to be one: tcp_schedule_loss_probe of Linux, which
// does not look whether the probe before was acknowledged. left is how long it is until the timeout, which counts if it is not past.
func (c *Conn) scheduleSharedProbe(now wheel.Time, left time.Duration) bool {
	p := &c.cfg.Policy
	if !p.TLP || !c.sackOn || c.caState >= CARecovery || c.fl.sent.Sacked().Segments > 0 {
		return false
	}
	in := ptoInput{
		SRTT: c.est.SRTT(), HasSRTT: c.est.SRTT() > 0, Flight: uint32(c.fl.sent.Len()), MaxAckDelay: p.MaxAckDelay, Slack: p.ProbeSlack,
		RTOExpiry: math.MaxInt64,
	}
	if left > 0 {
		in.RTOExpiry = now.Add(left)
	}
	pto, _ := probeTimeout(now, in)
	c.fl.probeAt = p.Deadline(now, pto)
	return true
}

// mayProbe reports whether a probe may leave when its timer expires. tcp_send_loss_probe of Linux wants the one before acknowledged, but no
// round trip measured since, as RFC 8985 §7.3 does.
func (c *Conn) mayProbe() bool {
	return c.rec.tlp.MayProbe() || c.cfg.Policy.SharedTimer && !c.rec.tlp.inFlight
}
