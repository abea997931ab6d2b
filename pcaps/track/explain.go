package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// clue is what explain knows about a retransmission before it names the kind.
type clue struct {
	r           *Retransmission
	s           *outstanding  // the first one retransmitted
	first, last int           // the segments from first to before last
	silence     time.Duration // since the last ACK reached the sender
	answers     bool          // it left as soon as an answer to that ACK would
	isFirst     bool          // it contains the first segment that Src must think missing
	isLast      bool          // it contains the last segment in flight
	alone       bool          // nothing else is left in flight
	proof       proof
}

// rule names the kind of the retransmissions that it applies to.
type rule struct {
	name    string
	applies func(f *Flow, c *clue) bool
	naming
}

// naming sets the kind of a retransmission.
type naming struct {
	explain func(f *Flow, c *clue)
	kinds   kindSet // that it may set, besides Unknown
}

// kindSet is a set of kinds.
type kindSet uint8

const (
	isFast kindSet = 1 << Fast
	isRTO  kindSet = 1 << RTO
	isTLP  kindSet = 1 << TLP

	isAsBefore kindSet = 1 << 7 // that of the retransmission before
)

// rules are tried in order; the first that applies explains a retransmission. The last one applies
// to all.
var rules = []rule{
	{"too large for the path, by ICMP", tooLarge, kind(PMTU)},
	{"in one burst with a retransmission", inBurst, asBefore},
	{"before the sender can know anything", tooSoon, kind(Unknown)},
	{"data of a SYN that the SYN-ACK left out", leftOutBySYNACK, kind(Fast)},
	{"another timeout during timeout recovery", secondTimeout, byTimer(RTO)},
	{"timeout recovery", afterTimeout, followsTimeout},
	{"a partial ACK", partialACK, kind(Fast)},
	{"a timeout captured out of order", reorderedTimeout, endedSilence},
	{"the last segment in flight, before others that are missing", lastOfMissing, probeOfLast},
	{"proved lost, and sent when no ACK came", provedButLate, timerOrRACK},
	{"proved lost by ACKs", proved, kind(Fast)},
	{"one recovery in two parts", sameRecovery, asBefore},
	{"an early retransmission", early, kind(Fast)},
	{"duplicate ACKs to an unseen original", askedForUnseen, kind(Fast)},
	{"just after duplicate ACKs", justAsked, kind(Fast)},
	{"sooner than any timer", soonerThanTimers, kind(Unknown)},
	{"just after an ACK that restarts the timer", justRestarted, kind(Unknown)},
	{"just after an ACK", noTimeout, kind(Unknown)},
	{"ACKs before it may not have been understood", acksUnclear, kind(Unknown)},
	{"the only segment in flight, with new data behind it", noProbe, byTimer(RTO)},
	{"the only segment in flight", func(_ *Flow, c *clue) bool { return c.alone }, byTimer(Unknown)},
	{"the first segment in flight", func(_ *Flow, c *clue) bool { return c.isFirst }, byTimer(RTO)},
	{"the last segment in flight", func(_ *Flow, c *clue) bool { return c.isLast }, byTimer(TLP)},
	{"no rule", func(*Flow, *clue) bool { return true }, kind(Unknown)},
}

// answeredSYN reports whether a SYN-ACK answers a retransmitted SYN, and shows no timer of its
// sender: RFC 9293 §3.10.7.4 acknowledges a SYN that comes again.
func (f sending) answeredSYN(r *Retransmission) bool {
	g := f.other()
	again := g.view.timerFired
	return f.synacked && again != 0 && r.Sent >= again && r.Sent.Sub(again) <= f.answerTime()+f.lag()+g.lag()
}

// explain names the kind of a retransmission, from what its sender knew and how long it had heard
// nothing.
func (f sending) explain(r *Retransmission, first, last int, h *tcp.Header) {
	if h.Flags.Has(tcp.SYN) || r.start == 0 && f.HasSYN {
		r.Kind, r.ByTimer = SYN, true
		if !f.answeredSYN(r) {
			f.fit().handshake(f.Flow, r, !f.synacked)
		}
		return
	}
	if first == last {
		f.explainAcked(r)
		return
	}
	c := f.clue(r, first, last)
	r.alone = c.alone
	by, otherwise := ruleOf(f.Flow, &c), f.otherwise(r, first, last)
	r.rule = by.name
	by.explain(f.Flow, &c)
	for _, kinds := range otherwise {
		r.anyKind = r.anyKind || kinds != by.kinds && kinds != 1<<r.Kind
	}
	r.anyKind = r.anyKind || f.lastAnyKind && (by.kinds == isAsBefore || r.GoBack)
}

