package replay

import (
	"cmp"
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// eventRef is an endEvent without what the facts and deliveries have.
type eventRef struct {
	at    wheel.Time
	n     int32 // of the facts if it was sent, else of what was heard
	sends bool
	first bool
}

// event returns the i-th event of the end at hand.
func (b *builder) event(i int) endEvent {
	r := &b.events[i]
	if !r.sends {
		return endEvent{delivery: b.heard[r.n]}
	}
	p := b.conn.Facts.At(int(r.n))
	if p.Kind == track.ResetSeen {
		return endEvent{delivery: delivery{at: r.at, p: p}, sends: true, reset: true}
	}
	return endEvent{delivery: delivery{at: r.at, p: p, start: p.Start, end: p.End(), ack: max(p.Ack, 0)}, sends: true, first: r.first}
}

// order is that of the packet; see delivery.order.
func (b *builder) order(r *eventRef) int64 {
	if r.sends {
		return b.conn.Facts.At(int(r.n)).Number
	}
	return b.heard[r.n].order()
}

// mergeEvents puts what an end sent and received in order, by its own clock.
func (b *builder) mergeEvents(d int) {
	b.heard = b.captured.tapes[d].heard
	all := b.events[:0]
	if cap(all) == 0 {
		all = make([]eventRef, 0, b.conn.Facts.Len()+len(b.streams[0].Sent)/16)
	}
	sent := int64(0)
	for i := range b.conn.Facts.Len() {
		p := b.conn.Facts.At(i)
		if !p.Counts() {
			continue
		}
		if int(p.Flow) != d {
			sent = max(sent, p.Ack) // its bytes were not captured, or will come late
			continue
		}
		r := eventRef{at: b.left(p), n: int32(i), sends: true}
		if p.Len > 0 { // a bare ACK may follow bytes that were lost before the point of capture
			r.first = p.End() > sent
			sent = max(sent, p.End())
		}
		all = append(all, r)
	}
	for i := range b.heard {
		all = append(all, eventRef{at: b.heard[i].at, n: int32(i)})
	}
	slices.SortStableFunc(all, func(x, y eventRef) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(b.order(&x), b.order(&y))) })
	b.events = all
}

// opened returns when the connection was open to the end at hand: the client when it had the
// SYN-ACK, the server when it had the ACK of its own.
func (b *builder) opened() wheel.Time {
	for i := range b.events {
		if x := b.event(i); !x.sends && x.ack > 0 || x.sends && x.start > 0 {
			return x.at
		}
	}
	return 0
}

// arrived is how much of a stream has arrived, in order and behind gaps.
type arrived struct{ ledger.Set }

// una returns the place up to which all has.
func (a *arrived) una() int64 { return a.Until(0) }

// bytes returns how many bytes have arrived, the SYN not counted.
func (a *arrived) bytes() int64 { return a.Len() - min(a.una(), 1) }

// ack takes in what an ACK of all before pos and its SACK blocks report of a stream that ends
// before most, and reports whether it is news.
func (a *arrived) ack(pos int64, blocks []ledger.Range, most int64) bool {
	was := a.bytes()
	a.take(0, pos)
	una := a.una()
	for _, b := range blocks {
		if b.Start >= una && b.End <= most {
			a.Add(b)
		}
	}
	return a.bytes() > was
}

// hear is ack of a packet that was captured, or not.
func (a *arrived) hear(facts *track.Facts, x *endEvent, most int64) bool {
	if x.p == nil {
		return a.ack(x.ack, nil, most)
	}
	return a.ack(x.ack, facts.FreshSACK(x.p), most)
}

// take takes in bytes that arrive.
func (a *arrived) take(start, end int64) { a.Add(ledger.Range{Start: start, End: end}) }

// blocksOf returns the SACK blocks of a header as positions near pos.
func blocksOf(o *tcp.Options, pos int64, buf *[tcp.MaxSACKBlocks]ledger.Range) []ledger.Range {
	for i, r := range o.SACK[:o.NumSACK] {
		start := r.Start.Unwrap(pos)
		buf[i] = ledger.Range{Start: start, End: start + int64(r.Len())}
	}
	return buf[:o.NumSACK]
}
