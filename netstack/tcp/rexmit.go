package tcp

import (
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// rexmitTimer says when an unacknowledged segment is retransmitted for want of an answer. There are
// three, each in a file of its own:
//
//	perSegment     each segment has its own timer: the subject of this project
//	singleTimer    all segments have one, restarted by RFC 6298 §5 (5.3) or RFC 7765 §4
//	sharedTimer    the loss probe and RACK share that one, as in Linux
//
// The ticks of 4.4BSD and lwIP are no fourth: Policy.Deadline rounds to them for every timer.
//
// A rexmitTimer has no state: what runs is in timers, and the rest in the flight.
type rexmitTimer interface {
	// sent starts the timer after segment id was sent or retransmitted.
	sent(snd *sender, now wheel.Time, id segmentID, o *Output)
	// arm moves the timer of segment id alone.
	arm(snd *sender, id segmentID, at wheel.Time, o *Output)
	// advanced follows an advance of SND.UNA where the first segment may be a SACKed one.
	advanced(snd *sender, now wheel.Time, o *Output)
	// acked follows it when the ACK is processed.
	acked(snd *sender, now wheel.Time, o *Output)
	// restart starts the timer after a timeout or a loss probe has sent a segment.
	restart(snd *sender, now wheel.Time, o *Output)
	// rebase starts all timers as if the policy had always held. SND.UNA last advanced at acked.
	rebase(snd *sender, now, acked wheel.Time, o *Output)
	// postpone moves the timer of a SYN-ACK, segment id.
	postpone(snd *sender, id segmentID, until wheel.Time, o *Output)
	// expired handles the expiry of the timer of segment id, or of the only one if id is 0. It reports
	// whether the connection must end.
	expired(snd *sender, now wheel.Time, id segmentID, o *Output) (over bool)
	// markLost marks what the timeout of segment id, whose RTO was rto, shows to be lost.
	markLost(snd *sender, now wheel.Time, id segmentID, rto time.Duration)
	// expiry returns when the first segment's RTO expires.
	expiry(snd *sender, now wheel.Time) wheel.Time
	// check returns an error unless what is in flight has its timers, and nothing else has.
	check(snd *sender) error

	lossTimers
}

// lossTimers says how the timers of the loss probe and of RACK run next to the retransmission
// timer.
type lossTimers interface {
	// startLoss and stopLoss start and stop one of the three.
	startLoss(snd *sender, k tcptimers.Kind, at wheel.Time, o *Output)
	stopLoss(snd *sender, k tcptimers.Kind, o *Output)
	// processed follows each ACK. It says whether the ACK advanced SND.UNA, whether it started
	// RACK's timer, and the RTT of what it SACKed, 0 for none.
	processed(snd *sender, now wheel.Time, advanced, reorder bool, sackRTT time.Duration, o *Output)
	// expiredAny follows each expiry of a timer that is not a segment's.
	expiredAny(snd *sender, now wheel.Time, o *Output)
	// scheduleProbe starts or stops the timer of the loss probe.
	scheduleProbe(snd *sender, now wheel.Time, o *Output)
	// mayProbe reports whether a probe may be sent when that timer expires.
	mayProbe(snd *sender) bool
	// looksAgain reports whether RACK starts its timer again when it expires.
	looksAgain() bool
}

// rexmitTimers are those of Conn.rexmit.
var rexmitTimers = [...]rexmitTimer{&perSegment{}, &singleTimer{}, &sharedTimer{}}

// rexmitTimerOf returns which of rexmitTimers a policy asks for.
func rexmitTimerOf(p *tcptimers.Policy) uint8 {
	switch {
	case p.Rexmit == tcptimers.RexmitPerSegment:
		return 0
	case p.SharedTimer:
		return 2
	}
	return 1
}

// timer returns the retransmission timer.
func (snd *sender) timer() rexmitTimer { return rexmitTimers[snd.rexmit] }

// ownTimers is lossTimers where the probe and RACK have timers of their own.
type ownTimers struct{}

func (*ownTimers) startLoss(snd *sender, k tcptimers.Kind, at wheel.Time, o *Output) {
	snd.timers.start(o, k, at)
}
func (*ownTimers) stopLoss(snd *sender, k tcptimers.Kind, o *Output)                 { snd.timers.stop(o, k) }
func (*ownTimers) processed(*sender, wheel.Time, bool, bool, time.Duration, *Output) {}
func (*ownTimers) expiredAny(*sender, wheel.Time, *Output)                           {}
func (*ownTimers) mayProbe(snd *sender) bool                                         { return snd.tlp.MayProbe() }
func (*ownTimers) looksAgain() bool                                                  { return true }
