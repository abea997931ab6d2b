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
	sent(c *Conn, now wheel.Time, id segmentID, o *Output)
	// arm moves the timer of segment id alone.
	arm(c *Conn, id segmentID, at wheel.Time, o *Output)
	// advanced follows an advance of SND.UNA where the first segment may be a SACKed one.
	advanced(c *Conn, now wheel.Time, o *Output)
	// acked follows it when the ACK is processed.
	acked(c *Conn, now wheel.Time, o *Output)
	// restart starts the timer after a timeout or a loss probe has sent a segment.
	restart(c *Conn, now wheel.Time, o *Output)
	// rebase starts all timers as if the policy had always held. SND.UNA last advanced at acked.
	rebase(c *Conn, now, acked wheel.Time, o *Output)
	// postpone moves the timer of a SYN-ACK, segment id.
	postpone(c *Conn, id segmentID, until wheel.Time, o *Output)
	// expired handles the expiry of the timer of segment id, or of the only one if id is 0.
	expired(c *Conn, now wheel.Time, id segmentID, o *Output)
	// markLost marks what the timeout of segment id, whose RTO was rto, shows to be lost.
	markLost(c *Conn, now wheel.Time, id segmentID, rto time.Duration)
	// expiry returns when the first segment's RTO expires.
	expiry(c *Conn, now wheel.Time) wheel.Time
	// check returns an error unless what is in flight has its timers, and nothing else has.
	check(c *Conn) error

	lossTimers
}

// lossTimers says how the timers of the loss probe and of RACK run next to the retransmission
// timer.
type lossTimers interface {
	// startLoss and stopLoss start and stop one of the three.
	startLoss(c *Conn, k tcptimers.Kind, at wheel.Time, o *Output)
	stopLoss(c *Conn, k tcptimers.Kind, o *Output)
	// processed follows each ACK. It says whether the ACK advanced SND.UNA, whether it started
	// RACK's timer, and the RTT of what it SACKed, 0 for none.
	processed(c *Conn, now wheel.Time, advanced, reorder bool, sackRTT time.Duration, o *Output)
	// expiredAny follows each expiry of a timer that is not a segment's.
	expiredAny(c *Conn, now wheel.Time, o *Output)
	// scheduleProbe starts or stops the timer of the loss probe.
	scheduleProbe(c *Conn, now wheel.Time, o *Output)
	// mayProbe reports whether a probe may be sent when that timer expires.
	mayProbe(c *Conn) bool
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
func (c *Conn) timer() rexmitTimer { return rexmitTimers[c.rexmit] }

// rto returns the RTO for a segment sent now, with the policy's jitter.
func (c *Conn) rto(o *Output) time.Duration { return c.cfg.Policy.Randomize(c.est.RTO(), o.Rand) }

// ownTimers is lossTimers where the probe and RACK have timers of their own.
type ownTimers struct{}

func (*ownTimers) startLoss(c *Conn, k tcptimers.Kind, at wheel.Time, o *Output) {
	c.timers.start(o, k, at)
}
func (*ownTimers) stopLoss(c *Conn, k tcptimers.Kind, o *Output)                   { c.timers.stop(o, k) }
func (*ownTimers) processed(*Conn, wheel.Time, bool, bool, time.Duration, *Output) {}
func (*ownTimers) expiredAny(*Conn, wheel.Time, *Output)                           {}
func (*ownTimers) mayProbe(c *Conn) bool                                           { return c.rec.tlp.MayProbe() }
func (*ownTimers) looksAgain() bool                                                { return true }
