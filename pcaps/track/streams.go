package track

import (
	"cmp"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/wheel"
)

// Streams returns what became of the transmissions of both directions. The connection is complete
// and has Facts.
func (c *Conn) Streams() *[2]Stream {
	a := c.Facts
	near := c.halves()
	var x [2]streamBuilder
	for d := range x {
		b := &x[d]
		b.facts, b.far, b.near = a, near[1-d], near[d]
		b.s = &Stream{Near: near[d], Far: near[1-d], RoundTrip: c.roundTrip(near), SegmentSize: c.segmentSize(d)}
		b.s.Start = c.Flows[d].firstPos()
		b.reserve(d)
	}
	last := wheel.Time(0)
	for i, p := range a.All() {
		last = p.Seen
		if !p.Counts() || p.Kind == ResetSeen {
			continue
		}
		if d := p.Flow; p.Len > 0 {
			x[d].packet(int32(i), p)
		}
		if p.Ack >= 0 {
			x[1-p.Flow].ack(p)
		}
	}
	for d := range x {
		x[d].settleRest(last)
	}
	for d := range x {
		x[d].loseDeaf(x[1-d].s.ACKLoss)
	}
	for d := range x {
		x[d].placeUnseen(&c.Flows[d])
	}
	return &[2]Stream{*x[0].s, *x[1].s}
}

// halves returns the round trips from the point of capture to both ends. What the point of capture
// does not show is taken from the whole round trip.
func (c *Conn) halves() (half [2]time.Duration) {
	f, g := &c.Flows[0], &c.Flows[1]
	half = [2]time.Duration{f.SourceRTT(), g.SourceRTT()}
	for d := range half {
		if least := c.Flows[d].RTT.Min; half[0]+half[1] == 0 && least > 0 {
			half[1-d] = least
		}
	}
	switch f.Vantage {
	case AtReceiver: // the server captured
		half = [2]time.Duration{max(half[0], f.SourceRTT(), f.RTT.Min), 0}
	case AtSender:
		half = [2]time.Duration{0, max(half[1], g.SourceRTT())}
		if least := f.RTT.Min; least > 0 {
			half[1] = least
		} else if half[1] == 0 {
			half[1] = c.Handshake.Time
		}
	}
	return half
}

// roundTrip returns the least round trip of the connection, that of half if none was measured.
func (c *Conn) roundTrip(half [2]time.Duration) (least time.Duration) {
	for d := range c.Flows {
		if r := c.Flows[d].RTT; r.Samples > 0 && r.Min > 0 && (least == 0 || r.Min < least) {
			least = r.Min
		}
	}
	if least == 0 && c.Handshake.Complete {
		least = c.Handshake.Time
	}
	return max(cmp.Or(least, half[0]+half[1]), 0)
}

// HasTimestamps reports whether the connection uses timestamps. It is complete.
func (c *Conn) HasTimestamps() bool {
	f, g := &c.Flows[0], &c.Flows[1]
	if f.HasSYN && g.HasSYN {
		return f.SYN.HasTimestamps && g.SYN.HasTimestamps
	}
	return c.timestamps
}

// segmentSize returns how long the segments of an end are: the longest length that came three times
// and ended no write, or what the handshake allows.
func (c *Conn) segmentSize(d int) int64 {
	const timestampOption = 12 // padded: RFC 7323 §A
	allowed := int64(0)
	if f := &c.Flows[1-d]; f.HasSYN && f.SYN.HasMSS {
		if allowed = int64(f.SYN.MSS); c.HasTimestamps() {
			allowed -= timestampOption
		}
	}
	counts := map[uint32]int{}
	longest := uint32(0)
	for _, p := range c.Facts.All() {
		if int(p.Flow) != d || p.Len == 0 || allowed > 0 && int64(p.Len) > allowed || p.Flags.HasAny(tcp.PSH|tcp.SYN|tcp.FIN) {
			continue
		}
		if counts[p.Len]++; counts[p.Len] >= 3 || len(counts) > 1<<12 {
			longest = max(longest, p.Len)
		}
	}
	const least = 500 // shorter ones are writes, rather than what a path takes
	switch {
	case allowed > 0 && (longest < least || int64(longest) > allowed):
		return max(allowed, tcp.MinMSS)
	case longest >= least:
		return int64(longest)
	}
	return 1448
}

