package replay

import (
	"cmp"
	"math"
	"slices"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// tape is what an end heard and sent in the capture: what it needs to do all of it again.
type tape struct {
	heard  []arrival    // in order
	unseen []unseenPart // of heard, what was not captured
	oldest []wheel.Time // when the first left that is heard from the n-th oldestEach on
	acks   []ackSeen    // when it first heard an ACK of all before a place
	sends  []sendRef    // in order
	stamps []stampAt    // its timestamps
}

const oldestEach = 64

// arrival is a delivery in 32 bytes.
type arrival struct {
	at, sent    wheel.Time
	packet      int32  // index in the facts; or, if it was not captured, -1 less that in tape.unseen
	from, bytes uint32 // of the packet, which part arrives
	late, tail  bool
}

// unseenPart is what an arrival does not have of what was not captured.
type unseenPart struct{ start, ack int64 }

// delivery is a segment of the capture, or an ACK, as it arrives at an end.
type delivery struct {
	at         wheel.Time  // it arrives
	sent       wheel.Time  // it left
	p          *track.Fact // nil: it was not captured
	start, end int64
	ack        int64
	late       bool // others overtook it
	tail       bool // it is the last segment of its packet
}

// delivery returns the i-th that the end heard.
func (t *tape) delivery(i int, facts *track.Facts) delivery {
	a := &t.heard[i]
	x := delivery{at: a.at, sent: a.sent, late: a.late, tail: a.tail}
	if a.packet < 0 {
		x.start, x.ack = t.unseen[-1-a.packet].start, t.unseen[-1-a.packet].ack
	} else {
		x.p = facts.At(int(a.packet))
		x.start, x.ack = x.p.Start, max(x.p.Ack, 0)
	}
	x.start += int64(a.from)
	x.end = x.start + int64(a.bytes)
	return x
}

// sendRef is a transmission of the capture: the try of that number, from 0, of a range.
type sendRef struct{ index, try int32 }

// sent returns the transmission.
func (p *PathTrace) sent(x sendRef) *Try { return &p.Ranges[x.index].Tries[x.try] }

// stampAt is a timestamp, and when it was sent first.
type stampAt struct {
	at wheel.Time
	ts uint32
}

// sends returns all transmissions, in the order that they left.
func (p *PathTrace) sends() []sendRef {
	n := 0
	for i := range p.Ranges {
		n += len(p.Ranges[i].Tries)
	}
	all := make([]sendRef, 0, n)
	for i := range p.Ranges {
		for k := range p.Ranges[i].Tries {
			all = append(all, sendRef{int32(i), int32(k)})
		}
	}
	slices.SortStableFunc(all, func(a, b sendRef) int { return cmp.Compare(p.sent(a).Sent, p.sent(b).Sent) })
	return all
}

// deliveries puts what arrives of what the end d sent on the tape of the other one.
func (b *builder) deliveries(d int) {
	p, to := &b.streams[d], 1-d
	t := &b.captured.tapes[to]
	t.heard = make([]arrival, 0, len(p.Sent)+b.bare[d])
	acked, next := int64(0), 0
	for i, x := range b.conn.Facts.All() {
		if int(x.Flow) != d || !x.Counts() || x.Kind == track.ResetSeen {
			continue
		}
		ack := max(x.Ack, 0)
		if x.Len == 0 {
			acked = max(acked, ack)
			at, sent := b.virtual(x.Seen.Add(b.half[to]/2)), b.left(x)
			if !within(b.captured.Paths[d].ACKLossSpans, sent) {
				t.heard = append(t.heard, arrival{at: at, sent: sent, packet: int32(i)})
			}
			continue
		}
		b.afterFull[i] = fullBefore(p, x.Start)
		for ; next < len(p.Sent) && p.Sent[next].Mark < int32(i); next++ {
			if p.Sent[next].Unseen() {
				t.unseen = append(t.unseen, unseenPart{p.Sent[next].Start, acked})
				b.deliver(d, next, p.Sent[next].Start, arrival{packet: -int32(len(t.unseen)), tail: true})
			}
		}
		acked = max(acked, ack)
		for ; next < len(p.Sent) && p.Sent[next].Mark == int32(i); next++ {
			b.deliver(d, next, x.Start, arrival{packet: int32(i), tail: p.Sent[next].End == x.End()})
		}
	}
	inLine(t.heard)
	t.oldest = make([]wheel.Time, (len(t.heard)+oldestEach-1)/oldestEach)
	for i, oldest := len(t.heard)-1, b.captured.End; i >= 0; i-- {
		oldest = min(oldest, t.heard[i].sent)
		t.oldest[i/oldestEach] = oldest
	}
}

// deliver appends what arrives of a segment of a packet that starts there: all, or what of it was
// not lost.
func (b *builder) deliver(d, n int, start int64, x arrival) {
	p, all := &b.streams[d], &b.captured.tapes[1-d].heard
	s := &p.Sent[n]
	x.sent, x.late = b.leftAt(p, s), s.Late
	tail, end := x.tail, int64(-1) // of what was appended last
	for i := p.Find(s.Start); i < len(p.Runs) && p.Runs[i].Start < s.End; i++ {
		r := &p.Runs[i]
		k := slices.IndexFunc(r.Tries, func(t ledger.Try) bool { return int(t.N) == n })
		if k < 0 || r.Tries[k].Fate == ledger.Lost {
			continue
		}
		try := b.captured.Paths[d].try(r.Start, k+1)
		at := try.Sent.Add(try.Delay)
		x.tail = tail && r.End == s.End
		if end == r.Start && x.at == at {
			last := &(*all)[len(*all)-1]
			last.bytes, last.tail = uint32(r.End-start)-last.from, x.tail
		} else {
			x.at, x.from, x.bytes = at, uint32(r.Start-start), uint32(r.Len())
			*all = append(*all, x)
		}
		end = r.End
	}
}

// inLine puts deliveries in order. What the capture shows not to be overtaken is not, though delays
// are in part interpolated.
func inLine(all []arrival) {
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.sent, b.sent) })
	last := wheel.Time(0)
	for i := range all {
		x := &all[i]
		if x.late {
			continue
		}
		if x.at = max(x.at, last); x.bytes > 0 {
			last = x.at
		}
	}
	slices.SortStableFunc(all, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
}

