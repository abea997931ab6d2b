package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// sample passes the ACK's RTT measurement to the estimator. It measures segments sent only once,
// by Karn's algorithm (RFC 6298 §3), or the echo of a timestamp (RFC 7323 §4).
func (r *rttState) sample(snd *sender, now wheel.Time, h *Header, a *ackFacts) {
	if r.deferred {
		r.deferred = false // the SYN-ACK was measured when it arrived
		return
	}
	rtt, ok := a.rtt, a.hasRTT && !a.ackedRexmit
	at := a.sentAt
	if !ok && a.hasSack && !snd.ep.afterTimeout() {
		// After a timeout, SACKed data may have arrived long ago, if the ACK that first said so was
		// lost.
		rtt, ok, at = a.sackRTT, true, now.Add(-a.sackRTT)
	}
	p := &snd.cfg.Policy
	if ok {
		snd.rack.SampleRTT(now, rtt)
		snd.tlp.Sampled()
	} else if a.acked > 0 && snd.rcv.tsOn && h.Options.TSEcr != 0 && !a.dsack && !a.probed && !(a.ackedRexmit && !a.staleEcho && snd.past.stampLag > 0) {
		// The ACK of a duplicate echoes the timestamp of what came before the duplicate. That of a
		// window probe may echo an earlier probe, up to a minute old.
		//
		// RFC 7323 §4.1: "A TSecr value received in a segment MAY be used to update the averaged
		// RTT measurement only if the segment advances the left edge of the send window, i.e.,
		// SND.UNA is increased."
		if ticks := int32(snd.timestamp(now) - h.Options.TSEcr); ticks >= 0 && time.Duration(ticks) < time.Hour/snd.cfg.TimestampTick {
			if rtt = snd.cfg.TimestampTick * time.Duration(max(ticks, 1)); !r.mayAnswerRexmit(snd, now, rtt, a) {
				ok, at = true, now.Add(-rtt)
				snd.tlp.Sampled()
			}
		}
	}
	if !ok {
		return
	}
	a.measured, a.measuredRTT = true, rtt
	if p.OneSample {
		if !r.timed || !a.ack.After(snd.fl.timedSeq) {
			return
		}
		r.timed = false
		r.est.Sample(tcptimers.Sample{RTT: p.Measure(snd.fl.timedAt, now), Round: true, Expected: 1})
		return
	}
	s := tcptimers.Sample{RTT: p.Measure(at, now), Expected: int((a.flight + 2*snd.mss - 1) / (2 * max(snd.mss, 1)))}
	if a.ack.After(r.roundEnd) {
		s.Round, r.roundEnd = true, snd.nxt
	}
	a.sample = s.RTT
	if r.spurious && at >= snd.past.spuriousAt {
		r.spurious = false
		r.est.Spurious(s.RTT)
		return
	}
	r.est.Sample(s)
}

// maxAckDelay bounds delayed ACKs. RFC 9293 §3.8.6.3: "the delay MUST be less than 0.5 seconds"
// (MUST-59).
const maxAckDelay = 500 * time.Millisecond

// mayAnswerRexmit reports whether the ACK may answer a retransmission although it echoes an older
// timestamp, of age: it came at least the minimum RTT after the retransmission, or there is no RTT
// yet, as after a lost SYN. Some receivers, such as gVisor's TCP, take no timestamp from a
// duplicate. They echo the first copy for as long as no new data comes. The time since then is not
// an RTT; taken as one it would double the RTO again and again.
//
// An ACK may come sooner than ever before: the SYN-ACK, with its options, takes longer. Without
// backoff the mistake is as large as the RTO, and at each loss it would double the RTO. No peer
// delays an ACK by more than maxAckDelay, so for an older echo three quarters of the minimum RTT
// are enough. After several timeouts the mistake could be minutes, so then each ACK may be the
// answer. An ACK of a part of a retransmitted segment then tells nothing of its transmissions
// either.
func (r *rttState) mayAnswerRexmit(snd *sender, now wheel.Time, age time.Duration, a *ackFacts) bool {
	if r.est.Backoffs() > 1 {
		front := snd.fl.sent.Front()
		return a.staleEcho || a.segments == 0 && front != 0 && snd.fl.sent.seg(front).Retransmitted()
	}
	least, _ := snd.rack.MinRTT()
	if age > maxAckDelay {
		least -= least / 4
	}
	return a.staleEcho && now.Sub(a.lastRexmitAt) >= least
}

// open allocates the RTO estimator when the connection opens.
func (r *rttState) open(snd *sender, o *Output) {
	if o.estimatorFor != snd.cfg {
		o.estimator, o.estimatorFor = snd.cfg.Policy.NewEstimator(), snd.cfg
	}
	r.est = o.estimator.New()
	if s := snd.cfg.Replay; s != nil && s.Estimator != nil {
		r.est = s.Estimator
	}
}

// frontMissing reports whether the peer had not received the first segment in flight when it sent
// h: h acknowledges nothing of it, and arrived more than a round trip after it left. SND.UNA was
// RCV.NXT then, the only number at which the peer obeys a RST (RFC 5961 §3.2).
func (r *rttState) frontMissing(snd *sender, now wheel.Time, h *Header) bool {
	id := snd.fl.sent.Front()
	if id == 0 || h.Ack != snd.una || r.est.SRTT() == 0 {
		return false
	}
	return now.Sub(snd.fl.sent.seg(id).Sent) >= r.est.SRTT()+r.est.RTTVar()
}

// rto returns the RTO for a segment sent now, with the policy's jitter.
func (r *rttState) rto(p *tcptimers.Policy, o *Output) time.Duration {
	return p.Randomize(r.est.RTO(), o.Rand)
}
