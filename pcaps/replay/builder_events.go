package replay

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/ledger"
	"tcpwheel/pcaps/track"
	"tcpwheel/wheel"
)

// endEvent is a packet that an end sent or received, by the end's own clock.
type endEvent struct {
	delivery       // what of it arrives, or all that was sent
	first     bool // it brings bytes that were not sent before
	afterFull bool // and the bytes before these left in a full segment
	sends     bool
	reset     bool
	news      bool // it reports more of what the end sent than was known
}

// data reports whether the packet takes sequence numbers.
func (x *endEvent) data() bool { return x.end > x.start }

// events yields what an end sent and received, in order by its own clock. Each is valid until the
// next one. What happens at one instant is in the order of the capture.
func (b *builder) events(d int) iter.Seq[*endEvent] {
	return func(yield func(*endEvent) bool) {
		t := &b.captured.tapes[d]
		var ties, buf []int32 // what was heard at one instant, and is not yielded yet
		next := 0
		hear := func(until wheel.Time, packet int32) bool {
			for ; next < len(t.heard); next++ {
				if len(ties) == 0 {
					ties = t.ties(next, buf[:0])
					buf = ties
				}
				if x := &t.heard[ties[0]]; x.at > until || x.at == until && x.packet > packet {
					break
				}
				x := endEvent{delivery: t.delivery(int(ties[0]), b.conn.Facts)}
				ties = ties[1:]
				if !yield(&x) {
					return false
				}
			}
			return true
		}
		sent := int64(0)
		for i, p := range b.conn.Facts.All() {
			if !p.Counts() {
				continue
			}
			if int(p.Flow) != d {
				sent = max(sent, p.Ack) // its bytes were not captured, or will come late
				continue
			}
			x := endEvent{delivery: delivery{at: b.left(p), p: p}, sends: true}
			if x.reset = p.Kind == track.ResetSeen; !x.reset {
				x.start, x.end, x.ack = p.Start, p.End(), max(p.Ack, 0)
			}
			if p.Len > 0 { // a bare ACK may follow bytes that were lost before the point of capture
				x.first, x.afterFull = p.End() > sent, b.afterFull[i]
				sent = max(sent, p.End())
			}
			if !hear(x.at, int32(i)) || !yield(&x) {
				return
			}
		}
		hear(math.MaxInt64, math.MaxInt32)
	}
}

// ties appends the indices of what is heard at the instant of the i-th delivery, in the order of
// the capture; first what that does not have.
func (t *tape) ties(i int, all []int32) []int32 {
	for k := i; k < len(t.heard) && t.heard[k].at == t.heard[i].at; k++ {
		all = append(all, int32(k))
	}
	if len(all) > 1 {
		slices.SortStableFunc(all, func(x, y int32) int { return cmp.Compare(max(t.heard[x].packet, -1), max(t.heard[y].packet, -1)) })
	}
	return all
}

// opened returns when the connection was open to an end: the client when it had the SYN-ACK, the
// server when it had the ACK of its own.
func (b *builder) opened(d int) wheel.Time {
	for x := range b.events(d) {
		if !x.sends && x.ack > 0 || x.sends && x.start > 0 {
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