// ruleOf returns the rule that explains a retransmission.
func ruleOf(f *Flow, c *clue) *rule {
	i := 0
	for !rules[i].applies(f, c) {
		i++
	}
	return &rules[i]
}

// otherwise returns what the rules name if the capture's clock is off as far as it can be, either
// way: nothing if it is exact. The last ACKs may then have come before a retransmission or not.
func (f sending) otherwise(r *Retransmission, first, last int) (all []kindSet) {
	s, v := f.board.at(first), &f.view
	off := f.conn.unsure(s.sent, r.Sent)
	if off == 0 {
		return nil
	}
	name := func(at wheel.Time) kindSet {
		other := *r
		other.Sent = at
		c := f.clue(&other, first, last)
		if kinds := ruleOf(f.Flow, &c).kinds; kinds != isAsBefore {
			return kinds
		}
		return 1 << v.lastKind
	}
	before, after := r.Sent.Add(-off), r.Sent.Add(off)
	if justHeard := v.lastACK.Add(sameHost / 2); v.heard && justHeard > before {
		before = justHeard
	}
	early, late := name(before), name(after)
	if a := f.pending.first; a != nil && a.seen.Add(f.lag()) < after.Add(off) {
		late |= isFast
	}
	if f.lag() > 0 && v.heard && v.lastACK > before.Add(-off) && before.Sub(s.earliest()) >= leastTimeout {
		early |= isRTO
	}
	return []kindSet{early, late}
}

func (f sending) clue(r *Retransmission, first, last int) clue {
	c := clue{r: r, first: first, last: last, s: f.board.at(first), silence: forever, proof: f.proof(first, last)}
	if f.view.heard {
		c.silence = span(f.view.lastACK, r.Sent)
	}
	c.answers = c.silence <= f.answerTime()
	missing := f.firstUnsacked()
	c.isFirst = first <= missing && missing < last
	c.isLast = f.board.at(last-1).end >= f.max
	c.alone = c.isFirst && (c.isLast || first+1 == f.board.len())
	return c
}

// kind names a constant.
func kind(k Kind) naming {
	return naming{func(_ *Flow, c *clue) { c.r.Kind = k }, 1 << k &^ (1 << Unknown)}
}

// byTimer names a timer. The timer models decide which if sure is Unknown.
func byTimer(sure Kind) naming {
	kinds := kindSet(1 << sure)
	if sure == Unknown {
		kinds = isRTO | isTLP
	}
	return naming{func(f *Flow, c *clue) {
		c.r.ByTimer, c.r.ambiguous = true, sure == Unknown
		c.r.Kind = f.fit().expired(f, c.r, c.s, sure)
	}, kinds}
}

// asBefore gives a retransmission the kind of the one before.
var asBefore = naming{func(f *Flow, c *clue) {
	c.r.Kind = f.view.lastKind
	c.r.GoBack = c.r.Kind == RTO
}, isAsBefore}

var followsTimeout = naming{func(_ *Flow, c *clue) { c.r.Kind, c.r.GoBack = RTO, true }, isRTO}

var timerOrRACK = naming{func(f *Flow, c *clue) {
	c.r.ByTimer, c.r.ambiguous = true, true
	c.r.Kind = f.fit().timerOrRACK(f, c.r, c.s, f.rackTimer(c.s, c.r.Sent))
}, isRTO | isFast}

var endedSilence = naming{func(_ *Flow, c *clue) { c.r.Kind, c.r.ByTimer = RTO, true }, isRTO}

// tooLarge: RFC 1191 §6.5, the error makes the host retransmit what was in flight, in smaller
// segments.
func tooLarge(f *Flow, c *clue) bool {
	b := &f.tooBig
	atOnce := span(b.at, c.r.Sent) <= f.answerTime() || c.answers // else a timer had to send it
	return atOnce && b.at != 0 && b.start <= c.s.start && c.s.start < b.end && c.s.sent <= b.at && c.r.Sent >= b.at.Add(-f.lag())
}

func inBurst(f *Flow, c *clue) bool {
	v := &f.view
	return v.retransmitted != 0 && v.retransmitted > v.lastACK && c.r.Sent.Sub(v.retransmitted) <= oneBurst &&
		c.s.sent < v.retransmitted && v.lastKind != TLP && v.lastKind != Unknown
}

func tooSoon(f *Flow, c *clue) bool {
	return c.r.Sent.Sub(c.s.firstSent) < f.minRTT()/2 && !c.s.missing
}

