package tcp

import "tcpwheel/wheel"

// sackDetector finds losses by SACK blocks: IsLost and NextSeg of RFC 6675.
type sackDetector struct{ bySequence }

func (*sackDetector) onAck(c *Conn, now wheel.Time, _ bool, a *ackFacts, o *Output) {
	q, r := &c.fl.sent, &c.rec
	before := q.Lost().Segments
	c.fl.l6675.Update(q, func(id segmentID) { c.lowerRexmitHint(id) })
	a.lost = q.Lost().Segments > before
	if c.caState >= CARecovery || q.Len() == 0 {
		// RFC 6675 §5.1, RFC 6582 §3.2 step 2: nor does a recovery begin below the last timeout's
		// recovery point. CALoss lasts until then.
		return
	}
	// RFC 6675 §5: recovery begins with DupThresh duplicate ACKs, or when IsLost finds the first
	// segment lost.
	if r.dup.N() >= dupThresh && !q.seg(q.Front()).Sacked() {
		c.markLost(q.Front())
		a.lost = true
	}
	if q.Lost().Segments > 0 && (a.lost || !r.tooBig) {
		c.enterRecovery(now, a, o)
	}
}

func (*sackDetector) entered(c *Conn, o *Output) {
	o.Counters.TCPSackRecovery++
	c.fl.l6675.Enter(c.sndUna, c.sndNxt)
}

func (*sackDetector) failed(o *Output) { o.Counters.TCPSackFailures++ }

// sendLost retransmits in the order of NextSeg (RFC 6675 §4) in fast recovery.
func (*sackDetector) sendLost(c *Conn, now wheel.Time, o *Output) {
	if c.caState != CARecovery {
		c.sendMarked(now, o)
		return
	}
	r := &c.rec
	for c.fl.l6675.inRecovery {
		canSendNew := c.queued() > 0 && c.snd.Usable(c.sndUna, c.sndNxt) > 0
		id, rule := c.fl.l6675.NextSeg(&c.fl.sent, canSendNew)
		if first := c.fl.sent.Front(); r.forceFirst && first != 0 && c.fl.sent.seg(first).state.needsRexmit() {
			// RFC 6675 §5 (4.3): "Retransmit the first data segment presumed dropped -- the segment
			// starting with sequence number HighACK + 1." It may have been presumed dropped by
			// other means than IsLost.
			id, rule = first, nextSegLost
		} else if again := c.nextToRexmit(); again != 0 && c.fl.sent.seg(again).Seq.Before(c.fl.l6675.highRxtEnd) {
			// A retransmission below HighRxt may be known lost too, by the Vegas check or for a
			// smaller MTU.
			id, rule = again, nextSegLost
		}
		if rule == nextSegNone || rule == nextSegNew {
			return // sendNew sends the new data
		}
		n := min(c.fl.sent.seg(id).Len, c.mss)
		if !r.forceFirst && (!c.cwndAllows(n) || !c.pacerAllows(now, o)) {
			r.cwndHeld = true
			return
		}
		r.forceFirst = false
		c.retransmit(now, id, o)
		c.fl.l6675.Retransmitted(&c.fl.sent, id, rule)
		c.spendSndcnt(n)
		o.Counters.TCPFastRetrans++
	}
}
