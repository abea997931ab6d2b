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
	heard  []delivery   // in order
	oldest []wheel.Time // when the first left of the ones that are heard from the n-th on
	acks   []ackSeen    // when it first heard an ACK of all before a place
	sends  []sendRef    // in order
	stamps []stampAt    // its timestamps
	syn    tcp.Options  // of its SYN
	hasSYN bool
}

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

// order puts packets in the order of the capture, the ones before it that it does not have.
func (x *delivery) order() int64 {
	if x.p == nil {
		return -1
	}
	return x.p.Number
}

// sendRef is a transmission of the capture as it leaves an end: the try of that number, from 0, of
// a range.
type sendRef struct {
	at         wheel.Time
	index, try int32
}

// stampAt is a timestamp, and when it was sent first.
type stampAt struct {
	at wheel.Time
	ts uint32
}

// findTape makes the tape of the end at hand, which has what it heard already.
func (b *builder) findTape(d int) {
	t := &b.captured.tapes[d]
	f := &b.conn.Flows[d]
	t.syn, t.hasSYN = f.SYN, f.HasSYN
	t.oldest = make([]wheel.Time, len(t.heard))
	for i, oldest := len(t.heard)-1, b.captured.End; i >= 0; i-- {
		oldest = min(oldest, t.heard[i].sent)
		t.oldest[i] = oldest
	}
	for i := range t.heard {
		if x := &t.heard[i]; len(t.acks) == 0 || x.ack > t.acks[len(t.acks)-1].place {
			t.acks = append(t.acks, ackSeen{x.at, x.ack})
		}
	}
	t.sends = b.captured.Paths[d].sends()
	for i := range b.events {
		x := b.event(i)
		if n := len(t.stamps); x.sends && x.p.HasTS && (n == 0 || int32(x.p.TSVal-t.stamps[n-1].ts) > 0) {
			t.stamps = append(t.stamps, stampAt{x.at, x.p.TSVal})
		}
	}
}

// sends returns all transmissions, in the order that they left.
func (p *PathTrace) sends() []sendRef {
	n := 0
	for i := range p.Ranges {
		n += len(p.Ranges[i].Tries)
	}
	all := make([]sendRef, 0, n)
	for i := range p.Ranges {
		for k, try := range p.Ranges[i].Tries {
			all = append(all, sendRef{try.Sent, int32(i), int32(k)})
		}
	}
	slices.SortStableFunc(all, func(a, b sendRef) int { return cmp.Compare(a.at, b.at) })
	return all
}

// deliveries finds what arrives of what the end d sent.
func (b *builder) deliveries(d int) []delivery {
	p, to := &b.streams[d], 1-d
	all := make([]delivery, 0, len(p.Sent)+b.bare[d])
	acked, next := int64(0), 0
	for i := range b.conn.Facts.Len() {
		x := b.conn.Facts.At(i)
		if int(x.Flow) != d || !x.Counts() || x.Kind == track.ResetSeen {
			continue
		}
		ack := max(x.Ack, 0)
		if x.Len == 0 {
			acked = max(acked, ack)
			at, sent := b.virtual(x.Seen.Add(b.half[to]/2)), b.left(x)
			if !within(b.captured.Paths[d].ACKLossSpans, sent) {
				all = append(all, delivery{at: at, sent: sent, p: x, start: x.Start, end: x.Start, ack: ack})
			}
			continue
		}
		for ; next < len(p.Sent) && p.Sent[next].Mark < int32(i); next++ {
			if p.Sent[next].Unseen {
				all = b.deliver(all, d, next, delivery{ack: acked, tail: true})
			}
		}
		acked = max(acked, ack)
		for ; next < len(p.Sent) && p.Sent[next].Mark == int32(i); next++ {
			all = b.deliver(all, d, next, delivery{p: x, ack: ack, tail: p.Sent[next].End == x.End()})
		}
	}
	inLine(all)
	return all
}

// deliver appends what arrives of a segment: all, or what of it was not lost.
func (b *builder) deliver(all []delivery, d, n int, x delivery) []delivery {
	p := &b.streams[d]
	s := &p.Sent[n]
	x.sent, x.late = b.leftAt(p, s), s.Late
	first, tail := len(all), x.tail
	for i := p.Find(s.Start); i < len(p.Runs) && p.Runs[i].Start < s.End; i++ {
		r := &p.Runs[i]
		k := slices.IndexFunc(r.Tries, func(t ledger.Try) bool { return int(t.N) == n })
		if k < 0 || r.Tries[k].Fate == ledger.Lost {
			continue
		}
		try := b.captured.Paths[d].try(r.Start, k+1)
		at := try.Sent.Add(try.Delay)
		if last := len(all) - 1; last >= first && all[last].end == r.Start && all[last].at == at {
			all[last].end, all[last].tail = r.End, tail && r.End == s.End
			continue
		}
		x.at, x.start, x.end, x.tail = at, r.Start, r.End, tail && r.End == s.End
		all = append(all, x)
	}
	return all
}

// inLine puts deliveries in order. What the capture shows not to be overtaken is not, though delays
// are in part interpolated.
func inLine(all []delivery) {
	slices.SortStableFunc(all, func(a, b delivery) int { return cmp.Compare(a.sent, b.sent) })
	last := wheel.Time(0)
	for i := range all {
		x := &all[i]
		if x.late {
			continue
		}
		if x.at = max(x.at, last); x.end > x.start {
			last = x.at
		}
	}
	slices.SortStableFunc(all, func(a, b delivery) int { return cmp.Compare(a.at, b.at) })
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
	mark := p.Sent[last.N].Mark
	if mark < 0 {
		return false
	}
	x := b.conn.Facts.At(int(mark))
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
		if s := &p.Sent[i]; s.Acked && !s.Unseen && s.New && s.At >= next {
			if next = s.AckedAt; rounds == knownRounds {
				return b.leftAt(p, s)
			}
			rounds++
		}
	}
	return math.MaxInt64
}

// findLosses takes over the episodes of the tracker.
func (b *builder) findLosses() {
	s := b.captured
	for d := range b.conn.Flows {
		p := &b.streams[d]
		known := b.knownAt(d)
		for _, e := range b.conn.Flows[d].Episodes {
			start := b.conn.Flows[d].Place(e)
			l := Loss{
				Flow: d, Start: uint64(max(start, 0)), End: uint64(max(start+int64(e.Bytes), 0)), Try: 1, Kind: e.Kind, Spurious: e.Spurious,
				Packet: e.DetectedPacket, At: b.virtual(e.Detected), D: e.D, RTT: e.RTT,
				Retransmissions: e.Total, SpuriousCount: e.SpuriousCount, Estimated: e.Estimated,
			}
			if l.End <= l.Start {
				continue
			}
			if e.Repaired {
				l.TRec = e.TRec
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
			if t := s.Paths[d].try(start, l.Try+1); t != nil {
				acked, ok := ackedAt(s.tapes[d].acks, int64(l.End))
				l.Acked = ok && acked < t.Sent
				if e.Estimated && l.Sent != 0 {
					l.moveTo(t.Sent.Sub(l.Sent))
				}
			}
			l.Timed = slices.ContainsFunc(s.Ends[d].Timed, func(t Timed) bool {
				return t.At.Sub(l.At.Add(-b.half[d]/2)).Abs() < sameInstant
			})
			s.Losses = append(s.Losses, l)
		}
	}
	slices.SortStableFunc(s.Losses, func(a, b Loss) int { return cmp.Compare(a.At, b.At) })
}
