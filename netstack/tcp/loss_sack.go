package tcp

import "tcpwheel/wheel"

// sackDetector finds losses by SACK blocks: IsLost and NextSeg of RFC 6675.
type sackDetector struct{ bySequence }

func (*sackDetector) onAck(snd *sender, now wheel.Time, _ bool, a *ackFacts, o *Output) {
	q := &snd.fl.sent
	before := q.Lost().Segments
	snd.fl.l6675.Update(q, func(id segmentID) { snd.fl.lowerRexmitHint(id) })
	a.lost = q.Lost().Segments > before
	if snd.ep.repairing() || q.Len() == 0 {
		// RFC 6675 §5.1, RFC 6582 §3.2 step 2: nor does a recovery begin below the last timeout's
		// recovery point. CALoss lasts until then.
		return
	}
	// RFC 6675 §5: recovery begins with DupThresh duplicate ACKs, or when IsLost finds the first
	// segment lost.
	if snd.dup.N() >= dupThresh && !q.seg(q.Front()).Sacked() {
		snd.fl.markLost(q.Front())
		a.lost = true
	}
	if q.Lost().Segments > 0 && (a.lost || !snd.ep.tooBig) {
		snd.ep.enterRecovery(snd, now, a, o)
	}
}

func (*sackDetector) entered(snd *sender, o *Output) {
	o.Counters.TCPSackRecovery++
	snd.fl.l6675.Enter(snd.una, snd.nxt)
}

func (*sackDetector) failed(o *Output) { o.Counters.TCPSackFailures++ }

// sendLost retransmits in the order of NextSeg (RFC 6675 §4) in fast recovery.
func (*sackDetector) sendLost(snd *sender, now wheel.Time, o *Output) {
	if !snd.ep.fast() {
		snd.sendMarked(now, o)
		return
	}
	for snd.fl.l6675.inRecovery {
		canSendNew := snd.queued() > 0 && snd.wnd.Usable(snd.una, snd.nxt) > 0
		id, rule := snd.fl.l6675.NextSeg(&snd.fl.sent, canSendNew)
		if first := snd.fl.sent.Front(); snd.ep.forceFirst && first != 0 && snd.fl.sent.seg(first).state.needsRexmit() {
			// RFC 6675 §5 (4.3): "Retransmit the first data segment presumed dropped -- the segment
			// starting with sequence number HighACK + 1." It may have been presumed dropped by
			// other means than IsLost.
			id, rule = first, nextSegLost
		} else if again := snd.fl.nextToRexmit(); again != 0 && snd.fl.sent.seg(again).Seq.Before(snd.fl.l6675.highRxtEnd) {
			// A retransmission below HighRxt may be known lost too, by the Vegas check or for a
			// smaller MTU.
			id, rule = again, nextSegLost
		}
		if rule == nextSegNone || rule == nextSegNew {
			return // sendNew sends the new data
		}
		n := min(snd.fl.sent.seg(id).Len, snd.mss)
		if !snd.ep.forceFirst && (!snd.cc.allows(snd, n) || !snd.cc.departs(snd, now, o)) {
			snd.held.cwnd = true
			return
		}
		snd.ep.forceFirst = false
		snd.retransmit(now, id, o)
		snd.fl.l6675.Retransmitted(&snd.fl.sent, id, rule)
		snd.cc.spend(snd, n)
		o.Counters.TCPFastRetrans++
	}
}
