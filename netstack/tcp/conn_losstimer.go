package tcp

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// lossTimers are the kinds that share one timer under Policy.SharedTimer.
var lossTimers = [...]tcptimers.Kind{tcptimers.Rexmit, tcptimers.TLP, tcptimers.Reorder}

// startLoss starts a loss timer. Under Policy.SharedTimer it replaces the one that runs.
func (c *Conn) startLoss(o *Output, k tcptimers.Kind, at wheel.Time) {
	if c.cfg.Policy.SharedTimer {
		for _, other := range lossTimers {
			if other != k {
				c.timers.stop(o, other)
			}
		}
	}
	c.timers.start(o, k, at)
}

// stopLoss stops a loss timer, unless Policy.SharedTimer makes it the only one.
func (c *Conn) stopLoss(o *Output, k tcptimers.Kind) {
	if !c.cfg.Policy.SharedTimer {
		c.timers.stop(o, k)
	}
}

// lossTimerRuns reports whether the retransmission timer runs, or its replacement under
// Policy.SharedTimer.
func (c *Conn) lossTimerRuns() bool {
	return c.timers.runs(tcptimers.Rexmit) || c.cfg.Policy.SharedTimer && (c.timers.runs(tcptimers.TLP) || c.timers.runs(tcptimers.Reorder))
}

// armShared is armRexmit under Policy.SharedTimer. For new data it acts as Linux's
// tcp_event_new_data_sent, which moves a pending probe. For retransmissions it acts as
// tcp_xmit_retransmit_queue, which leaves RACK's timer alone.
func (c *Conn) armShared(now wheel.Time, id segmentID, o *Output) {
	switch s := c.fl.sent.Get(id); {
	case s.Retransmitted() && s.Flags&sentSYN == 0:
		if id == c.fl.sent.Front() && !c.timers.runs(tcptimers.Reorder) {
			c.restartRexmit(now, o)
		}
	case c.fl.sent.Len() == 1 || !c.lossTimerRuns():
		c.restartRexmit(now, o)
	case c.timers.runs(tcptimers.TLP):
		c.resumeRexmit(now, o)
	}
}

// resumeRexmit replaces the probe's or RACK's timer by the retransmission timer, at least a tick
// from now. The RTO counts from the last transmission of the first segment, as in Linux's
// tcp_rearm_rto and tcp_rto_delta_us.
func (c *Conn) resumeRexmit(now wheel.Time, o *Output) {
	c.fl.rexmitAt = c.cfg.Policy.Deadline(now, max(c.untilRTO(now, o), 1))
	c.startLoss(o, tcptimers.Rexmit, c.fl.rexmitAt)
}

// untilRTO returns the time until the first segment's RTO expires; negative if it has.
func (c *Conn) untilRTO(now wheel.Time, o *Output) time.Duration {
	return c.fl.sent.seg(c.fl.sent.Front()).Sent.Add(c.rto(o)).Sub(now)
}

// setLossTimer starts a loss timer after an ACK under Policy.SharedTimer, as Linux's
// tcp_set_xmit_timer does. It starts the probe timer if a probe may be sent, or else the
// retransmission timer. It leaves RACK's timer if the ACK started it. RFC 6298 §5 (5.3) restarts
// the timer for an ACK of new data. As in tcp_clean_rtx_queue, a SACK of something sent before the
// first segment's last transmission also restarts it.
func (c *Conn) setLossTimer(now wheel.Time, a *ackFacts, o *Output) {
	c.rec.probeDue = false
	if c.fl.sent.Len() == 0 {
		c.timers.stop(o, tcptimers.TLP)
		return
	}
	if a.startedReorder || a.acked == 0 && !(a.hasSack && a.sackRTT > now.Sub(c.fl.sent.seg(c.fl.sent.Front()).Sent)) {
		return
	}
	switch {
	case c.scheduleSharedProbe(now, c.rto(o)):
		c.startLoss(o, tcptimers.TLP, c.fl.probeAt)
	case c.timers.runs(tcptimers.Rexmit):
		c.restartRexmit(now, o)
	default:
		c.resumeRexmit(now, o)
	}
}

// scheduleSharedProbe sets when the loss probe is due under Policy.SharedTimer, and reports whether
// one may be sent. Like Linux's tcp_schedule_loss_probe it ignores whether the last probe was
// acknowledged. left is the time until the RTO expires; if past, it does not count.
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
	pto, _ := probeTimeout(now, &in)
	c.fl.probeAt = p.Deadline(now, pto)
	return true
}

// mayProbe reports whether a probe may be sent when its timer expires. Linux's tcp_send_loss_probe
// requires that the last probe is acknowledged. Unlike RFC 8985 §7.3 it requires no RTT sample
// since.
func (c *Conn) mayProbe() bool {
	return c.rec.tlp.MayProbe() || c.cfg.Policy.SharedTimer && !c.rec.tlp.inFlight
}
