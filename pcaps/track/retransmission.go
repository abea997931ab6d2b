package track

import (
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// Retransmission is a packet with bytes that were sent before.
type Retransmission struct {
	Packet      int64
	FirstPacket int64      // first captured transmission of its first byte; 0 if none
	Seen        wheel.Time // by the capture's clock
	Sent        wheel.Time // by the sender's clock
	PrevSent    wheel.Time // previous transmission of its bytes, by the sender's clock
	Bytes       int        // SYN and FIN included
	Seq         tcp.Seq    // of the first byte

	Kind    Kind
	GoBack  bool // it follows a timeout, as part of the flight of that time (only RTO)
	ByTimer bool // a timer sent it, not an ACK

	Spurious Spuriousness
	Evidence Evidence
	JudgedBy int64  // the packet that Evidence rests on; 0 if it is no single one
	verdict  string // the rule that decided
	// If undecided: the ACK that came at once, as if Dst had got the first transmission and delayed
	// its ACK; 0 if none did.
	DelayedACK int64

	start, end   int64
	ts           uint32
	hasTS        bool
	originalSeen bool       // an earlier transmission of each byte was captured
	tsDiffers    bool       // its TSval differs from the previous transmission's
	newID        bool       // its IP identification is later than that of the first transmission
	acked        bool       // the first ACK of its bytes has come
	dsacked      bool       // DSACKs account for all of it
	reported     bool       // a DSACK accounts for a part of it
	duplicate    ledger.Set // what DSACKs have reported of it, or was known to have arrived
	estimated    bool       // PrevSent is when its bytes were acknowledged
	provedLost   bool       // ACKs had proved an earlier transmission lost
	asked        wheel.Time // when the last ACK asked for it, if it is acknowledged; else 0
	hasNew       bool       // the packet has new bytes, too
	pathSlow     bool       // the path was slower than usual when its answer was due
	notKept      bool       // Dst asks for it although the original was captured
	prevTS       uint32     // TSval of the transmission before
	hasPrevTS    bool       // prevTS is set
	offClock     bool       // timestamps show that PrevSent or Sent was captured much too late
	alone        bool       // nothing else was in flight
	lone         bool       // it repeats the only segment in flight, whose ACK Dst may delay
	byModel      kindsByModel
	rule         string     // of explain
	waitFrom     wheel.Time // when the answer to the retransmission before it was due
	ambiguous    bool       // the best timer model decides the kind
	anyTimer     bool       // a timer sent it, whose times no model explains
	anyKind      bool       // within what the capture's clock leaves open, it has several kinds
	answered     wheel.Time // the ACK that timing judges it by
}

// judge sets the verdict if its evidence is stronger than before. by is the packet that it rests
// on, and rule what decided.
func (r *Retransmission) judge(v Spuriousness, e Evidence, by int64, rule string) {
	if e > r.Evidence {
		r.Spurious, r.Evidence, r.JudgedBy, r.verdict = v, e, by, rule
	}
}

// oldBytes is a packet's bytes below SND.NXT, from start to end.
type oldBytes struct {
	p           *capture.Packet
	at, now     wheel.Time // when it was sent, and captured
	start, end  int64
	probe       bool
	first, last int             // the segments from first to before last, once they are cut
	r           *Retransmission // once it is explained
}

// oldRule says why old bytes are no retransmission: the original, captured out of order, or a copy.
type oldRule struct {
	name    string
	applies func(f sending, o *oldBytes) bool
	take    func(f sending, o *oldBytes)
}

// oldRules are tried in order. Bytes to which none applies are a retransmission.
var oldRules = []oldRule{
	{"captured just behind its ACK", behindACK, sending.takeLate},
	{"an ACK echoes a timestamp as late", echoedBefore, sending.takeLate},
	{"behind later packets in the file", misplaced, sending.takeMisplaced},
	{"overtaken by the first packet of the flow", beganLate, sending.takeFirst},
	{"overtaken by the packet that showed the gap", fillsGap, sending.takeOvertaken},
	{"older than a retransmission of it", isLateOriginal, sending.takeOriginal},
	{"like the packet before, in a connection with copies, and unexplained", isLikeCopy, sending.takeCopy},
}

// sendOld handles old bytes.
func (f sending) sendOld(o *oldBytes) {
	h := &o.p.Header
	hearing(f).deliverCauses(o.now, o.at, o.start, &h.Options)
	if i := f.board.find(o.start); i < f.board.len() && !h.Options.HasTimestamps && f.lag() > 0 {
		hearing(f).deliverAsking(f.board.at(i), o.start, o.now, o.at)
	}
	for i := range oldRules {
		if rule := &oldRules[i]; rule.applies(f, o) {
			rule.take(f, o)
			return
		}
	}
	f.retransmit(o)
}

// retransmit records a retransmission, which is explained.
func (f sending) retransmit(o *oldBytes) {
	r := o.r
	f.Retransmissions++
	if f.wasAcked(o.end, o.now) {
		r.judge(Spurious, ByCapture, 0, "acknowledged before it was captured")
	}
	if f.episode != nil {
		r.waitFrom = f.view.retransmitted.Add(f.medianRTT(f.view.retransmitted))
	}
	f.addToEpisode(r, o.first, o.last)
	f.emit(Retransmitted, o.p.Number, o.now, o.at, o.start, o.end, r)
	f.noteRetransmission(o.first, o.last, o.p, o.at)
	v := &f.view
	v.retransmitted, v.lastKind, f.lastAnyKind = o.at, r.Kind, r.anyKind
	if r.ByTimer {
		v.timerFired = o.at
		if r.Kind == RTO && !r.GoBack {
			v.afterTimeout, v.recover = true, f.max
		}
		v.tlpOut = v.tlpOut || r.Kind == TLP
	}
}

// emitLate emits a Late event.
func (f sending) emitLate(o *oldBytes) { f.emit(Late, o.p.Number, o.now, o.at, o.start, o.end, nil) }

// behindACK: an ACK of bytes that were not captured came just before them, or the last packet of
// the host did.
func behindACK(f sending, o *oldBytes) bool {
	m := &f.ackedUnseen
	return o.start >= m.start && o.end <= m.end && (o.now.Sub(m.at) < queueSkew || o.start == m.start && f.ipIDs.follows(ipID(o.p)))
}

// takeLate takes bytes that were acknowledged before they were captured.
func (f sending) takeLate(o *oldBytes) {
	m, from := &f.ackedUnseen, max(o.start, f.una)
	if o.start == m.start {
		m.start = o.end
	}
	if o.now.Sub(m.at) < queueSkew {
		f.conn.noteSkew(o.now.Sub(m.at))
		f.other().boundLag(1) // its ACK overtook: other ACKs were delayed
	}
	f.UnseenBytes -= min(o.end-o.start, f.UnseenBytes)
	f.Bytes += max(min(from, o.end)-o.start, 0) // the others are still missing
	if o.p.Header.Flags.Has(tcp.FIN) {
		f.Bytes--
	}
	f.emitLate(o)
	f.fillGap(o.p, o.at, from, o.end)
}

func (f sending) takeMisplaced(o *oldBytes) {
	f.conn.misplaced++
	f.Bytes += int64(o.p.Len)
	f.emitLate(o)
}

func (f sending) takeFirst(o *oldBytes) {
	f.Reordered++
	f.Bytes += int64(o.p.Len)
	f.emitLate(o)
}

// fillsGap: bytes that are missing come, sent before the packet that showed it.
func fillsGap(f sending, o *oldBytes) bool {
	from := max(o.start, f.una)
	o.first, o.last = f.board.cut(f.conn.memory, from, max(o.end, from))
	if o.first >= o.last {
		return false
	}
	s := f.board.at(o.first)
	return s.missing && f.overtaken(s, o.first, o.p, o.now)
}

func (f sending) takeOvertaken(o *oldBytes) {
	f.Reordered++
	f.emitLate(o)
	f.fillGap(o.p, o.at, max(o.start, f.una), o.end)
}

// takeOriginal takes an original, and judges the retransmission that overtook it.
func (f sending) takeOriginal(o *oldBytes) {
	f.emitLate(o)
	f.Reordered++
	for i := len(f.recent) - 1; i >= 0; i-- {
		if r := f.recent[i]; r.start < o.end && o.start < r.end {
			r.judge(Spurious, ByCapture, 0, "its original came after it")
			return
		}
	}
}

func (f sending) takeCopy(o *oldBytes) {
	f.ignoreFact(Copy)
	f.emit(Copy, o.p.Number, o.now, o.at, 0, 0, nil)
	f.conn.Copies++
	f.copiesSeen++
}

// echoedBefore: the bytes were acknowledged, and never captured, and Dst has echoed a timestamp since
// that is not before theirs. They left before that ACK, and come late.
func echoedBefore(f sending, o *oldBytes) bool {
	m, h := &f.stamps, &o.p.Header
	if o.end > f.seenUna || !h.Options.HasTimestamps || !m.any || int32(h.Options.TSVal-m.echoed) > 0 {
		return false
	}
	if i := f.board.find(o.start); i < f.board.len() && f.board.at(i).start <= o.start {
		return f.board.at(i).missing
	}
	s := f.board.acked(o.start)
	return s != nil && !s.captured
}

// isLikeCopy explains the bytes as a retransmission, and reports whether they are no more than a
// packet captured twice, in a connection where others were: nothing tells it from one just before,
// and neither an ACK nor a timer of usual length explains why Src should have retransmitted.
func isLikeCopy(f sending, o *oldBytes) bool {
	p, r := o.p, f.newRetransmission(o.p, o.at, o.now, o.start, o.end, o.first, o.last)
	if o.r = r; o.probe {
		r.Kind, r.ByTimer = Probe, true
	} else {
		f.explain(r, o.first, o.last, &p.Header)
	}
	if !f.copies.same || f.conn.Copies == 0 || p.Len == 0 || p.Header.Options.HasTimestamps || r.end <= f.una {
		return false
	}
	soon := span(r.PrevSent, r.Sent) < leastTimeout && (r.Kind == RTO || f.conn.mirrored())
	return r.Kind == Unknown || r.ByTimer && soon
}

// wasAcked reports whether an ACK of everything before end was captured before now. It is no ACK of
// the packet captured now: that takes a round trip to Dst, and buffers of the capture do not swap
// packets so far apart.
func (f sending) wasAcked(end int64, now wheel.Time) bool {
	far := f.other().lag() > 2*queueSkew && f.other().sourceRTT.sure()
	return end <= f.seenUna && (end > 0 || f.ackedStart) && (far || now.Sub(f.unaSeen) > queueSkew)
}

// newRetransmission returns the retransmission of the segments from first to before last, not
// explained yet.
func (f sending) newRetransmission(p *capture.Packet, at, now wheel.Time, start, end int64, first, last int) *Retransmission {
	h := &p.Header
	r := &Retransmission{
		Packet: p.Number, Seen: now, Sent: at, Bytes: int(end - start), Seq: h.Seq, start: start, end: end,
		ts: h.Options.TSVal, hasTS: h.Options.HasTimestamps, hasNew: int64(p.SegLen()) > end-start,
	}
	r.duplicate.Add(ledger.Range{Start: start, End: min(end, f.una)})
	for i := first; i < last; i++ {
		s := f.board.at(i)
		if s.sacked {
			r.duplicate.Add(ledger.Range{Start: s.start, End: s.end})
		}
		r.originalSeen = (i == first || r.originalSeen) && s.transmissions > 0
		if i == first {
			r.PrevSent, r.FirstPacket = s.sent, s.packet
			if s.missing && s.prevSeen != 0 && (s.tailLike || at.Sub(s.sent) < f.quickestRTT()) {
				r.PrevSent = s.prevSeen // it was sent long before the packet that showed the gap
			}
			r.prevTS, r.hasPrevTS = s.ts, s.hasTS && !s.missing
			r.tsDiffers = r.hasTS && s.hasTS && s.ts != r.ts && !s.missing
			r.newID = !s.missing && f.ipIDs.order(ipID(p), s.id) > 0
			r.lone = f.board.len() == 1 && !s.missing && s.start > 0 && !(f.fin && s.end == f.finEnd)
			r.notKept = !s.missing && s.start <= f.seenUna && f.seenUna < s.end && f.ackSeen.Sub(s.seen) > queueSkew
		}
	}
	if first == last { // acknowledged already, which its sender did not know
		// Its bytes were sent before they were acknowledged.
		r.PrevSent, r.originalSeen, r.estimated = at, true, true
		if f.view.unaMoved != 0 {
			r.PrevSent = min(at, f.view.unaMoved)
		}
		if s := f.board.acked(start); s != nil {
			r.PrevSent, r.originalSeen, r.estimated = s.sent, s.captured, false
			r.FirstPacket = s.packet
			r.provedLost, r.asked = s.provedLost, s.asked
			r.prevTS, r.hasPrevTS = s.ts, s.hasTS && s.captured
			r.alone = r.end >= f.max && s.start == start && s.sent == f.view.flightBegan
			s.sent, s.ts, s.hasTS = at, r.ts, r.hasTS
		}
	}
	return r
}

// waitByStamps moves PrevSent to where the sender's clock has it, if the timestamps of both
// transmissions show that queues before the point of capture delayed either. At the sender the
// capture's clock is finer, and does not sleep.
func (f *Flow) waitByStamps(r *Retransmission) {
	if !r.hasTS || !r.hasPrevTS || f.lag() == 0 || f.Vantage == AtSender || f.Vantage == AtBoth {
		return
	}
	d, tick, ok := f.clock.between(r.prevTS, r.ts)
	if off := (span(r.PrevSent, r.Sent) - d).Abs(); ok && off > tick {
		r.PrevSent, r.offClock = r.Sent.Add(-d), off > tick+d/5
	}
}

// noteRetransmission records a further transmission of segments.
func (f sending) noteRetransmission(first, last int, p *capture.Packet, at wheel.Time) {
	for i := first; i < last; i++ {
		s := f.board.at(i)
		if s.missing {
			s.missing, s.filledLate = false, true
			f.Bytes += s.end - s.start
			if p.Header.Flags.Has(tcp.FIN) && s.end == f.finEnd {
				f.Bytes--
			}
			s.firstTS, s.id = p.Header.Options.TSVal, ipID(p)
			if s.packet == 0 {
				s.packet = p.Number
			}
		}
		s.captureSpot = captureSpot(p)
		s.sent, s.ts, s.hasTS = at, p.Header.Options.TSVal, p.Header.Options.HasTimestamps
		if s.transmissions < 1<<15 {
			s.transmissions++
		}
	}
}

// fillGap fills missing segments with their first transmission.
func (f sending) fillGap(p *capture.Packet, at wheel.Time, start, end int64) {
	first, last := f.board.cut(f.conn.memory, start, max(end, start))
	for i := first; i < last; i++ {
		if s := f.board.at(i); s.missing {
			s.missing, s.transmissions, s.packet, s.id = false, 1, p.Number, ipID(p)
			s.sent = min(s.sent, at) // before the packet behind it
			s.firstSent = s.sent
			s.ts, s.firstTS, s.hasTS = p.Header.Options.TSVal, p.Header.Options.TSVal, p.Header.Options.HasTimestamps
			f.Bytes += s.end - s.start
		}
	}
}

// overtaken reports whether a packet that fills a gap was sent before the one that showed the gap.
// Its timestamp or IP identification is older, or, without these, it came too soon to answer the
// gap.
func (f sending) overtaken(s *outstanding, i int, p *capture.Packet, now wheel.Time) bool {
	// the stamps of the packet that showed the gap, unless an ACK did
	shown := s
	for behind := i + 1; s.id == 0 && !s.hasTS && shown.packet == 0 && behind < min(f.board.len(), i+64); behind++ {
		shown = f.board.at(behind)
	}
	if p.Header.Options.HasTimestamps && shown.hasTS {
		if d := int32(p.Header.Options.TSVal - shown.firstTS); d != 0 {
			return d < 0
		}
		if step := shown.id - ipID(p); shown.id != 0 && ipID(p) != 0 && step >= 1 && step <= 4 {
			return true // the packets before it in the same tick
		}
	}
	if order := f.ipIDs.order(ipID(p), shown.id); order != 0 {
		return order < 0
	}
	return now.Sub(s.seen) < max(f.quickestRTT(), queueSkew/5)
}

// beganLate: it was sent before the first packet captured of its flow, which overtook it. It ends
// where that began, came just after, and has an older identification.
func beganLate(f sending, o *oldBytes) bool {
	if f.HasSYN || o.start >= 0 || o.end > 0 || f.DataPackets > 4 || o.now.Sub(f.firstSeen) > queueSkew {
		return false
	}
	step := f.firstID - ipID(o.p)
	return f.firstID != 0 && ipID(o.p) != 0 && step >= 1 && step <= 4
}

// misplaced: it left before the last new data, by its identification, and its ACK was captured long
// before it. Its bytes were not captured yet: some links repeat a packet as it was.
func misplaced(f sending, o *oldBytes) bool {
	if o.end > f.seenUna || o.now.Sub(f.unaSeen) <= queueSkew || !f.ipIDs.behind(ipID(o.p)) {
		return false
	}
	if i := f.board.find(o.start); i < f.board.len() && f.board.at(i).start <= o.start {
		return f.board.at(i).missing
	}
	s := f.board.acked(o.start)
	return s == nil || !s.captured
}

// isLateOriginal: it is older than the transmissions seen of its bytes.
func isLateOriginal(f sending, o *oldBytes) bool {
	h := &o.p.Header
	if o.first >= o.last || !h.Options.HasTimestamps {
		return false
	}
	s := f.board.at(o.first)
	return s.hasTS && s.packet > 0 && int32(h.Options.TSVal-s.ts) < 0
}