// moveTo has the transmission that was lost, and not captured, leave d before the retransmission.
func (l *Loss) moveTo(d time.Duration) {
	if l.TRec > 0 {
		l.TRec = max(l.TRec+d-l.D, 0)
	}
	l.D = d
}

// onlyFIN reports whether the bytes from start to end are a FIN, which its last transmission shows.
func (b *builder) onlyFIN(p *track.Stream, start int64, end uint64) bool {
	i := p.Find(start)
	if start == 0 || int64(end)-start != 1 || i == len(p.Runs) {
		return false
	}
	last := p.Runs[i].Tries[len(p.Runs[i].Tries)-1]
	t := &p.Sent[last.N]
	if t.Unseen() {
		return false
	}
	x := b.conn.Facts.At(int(t.Mark))
	return x.Flags.Has(tcp.FIN) && x.End() == int64(end)
}

// knownAt returns when knownRounds round trips of a stream were over that began before the capture;
// 0 for others.
func (b *builder) knownAt(d int) wheel.Time {
	p := &b.streams[d]
	if b.conn.Flows[d].HasSYN {
		return 0
	}
	rounds, next := 0, wheel.Time(0)
	for i := range p.Sent {
		if s := &p.Sent[i]; s.Acked && !s.Unseen() && s.New && s.At >= next {
			if next = s.AckedAt; rounds == knownRounds {
				return b.leftAt(p, s)
			}
			rounds++
		}
	}
	return math.MaxInt64
}

// findLosses takes over the episodes that the tracker has of what the end d sent.
func (b *builder) findLosses(d int) {
	s, p := b.captured, &b.streams[d]
	known := b.knownAt(d)
	for _, e := range b.conn.Flows[d].Episodes {
		start := b.conn.Flows[d].Place(e)
		l := Loss{
			Episode: *e, Flow: d, Start: uint64(max(start, 0)), End: uint64(max(start+int64(e.Bytes), 0)), Try: 1,
			Again: b.virtual(e.Detected),
		}
		if l.End <= l.Start {
			continue
		}
		if i := p.Find(start); i < len(p.Runs) {
			for k, t := range p.Runs[i].Tries {
				if p.Sent[t.N].Packet == e.DetectedPacket {
					l.Try = max(k, 1)
				}
			}
		}
		if t := s.Paths[d].try(start, l.Try); t != nil {
			l.Sent = t.Sent
		}
		l.Early = l.Sent < known
		l.OnlyFIN = b.onlyFIN(p, start, l.End)
		s.Losses = append(s.Losses, l)
	}
}

// judgeLosses notes what the ends' tapes say of losses, and puts these in order.
func (b *builder) judgeLosses() {
	s := b.captured
	for i := range s.Losses {
		l := &s.Losses[i]
		if t := s.Paths[l.Flow].try(int64(l.Start), l.Try+1); t != nil {
			acked, ok := ackedAt(s.tapes[l.Flow].acks, int64(l.End))
			l.Acked = ok && acked < t.Sent
			if l.Estimated && l.Sent != 0 {
				l.moveTo(t.Sent.Sub(l.Sent))
			}
		}
		l.Timed = slices.ContainsFunc(s.Ends[l.Flow].Timed, func(t Timed) bool {
			return t.At.Sub(l.Again.Add(-b.half[l.Flow]/2)).Abs() < sameInstant
		})
	}
	slices.SortStableFunc(s.Losses, func(a, b Loss) int { return cmp.Compare(a.Again, b.Again) })
}
