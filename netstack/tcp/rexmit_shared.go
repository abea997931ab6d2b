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
func (*sharedTimer) startLoss(snd *sender, k tcptimers.Kind, at wheel.Time, o *Output) {
	for _, other := range lossTimerKinds {
		if other != k {
			snd.timers.stop(o, other)
		}
	}
	snd.timers.start(o, k, at)
}

// stopLoss does nothing: it would stop the only timer.
func (*sharedTimer) stopLoss(*sender, tcptimers.Kind, *Output) {}

// runs reports whether the only timer runs.
func (*sharedTimer) runs(snd *sender) bool {
	return snd.timers.runs(tcptimers.Rexmit) || snd.timers.runs(tcptimers.TLP) || snd.timers.runs(tcptimers.Reorder)
}

// sent starts the timer. For new data it acts as Linux's tcp_event_new_data_sent, which moves a
// pending probe. For retransmissions it acts as tcp_xmit_retransmit_queue, which leaves RACK's timer
// alone.
func (t *sharedTimer) sent(snd *sender, now wheel.Time, id segmentID, o *Output) {
	switch s := snd.fl.sent.seg(id); {
	case s.Retransmitted() && s.Flags&sentSYN == 0:
		if id == snd.fl.sent.Front() && !snd.timers.runs(tcptimers.Reorder) {
			t.restart(snd, now, o)
		}
	case snd.fl.sent.Len() == 1 || !t.runs(snd):
		t.restart(snd, now, o)
	case snd.timers.runs(tcptimers.TLP):
		t.resume(snd, now, o)
	}
}

// acked leaves the restart to processed.
func (*sharedTimer) acked(snd *sender, now wheel.Time, o *Output) {
	if snd.fl.sent.Len() == 0 {
		snd.timers.stop(o, tcptimers.Rexmit) // RFC 6298 §5 (5.2)
	}
}

// resume replaces the probe's or RACK's timer by the retransmission timer, at least a tick from now.
// The RTO counts from the last transmission of the first segment, as in Linux's tcp_rearm_rto and
// tcp_rto_delta_us.
func (t *sharedTimer) resume(snd *sender, now wheel.Time, o *Output) {
	snd.fl.rexmitAt = snd.cfg.Policy.Deadline(now, max(t.left(snd, now, o), 1))
	t.startLoss(snd, tcptimers.Rexmit, snd.fl.rexmitAt, o)
}

// left returns the time until the first segment's RTO expires; negative if it has.
func (*sharedTimer) left(snd *sender, now wheel.Time, o *Output) time.Duration {
	return snd.fl.sent.seg(snd.fl.sent.Front()).Sent.Add(snd.rtt.rto(&snd.cfg.Policy, o)).Sub(now)
}

// processed starts a timer after an ACK, as Linux's tcp_set_xmit_timer does. It starts the probe
// timer if a probe may be sent, or else the retransmission timer. It leaves RACK's timer if the ACK
// started it. RFC 6298 §5 (5.3) restarts the timer for an ACK of new data. As in
// tcp_clean_rtx_queue, a SACK of something sent before the first segment's last transmission also
// restarts it.
func (t *sharedTimer) processed(snd *sender, now wheel.Time, advanced, reorder bool, sackRTT time.Duration, o *Output) {
	snd.tlp.due = false
	if snd.fl.sent.Len() == 0 {
		snd.timers.stop(o, tcptimers.TLP)
		return
	}
	if reorder || !advanced && sackRTT <= max(now.Sub(snd.fl.sent.seg(snd.fl.sent.Front()).Sent), 0) {
		return
	}
	switch {
	case t.probeIn(snd, now, snd.rtt.rto(&snd.cfg.Policy, o)):
		t.startLoss(snd, tcptimers.TLP, snd.fl.probeAt, o)
	case snd.timers.runs(tcptimers.Rexmit):
		t.restart(snd, now, o)
	default:
		t.resume(snd, now, o)
	}
}

// expiredAny makes sure that a timer runs while data is in flight.
func (t *sharedTimer) expiredAny(snd *sender, now wheel.Time, o *Output) {
	if snd.fl.sent.Len() > 0 && !t.runs(snd) {
		t.resume(snd, now, o)
	}
}

func (t *sharedTimer) scheduleProbe(snd *sender, now wheel.Time, o *Output) {
	if snd.tlp.due = false; snd.fl.sent.Len() > 0 && t.probeIn(snd, now, t.left(snd, now, o)) {
		t.startLoss(snd, tcptimers.TLP, snd.fl.probeAt, o)
	}
}

// probeIn sets when the loss probe is due, and reports whether one may be sent. Like Linux's
// tcp_schedule_loss_probe it ignores whether the last probe was acknowledged. left is the time until
// the RTO expires; if past, it does not count.
func (*sharedTimer) probeIn(snd *sender, now wheel.Time, left time.Duration) bool {
	p := &snd.cfg.Policy
	if !p.TLP || !snd.rcv.sackOn || snd.ep.repairing() || snd.fl.sent.Sacked().Segments > 0 {
		return false
	}
	in := ptoInput{
		SRTT: snd.rtt.est.SRTT(), HasSRTT: snd.rtt.est.SRTT() > 0, Flight: uint32(snd.fl.sent.Len()), MaxAckDelay: p.MaxAckDelay, Slack: p.ProbeSlack,
		RTOExpiry: math.MaxInt64,
	}
	if left > 0 {
		in.RTOExpiry = now.Add(left)
	}
	pto, _ := probeTimeout(now, &in)
	snd.fl.probeAt = p.Deadline(now, pto)
	return true
}

// mayProbe is Linux's tcp_send_loss_probe, which requires that the last probe is acknowledged.
// Unlike RFC 8985 §7.3 it requires no RTT sample since.
func (*sharedTimer) mayProbe(snd *sender) bool { return snd.tlp.MayProbe() || !snd.tlp.inFlight }

func (*sharedTimer) looksAgain() bool { return false } // Linux's tcp_rack_reo_timeout looks once

func (t *sharedTimer) check(snd *sender) error { return checkOneTimer(snd, t.runs(snd)) }
