package tcp

import (
	"cmp"
	"fmt"
	"time"

	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// perSegment gives each segment in flight a timer of its own (Varghese and Lauck's motive for timing
// wheels). It is started by each transmission, expires an RTO later, and is stopped by the ACK or
// SACK of the segment. Segments of one flight that expire together are one timeout event.
type perSegment struct{ ownTimers }

// sent starts the timer of segment id.
func (*perSegment) sent(snd *sender, now wheel.Time, id segmentID, o *Output) {
	p := &snd.cfg.Policy
	snd.fl.rexmitAt = p.RexmitDeadline(now, snd.rtt.rto(p, o), tcptimers.Flight{Sent: snd.fl.sent.seg(id).Sent})
	snd.timers.startSegment(o, &snd.fl.sent, id, snd.fl.rexmitAt)
}

func (*perSegment) arm(snd *sender, id segmentID, at wheel.Time, o *Output) {
	snd.timers.startSegment(o, &snd.fl.sent, id, at)
}

// timed reports whether segment id must have a timer. A SACKed segment has arrived and needs none,
// except as the first: it reveals a peer that reneges.
func (*perSegment) timed(snd *sender, id segmentID) bool {
	return !snd.fl.sent.seg(id).Sacked() || id == snd.fl.sent.Front()
}

// advanced starts the timer of a SACKed segment that has become the first. A peer that keeps it
// acknowledges it within its RTO, or within an RTO from now.
func (*perSegment) advanced(snd *sender, now wheel.Time, o *Output) {
	id := snd.fl.sent.Front()
	if id == 0 || snd.fl.sent.seg(id).Armed {
		return
	}
	p, rto := &snd.cfg.Policy, snd.rtt.est.RTO()
	at := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: snd.fl.sent.seg(id).Sent})
	if at <= now {
		at = p.Deadline(now, rto)
	}
	snd.timers.startSegment(o, &snd.fl.sent, id, at)
}

func (*perSegment) acked(*sender, wheel.Time, *Output)   {} // each acknowledged segment's was stopped
func (*perSegment) restart(*sender, wheel.Time, *Output) {} // sent has done so

// rebase starts the timers of all segments, none to expire before now.
func (t *perSegment) rebase(snd *sender, now, _ wheel.Time, o *Output) {
	for id := snd.fl.sent.Front(); id != 0; id = snd.fl.sent.Next(id) {
		if t.timed(snd, id) {
			at := snd.cfg.Policy.RexmitDeadline(now, snd.rtt.rto(&snd.cfg.Policy, o), tcptimers.Flight{Sent: snd.fl.sent.Get(id).Sent})
			snd.timers.startSegment(o, &snd.fl.sent, id, max(at, now))
		}
	}
}

func (*perSegment) postpone(snd *sender, id segmentID, until wheel.Time, o *Output) {
	snd.timers.startSegment(o, &snd.fl.sent, id, until)
}

// expired handles the expiry of segment id's timer.
func (t *perSegment) expired(snd *sender, now wheel.Time, id segmentID, o *Output) (over bool) {
	p := &snd.cfg.Policy
	if snd.tlp.first(snd, now, o) && snd.fl.sent.has(id) && snd.fl.sent.seg(id).Armed {
		return false // the probe was this segment; its timer was restarted
	}
	s := snd.fl.sent.seg(id)
	inChain := snd.ep.afterTimeout() && s.Sent < snd.fl.lossAt

	rto := snd.rtt.est.RTO()
	if inChain {
		// A segment sent before an ongoing timeout event keeps the RTO from before the backoff.
		rto = snd.fl.timeoutRTO
	}
	// The RTO may have grown since the timer was armed.
	due := t.due(snd, now, id, rto)
	if due > now {
		snd.timers.startSegment(o, &snd.fl.sent, id, due)
		return false
	}
	switch {
	case s.Sacked():
		snd.forgetSACKs(now, o)
	case s.state.needsRexmit() && !t.stalled(snd, now, id, rto):
		// The segment is known to be lost. It waits for congestion control or F-RTO; F-RTO has
		// waited long enough.
		if now.Sub(snd.fl.lossAt) >= snd.fl.timeoutRTO { // not part of the expiring flight
			snd.fl.frto.Reset()
		}
		snd.timers.startSegment(o, &snd.fl.sent, id, p.Deadline(now, snd.rtt.est.RTO()))
		return false
	case inChain:
		// One flight, one event: the window was reduced and the RTO backed off already. Other
		// segments sent no later expire now too. Mark them lost before anything is sent, so that
		// the earliest is retransmitted first whatever the order of the timers.
		for next := snd.fl.sent.oldest; next != 0 && snd.fl.sent.seg(next).Sent <= s.Sent; next = snd.fl.sent.oldest {
			snd.fl.markLost(next)
		}
		if !s.state.needsRexmit() {
			snd.fl.markLost(id)
		}
		snd.timers.startSegment(o, &snd.fl.sent, id, p.Deadline(now, snd.rtt.est.RTO()))
		return false
	}
	if snd.givesUp(now, id, o) {
		return true
	}
	snd.timeout(now, id, o)
	return false
}

