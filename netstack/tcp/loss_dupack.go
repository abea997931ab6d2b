package tcp

import "tcpwheel/wheel"

// dupAckDetector finds losses by duplicate ACKs: fast retransmit (RFC 5681 §3.2) and NewReno's
// partial ACKs (RFC 6582).
type dupAckDetector struct{ bySequence }

func (*dupAckDetector) onAck(snd *sender, now wheel.Time, _ bool, a *ackFacts, o *Output) {
	switch {
	case snd.fl.sent.Len() == 0:
	case snd.ep.fast() && a.acked > 0:
		// RFC 6582 §3.2 step 3: a partial ACK; "retransmit the first unacknowledged segment." It
		// ignores PRR, which has already counted the duplicate ACKs and allows no more than was in
		// flight.
		snd.fl.markLost(snd.fl.sent.Front())
		a.lost, snd.ep.forceFirst = true, true
	case !snd.ep.repairing() && a.duplicate && snd.dup.FastRetransmit(a.ack):
		snd.fl.markLost(snd.fl.sent.Front())
		snd.ep.enterRecovery(snd, now, a, o)
	}
}

func (*dupAckDetector) entered(_ *sender, o *Output) { o.Counters.TCPRenoRecovery++ }
func (*dupAckDetector) failed(o *Output)             { o.Counters.TCPRenoFailures++ }

func (*dupAckDetector) sendLost(snd *sender, now wheel.Time, o *Output) { snd.sendMarked(now, o) }

// renoDetector is dupAckDetector without partial ACKs, for measurements made before NewReno
// (Config.Reno).
type renoDetector struct{ dupAckDetector }

func (*renoDetector) partialEnds() bool { return true }
