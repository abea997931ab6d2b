package tcp

import "tcpwheel/wheel"

// dupAckDetector finds losses by duplicate ACKs: fast retransmit (RFC 5681 §3.2) and NewReno's
// partial ACKs (RFC 6582).
type dupAckDetector struct{ bySequence }

func (*dupAckDetector) onAck(c *Conn, now wheel.Time, _ bool, a *ackFacts, o *Output) {
	switch {
	case c.fl.sent.Len() == 0:
	case c.caState == CARecovery && a.acked > 0:
		// RFC 6582 §3.2 step 3: a partial ACK; "retransmit the first unacknowledged segment." It
		// ignores PRR, which has already counted the duplicate ACKs and allows no more than was in
		// flight.
		c.markLost(c.fl.sent.Front())
		a.lost, c.rec.forceFirst = true, true
	case c.caState < CARecovery && a.duplicate && c.rec.dup.FastRetransmit(a.ack):
		c.markLost(c.fl.sent.Front())
		c.enterRecovery(now, a, o)
	}
}

func (*dupAckDetector) entered(_ *Conn, o *Output) { o.Counters.TCPRenoRecovery++ }
func (*dupAckDetector) failed(o *Output)           { o.Counters.TCPRenoFailures++ }

func (*dupAckDetector) sendLost(c *Conn, now wheel.Time, o *Output) { c.sendMarked(now, o) }
