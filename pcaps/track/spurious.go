package track

import (
	"slices"

	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// creditDSACK accounts each byte of a DSACK to one retransmission: a delayed ACK may report several
// segments at once. A DSACK of a part of a retransmission shows nothing about the rest. RFC 3708
// §3 counts DSACKs against retransmissions. The echo does not help: segments below the window do
// not change it (RFC 7323 §5.3).
func (f hearing) creditDSACK(a *ack) {
	b, any := a.sack[0], false
	for b.start < b.end {
		r := f.dsackTarget(b, a.at)
		if r == nil {
			break
		}
		any, r.reported = true, true
		r.duplicate.Add(ledger.Range{Start: max(b.start, r.start), End: min(b.end, r.end)})
		end := r.end
		if f.fin && end == f.finEnd && end-r.start > 1 {
			end-- // no receiver reports the FIN behind data
		}
		if r.dsacked = r.duplicate.Contains(ledger.Range{Start: r.start, End: end}); r.dsacked {
			r.judge(Spurious, ByDSACK, a.number, "reported by DSACKs, all of it")
		}
		b.start = max(b.start, r.end)
	}
	if !any {
		f.Duplicates++
	}
}

// dsackTarget returns the retransmission that a DSACK of b accounts for, or nil. Of those with the
// lowest bytes it is the last that can have arrived by then, or else the first one left.
func (f hearing) dsackTarget(b block, at wheel.Time) *Retransmission {
	var best *Retransmission
	for i := len(f.recent) - 1; i >= 0; i-- {
		r := f.recent[i]
		if r.dsacked || r.start >= b.end || b.start >= r.end {
			continue
		}
		switch {
		case best == nil || r.end <= best.start:
			best = r
		case r.start >= best.end:
		case span(best.Sent, at) < f.leastAnswer():
			best = r
		}
	}
	return best
}

// answer is an ACK that is the first to cover all bytes of a retransmission.
type answer struct {
	r            *Retransmission
	a            *ack
	soon, inTime bool // it comes too soon to answer the retransmission, or surely not too soon
}

// verdictRule decides by an answer whether a retransmission was needed.
type verdictRule struct {
	name    string
	applies func(f hearing, x *answer) bool
	Spuriousness
	Evidence
}

// ackRules are tried in order, for the first ACK of a retransmission: the first that applies decides.
var ackRules = []verdictRule{
	{"the ACK came too soon, of a segment before it", func(f hearing, x *answer) bool { return f.isBehind(x.r) && x.soon }, Spurious, ByTiming},
	{"a segment before it may have caused the ACK", func(f hearing, x *answer) bool { return f.isBehind(x.r) }, Undecided, NoEvidence},
	{"the ACK echoes an earlier timestamp", echoesEarlier, Spurious, ByEifel},
	{"the ACK echoes its timestamp", func(f hearing, x *answer) bool { return f.echoesOne(x) }, Necessary, ByEifel},
	{"the ACK came too soon", func(_ hearing, x *answer) bool { return x.soon }, Spurious, ByTiming},
	{"the ACK may answer an earlier transmission", func(f hearing, x *answer) bool { return f.answersEither(x.r) }, Undecided, NoEvidence},
	{"the first ACK may have been delayed", mayHaveDelayed, Undecided, NoEvidence},
	{"the ACK came a round trip later", func(f hearing, x *answer) bool { return x.inTime || f.conn.unsure(x.r.Sent, x.a.at) == 0 }, Necessary, ByTiming},
	{"the capture's clock is too coarse", func(hearing, *answer) bool { return true }, Undecided, NoEvidence},
}

// judgeAcked judges the retransmissions whose bytes the ACK is the first to acknowledge. SND.UNA
// has not moved yet.
func (f hearing) judgeAcked(a *ack) {
	var over []*Retransmission
	for _, r := range slices.Backward(f.waiting) {
		if r.end > a.pos {
			r.pathSlow = r.pathSlow || f.slowerThan(r, a)
			continue
		}
		r.acked = true
		if s := f.board.find(r.start); s < f.board.len() {
			r.notKept = r.notKept || f.board.at(s).denied && r.originalSeen
		}
		x := answer{r: r, a: a}
		x.soon, x.inTime = f.answers(r.Sent, a.at)
		x.soon = x.soon && f.RTT.Samples > 0 && f.lagSure()
		i := slices.IndexFunc(ackRules, func(rule verdictRule) bool { return rule.applies(f, &x) })
		rule := &ackRules[i]
		r.judge(rule.Spuriousness, rule.Evidence, a.number, rule.name)
		if r.verdict == "" {
			r.verdict = rule.name
		}
		if r.start > f.una && !f.view.hasSACK {
			over = append(over, r)
		}
		r.answered = a.at
	}
	f.waiting = slices.DeleteFunc(f.waiting, func(r *Retransmission) bool { return r.acked })
	if len(over) > 0 {
		slices.Reverse(over) // in the order of transmission
		if f.view.plainDup.Sub(over[0].Sent) < f.RTT.Min*15/16 {
			f.jumps.add(a.at, over)
		} // else one of them may have arrived before the one at SND.UNA and caused that duplicate ACK
	}
}

// isBehind reports whether a retransmission does not contain the byte at SND.UNA.
func (f hearing) isBehind(r *Retransmission) bool { return r.start > f.una || f.una >= r.end }

// echoesOne reports whether the ACK echoes a timestamp that tells the transmissions apart.
func (f hearing) echoesOne(x *answer) bool {
	return x.r.tsDiffers && x.a.hasTS && f.sentStamp(x.a.echo, x.a.pos)
}

// echoesEarlier: RFC 3522 §3.2 (step 5), "the value of the Timestamp Echo Reply field of the first
// acceptable ACK" is less.
func echoesEarlier(f hearing, x *answer) bool {
	earlier := int32(x.a.echo-x.r.ts) < 0 && f.echoesOne(x)
	if earlier && x.r.Kind == RTO && !x.r.GoBack {
		f.view.afterTimeout = false // the sender knows it as well
	}
	return earlier
}

// answersEither reports whether an ACK that answers a retransmission by its time may answer the
// transmission before it as well: the path was slow, or no answer to that one can have come before
// the retransmission left, and no router said that it was too large.
func (r *RoundTrips) answersEither(x *Retransmission) bool {
	return x.pathSlow || x.originalSeen && x.Kind != PMTU && span(x.PrevSent, x.Sent) < r.leastAnswer()
}

// mayHaveDelayed: Dst may have got the only segment in flight and delayed its ACK, as the first of
// two segments. A duplicate is acknowledged at once (RFC 9293 §3.10.7.4), so an ACK just behind the
// copy is no evidence that the first transmission was lost. It is evidence if it comes later, if no
// ACK is delayed so long, or if Dst has never delayed one half as long.
func mayHaveDelayed(f hearing, x *answer) bool {
	i := f.board.find(x.r.start)
	if !x.r.lone || i >= f.board.len() {
		return false
	}
	s := f.board.at(i)
	waited := span(s.firstSent, s.sent)
	atOnce := f.RTT.Samples == 0 || span(s.sent, x.a.at) <= f.RTT.Min*5/4+f.answerTime()
	delayed := atOnce && waited < usualMaxAckDelay && !f.Delayed.neverLonger(waited/2)
	if delayed {
		x.r.DelayedACK = x.a.number
	}
	return delayed
}

// slowerThan reports whether an ACK came when the answer to a retransmission was due long since,
// and yet acknowledges only a segment that left once, before. The path was slow then, or the other
// end.
func (f hearing) slowerThan(r *Retransmission, a *ack) bool {
	s := f.board.at(0)
	return s.end <= a.pos && a.pos <= r.start && s.transmissions == 1 && !s.filledLate && s.sent <= r.PrevSent &&
		f.RTT.Samples > 0 && span(r.Sent, a.at) > f.RTT.Min*5/4+f.answerTime()
}

// noteDenial marks the segment that an ACK asks for although it was captured before. At the
// receiver's host that shows that it was not kept.
func (a *Answered) noteDenial(pos int64, now wheel.Time) {
	if i := a.board.find(pos); i < a.board.len() {
		s := a.board.at(i)
		s.denied = s.denied || s.start <= pos && !s.missing && now.Sub(s.seen) > queueSkew
	}
}

// judgeSACKed judges the last retransmission of a segment that is SACKed for the first time. Data
// out of order is acknowledged at once (RFC 5681 §4.2), so no earlier transmission had arrived.
func (f hearing) judgeSACKed(s *outstanding, a *ack) {
	if s.transmissions < 2 && !s.filledLate || f.RTT.Samples == 0 {
		return
	}
	for _, r := range slices.Backward(f.waiting) {
		if r.start <= s.start && s.start < r.end {
			switch soon, inTime := f.answers(r.Sent, a.at); {
			case soon && f.lagSure():
				r.judge(Spurious, ByTiming, a.number, "the SACK came too soon")
			case inTime && !f.answersEither(r):
				r.judge(Necessary, ByTiming, a.number, "the SACK came a round trip later")
			}
			r.answered = a.at
			return
		}
	}
}

// finishVerdict sets the final verdict, and the kind if the timer model decides it.
func (f *Flow) finishVerdict(r *Retransmission) {
	if r.ambiguous {
		r.Kind = r.byModel.of(f.fit().best())
	}
	f.waitByStamps(r)
	if r.anyKind {
		r.Kind = Unknown
	}
	f.nameTimer(r)
	f.doubtTiming(r)
	for i := range endRules {
		if rule := &endRules[i]; rule.applies(f, r) {
			r.judge(rule.Spuriousness, rule.Evidence, 0, rule.name)
		}
	}
}

// endRules judge a retransmission by its whole connection. All that apply count: stronger evidence
// stays.
var endRules = []struct {
	name    string
	applies func(f *Flow, r *Retransmission) bool
	Spuriousness
	Evidence
}{
	{"no earlier transmission reached the point of capture", func(f *Flow, r *Retransmission) bool {
		return !r.originalSeen && (f.lag() > 0 || f.Vantage == AtReceiver)
	}, Necessary, ByCapture},
	{"the receiver asked for it, though it had captured it", func(f *Flow, r *Retransmission) bool {
		return r.notKept && f.Vantage == AtReceiver
	}, Necessary, ByCapture},
	{"the receiver captured an earlier transmission", func(f *Flow, r *Retransmission) bool {
		return r.originalSeen && f.Vantage == AtReceiver && f.other().isCaptureHost() && f.seenUna >= r.end
	}, Spurious, ByCapture},
	{"DSACKs reported duplicates, and not this one", func(f *Flow, r *Retransmission) bool {
		return f.DSACKs > 0 && !r.reported && r.acked && f.Duplicates == 0 && r.Spurious != Spurious
	}, Necessary, ByDSACK},
}

// nameTimer calls a retransmission one by the timer that nothing else explains, if its segment was
// alone in flight and waited for more than a round trip. So does it where timestamps show that the
// times were captured late by which a model of timers chose.
func (f *Flow) nameTimer(r *Retransmission) {
	known := r.Kind == Unknown || r.offClock && r.ambiguous
	if !known || !r.alone || r.originalSeen && r.FirstPacket == 0 || f.RTT.Samples == 0 || f.conn.unsure(r.PrevSent, r.Sent) > 0 {
		return
	}
	if span(r.PrevSent, r.Sent) > max(f.medianRTT(r.PrevSent), leastTimer) {
		r.Kind, r.ByTimer, r.anyTimer = RTO, true, true
		r.rule = "the only segment in flight, longer than a round trip: a timer that no model explains"
	}
}

// doubtTiming takes back a verdict by timing that the capture's clock, as it is known by now, does
// not carry.
func (f *Flow) doubtTiming(r *Retransmission) {
	if r.Evidence != ByTiming || f.conn.unsure(r.Sent, r.answered) == 0 {
		return
	}
	if soon, inTime := f.answers(r.Sent, r.answered); r.Spurious == Spurious && !soon || r.Spurious == Necessary && !inTime {
		r.Spurious, r.Evidence, r.JudgedBy, r.verdict = Undecided, NoEvidence, 0, "the capture's clock is too coarse"
	}
}
