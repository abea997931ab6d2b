package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// explain finds the kind of a retransmission, from what its sender knew and how long it had heard nothing.
func (f *Flow) explain(r *Retransmission, first, last int, h *tcp.Header) {
	v := &f.view
	now := r.Sent
	if h.Flags.Has(tcp.SYN) || r.start == 0 && f.HasSYN {
		r.Kind, r.ByTimer = SYN, true
		f.fitting.handshake(f, r, !f.synacked)
		return
	}
	if first == last {
		f.explainLate(r)
		return
	}
	s := f.book.at(first)
	silence := infinite
	if v.heard {
		silence = span(v.lastACK, now)
	}
	answer := silence <= f.promptly()
	if v.resent != 0 && v.resent > v.lastACK && now.Sub(v.resent) <= burst && s.sent < v.resent && v.cause != TLP && v.cause != Unknown {
		// One of several that leave at once.
		r.Kind, r.GoBack = v.cause, v.cause == RTO
		return
	}
	isFirst := f.firstUnsacked() >= first && f.firstUnsacked() < last
	isLast := f.book.at(last-1).end >= f.max
	one := isFirst && (isLast || first+1 == f.book.len())
	if now.Sub(s.first) < f.leastRTT()/2 && !s.missing {
		return // nothing can have told the sender yet
	}
	switch proof := f.proof(first, last); {
	case r.start == 1 && f.una == 1 && s.txs == 1 && answer && v.advanced == v.lastACK:
		r.Kind = Fast // the SYN-ACK does not cover what the SYN carried (RFC 7413 §4.2.2)
	case v.lossy:
		// After a timeout, all that was in flight then follows from it.
		r.Kind = RTO
		if since := span(maxTime(v.lastACK, v.resent), now); isFirst && s.sent < now && !answer && since >= f.patience() {
			f.expired(r, s, RTO)
			return
		}
		r.GoBack = true
	case proof == none && answer && f.ep != nil && f.ep.Kind == Fast && isFirst && v.advanced == v.lastACK:
		r.Kind = Fast // a partial ACK (RFC 6582 §3.2)
	case proof != none:
		r.Kind = Fast
		busy := span(maxTime(v.sentNew, v.resent), now) <= f.promptly()
		if isFirst && !answer && now.Sub(s.sent) >= f.patience() && !(busy && f.blurred()) && !f.pace.turn(f, now) {
			r.Kind, r.ByTimer, r.ambiguous = f.fitting.either(f, r, s, f.reorderTimer(s, now)), true, true
		}
	case answer && f.lag() > 0 && (v.cause == Fast || v.cause == RTO) && now.Sub(v.resent) < 2*f.RTT.Min:
		// What the sender takes for one recovery may look like several, as octets in flight were lost before they came here.
		r.Kind, r.GoBack = v.cause, v.cause == RTO
	case answer && !isFirst, answer && v.dups > 0 && f.book.len() <= 4:
		r.Kind = Fast // early, as fewer ACKs are to come than are asked for
	case s.missing && f.dupsSeen > 0 && !f.half.known && span(s.earliest(), now) < leastTimeout:
		r.Kind = Fast // how far away the sender is cannot be told, but it is being asked
	case now.Sub(s.earliest()) < max(f.leastRTT()-f.leastRTT()/8-f.promptly(), leastTimer):
		r.Kind = Unknown // no timer is that short
	case one && f.lag() == 0 && silence <= atOnce && v.advanced == v.lastACK && now.Sub(s.sent) < leastTimeout:
		r.Kind = Unknown // RFC 6298 §5 (5.3): that ACK has just started the timer anew
	case one:
		f.expired(r, s, Unknown)
	case isFirst:
		f.expired(r, s, RTO)
	case isLast:
		f.expired(r, s, TLP)
	default:
		r.Kind = Unknown
	}
}

// explainLate finds the kind of a retransmission of what is acknowledged already: it was on its way, and part of what went on then; or its
// sender has not got the ACK.
func (f *Flow) explainLate(r *Retransmission) {
	v := &f.view
	switch age := span(r.PrevSent, r.Sent); {
	case r.proved && span(v.advanced, r.Sent) < max(2*f.RTT.Min, leastTimeout):
		r.Kind = Fast // its sender was still being told so
	case v.resent != 0 && r.Sent.Sub(v.resent) < 2*f.RTT.Min+lateStamp:
		r.Kind = v.cause
		r.GoBack = r.Kind == RTO
	case max(age, span(maxTime(v.sentNew, v.resent), r.Sent)) >= max(leastTimeout, f.RTT.Min+1):
		r.Kind, r.ByTimer = RTO, true
	}
}