// streamBuilder finds out what became of the segments that one end sent.
type streamBuilder struct {
	facts     *Facts
	s         *Stream
	acked     bool
	again     bool      // bytes were sent more than once
	acks      []ackSeen // of the stream, in capture order, if again
	near, far time.Duration
	una       int // the first run that is not acknowledged
}

// reserve makes room for what the facts have of the stream in direction d.
func (b *streamBuilder) reserve(d int) {
	segments, acks, end := 0, 0, b.s.Start
	for _, p := range b.facts.All() {
		switch {
		case int(p.Flow) == d && p.Len > 0:
			segments += (int(p.Len)-1)/int(b.s.SegmentSize) + 1
			b.again = b.again || p.Start < end
			end = max(end, p.End())
		case int(p.Flow) != d:
			acks++
			end = max(end, p.Ack)
		}
	}
	b.s.Reserve(segments)
	if b.again {
		b.acks = make([]ackSeen, 0, acks)
	}
}

// ackSeen is when an ACK of all before a position passed the point of capture.
type ackSeen struct {
	at  wheel.Time
	pos int64
}

// packet takes in a packet, cut into the segments that it may mean.
func (b *streamBuilder) packet(i int32, p *Fact) {
	for start := p.Start; start < p.End(); {
		cut := p.SegmentEnd(start, b.s.SegmentSize)
		b.transmit(ledger.Transmission{Range: ledger.Range{Start: start, End: cut}, At: p.Seen, Queued: p.Seen.Sub(p.Sent), Packet: p.Number, Mark: i}, p)
		start = cut
	}
}

// transmit takes in a segment of p.
func (b *streamBuilder) transmit(t ledger.Transmission, p *Fact) {
	l := &b.s.Ledger
	end := l.End()
	if p.rexmit < 0 && t.Start < end {
		// No retransmission, and behind others: it was overtaken.
		if i := l.Find(t.Start); i < len(l.Runs) && len(l.Runs[i].Tries) == 1 && l.Sent[l.Runs[i].Tries[0].N].Unseen() {
			b.fill(t)
			return
		}
	}
	if t.Start < end {
		b.noteDeafness(&t, p, end)
	}
	l.Send(t)
}

// noteDeafness finds ACKs that were lost behind the point of capture: the sender of t should have
// had them when its timer sent t.
func (b *streamBuilder) noteDeafness(t *ledger.Transmission, p *Fact, end int64) {
	r := b.facts.Retransmission(p)
	if r == nil || !r.ByTimer || r.anyTimer {
		return // or the path was slow for a time
	}
	l := &b.s.Ledger
	to := t.At.Add(-b.near - answerDelay)
	for i, last := l.Between(ledger.Range{Start: t.Start, End: min(t.End, end)}); i < last; i++ {
		if run := &l.Runs[i]; run.Done && run.DoneAt < to {
			b.s.ACKLoss = append(b.s.ACKLoss, TimeSpan{run.DoneAt.Add(-b.far / 2), to.Add(-b.far / 2)})
		}
	}
}

// fill puts a segment that was overtaken where it was missed. It left when it was missed first.
func (b *streamBuilder) fill(t ledger.Transmission) {
	l := &b.s.Ledger
	n := int32(-1)
	for i, last := l.Between(t.Range); i < last; i++ {
		r := &l.Runs[i]
		if len(r.Tries) != 1 || !l.Sent[r.Tries[0].N].Unseen() {
			continue
		}
		if n < 0 {
			n = int32(len(l.Sent))
			t.At, t.Queued, t.Late, t.New = l.Sent[r.Tries[0].N].At, l.Sent[r.Tries[0].N].Queued, true, true
			l.Sent = append(l.Sent, t)
		}
		r.Tries[0].N = n
	}
}

