package track

import (
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// ack is the acknowledgement part of a packet, with the time at which the data's sender gets it.
type ack struct {
	seen   wheel.Time
	at     wheel.Time
	pos    int64
	number int64
	window int64 // bytes; -1 if the scale is unknown
	ts     uint32
	echo   uint32
	hasTS  bool
	pure   bool // without data
	dup    bool // a duplicate ACK, by the capture
	sacks  uint8
	dsack  bool // the first block reports a duplicate
	next   *ack // behind it in its queue
	sack   [tcp.MaxSACKBlocks]block
}

// acks is a queue of ACKs on their way from the point of capture to the sender.
type acks struct {
	first, last *ack
	n           int
}

// maxPending bounds the queue; the first of more is delivered at once.
const maxPending = 1 << 12

// push appends a.
func (q *acks) push(a *ack) {
	if a.next = nil; q.n == 0 {
		q.first = a
	} else {
		q.last.next = a
	}
	q.last = a
	q.n++
}

// pop removes the first ACK and returns it.
func (q *acks) pop() *ack {
	a := q.first
	q.first = a.next
	q.n--
	return a
}

// readACK reads what p acknowledges of f. The sender has it one lag later.
func (f hearing) readACK(p *capture.Packet, now wheel.Time) {
	h := &p.Header
	if !f.started {
		f.start(h.Ack)
		f.firstSeen = now
		f.claim = seqSpan{-believable, 0, now}
	}
	pos, ok := f.plausible(h.Ack)
	if !ok {
		return
	}
	if f.max == f.claim.end && f.refutes(pos, now) {
		f.retract(pos)
	}
	atOnce := f.sourceRTT.known && f.lag() == 0 && f.pending.n == 0
	f.acksCut = f.acksCut || p.Problems.Has(capture.OptionsCut)
	a := f.conn.memory.takeACK()
	if !atOnce {
		f.pending.push(a)
	}
	a.seen, a.pos, a.number, a.pure, a.dup = now, pos, p.Number, p.SegLen() == 0, false
	o := &h.Options
	a.ts, a.echo, a.hasTS = o.TSVal, o.TSEcr, o.HasTimestamps
	if a.window = f.offeredWindow(h); a.window >= 0 {
		f.offered = max(f.offered, pos+a.window)
	} else {
		f.offered = 0
	}
	if a.sacks, a.dsack = 0, false; o.NumSACK > 0 {
		f.readSACK(a, h, p.Problems.Has(capture.OptionsCut))
	}
	if s := f.probe; s != nil && s.start == f.max && pos >= s.end {
		f.Bytes += s.end - s.start
		f.emit(SentNew, s.packet, s.seen, s.sent, s.start, s.end, nil)
		f.acceptProbe()
	}
	if pos > f.max {
		f.disproveDamage(pos)
		f.addAckedGap(p, pos, now)
	}
	f.ackedStart = f.ackedStart || pos >= 0
	if pos > f.seenUna {
		f.seenDups, f.unaSeen = 0, now
	} else if pos == f.seenUna && a.pure && f.Packets > 0 && (a.sacks > 0 && !a.dsack || f.max > pos) {
		f.seenDups++
		a.dup = true
	}
	f.seenUna, f.ackSeen = max(f.seenUna, pos), now
	if f.episode != nil && f.max > pos {
		f.noteDenial(pos, now)
	}
	if f.conn.cfg.Event != nil {
		f.emitACK(a)
	}
	if f.fin && f.seenUna >= f.finEnd {
		f.finAcked = true
	}
	if atOnce {
		a.at = now
		f.handleACK(a)
		f.conn.memory.freeACK(a)
		return
	}
	if f.pending.n > maxPending {
		f.deliverNext(now)
	}
}

// offeredWindow returns the window that an ACK of f offers, -1 if it is open by an unknown amount.
func (f hearing) offeredWindow(h *tcp.Header) int64 {
	n := int64(h.Window)
	if h.Flags.Has(tcp.SYN) || n == 0 {
		return n
	}
	g := f.other()
	switch {
	case !g.HasSYN || !f.HasSYN:
		return -1
	case g.SYN.HasWScale && f.SYN.HasWScale:
		n <<= g.SYN.WScale
	}
	return n
}

// readSACK reads the blocks that can belong to f. cut says that the end of the last one may be
// missing.
func (f hearing) readSACK(a *ack, h *tcp.Header, cut bool) {
	o := &h.Options
	_, dsack := o.DSACK(h.Ack)
	for i := range o.NumSACK {
		r := o.SACK[i]
		b := block{f.pos(r.Start), 0}
		b.end = b.start + int64(r.Len())
		if cut && i == o.NumSACK-1 && r.Len() == 1 {
			b.end = f.wholeBlock(b.start)
		}
		if r.Len() == 0 || r.Len() >= maxSeqStep || b.end > f.max && b.end > a.pos || b.start < f.una-maxSeqStep {
			continue
		}
		a.sack[a.sacks] = b
		if a.sacks++; i == 0 {
			a.dsack = dsack
		}
	}
}

// wholeBlock returns the end of the segment at start, where a SACK block begins whose end is cut
// off: a receiver reports segments.
func (f hearing) wholeBlock(start int64) int64 {
	for _, r := range slices.Backward(f.recent) {
		if r.start == start {
			return r.end
		}
	}
	if i := f.board.find(start); i < f.board.len() && f.board.at(i).start <= start {
		return f.board.at(i).end
	}
	return start + 1
}

// lagSure reports whether the lag was measured at a handshake, or often enough.
func (f *Flow) lagSure() bool {
	return f.sourceRTT.known && (f.conn.Handshake.Complete || f.sourceRTT.sure())
}

// Lag returns the time from a captured ACK until its effect is captured, as estimated so far.
func (r *RoundTrips) Lag() time.Duration { return r.lag() }

// Seq returns the sequence number of a position.
func (s *Sent) Seq(place int64) tcp.Seq { return s.base + tcp.Seq(place) }

// SourceRTT returns the least round trip between the point of capture and Src. It is 0 if Src made
// the capture, or if nothing measured it.
func (f *Flow) SourceRTT() time.Duration {
	if f.Vantage == AtSender || f.Vantage == AtBoth {
		return 0
	}
	return f.lag()
}

// lag returns the time from a captured ACK until its effect is captured.
func (r *RoundTrips) lag() time.Duration {
	if r.sourceRTT.min < sameHost {
		return 0
	}
	return r.sourceRTT.min
}

// deliverHeard delivers the ACKs that the sender had when it sent the current packet. The echoed
// timestamp decides, or else the lag.
func (f hearing) deliverHeard(now wheel.Time, echo uint32, hasTS bool) {
	before, any := f.lastEcho, f.hasEcho
	if hasTS {
		if any && echo != before {
			f.staleEchoes = 0
		} else if f.staleEchoes < maxStaleEchoes && f.hasOverdue && int32(f.overdueTS-echo) > 0 {
			f.staleEchoes++
		}
		f.lastEcho, f.hasEcho = echo, true
		hasTS = f.staleEchoes < maxStaleEchoes
	}
	if f.pending.n > 0 {
		f.deliverUpTo(now, echo, hasTS, before, any)
	}
	f.lastSent = now
}

// deliverUpTo delivers the pending ACKs that explain an echo, or that have arrived by their age.
// before is the echo of the packet before, if any.
func (f hearing) deliverUpTo(now wheel.Time, echo uint32, hasTS bool, before uint32, any bool) {
	newest := false // an ACK with exactly this timestamp was delivered
	for f.pending.n > 0 {
		a := f.pending.first
		at := a.seen.Add(f.lag())
		if hasTS && a.hasTS {
			d := int32(a.ts - echo)
			if d > 0 && now.Sub(at) < echoPatience || d == 0 && newest && at > now {
				return
			}
			newest = newest || d == 0
		} else if at > now.Add(min(f.lag()/2, ackSkew)) {
			return
		}
		f.deliverNext(now)
		if hasTS && a.hasTS && any && int32(a.ts-before) > 0 {
			// The packet before did not echo it, so it left before this ACK arrived.
			f.view.lastACK = max(f.view.lastACK, f.lastSent)
		}
	}
}

// deliverAllowing delivers the ACKs without which Src could not have sent new data up to end: the
// receiver's window did not allow it. That bounds the lag, however the ACKs were delayed elsewhere.
func (f hearing) deliverAllowing(end int64, now, at wheel.Time) {
	if !f.window.known || f.window.bytes < 0 {
		return
	}
	for a := f.pending.first; a != nil; a = a.next {
		if a.window >= 0 && a.pos+a.window >= end {
			f.deliverCause(a, now, at)
			return
		}
	}
}

// deliverAsking delivers the third duplicate ACK for position start if it has caused a
// retransmission now, and no recovery is under way. It came as soon before as an answer may, or
// nothing else can have: less than a round trip has passed since s was sent, as far as it was
// measured.
func (f hearing) deliverAsking(s *outstanding, start int64, now, at wheel.Time) {
	if f.episode != nil {
		return
	}
	nothingElse := now.Sub(s.seen) < f.quickestRTT() && !s.missing
	dups := f.view.dupACKs
	for a := f.pending.first; a != nil && a.pos <= start; a = a.next {
		if a.pos != start || !a.dup {
			continue
		}
		if dups++; dups == 3 {
			if nothingElse || a.seen.Add(f.lag()-f.answerTime()) <= now {
				f.deliverCause(a, now, at)
			}
			return
		}
	}
}

// deliverCause delivers pending ACKs up to a, which caused a packet captured now.
func (f hearing) deliverCause(a *ack, now, at wheel.Time) {
	f.boundLag(now.Sub(a.seen))
	f.overdueTS, f.hasOverdue = a.ts, a.hasTS
	for last := false; !last; {
		last = f.pending.first == a
		f.deliverNext(at)
	}
}

// deliverCauses delivers the ACKs that may have caused a retransmission: their timestamp is at most
// the echoed one, they came early enough, and they do not acknowledge the retransmitted bytes.
func (f hearing) deliverCauses(now, at wheel.Time, start int64, o *tcp.Options) {
	for o.HasTimestamps && f.pending.n > 0 {
		a := f.pending.first
		if !a.hasTS || int32(a.ts-o.TSEcr) > 0 || a.seen.Add(f.lag()-f.answerTime()) > now || a.pos > start {
			return
		}
		f.deliverNext(at)
	}
}

// deliverOverdue delivers the ACKs that must have arrived by now, whatever the echo says.
func (f hearing) deliverOverdue(now wheel.Time) {
	for f.pending.n > 0 && now.Sub(f.pending.first.seen) > 3*f.lag()+ackPatience {
		a := f.pending.first
		f.overdueTS, f.hasOverdue = a.ts, a.hasTS
		f.deliverNext(now)
	}
}

// deliverAll delivers the rest.
func (f hearing) deliverAll() {
	for f.pending.n > 0 {
		f.deliverNext(f.conn.Last.Add(f.lag()))
	}
}

// deliverNext delivers the first ACK, one lag after it was captured or now.
func (f hearing) deliverNext(now wheel.Time) {
	a := f.pending.pop()
	a.at = min(a.seen.Add(f.lag()), now)
	f.handleACK(a)
	f.conn.memory.freeACK(a)
}

// handleACK updates the sender's view by an ACK.
func (f hearing) handleACK(a *ack) {
	v := &f.view
	closedBefore := f.window.closed()
	f.setWindow(a)
	if a.dsack {
		f.DSACKs++
		f.creditDSACK(a)
	}
	m := ackRTT{fack: v.fack, hasFack: v.hasFack}
	news := a.sacks > 0 && f.readBlocks(a, &m)
	switch {
	case a.pos > f.una:
		f.advanceUna(a, &m)
	case a.pos == f.una && f.board.len() > 0 && a.pure && !closedBefore && !f.window.closed() && !a.dsack && (news || a.sacks == 0 && !f.window.moved):
		v.dupACKs++
		f.DupACKs++
	}
	if a.pos == f.una && !m.advanced && a.pure && a.sacks == 0 && !closedBefore && !f.window.closed() {
		if !f.matchJump(a) {
			v.plainDup = a.at
		}
	}
	f.measure(a, &m)
	if a.pos >= f.una || news {
		v.heard, v.lastACK = true, a.at
	}
	if f.board.sacked > 0 || v.dupACKs >= 3 {
		f.noteProof(a)
	}
	if f.episode != nil {
		f.closeEpisode(a)
	}
}

// readBlocks marks the segments that an ACK's blocks cover, and reports whether any of them is new.
func (f hearing) readBlocks(a *ack, m *ackRTT) (news bool) {
	f.view.hasSACK = true
	blocks := a.sack[:a.sacks]
	if a.dsack {
		blocks = blocks[1:]
	}
	for _, b := range blocks {
		if b.end > a.pos {
			news = f.markSACKed(a, b, m) || news
		}
	}
	return news
}

// noteProof records the ACK that first proves the first missing segment lost, by RACK and then by
// three duplicates.
func (an *Answered) noteProof(a *ack) {
	v := &an.view
	if an.board.len() == 0 {
		return
	}
	i := an.firstUnsacked()
	s := an.board.at(i)
	known := none
	if s.start == v.provedStart && s.sent == v.provedSent {
		known = v.provedBy
	}
	if known == dups {
		return
	}
	if p := an.proof(i, i+1); p > known {
		v.proved, v.provedStart, v.provedSent, v.provedBy = a.at, s.start, s.sent, p
	}
}

// advanceUna moves SND.UNA to the ACK's position.
func (f hearing) advanceUna(a *ack, m *ackRTT) {
	v := &f.view
	m.advanced = true
	if f.board.len() > 0 {
		if len(f.jumps.open) > 0 {
			f.confirmJumps()
		}
		if f.episode != nil {
			f.noteStall(a.at, true)
		}
	}
	if len(f.waiting) > 0 {
		f.judgeAcked(a)
	}
	proved, asked := f.board.sacked >= 3 || !v.hasSACK && v.dupACKs >= 3, wheel.Time(0)
	if f.board.sacked > 0 || v.dupACKs > 0 {
		asked = v.lastACK
	}
	for f.board.len() > 0 {
		s := f.board.at(0)
		if s.start >= a.pos {
			break
		}
		part := s.end > a.pos
		if !s.sacked {
			f.noteDelivered(s, m, a.at)
		}
		if s.transmissions > 1 || s.missing || s.filledLate || s.probe {
			m.tainted = true
			if s.transmissions > 1 && s.hasTS && a.hasTS && a.echo == s.ts && s.ts != s.firstTS {
				m.echoed, m.echoedAt = true, s.sent
			}
		}
		m.segments++
		m.syn = m.syn || s.start == 0 && f.HasSYN
		m.bytes += min(s.end, a.pos) - s.start
		if part {
			if s.transmissions > 0 && s.start == 0 { // a SYN whose data was not accepted
				f.board.split(f.conn.memory, 0, a.pos)
				f.board.acknowledge(f.conn.memory, 0, false)
			} else {
				s.start = a.pos
			}
			break
		}
		f.ackedTS = s.ts
		switch {
		case s.sacked && proved: // of a flight with holes only the others are retransmitted
			f.board.pop()
		case s.sacked:
			f.board.acknowledge(f.conn.memory, 0, false)
		default:
			f.board.acknowledge(f.conn.memory, asked, proved)
		}
		if !v.hasSACK { // duplicate ACKs ask only for the first one
			proved, asked = false, 0
		}
	}
	f.una = max(f.una, a.pos)
	v.unaMoved, v.dupACKs = a.at, 0
	if v.afterTimeout && f.una >= v.recover {
		v.afterTimeout = false
	}
}

// noteDelivered records the first sign that s has arrived.
func (a *Answered) noteDelivered(s *outstanding, m *ackRTT, at wheel.Time) {
	v := &a.view
	once := s.transmissions == 1 && !s.filledLate && !s.missing && !s.probe
	if once {
		if !m.once {
			m.once, m.first = true, s.sent
		}
		m.last = s.sent
		if m.hasFack && s.end < m.fack {
			a.Reordered++
		}
	}
	if !v.hasFack || s.end > v.fack {
		v.fack, v.hasFack = s.end, true
	}
	if !s.missing && s.sent >= v.rackSent {
		v.rackSent, v.rackRTT = s.sent, span(s.sent, at)
	}
}

// markSACKed marks the segments that b covers, and reports whether any of them is new.
func (f hearing) markSACKed(a *ack, b block, m *ackRTT) (news bool) {
	v := &f.view
	if v.blocks == nil {
		v.blocks = new([4]block)
	}
	from := max(b.start, f.una)
	oldest := 0
	for i := range v.blocks {
		if k := &v.blocks[i]; k.start <= from && from <= k.end {
			from = max(from, min(k.end, b.end)) // already reported
		}
		if v.blocks[i].end < v.blocks[oldest].end {
			oldest = i
		}
	}
	defer func() {
		for i := range v.blocks {
			if k := &v.blocks[i]; k.start <= b.end && b.start <= k.end {
				k.start, k.end = min(k.start, b.start), max(k.end, b.end)
				return
			}
		}
		v.blocks[oldest] = b
	}()
	if from >= b.end {
		return false
	}
	first, last := f.board.cut(f.conn.memory, from, b.end)
	for i := first; i < last; i++ {
		s := f.board.at(i)
		if s.sacked {
			continue
		}
		one := ackRTT{fack: m.fack, hasFack: m.hasFack}
		f.noteDelivered(s, &one, a.at)
		if one.once && (!m.sack || one.last > m.sackAt) {
			m.sack, m.sackAt = true, one.last
		}
		f.board.sack(i)
		f.judgeSACKed(s, a)
		news = true
	}
	return news
}
