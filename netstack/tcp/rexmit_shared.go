package tcp

import (
	"math"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// sharedTimer is singleTimer where that one serves for the loss probe and RACK too, as in Linux
// (Policy.SharedTimer).
type sharedTimer struct{ singleTimer }

// lossTimerKinds are the kinds of which one runs.
var lossTimerKinds = [...]tcptimers.Kind{tcptimers.Rexmit, tcptimers.TLP, tcptimers.Reorder}

// startLoss replaces the one that runs.
func (*sharedTimer) startLoss(c *Conn, k tcptimers.Kind, at wheel.Time, o *Output) {
	for _, other := range lossTimerKinds {
		if other != k {
			c.timers.stop(o, other)
		}
	}
	c.timers.start(o, k, at)
}

// stopLoss does nothing: it would stop the only timer.
func (*sharedTimer) stopLoss(*Conn, tcptimers.Kind, *Output) {}

// runs reports whether the only timer runs.
func (*sharedTimer) runs(c *Conn) bool {
	return c.timers.runs(tcptimers.Rexmit) || c.timers.runs(tcptimers.TLP) || c.timers.runs(tcptimers.Reorder)
}

// sent starts the timer. For new data it acts as Linux's tcp_event_new_data_sent, which moves a
// pending probe. For retransmissions it acts as tcp_xmit_retransmit_queue, which leaves RACK's timer
// alone.
func (t *sharedTimer) sent(c *Conn, now wheel.Time, id segmentID, o *Output) {
	switch s := c.fl.sent.seg(id); {
	case s.Retransmitted() && s.Flags&sentSYN == 0:
		if id == c.fl.sent.Front() && !c.timers.runs(tcptimers.Reorder) {
			t.restart(c, now, o)
		}
	case c.fl.sent.Len() == 1 || !t.runs(c):
		t.restart(c, now, o)
	case c.timers.runs(tcptimers.TLP):
		t.resume(c, now, o)
	}
}

// acked leaves the restart to processed.
func (*sharedTimer) acked(c *Conn, now wheel.Time, o *Output) {
	if c.fl.sent.Len() == 0 {
		c.timers.stop(o, tcptimers.Rexmit) // RFC 6298 §5 (5.2)
	}
}

// resume replaces the probe's or RACK's timer by the retransmission timer, at least a tick from now.
// The RTO counts from the last transmission of the first segment, as in Linux's tcp_rearm_rto and
// tcp_rto_delta_us.
func (t *sharedTimer) resume(c *Conn, now wheel.Time, o *Output) {
	c.fl.rexmitAt = c.cfg.Policy.Deadline(now, max(t.left(c, now, o), 1))
	t.startLoss(c, tcptimers.Rexmit, c.fl.rexmitAt, o)
}

// left returns the time until the first segment's RTO expires; negative if it has.
func (*sharedTimer) left(c *Conn, now wheel.Time, o *Output) time.Duration {
	return c.fl.sent.seg(c.fl.sent.Front()).Sent.Add(c.rto(o)).Sub(now)
}

// processed starts a timer after an ACK, as Linux's tcp_set_xmit_timer does. It starts the probe
// timer if a probe may be sent, or else the retransmission timer. It leaves RACK's timer if the ACK
// started it. RFC 6298 §5 (5.3) restarts the timer for an ACK of new data. As in
// tcp_clean_rtx_queue, a SACK of something sent before the first segment's last transmission also
// restarts it.
func (t *sharedTimer) processed(c *Conn, now wheel.Time, advanced, reorder bool, sackRTT time.Duration, o *Output) {
	c.rec.probeDue = false
	if c.fl.sent.Len() == 0 {
		c.timers.stop(o, tcptimers.TLP)
		return
	}
	if reorder || !advanced && sackRTT <= max(now.Sub(c.fl.sent.seg(c.fl.sent.Front()).Sent), 0) {
		return
	}
	switch {
	case t.probeIn(c, now, c.rto(o)):
		t.startLoss(c, tcptimers.TLP, c.fl.probeAt, o)
	case c.timers.runs(tcptimers.Rexmit):
		t.restart(c, now, o)
	default:
		t.resume(c, now, o)
	}
}

// expiredAny makes sure that a timer runs while data is in flight.
func (t *sharedTimer) expiredAny(c *Conn, now wheel.Time, o *Output) {
	if c.fl.sent.Len() > 0 && !t.runs(c) {
		t.resume(c, now, o)
	}
}

func (t *sharedTimer) scheduleProbe(c *Conn, now wheel.Time, o *Output) {
	if c.rec.probeDue = false; c.fl.sent.Len() > 0 && t.probeIn(c, now, t.left(c, now, o)) {
		t.startLoss(c, tcptimers.TLP, c.fl.probeAt, o)
	}
}

// probeIn sets when the loss probe is due, and reports whether one may be sent. Like Linux's
// tcp_schedule_loss_probe it ignores whether the last probe was acknowledged. left is the time until
// the RTO expires; if past, it does not count.
func (*sharedTimer) probeIn(c *Conn, now wheel.Time, left time.Duration) bool {
	p := &c.cfg.Policy
	if !p.TLP || !c.rcv.sackOn || c.caState >= CARecovery || c.fl.sent.Sacked().Segments > 0 {
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

// mayProbe is Linux's tcp_send_loss_probe, which requires that the last probe is acknowledged.
// Unlike RFC 8985 §7.3 it requires no RTT sample since.
func (*sharedTimer) mayProbe(c *Conn) bool { return c.rec.tlp.MayProbe() || !c.rec.tlp.inFlight }

func (*sharedTimer) looksAgain() bool { return false } // Linux's tcp_rack_reo_timeout looks once

func (t *sharedTimer) check(c *Conn) error { return c.checkOneTimer(t.runs(c)) }