// ack takes in what p acknowledges.
func (b *streamBuilder) ack(p *Fact) {
	l := &b.s.Ledger
	if b.acked = true; b.again {
		b.acks = append(b.acks, ackSeen{p.Seen, p.Ack})
	}
	if end := l.End(); p.Ack > end {
		t := ledger.Transmission{Range: ledger.Range{Start: end, End: p.Ack}, At: p.Seen.Add(-b.far), Mark: -1}
		if n := len(l.Sent); n > 0 { // it left behind what was captured before it
			t.Queued = min(l.Sent[n-1].Queued, max(t.At.Sub(l.Sent[n-1].At.Add(-l.Sent[n-1].Queued)), 0))
		}
		l.Send(t)
	}
	front := b.una
	fresh, holes := b.covered(p)
	last := int32(-1) // the latest segment that the ACK answers
	segments := int64(0)
	for _, i := range fresh {
		r := &l.Runs[i]
		r.Done, r.DoneAt = true, p.Seen
		segments += max((r.Len()+b.s.SegmentSize-1)/b.s.SegmentSize, 1)
		if b.settle(r, p) {
			if n := r.Tries[r.FirstDelivered()].N; last < 0 || !l.Sent[n].At.Before(l.Sent[last].At) {
				last = n
			}
		}
	}
	if last < 0 {
		return
	}
	if t := &l.Sent[last]; !t.Acked {
		t.Acked, t.AckedAt = true, p.Seen
		t.Alone = (segments < 2 || p.Len > 0) && !holes
	}
	for _, i := range fresh {
		r := &l.Runs[i]
		k := r.FirstDelivered()
		if k < 0 || r.Tries[k].N == last {
			continue
		}
		switch t := &l.Sent[r.Tries[k].N]; {
		case i == front && !t.New && !t.Acked:
			t.Acked, t.AckedAt = true, p.Seen // RFC 5681 §4.2: what fills a gap is acknowledged at once
		case t.Limit == 0:
			t.Limit = p.Seen
		}
	}
}

// covered returns the runs that an ACK is the first to cover, and whether there were holes between
// them or behind the ACK.
func (b *streamBuilder) covered(p *Fact) (fresh []int, holes bool) {
	l := &b.s.Ledger
	l.Cut(p.Ack)
	for b.una < len(l.Runs) && l.Runs[b.una].End <= p.Ack {
		if r := &l.Runs[b.una]; !r.Done {
			fresh = append(fresh, b.una)
		} else {
			holes = true
		}
		b.una++
	}
	blocks := b.freshSACK(p)
	for _, s := range blocks {
		l.Cut(s.Start)
		l.Cut(s.End)
	}
	for _, s := range blocks {
		for i, last := l.Between(s); i < last; i++ {
			if i >= b.una && !l.Runs[i].Done {
				fresh, holes = append(fresh, i), true
			}
		}
	}
	return fresh, holes
}

// freshSACK returns the blocks of p that report bytes above its ACK.
func (b *streamBuilder) freshSACK(p *Fact) (blocks []ledger.Range) {
	for _, s := range b.facts.FreshSACK(p) {
		if s.Start >= p.Ack && s.End <= b.s.End() {
			blocks = append(blocks, s)
		}
	}
	return blocks
}

// settle finds which transmission of a run an ACK answers, and reports whether its arrival caused
// the ACK.
func (b *streamBuilder) settle(r *ledger.Run, p *Fact) bool {
	last := len(r.Tries) - 1
	if p.DSACK && last > 0 && b.facts.SACK(p)[0].Overlaps(r.Range) {
		j := 0
		for j < last-1 && b.verdict(r, j+1).Spurious != Spurious {
			j++
		}
		b.settleDuplicate(r, p, j, j+1)
		return false
	}
	j := b.firstArrived(r, p)
	if t := b.try(r, j); j < last && b.far > 0 && !t.Unseen() && b.drew(r, last, p) && p.Seen.Sub(t.At) > 2*b.far+usualACKDelay {
		b.settleDuplicate(r, p, j, last)
		again := b.try(r, last)
		again.Acked, again.AckedAt = true, p.Seen
		return false
	}
	b.mark(r, j)
	return true
}

func (b *streamBuilder) try(r *ledger.Run, k int) *ledger.Transmission {
	return &b.s.Sent[r.Tries[k].N]
}

// stamp returns the timestamp of a transmission.
func (b *streamBuilder) stamp(r *ledger.Run, k int) (ts uint32, ok bool) {
	t := b.try(r, k)
	if t.Unseen() {
		return 0, false
	}
	p := b.facts.At(int(t.Mark))
	return p.TSVal, p.HasTS
}