// due returns when the timer of segment id should expire with a timeout of rto.
func (*perSegment) due(snd *sender, now wheel.Time, id segmentID, rto time.Duration) wheel.Time {
	p := &snd.cfg.Policy
	due := p.RexmitDeadline(now, rto, tcptimers.Flight{Sent: snd.fl.sent.seg(id).Sent})
	if snd.tlp.inFlight {
		// RFC 8985 §7.3: after a probe, the RTO counts from the probe.
		due = max(due, p.Deadline(snd.fl.probedAt, rto))
	}
	if r := &snd.rack; r.learns && r.reorderingSeen {
		// Where packets are late, RACK decides which are lost. Its own timer marks those that later
		// ones overtook. RFC 8985 §8: "When arming a RACK reordering timer or TLP PTO timer, the
		// sender SHOULD cancel any other pending timers."
		//
		// DEVIATION RFC 8985 §8, SHOULD: elsewhere the timers run next to each other.
		last := id
		if snd.timers.runs(tcptimers.Reorder) && r.overtook(&snd.fl.sent, id) {
			last = cmp.Or(snd.fl.sent.overtaken, id)
		}
		due = max(due, p.ReorderDeadline(snd.fl.sent.seg(last).Sent, r.rtt+r.reoWnd+p.Tick))
	}
	if front := snd.fl.sent.Front(); snd.ep.fast() && !snd.rcv.sackOn && id != front {
		// Without SACK, nothing reports on segments behind a hole until the hole is filled. So this
		// segment waits as long as the first one, which was retransmitted after it.
		due = max(due, p.Deadline(snd.fl.sent.seg(front).Sent, rto))
	}
	return due
}

// stalled reports whether segment id, which waits to be retransmitted, could wait forever. Either
// nothing is in flight to draw an ACK, or id is the first segment and nothing arrived for rto.
func (*perSegment) stalled(snd *sender, now wheel.Time, id segmentID, rto time.Duration) bool {
	if snd.ep.fast() && snd.fl.sent.Pipe().Bytes == 0 {
		return true
	}
	return id == snd.fl.sent.Front() && now > snd.fl.lossAt && !snd.fl.frto.Active() && now.Sub(snd.rcv.lastRecv) >= rto
}

// markLost marks the segments that expire at this instant. The others of the flight are lost when
// their own timers expire.
func (*perSegment) markLost(snd *sender, now wheel.Time, id segmentID, rto time.Duration) {
	if !snd.fl.sent.seg(id).state.needsRexmit() {
		snd.fl.markLost(id)
	}
	for next := snd.fl.sent.oldest; next != 0 && snd.cfg.Policy.Deadline(snd.fl.sent.seg(next).Sent, rto) <= now; next = snd.fl.sent.oldest {
		snd.fl.markLost(next)
	}
}

func (*perSegment) expiry(snd *sender, now wheel.Time) wheel.Time {
	front := snd.fl.sent.seg(snd.fl.sent.Front())
	return snd.cfg.Policy.RexmitDeadline(now, snd.rtt.est.RTO(), tcptimers.Flight{Sent: front.Sent})
}

// check: every segment that has not arrived has exactly one running timer, and so has the first.
func (t *perSegment) check(snd *sender) error {
	for id := snd.fl.sent.Front(); id != 0; id = snd.fl.sent.Next(id) {
		if s, want := snd.fl.sent.seg(id), t.timed(snd, id); s.Armed != want {
			return fmt.Errorf("tcp: segment at %d: timer %v, want %v", s.Seq-snd.iss, s.Armed, want)
		}
	}
	return nil
}