// leftOutBySYNACK: RFC 7413 §4.2.2, the server may accept less than the SYN carried.
func leftOutBySYNACK(f *Flow, c *clue) bool {
	return c.r.start == 1 && f.una == 1 && c.s.transmissions == 1 && c.answers && f.view.unaMoved == f.view.lastACK
}

func secondTimeout(f *Flow, c *clue) bool {
	v := &f.view
	return v.afterTimeout && c.isFirst && c.s.sent < c.r.Sent && !c.answers &&
		span(maxTime(v.lastACK, v.retransmitted), c.r.Sent) >= f.leastSilence()
}

func afterTimeout(f *Flow, _ *clue) bool { return f.view.afterTimeout }

// partialACK: RFC 6582 §3.2, an ACK of part of the flight shows the next loss.
func partialACK(f *Flow, c *clue) bool {
	return c.proof == none && c.answers && f.episode != nil && f.episode.Kind == Fast && c.isFirst && f.view.unaMoved == f.view.lastACK
}

// lastOfMissing: RFC 8985 §7.3, a probe sends the last segment, whatever else is missing. Timeouts
// and RACK begin with the first.
func lastOfMissing(f *Flow, c *clue) bool {
	return c.isLast && !c.isFirst && f.lag() == 0 && f.episode == nil && f.board.at(f.firstUnsacked()).transmissions == 1 &&
		f.board.sacked > 0 && !c.answers && c.silence >= f.leastSilence() && !f.pacing.mayHaveWaited(f, c.r.Sent)
}

var probeOfLast = naming{func(_ *Flow, c *clue) { c.r.Kind, c.r.ByTimer = TLP, true }, isTLP}

// reorderedTimeout: after a silence only a timer sends. If it is not the first missing segment that
// comes first, nor the last one as a probe, then the packets of the timeout were reordered.
func reorderedTimeout(f *Flow, c *clue) bool {
	v := &f.view
	last := maxTime(v.lastACK, maxTime(v.newData, v.retransmitted))
	return !c.isFirst && !c.isLast && span(last, c.r.Sent) >= max(leastTimeout, 2*f.answerTime()) && !f.pacing.mayHaveWaited(f, c.r.Sent)
}

// provedButLate excludes packets that may have waited in a queue or for the sender's pacing.
func provedButLate(f *Flow, c *clue) bool {
	v := &f.view
	busy := span(maxTime(v.newData, v.retransmitted), c.r.Sent) <= f.answerTime()
	if v.provedStart == c.s.start && v.provedSent == c.s.sent && c.r.Sent.Sub(v.proved) <= f.slowAnswer() {
		return false // the ACK that proved it came just before
	}
	return c.proof != none && c.isFirst && !c.answers && c.r.Sent.Sub(c.s.sent) >= f.leastSilence() &&
		!(busy && f.sendTimeUnsure()) && !f.pacing.mayHaveWaited(f, c.r.Sent)
}

func proved(_ *Flow, c *clue) bool { return c.proof != none }

// noProbe: RFC 8985 §7.3, a probe sends new data or the last segment, never both at once.
func noProbe(_ *Flow, c *clue) bool { return c.alone && c.r.hasNew }

// sameRecovery: away from the sender, one recovery may look like several, as retransmissions are
// lost before the point of capture.
func sameRecovery(f *Flow, c *clue) bool {
	v := &f.view
	return c.answers && f.lag() > 0 && (v.lastKind == Fast || v.lastKind == RTO) && c.r.Sent.Sub(v.retransmitted) < 2*f.RTT.Min
}

// early: with few segments in flight, fewer than three duplicate ACKs can come (RFC 5827).
func early(f *Flow, c *clue) bool {
	return c.answers && (f.view.dupACKs > 0 || f.board.sacked > 0) && (!c.isFirst || f.board.len() <= 4)
}

// justAsked: Windows XP retransmits at the second duplicate ACK.
func justAsked(f *Flow, c *clue) bool { return c.isFirst && f.view.dupACKs >= 2 && f.justHeard(c) }

// noTimeout: an ACK of new data would have restarted the timer, another one explains nothing.
func noTimeout(f *Flow, c *clue) bool { return c.isFirst && !c.isLast && f.justHeard(c) }

// justHeard reports whether the sender, which made the capture, has had an ACK just before. A timer
// expires in that time by chance in one of a thousand.
func (r *RoundTrips) justHeard(c *clue) bool {
	return r.lag() == 0 && 0 < c.silence && c.silence <= sameHost
}