// firstArrived returns which transmission of a run had arrived first when an ACK of it was sent.
func (b *streamBuilder) firstArrived(r *ledger.Run, p *Fact) int {
	j := len(r.Tries) - 1
	for j > 0 && p.Seen.Sub(b.try(r, j).At) < b.far-b.far/4 && !b.needed(r, j) {
		j--
	}
	if p.HasTS && len(b.freshSACK(p)) == 0 {
		for k := range r.Tries {
			ts, ok := b.stamp(r, k)
			if !ok || ts != p.TSEcr {
				continue
			}
			if next, _ := b.stamp(r, min(k+1, len(r.Tries)-1)); k+1 == len(r.Tries) || next != p.TSEcr {
				j = k
				break
			}
		}
	}
	for j > 0 && b.verdict(r, j).Spurious == Spurious {
		j--
	}
	for k := j + 1; k < len(r.Tries); k++ {
		if v := b.verdict(r, k); v.Spurious == Necessary && v.Evidence == ByDSACK {
			j = k
		}
	}
	return j
}

// drew reports whether an ACK came as soon after a transmission as one that it drew.
func (b *streamBuilder) drew(r *ledger.Run, k int, p *Fact) bool {
	took := p.Seen.Sub(b.try(r, k).At)
	return took >= b.far-b.far/4 && took <= b.far+b.far/4+answerJitter
}

// settleDuplicate settles a run whose j-th transmission arrived and whose ACK was lost. The ACK at
// hand answers a later transmission, a duplicate.
func (b *streamBuilder) settleDuplicate(r *ledger.Run, p *Fact, j, again int) {
	b.mark(r, j)
	r.Tries[again].Fate = ledger.Delivered
	r.Tries[again].Evidence = ByDSACK
	from := b.try(r, j).At.Add(b.far / 2)
	if n := len(b.acks) - 2; b.near == 0 && n >= 0 {
		from = max(from, b.acks[n].at.Add(-b.far/2+1)) // its sender had the ACKs that came here
	}
	// any ACK of this span would have covered it
	b.s.ACKLoss = append(b.s.ACKLoss, TimeSpan{from, max(from, p.Seen.Add(-b.far/2-1))})
}

// mark notes that a transmission was delivered and those before it were lost. What became of those
// after it is not known yet.
func (b *streamBuilder) mark(r *ledger.Run, j int) {
	for k := range r.Tries {
		x := &r.Tries[k]
		x.Fate, x.Evidence = ledger.Lost, b.evidence(r, k+1)
		if t := b.try(r, k); k == j {
			x.Fate = ledger.Delivered
		} else if k > j || t.End == b.s.End() && t.Len() == 1 {
			// No SACK reports a FIN alone behind a hole: the ACK that answers it decides.
			x.Fate, x.Evidence = ledger.Unknown, NoEvidence
		}
	}
}

// evidence returns what the verdict on a transmission rests on, which also speaks of those before.
func (b *streamBuilder) evidence(r *ledger.Run, k int) Evidence {
	if k < len(r.Tries) {
		return b.verdict(r, k).Evidence
	}
	return b.verdict(r, len(r.Tries)-1).Evidence
}

// verdict returns what the tracker found of a transmission; the zero value for one that is no
// retransmission.
func (b *streamBuilder) verdict(r *ledger.Run, k int) Retransmission {
	if t := b.try(r, k); !t.Unseen() {
		if v := b.facts.Retransmission(b.facts.At(int(t.Mark))); v != nil {
			return *v
		}
	}
	return Retransmission{}
}

// needed reports whether the tracker says that a transmission was needed. Of the handshake, one
// point of capture shows too little: there it is needed unless it is spurious.
func (b *streamBuilder) needed(r *ledger.Run, k int) bool {
	v := b.verdict(r, k)
	return v.Spurious == Necessary || v.Kind == SYN && v.Spurious != Spurious
}

// settleRest decides on what was not acknowledged by the end of the capture, and on what was not
// needed.
func (b *streamBuilder) settleRest(end wheel.Time) {
	l := &b.s.Ledger
	for i := range l.Runs {
		r := &l.Runs[i]
		if r.Done {
			b.settleUnneeded(r, end)
			continue
		}
		for k := range r.Tries {
			switch t := b.try(r, k); {
			case b.far == 0 && !t.Unseen(): // it was captured where it arrived
				r.Tries[k].Fate, r.Tries[k].Evidence = ledger.Delivered, ByCapture
			case k+1 < len(r.Tries), b.acked && end.Sub(t.At) > 2*b.s.RoundTrip+answerAtEnd:
				r.Tries[k].Fate, r.Tries[k].Evidence = ledger.Lost, ByTiming
			}
		}
	}
	if b.far > 0 {
		return
	}
	for i := range l.Runs {
		r := &l.Runs[i]
		for k := range r.Tries {
			if r.Done && k+1 < len(r.Tries) && r.Tries[k].Fate == ledger.Lost && b.needed(r, k+1) {
				continue // it was lost behind the point of capture
			}
			if !b.try(r, k).Unseen() {
				r.Tries[k].Fate, r.Tries[k].Evidence = ledger.Delivered, ByCapture
			}
		}
	}
}

