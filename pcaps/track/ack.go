package track

import (
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/wheel"
)

// ack is what an ACK says, with the instant at which the sender of what it acknowledges has it.
type ack struct {
	seen   wheel.Time
	at     wheel.Time
	pos    int64
	number int64
	window int64 // octets; -1 if the scale is not known
	ts     uint32
	echo   uint32
	hasTS  bool
	pure   bool // it carries nothing
	sacks  uint8
	dsack  bool // the first block reports a duplicate
	sack   [tcp.MaxSACKBlocks]block
}

// acks are those on their way from the point of capture to the sender, in order.
type acks struct {
	all  []ack
	head int
}

// maxPending is how many ACKs may be on their way; those beyond count as arrived.
const maxPending = 1 << 12

func (q *acks) len() int    { return len(q.all) - q.head }
func (q *acks) first() *ack { return &q.all[q.head] }

func (q *acks) push(a *ack) {
	if q.head >= 64 && q.head >= len(q.all)/2 {
		n := copy(q.all, q.all[q.head:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, *a)
}

func (q *acks) pop() {
	q.head++
	if q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
	}
}

// ack takes in what a packet of the other direction says of this one. The sender has it after the lag.
func (f *Flow) ack(p *capture.Packet, now wheel.Time) {
	h := &p.Header
	if !f.started {
		f.start(h.Ack)
	}
	pos, ok := f.near(f.pos(h.Ack), h.Ack)
	if !ok {
		return
	}
	var a ack
	a.seen, a.pos, a.number, a.pure = now, pos, p.Number, p.SegLen() == 0
	o := &h.Options
	a.ts, a.echo, a.hasTS = o.TSVal, o.TSEcr, o.HasTimestamps
	a.window = int64(h.Window)
	if !h.Flags.Has(tcp.SYN) {
		if g := f.other(); g.HasSYN && f.HasSYN {
			if g.SYN.HasWScale && f.SYN.HasWScale {
				a.window <<= g.SYN.WScale
			}
		} else if a.window != 0 {
			a.window = -1 // of unknown scale, and open
		}
	}
	f.readSACK(&a, o)
	if pos > f.max {
		// What is acknowledged was sent, and not captured.
		from := f.max
		if m := &f.missed; m.end == f.max && now.Sub(m.at) < lateStamp {
			from = m.start
		}
		f.missed = missed{from, pos, now}
		if f.other().Packets > 0 && f.Packets > 0 {
			f.UnseenBytes += pos - f.max
		}
		if f.book.len() == 0 {
			f.una = max(f.una, f.max)
		}
		f.tell(Missing, p.Number, now, now, f.max, pos, nil)
		f.extend(segment{start: f.max, end: pos, seen: now, first: now, sent: now, missing: true})
	}
	if pos > f.acked {
		f.dupsSeen = 0
	} else if pos == f.acked && a.pure && f.Packets > 0 && (a.sacks > 0 && !a.dsack || f.max > pos) {
		f.dupsSeen++
	}
	f.acked = max(f.acked, pos)
	f.tellACK(&a)
	if f.fin && f.acked >= f.finEnd {
		f.finAcked = true
	}
	if f.half.known && f.lag() == 0 && f.pending.len() == 0 {
		a.at = now
		f.apply(&a)
		return
	}
	f.pending.push(&a)
	if f.pending.len() > maxPending {
		f.arrive(now)
	}
}

// readSACK takes the blocks that can be of this flow. RFC 2883 §4: the first one reports a duplicate if it lies below the ACK, or within
// the second.
func (f *Flow) readSACK(a *ack, o *tcp.Options) {
	for i := range o.NumSACK {
		r := o.SACK[i]
		b := block{f.pos(r.Start), 0}
		b.end = b.start + int64(r.Len())
		if r.Len() == 0 || r.Len() >= farOff || b.end > f.max && b.end > a.pos || b.start < f.una-farOff {
			continue
		}
		a.sack[a.sacks] = b
		if a.sacks++; i == 0 {
			a.dsack = b.end <= a.pos
		}
	}
	if !a.dsack && a.sacks > 1 && o.NumSACK == a.sacks {
		a.dsack = a.sack[1].start <= a.sack[0].start && a.sack[0].end <= a.sack[1].end
	}
}

// Lag returns how long an ACK takes from the point of capture until what it causes is seen there, as far as is known by now.
func (f *Flow) Lag() time.Duration { return f.lag() }

// Seq returns the sequence number of a place.
func (f *Flow) Seq(place int64) tcp.Seq { return f.base + tcp.Seq(place) }

// Half returns the least round trip between the point of capture and Src: 0 if that is the host that captured, or nothing tells.
func (f *Flow) SourceRTT() time.Duration {
	if f.Vantage == AtSender || f.Vantage == AtBoth {
		return 0
	}
	return f.lag()
}

// lag returns how long an ACK takes from the point of capture until what it causes is seen there.
func (f *Flow) lag() time.Duration {
	if f.half.least < atOnce {
		return 0
	}
	return f.half.least
}

// atOnce is what counts as no time between the point of capture and a host: the host itself.
const atOnce = 250 * time.Microsecond

// maxDeaf is how many packets in a row may have one echo, older than ACKs that must have arrived, until it counts for nothing: RFC 7323 §4.3
// has TS.Recent follow bare ACKs too, and hosts from before that echo none.
const maxDeaf = 32

// catchUp has those ACKs arrive that the sender had when it sent the packet at hand: as its echo tells, or as long as the lag ago.
func (f *Flow) catchUp(now wheel.Time, echo uint32, hasTS bool) {
	newest := false // an ACK with the very echo has arrived
	before, any := f.echoed, f.echoes
	if hasTS {
		if any && echo != before {
			f.deaf = 0
		} else if f.deaf < maxDeaf && f.hasOverdue && int32(f.overdue-echo) > 0 {
			f.deaf++
		}
		f.echoed, f.echoes = echo, true
		hasTS = f.deaf < maxDeaf
	}
	defer func() { f.spoke = now }()
	for f.pending.len() > 0 {
		a := f.pending.first()
		at := a.seen.Add(f.lag())
		if hasTS && a.hasTS {
			d := int32(a.ts - echo)
			if d > 0 && now.Sub(at) < time.Second || d == 0 && newest && at > now {
				return
			}
			newest = newest || d == 0
		} else if at > now.Add(min(f.lag()/2, time.Millisecond)) {
			return
		}
		f.arrive(now)
		if hasTS && a.hasTS && any && int32(a.ts-before) > 0 {
			// The packet before did not echo it, and left before it came.
			f.view.lastACK = max(f.view.lastACK, f.spoke)
		}
	}
}

// hasten has those ACKs arrive that may have caused a retransmission that was captured now: they have the timestamp
// that it echoes, and came by early enough. What acknowledges its octets has not.
func (f *Flow) hasten(now, at wheel.Time, start int64, o *tcp.Options) {
	for o.HasTimestamps && f.pending.len() > 0 {
		a := f.pending.first()
		if !a.hasTS || int32(a.ts-o.TSEcr) > 0 || a.seen.Add(f.lag()-f.promptly()) > now || a.pos > start {
			return
		}
		f.arrive(at)
	}
}

// settle has those ACKs arrive that must have by now, whatever the sender says.
func (f *Flow) settle(now wheel.Time) {
	for f.pending.len() > 0 && now.Sub(f.pending.first().seen) > 3*f.lag()+time.Second/5 {
		a := f.pending.first()
		f.overdue, f.hasOverdue = a.ts, a.hasTS
		f.arrive(now)
	}
}

// drain has all arrive.
func (f *Flow) drain() {
	for f.pending.len() > 0 {
		f.arrive(f.conn.Last.Add(f.lag()))
	}
}

// arrive has the first one arrive, after the lag, or by now.
func (f *Flow) arrive(now wheel.Time) {
	a := *f.pending.first()
	f.pending.pop()
	a.at = min(a.seen.Add(f.lag()), now)
	f.apply(&a)
}

// apply is what the sender makes of an ACK.
func (f *Flow) apply(a *ack) {
	v := &f.view
	closedBefore := f.window.closed()
	f.setWindow(a)
	if a.dsack {
		f.DSACKs++
		f.paid(a)
	}
	first := uint8(0)
	if a.dsack {
		first = 1
	}
	if a.sacks > 0 {
		v.sackOn = true
	}
	m := measured{fack: v.fack, hasFack: v.hasFack}
	news := false
	for _, b := range a.sack[first:max(a.sacks, first)] {
		if b.end > a.pos {
			news = f.sacked(a, b, &m) || news
		}
	}
	switch {
	case a.pos > f.una:
		f.advance(a, &m)
	case a.pos == f.una && f.book.len() > 0 && a.pure && !closedBefore && !f.window.closed() && !a.dsack && (news || a.sacks == 0 && !f.window.moved):
		v.dups++
		f.DupACKs++
	}
	if a.pos == f.una && !m.advanced && a.pure && a.sacks == 0 && !closedBefore && !f.window.closed() {
		if !f.receipt(a) {
			v.repeated = a.at
		}
	}
	f.measure(a, &m)
	if a.pos >= f.una || news {
		v.heard, v.lastACK, v.fresh = true, a.at, false
	}
	f.progress(a)
}

// advance moves SND.UNA.
func (f *Flow) advance(a *ack, m *measured) {
	v := &f.view
	m.advanced = true
	if f.book.len() > 0 {
		f.confirm()
	}
	f.answered(a)
	proved := f.book.sacked >= 3 || !v.sackOn && v.dups >= 3
	for f.book.len() > 0 {
		s := f.book.at(0)
		if s.start >= a.pos {
			break
		}
		part := s.end > a.pos
		if !s.sacked {
			f.delivered(s, m, a.at)
		}
		if s.txs > 1 || s.missing || s.late {
			m.tainted = true
			if s.txs > 1 && s.hasTS && a.hasTS && a.echo == s.ts && s.ts != s.firstTS {
				m.echoed, m.echoedAt = true, s.sent
			}
		}
		m.segments++
		m.octets += min(s.end, a.pos) - s.start
		if part {
			if s.txs > 0 && s.start == 0 { // a SYN with data, which were not taken
				taken := *s
				taken.end = a.pos
				f.past.add(&taken)
			}
			s.start = a.pos
			break
		}
		if s.proved = proved && !s.sacked; !s.sacked || !proved {
			f.past.add(s) // of a flight with holes only these are sent again
		}
		proved = proved && v.sackOn // or only the first, which duplicate ACKs are about
		f.book.pop()
	}
	f.una = max(f.una, a.pos)
	v.advanced, v.dups = a.at, 0
	if v.lossy && f.una >= v.recover {
		v.lossy = false
	}
}

// delivered notes that a segment has arrived that was not known to have.
func (f *Flow) delivered(s *segment, m *measured, at wheel.Time) {
	v := &f.view
	once := s.txs == 1 && !s.late && !s.missing
	if once {
		if !m.once {
			m.once, m.first = true, s.sent
		}
		m.last = s.sent
		if m.hasFack && s.end < m.fack {
			f.Reordered++
		}
	}
	if !v.hasFack || s.end > v.fack {
		v.fack, v.hasFack = s.end, true
	}
	if !s.missing && s.sent >= v.rackSent {
		v.rackSent, v.rackRTT = s.sent, span(s.sent, at)
	}
}

// sacked marks what a SACK block covers, and reports whether there was something new in it.
func (f *Flow) sacked(a *ack, b block, m *measured) (news bool) {
	v := &f.view
	from := max(b.start, f.una)
	oldest := 0
	for i := range v.blocks {
		if k := &v.blocks[i]; k.start <= from && from <= k.end {
			from = max(from, min(k.end, b.end)) // what was said before
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
	first, last := f.book.cut(from, b.end)
	for i := first; i < last; i++ {
		s := f.book.at(i)
		if s.sacked {
			continue
		}
		one := measured{fack: m.fack, hasFack: m.hasFack}
		f.delivered(s, &one, a.at)
		if one.once && (!m.sack || one.last > m.sackAt) {
			m.sack, m.sackAt = true, one.last
		}
		f.book.sack(i)
		f.arrivedBySACK(s, a)
		news = true
	}
	return news
}