// acksUnclear: ACKs may have asked for the retransmission that the capture lacks, has without their
// options, behind packets that they caused, or not distinguished from their copies. A timer is sure
// only after a long silence.
func acksUnclear(f *Flow, c *clue) bool {
	unclear := f.acksCut && !f.noSACK() || f.conn.skew > 0 || f.conn.mirrored() && f.ipIDs.runs < identRuns && !f.conn.timestamps
	return f.lacksACKs() || unclear && min(c.silence, c.r.Sent.Sub(c.s.earliest())) < leastTimeout
}

// askedForUnseen: the path to the sender is not measured yet, but duplicate ACKs are on it.
func askedForUnseen(f *Flow, c *clue) bool {
	return c.s.missing && f.seenDups > 0 && !f.sourceRTT.known && span(c.s.earliest(), c.r.Sent) < leastTimeout
}

func soonerThanTimers(f *Flow, c *clue) bool {
	return c.r.Sent.Sub(c.s.earliest()) < max(f.quickestRTT()-f.answerTime(), leastTimer)
}

// justRestarted: RFC 6298 §5 (5.3), an ACK of new data restarts the timer.
func justRestarted(f *Flow, c *clue) bool {
	return c.alone && f.lag() == 0 && c.silence <= sameHost && f.view.unaMoved == f.view.lastACK && c.r.Sent.Sub(c.s.sent) < leastTimeout
}

// explainAcked names the kind of a retransmission of bytes that are acknowledged already. It
// belongs to a recovery still under way, or its sender has not got the ACK.
func (f sending) explainAcked(r *Retransmission) {
	v := &f.view
	switch age := span(r.PrevSent, r.Sent); {
	case r.provedLost && span(v.unaMoved, r.Sent) < max(2*f.RTT.Min, leastTimeout):
		r.Kind = Fast // proofs of the loss were still on their way
	case r.asked != 0 && span(r.asked, r.Sent) <= f.answerTime():
		r.Kind = Fast // the ACK that asked for it came just before
	case f.episode == nil && r.hasNew: // the end of a recovery made Src go on
	case v.retransmitted != 0 && r.Sent.Sub(v.retransmitted) < 2*f.RTT.Min+queueSkew:
		r.Kind, r.anyKind = v.lastKind, f.lastAnyKind
		r.GoBack = r.Kind == RTO
	case span(v.lastACK, r.Sent) <= f.answerTime(): // no timer expires then
	case max(age, span(maxTime(v.newData, v.retransmitted), r.Sent)) >= max(leastTimeout, f.RTT.Min+1):
		r.Kind, r.ByTimer = RTO, true
	}
}

const forever = time.Duration(1<<63 - 1)

func maxTime(a, b wheel.Time) wheel.Time {
	if a > b {
		return a
	}
	return b
}

// sendTimeUnsure reports whether queues before the point of capture hide when packets were sent,
// for want of timestamps.
func (f *Flow) sendTimeUnsure() bool { return f.lag() > 0 && f.clock.tick == 0 }

// firstUnsacked returns the index of the first segment that Src must think missing.
func (a *Answered) firstUnsacked() int {
	for i := range a.board.len() {
		if !a.board.at(i).sacked {
			return i
		}
	}
	return 0
}

// proof is what proves to a sender that a segment is lost.
type proof uint8

const (
	none proof = iota
	rack       // a segment sent later has arrived (RFC 8985 §6)
	dups       // three duplicate ACKs, or as much SACKed above it (RFC 6675 §4)
)

// proof returns what proves to Src that the segments from first to before last are lost.
func (a *Answered) proof(first, last int) proof {
	v := &a.view
	if !v.hasSACK {
		if v.dupACKs >= 3 {
			return dups
		}
		return none
	}
	above, later := 0, false
	sent := a.board.at(first).earliest()
	for i := last; i < a.board.len() && above < 3; i++ {
		if s := a.board.at(i); s.sacked {
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

// rackTimer returns the log density of an expiry now of RACK's reordering timer. It waits for a
// quarter of the least RTT beyond the last one, or, after DSACKs, for several quarters up to SRTT
// (RFC 8985 §6.2).
func (f *Flow) rackTimer(s *outstanding, now wheel.Time) float64 {
	wait := now.Sub(s.sent) - f.view.rackRTT
	quarter := f.RTT.Min / 4
	width := rackWidth + f.lag()/8
	if !f.view.hasSACK {
		return -noFit
	}
	srtt := f.fit().exact.SRTT()
	if wait > 0 {
		wait = max(wait-rackJiffies, 0)
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