// settleUnneeded finds what became of transmissions that were not needed. A receiver answers each
// with an ACK at once (RFC 9293 §3.10.7.4): where there is none, it did not arrive.
func (b *streamBuilder) settleUnneeded(r *ledger.Run, end wheel.Time) {
	for k := range r.Tries {
		x := &r.Tries[k]
		if x.Fate != ledger.Unknown {
			continue
		}
		at := b.try(r, k).At
		from, to := at.Add(b.far-b.far/16), at.Add(b.far+b.far/4+answerJitter)
		if to.After(end) {
			continue
		}
		acks := b.acks
		i, _ := slices.BinarySearchFunc(acks, from, func(a ackSeen, at wheel.Time) int { return cmp.Compare(a.at, at) })
		x.Fate, x.Evidence = ledger.Lost, ByTiming
		for ; i < len(acks) && !acks[i].at.After(to); i++ {
			// An ACK of all before it was sent without it: it is a FIN, as all else is SACKed.
			if acks[i].pos != r.Start {
				x.Fate = ledger.Delivered
				break
			}
		}
	}
}

// loseDeaf takes for lost what was retransmitted later and passed while ACKs of this direction were
// lost behind the point of capture.
func (b *streamBuilder) loseDeaf(spans []TimeSpan) {
	if len(spans) == 0 {
		return
	}
	for i := range b.s.Runs {
		r := &b.s.Runs[i]
		for k := range len(r.Tries) - 1 {
			at := b.try(r, k).At.Add(-b.near / 2)
			if slices.ContainsFunc(spans, func(s TimeSpan) bool { return s.From <= at && at <= s.To }) {
				r.Tries[k].Fate, r.Tries[k].Evidence = ledger.Lost, ByTiming
			}
		}
	}
}

// placeUnseen has transmissions that were not captured leave when the tracker estimates it. Some
// are known lost only by their retransmission.
func (b *streamBuilder) placeUnseen(f *Flow) {
	for _, e := range f.Episodes {
		if !e.Estimated {
			continue
		}
		start := f.Place(e)
		for i, last := b.s.Between(ledger.Range{Start: start, End: start + int64(e.Bytes)}); i < last; i++ {
			b.unseen(i, e.DetectedPacket, e.D)
		}
	}
}

// unseen has the transmission of the i-th run before a packet, which was not captured, leave so
// much before that, and between its neighbours in the stream.
func (b *streamBuilder) unseen(i int, packet int64, before time.Duration) {
	l := &b.s.Ledger
	r := &l.Runs[i]
	k := slices.IndexFunc(r.Tries, func(t ledger.Try) bool { return l.Sent[t.N].Packet == packet })
	if k < 0 {
		return
	}
	again := b.try(r, k)
	at, queued := again.At.Add(-again.Queued-before), time.Duration(0)
	for n := i - 1; n >= 0; n-- {
		if t := b.try(&l.Runs[n], 0); !t.Unseen() {
			queued = t.Queued
			at = min(max(at.Add(queued), t.At), again.At)
			break
		}
	}
	switch {
	case k > 0 && b.try(r, k-1).Unseen():
		b.try(r, k-1).At, b.try(r, k-1).Queued = at, queued
	case k == 0:
		again.New = false
		r.Tries = slices.Insert(r.Tries, 0, ledger.Try{N: int32(len(l.Sent)), Fate: ledger.Lost, Evidence: ByCapture})
		l.Sent = append(l.Sent, ledger.Transmission{Range: r.Range, At: at, Queued: queued, Mark: -1, New: true})
	}
}

// The durations that fates rest on. The replay halved and doubled each: see its durations.
const (
	// An answer may be late by a quarter of the round trip and answerJitter.
	answerJitter = 5 * time.Millisecond

	// Linux delays ACKs for 40 ms at least (TCP_DELACK_MIN).
	usualACKDelay = 40 * time.Millisecond

	// Without an ACK two round trips and answerAtEnd later, the last packets of a capture were lost.
	answerAtEnd = 300 * time.Millisecond
)