// leastTimer is less than any stack's timers wait for, but for those that were made for a single data centre: 5 ms are usual there.
const leastTimer = 4 * time.Millisecond

// leastTimeout is less than nearly all stacks wait for, whatever the round trip.
const leastTimeout = 190 * time.Millisecond

const (
	infinite = time.Duration(1<<63 - 1)

	// burst is how far apart packets are that leave for one reason.
	burst = time.Millisecond
)

func maxTime(a, b wheel.Time) wheel.Time {
	if a > b {
		return a
	}
	return b
}

// promptly is how soon after an ACK a packet is an answer to it.
func (f *Flow) promptly() time.Duration {
	if f.lag() == 0 {
		return 2 * time.Millisecond
	}
	return 2*time.Millisecond + f.lag()/8
}

// blurred reports whether it cannot be told when a packet was sent, because queues on its way here delay it and it has no timestamp.
func (f *Flow) blurred() bool { return f.lag() > 0 && f.clock.tick == 0 }

// patience is the least silence that a retransmission timer can be about.
func (f *Flow) patience() time.Duration { return max(f.RTT.Min, 4*f.promptly()/2) }

// firstUnsacked returns the number of the first segment that Src must take for missing.
func (f *Flow) firstUnsacked() int {
	for i := range f.book.len() {
		if !f.book.at(i).sacked {
			return i
		}
	}
	return 0
}

// proof is what tells a sender that a segment is lost.
type proof uint8

const (
	none proof = iota
	rack       // a segment that was sent later has arrived (RFC 8985 §6)
	dups       // three duplicate ACKs, or as much SACKed above (RFC 6675 §4)
)

// proof returns what Src knows of the loss of the segments from first to before last.
func (f *Flow) proof(first, last int) proof {
	v := &f.view
	if !v.sackOn {
		if v.dups >= 3 {
			return dups
		}
		return none
	}
	above, later := 0, false
	sent := f.book.at(first).earliest()
	for i := last; i < f.book.len() && above < 3; i++ {
		if s := f.book.at(i); s.sacked {
			above++
			later = later || s.sent >= sent
		}
	}
	switch {
	case above >= 3:
		return dups
	case above > 0 && later, v.rackSent > sent:
		return rack
	}
	return none
}

// reorderTimer returns how likely RACK's reordering timer is to have waited until now, as timerModel.likely does: a quarter of the least
// round trip more than the last one took, or several quarters after DSACKs, up to SRTT (RFC 8985 §6.2). Linux sets it for two of its jiffies
// more, of up to 10 ms (tcp_rack_mark_lost).
func (f *Flow) reorderTimer(s *segment, now wheel.Time) float64 {
	wait := now.Sub(s.sent) - f.view.rackRTT
	quarter := f.RTT.Min / 4
	width := 8*time.Millisecond + f.lag()/8
	if !f.view.sackOn {
		return -unlikely
	}
	f.fitting.begin(f)
	srtt := f.fitting.exact.SRTT()
	if wait > 0 {
		wait = max(wait-twoJiffies, 0)
	}
	off, places := min(wait.Abs(), (wait-quarter).Abs()), 1
	if f.DSACKs > 0 && quarter > 0 {
		for places = 2; places < 16 && time.Duration(places)*quarter < srtt; places++ {
			off = min(off, (wait - time.Duration(places)*quarter).Abs())
		}
		off = min(off, (wait - srtt).Abs())
	}
	return density(width*time.Duration(places), max(off-width/2, 0), width)
}

const twoJiffies = 8 * time.Millisecond // of 4 ms, the commonest

// expired explains a retransmission by a timer: which, the models say if it is not clear (sure is Unknown).
func (f *Flow) expired(r *Retransmission, s *segment, sure Kind) {
	r.ByTimer = true
	r.Kind = f.fitting.expired(f, r, s, sure)
	if sure == Unknown {
		r.ambiguous = true
	}
}
