package tcp

import (
	"fmt"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// singleTimer gives all segments in flight one timer. Policy.RexmitDeadline says how far an ACK of
// new data restarts it: in full (RFC 6298 §5, 5.3), or less if the flight is too small for a fast
// retransmit (RFC 7765 §4).
type singleTimer struct{ ownTimers }

// sent starts the timer if it does not run.
func (t *singleTimer) sent(snd *sender, now wheel.Time, id segmentID, o *Output) {
	// RFC 6298 §5 (5.1): "Every time a packet containing data is sent (including a retransmission),
	// if the timer is not running, start it running so that it will expire after RTO seconds".
	// Also: "a segment is never retransmitted too early, i.e., less than one RTO after the previous
	// transmission of that segment." So a fast retransmission of the first segment moves the timer,
	// as in 4.4BSD and Linux.
	s := snd.fl.sent.seg(id)
	if again := s.Retransmitted() && s.Flags&sentSYN == 0; !snd.timers.runs(tcptimers.Rexmit) || again && id == snd.fl.sent.Front() {
		t.restart(snd, now, o)
	}
}

func (*singleTimer) arm(*sender, segmentID, wheel.Time, *Output) {} // no segment has its own
func (*singleTimer) advanced(*sender, wheel.Time, *Output)       {}

func (t *singleTimer) acked(snd *sender, now wheel.Time, o *Output) {
	if snd.fl.sent.Len() == 0 {
		// RFC 6298 §5 (5.2): "When all outstanding data has been acknowledged, turn off the
		// retransmission timer."
		snd.timers.stop(o, tcptimers.Rexmit)
		return
	}
	// RFC 6298 §5 (5.3): "When an ACK is received that acknowledges new data, restart the
	// retransmission timer so that it will expire after RTO seconds".
	t.restart(snd, now, o)
}

// restart restarts the timer. RFC 6298 §5 (5.6): "Start the retransmission timer, such that it
// expires after RTO seconds". RFC 8985 §7.3: "After attempting to send a loss probe, regardless of
// whether a loss probe was sent, the sender MUST re-arm the RTO timer".
func (*singleTimer) restart(snd *sender, now wheel.Time, o *Output) {
	id := snd.fl.sent.Front()
	f := tcptimers.Flight{Earliest: snd.fl.sent.Get(id).Sent, Segments: snd.fl.sent.Len() + int((snd.queued()+snd.mss-1)/max(snd.mss, 1))}
	snd.fl.rexmitAt = snd.cfg.Policy.RexmitDeadline(now, snd.rtt.rto(&snd.cfg.Policy, o), f)
	snd.timer().startLoss(snd, tcptimers.Rexmit, snd.fl.rexmitAt, o)
}

func (t *singleTimer) rebase(snd *sender, _, acked wheel.Time, o *Output) {
	t.restart(snd, max(acked, snd.fl.sent.seg(snd.fl.sent.Front()).Sent), o)
}

func (*singleTimer) postpone(snd *sender, _ segmentID, until wheel.Time, o *Output) {
	snd.fl.rexmitAt = until
	snd.timers.start(o, tcptimers.Rexmit, until)
}

// expired handles the expiry of the timer. RFC 6298 §5 (5.4): "Retransmit the earliest segment that
// has not been acknowledged by the TCP receiver."
func (*singleTimer) expired(snd *sender, now wheel.Time, _ segmentID, o *Output) (over bool) {
	id := snd.fl.sent.Front()
	if id == 0 || snd.tlp.first(snd, now, o) {
		return false
	}
	if snd.fl.sent.seg(id).Sacked() {
		snd.forgetSACKs(now, o)
	}
	if snd.givesUp(now, id, o) {
		return true
	}
	snd.timeout(now, id, o)
	return false
}

func (*singleTimer) markLost(snd *sender, now wheel.Time, id segmentID, _ time.Duration) {
	snd.losses().onTimeout(snd, now, id)
}

func (*singleTimer) expiry(snd *sender, _ wheel.Time) wheel.Time { return snd.fl.rexmitAt }

// check: the timer runs if anything is in flight, and no segment has one.
func (*singleTimer) check(snd *sender) error {
	return checkOneTimer(snd, snd.timers.runs(tcptimers.Rexmit))
}

// checkOneTimer is check where runs says whether the only timer runs.
func checkOneTimer(snd *sender, runs bool) error {
	if n := snd.fl.sent.Len(); n > 0 != runs {
		return fmt.Errorf("tcp: %d segments in flight, and the retransmission timer runs: %v", n, runs)
	}
	for id := snd.fl.sent.Front(); id != 0; id = snd.fl.sent.Next(id) {
		if s := snd.fl.sent.seg(id); s.Armed {
			return fmt.Errorf("tcp: segment at %d has a timer of its own", s.Seq-snd.iss)
		}
	}
	return nil
}
