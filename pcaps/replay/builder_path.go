package replay

import (
	"cmp"
	"slices"
	"sort"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// pathBuilder finds out what became of the segments that one end sent.
type pathBuilder struct {
	segments []segment
	ranges   []seqRange
	una      int   // the first range that is not acknowledged
	max      int64 // the end of all that was sent
	size     int64 // of full segments
	verdicts map[int64]track.Retransmission
	// when ACKs of these segments were lost behind the point of capture, as they passed that
	ackLoss []Span
	near    time.Duration // the round trip from the point of capture to the source
	far     time.Duration // and to the destination
	acks    []ackSeen
}

// segment is a segment as it passed the point of capture.
type segment struct {
	at     wheel.Time
	start  int64
	end    int64
	number int64 // of its packet
	ts     uint32
	hasTS  bool
	unseen bool // it was not captured
	late   bool // others overtook it
	isNew  bool // it has bytes that were not sent before

	ackAt  wheel.Time // the ACK that it caused, if acked
	acked  bool
	alone  bool       // that ACK is of this segment only, so that it may have been delayed
	covers bool       // it is the transmission that was delivered, of some bytes
	limit  wheel.Time // its ACK came no later; 0: not known
}

// attempt is a transmission of a range: a segment by its index, and what became of it.
type attempt struct {
	n    int
	fate Fate
}

// seqRange is bytes with their transmissions.
type seqRange struct {
	start, end int64
	tries      []attempt
	done       bool       // acknowledged or SACKed
	doneAt     wheel.Time // when an ACK first said so
}

// ackSeen is when a packet acknowledged all before a place.
type ackSeen struct {
	at    wheel.Time
	place int64
}

// acknowledgement is what a packet says of the other direction.
type acknowledgement struct {
	at     wheel.Time
	place  int64
	echo   uint32
	hasTS  bool
	bare   bool // it takes no sequence numbers
	blocks []block
	dsack  *block
}

type block struct{ start, end int64 }

// find returns the index of the range that holds a place, or of the first one behind it.
func (p *pathBuilder) find(place int64) int {
	return sort.Search(len(p.ranges), func(i int) bool { return p.ranges[i].end > place })
}

// cut makes a place a border between ranges.
func (p *pathBuilder) cut(place int64) {
	i := p.find(place)
	if i == len(p.ranges) || p.ranges[i].start >= place {
		return
	}
	second := p.ranges[i]
	second.start, second.tries = place, slices.Clone(second.tries)
	p.ranges[i].end = place
	p.ranges = slices.Insert(p.ranges, i+1, second)
}

// split takes in a packet, cut into the segments that it may mean.
func (p *pathBuilder) split(k *packet, start, end int64) {
	for start < end {
		cut := k.cut(start, end, p.size)
		p.transmit(segment{at: k.at, start: start, end: cut, number: k.number, ts: k.tsval, hasTS: k.hasTS})
		start = cut
	}
}

// transmit takes in a segment.
func (p *pathBuilder) transmit(s segment) {
	if s.start > p.max {
		// The bytes between were lost before the point of capture, will come late, or were not
		// captured.
		gap := s
		gap.start, gap.end, gap.unseen, gap.number, gap.hasTS = p.max, s.start, true, 0, false
		p.push(gap)
	}
	if _, again := p.verdicts[s.number]; s.start < p.max && !again {
		// No retransmission, and behind others: it was overtaken.
		if i := p.find(s.start); i < len(p.ranges) && len(p.ranges[i].tries) == 1 && p.segments[p.ranges[i].tries[0].n].unseen {
			p.fill(s)
			return
		}
	}
	p.push(s)
}

// push appends a transmission.
func (p *pathBuilder) push(s segment) {
	n := len(p.segments)
	s.isNew = s.end > p.max
	p.segments = append(p.segments, s)
	if s.start < p.max {
		p.cut(s.start)
		p.cut(min(s.end, p.max))
		for i := p.find(s.start); i < len(p.ranges) && p.ranges[i].start < s.end; i++ {
			r := &p.ranges[i]
			if to := s.at.Add(-p.near - answerTime); r.done && p.verdicts[s.number].ByTimer && r.doneAt < to {
				// Its sender should have had the ACK by then: it was lost behind the point of
				// capture.
				p.ackLoss = append(p.ackLoss, Span{r.doneAt.Add(-p.far / 2), to.Add(-p.far / 2)})
			}
			r.tries = append(r.tries, attempt{n, Unknown})
		}
	}
	if s.end > p.max {
		p.ranges = append(p.ranges, seqRange{start: max(s.start, p.max), end: s.end, tries: []attempt{{n, Unknown}}})
		p.max = s.end
	}
}

// fill puts a segment that was overtaken where it was missed. It left when it was missed first.
func (p *pathBuilder) fill(s segment) {
	p.cut(s.start)
	p.cut(s.end)
	n := -1
	for i := p.find(s.start); i < len(p.ranges) && p.ranges[i].start < s.end; i++ {
		r := &p.ranges[i]
		if len(r.tries) != 1 || !p.segments[r.tries[0].n].unseen {
			continue
		}
		if n < 0 {
			n = len(p.segments)
			s.limit, s.at = 0, p.segments[r.tries[0].n].at
			s.late, s.isNew = true, true
			p.segments = append(p.segments, s)
		}
		r.tries[0].n = n
	}
}

// ack takes in an acknowledgement.
func (p *pathBuilder) ack(a *acknowledgement) {
	p.acks = append(p.acks, ackSeen{a.at, a.place})
	if a.place > p.max {
		p.push(segment{at: a.at.Add(-p.far), start: p.max, end: a.place, unseen: true})
	}
	front := p.una
	fresh, holes := p.covered(a)
	last := -1 // the latest segment that the ACK answers
	segments := int64(0)
	for _, i := range fresh {
		r := &p.ranges[i]
		r.done, r.doneAt = true, a.at
		segments += max((r.end-r.start+p.size-1)/p.size, 1)
		if p.settle(r, a) {
			if n := r.tries[r.delivered()].n; last < 0 || !p.segments[n].at.Before(p.segments[last].at) {
				last = n
			}
		}
	}
	if last < 0 {
		return
	}
	if s := &p.segments[last]; !s.acked {
		s.acked, s.ackAt = true, a.at
		s.alone = (segments < 2 || !a.bare) && !holes
	}
	for _, i := range fresh {
		r := &p.ranges[i]
		k := r.delivered()
		if k < 0 || r.tries[k].n == last {
			continue
		}
		switch s := &p.segments[r.tries[k].n]; {
		case i == front && !s.isNew && !s.acked:
			s.acked, s.ackAt = true, a.at // RFC 5681 §4.2: what fills a gap is acknowledged at once
		case s.limit == 0:
			s.limit = a.at
		}
	}
}

// covered returns the ranges that an ACK is the first to cover, and whether there were holes
// between them or behind the ACK.
func (p *pathBuilder) covered(a *acknowledgement) (fresh []int, holes bool) {
	if a.place > 0 {
		p.cut(a.place)
	}
	for p.una < len(p.ranges) && p.ranges[p.una].end <= a.place {
		if r := &p.ranges[p.una]; !r.done {
			fresh = append(fresh, p.una)
		} else {
			holes = true
		}
		p.una++
	}
	for _, b := range a.blocks {
		p.cut(b.start)
		p.cut(b.end)
		for i := max(p.find(b.start), p.una); i < len(p.ranges) && p.ranges[i].end <= b.end; i++ {
			if !p.ranges[i].done {
				fresh, holes = append(fresh, i), true
			}
		}
	}
	return fresh, holes
}

// delivered returns the transmission of a range that was delivered first, -1 for none.
func (r *seqRange) delivered() int {
	return slices.IndexFunc(r.tries, func(t attempt) bool { return t.fate == Delivered })
}

// settle finds which transmission of a range an ACK answers, and reports whether its arrival caused
// the ACK.
func (p *pathBuilder) settle(r *seqRange, a *acknowledgement) bool {
	last := len(r.tries) - 1
	if a.dsack != nil && last > 0 && a.dsack.start < r.end && a.dsack.end > r.start {
		j := 0
		for j < last-1 && p.verdict(r, j+1).Spurious != track.Spurious {
			j++
		}
		p.settleDuplicate(r, a, j, j+1)
		return false
	}
	j := p.firstArrived(r, a)
	if s := &p.segments[r.tries[j].n]; j < last && p.far > 0 && !s.unseen && p.drew(r, last, a) && a.at.Sub(s.at) > 2*p.far+usualACKDelay {
		p.settleDuplicate(r, a, j, last)
		s := &p.segments[r.tries[last].n]
		s.acked, s.ackAt = true, a.at
		return false
	}
	p.mark(r, j)
	return true
}

// firstArrived returns which transmission of a range had arrived first when an ACK of it was sent.
func (p *pathBuilder) firstArrived(r *seqRange, a *acknowledgement) int {
	j := len(r.tries) - 1
	for j > 0 && a.at.Sub(p.segments[r.tries[j].n].at) < p.far-p.far/4 && !p.needed(r, j) {
		j--
	}
	if a.hasTS && len(a.blocks) == 0 {
		for k := range r.tries {
			if t := &p.segments[r.tries[k].n]; t.hasTS && t.ts == a.echo && (k+1 == len(r.tries) || p.segments[r.tries[k+1].n].ts != a.echo) {
				j = k
				break
			}
		}
	}
	for j > 0 && p.verdict(r, j).Spurious == track.Spurious {
		j--
	}
	for k := j + 1; k < len(r.tries); k++ {
		if v := p.verdict(r, k); v.Spurious == track.Necessary && v.Evidence == track.ByDSACK {
			j = k
		}
	}
	return j
}

// drew reports whether an ACK came as soon after a transmission as one that it drew.
func (p *pathBuilder) drew(r *seqRange, k int, a *acknowledgement) bool {
	took := a.at.Sub(p.segments[r.tries[k].n].at)
	return took >= p.far-p.far/4 && took <= p.far+p.far/4+answerJitter
}

// settleDuplicate settles a range whose j-th transmission arrived and whose ACK was lost. The ACK
// at hand answers a later transmission, a duplicate.
func (p *pathBuilder) settleDuplicate(r *seqRange, a *acknowledgement, j, again int) {
	p.mark(r, j)
	r.tries[again].fate = Delivered
	from := p.segments[r.tries[j].n].at.Add(p.far / 2)
	if n := len(p.acks) - 2; p.near == 0 && n >= 0 {
		from = max(from, p.acks[n].at.Add(-p.far/2+1)) // its sender had the ACKs that came here
	}
	// any ACK of this span would have covered it
	p.ackLoss = append(p.ackLoss, Span{from, max(from, a.at.Add(-p.far/2-1))})
}

// mark notes that a transmission was delivered and those before it were lost. What became of those
// after it is not known yet.
func (p *pathBuilder) mark(r *seqRange, j int) {
	for k := range r.tries {
		r.tries[k].fate = Lost
		if t := &p.segments[r.tries[k].n]; k == j {
			r.tries[k].fate = Delivered
		} else if k > j || t.end == p.max && t.end == t.start+1 {
			// No SACK reports a FIN alone behind a hole: the ACK that answers it decides.
			r.tries[k].fate = Unknown
		}
	}
}

// verdict returns what the tracker found of a transmission; the zero value for one that is no
// retransmission to it.
func (p *pathBuilder) verdict(r *seqRange, k int) track.Retransmission {
	return p.verdicts[p.segments[r.tries[k].n].number]
}

// needed reports whether the tracker says that a transmission was needed. Of the handshake, one
// point of capture shows too little: there it is needed unless it is spurious.
func (p *pathBuilder) needed(r *seqRange, k int) bool {
	v, ok := p.verdicts[p.segments[r.tries[k].n].number]
	return ok && (v.Spurious == track.Necessary || v.Kind == track.SYN && v.Spurious != track.Spurious)
}

// settleRest decides on what was not acknowledged by the end of the capture, and on what was not
// needed.
func (p *pathBuilder) settleRest(end wheel.Time, rtt time.Duration) {
	for i := range p.ranges {
		r := &p.ranges[i]
		if r.done {
			p.settleUnneeded(r, end)
			continue
		}
		for k, t := range r.tries {
			s := &p.segments[t.n]
			switch {
			case p.far == 0 && !s.unseen:
				r.tries[k].fate = Delivered // it was captured where it arrived
			case k+1 < len(r.tries), len(p.acks) > 0 && end.Sub(s.at) > 2*rtt+answerAtEnd:
				r.tries[k].fate = Lost
			}
		}
	}
	if p.far > 0 {
		return
	}
	for i := range p.ranges {
		r := &p.ranges[i]
		for k, t := range r.tries {
			if r.done && k+1 < len(r.tries) && r.tries[k].fate == Lost && p.needed(r, k+1) {
				continue // it was lost behind the point of capture
			}
			if !p.segments[t.n].unseen {
				r.tries[k].fate = Delivered
			}
		}
	}
}

// settleUnneeded finds what became of transmissions that were not needed. A receiver answers each
// with an ACK at once (RFC 9293 §3.10.7.4): where there is none, it did not arrive.
func (p *pathBuilder) settleUnneeded(r *seqRange, end wheel.Time) {
	for k, t := range r.tries {
		if t.fate != Unknown {
			continue
		}
		from := p.segments[t.n].at.Add(p.far - p.far/16)
		to := p.segments[t.n].at.Add(p.far + p.far/4 + answerJitter)
		if to.After(end) {
			continue
		}
		i, _ := slices.BinarySearchFunc(p.acks, from, func(a ackSeen, at wheel.Time) int { return cmp.Compare(a.at, at) })
		r.tries[k].fate = Lost
		for ; i < len(p.acks) && !p.acks[i].at.After(to); i++ {
			// An ACK of all before it was sent without it: it is a FIN, as all else is SACKed.
			if p.acks[i].place != r.start {
				r.tries[k].fate = Delivered
				break
			}
		}
	}
}

// loseDeaf takes for lost what was retransmitted later and passed while ACKs of this direction were
// lost behind the point of capture.
func (p *pathBuilder) loseDeaf(spans []Span) {
	if len(spans) == 0 {
		return
	}
	for i := range p.ranges {
		r := &p.ranges[i]
		for k := 0; k+1 < len(r.tries); k++ {
			at := p.segments[r.tries[k].n].at.Add(-p.near / 2)
			if slices.ContainsFunc(spans, func(s Span) bool { return s.From <= at && at <= s.To }) {
				r.tries[k].fate = Lost
			}
		}
	}
}

// isKeepalive reports whether a packet repeats the last byte before all that is acknowledged, or
// none: RFC 9293 §3.8.4.
func (p *pathBuilder) isKeepalive(k *packet, start int64) bool {
	return k.len <= 1 && !k.flags.HasAny(tcp.SYN|tcp.FIN) && p.una == len(p.ranges) && start == p.max-1 && p.max > 1
}

// unseen has the transmission of the i-th range before a packet, which was not captured, leave so
// much before that, and between its neighbours in the stream.
func (p *pathBuilder) unseen(i int, packet int64, before time.Duration) {
	r := &p.ranges[i]
	k := slices.IndexFunc(r.tries, func(t attempt) bool { return p.segments[t.n].number == packet })
	if k < 0 {
		return
	}
	again := &p.segments[r.tries[k].n]
	at := again.at.Add(-before)
	for _, before := range slices.Backward(p.ranges[:i]) {
		if s := &p.segments[before.tries[0].n]; !s.unseen {
			at = min(max(at, s.at), again.at)
			break
		}
	}
	switch {
	case k > 0 && p.segments[r.tries[k-1].n].unseen:
		p.segments[r.tries[k-1].n].at = at
	case k == 0:
		again.isNew = false
		r.tries = slices.Insert(r.tries, 0, attempt{len(p.segments), Lost})
		p.segments = append(p.segments, segment{at: at, start: r.start, end: r.end, unseen: true, isNew: true})
	}
}

// tried reports whether the byte at a place was sent more than once.
func (p *pathBuilder) tried(place int64) bool {
	i := p.find(place)
	return i < len(p.ranges) && p.ranges[i].start <= place && len(p.ranges[i].tries) > 1
}

// fullBefore reports whether the bytes before a place left in a full segment.
func (p *pathBuilder) fullBefore(place int64) bool {
	i := p.find(place - 1)
	return place > 1 && i < len(p.ranges) && p.ranges[i].end-p.ranges[i].start >= p.size
}
