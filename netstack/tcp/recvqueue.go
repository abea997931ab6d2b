package tcp

import "fmt"

// recvQueue is the receiver's book: RCV.NXT and which bytes beyond it have arrived. It holds
// ranges, not payloads; the owner of the payload does with each arriving segment as the Insertion
// says.
//
// RFC 9293 §3.10.7.4: "Segments with higher beginning sequence numbers SHOULD be held for later
// processing (SHLD-31)." They are held as at most as many disjoint ranges as Init allows, whatever
// the peer sends; a segment that would need one more is dropped, and what was held stays held, so
// that no SACK is ever taken back. Memory: 8 bytes per range, none until a segment arrives out of
// order, then doubling up to the bound.
type recvQueue struct {
	nxt     Seq
	fin     Seq     // the number of the FIN, if finSeen
	held    []Range // in order, disjoint, apart from each other and from nxt
	max     uint16  // ranges
	finDone bool    // the FIN has been reached: nxt is fin+1
	finSeen bool
}

// Init starts the queue at nxt, which is IRS+1, with room for maxRanges ranges, 1..4096. It returns
// an error for another bound.
func (q *recvQueue) Init(nxt Seq, maxRanges int) error {
	if maxRanges < 1 || maxRanges > 4096 {
		return fmt.Errorf("tcp: out-of-order ranges %d, want 1..4096", maxRanges)
	}
	*q = recvQueue{nxt: nxt, max: uint16(maxRanges)}
	return nil
}

// Nxt returns RCV.NXT, the number after the FIN once that is reached.
func (q *recvQueue) Nxt() Seq { return q.nxt }

// Finished reports whether all bytes and the FIN have arrived.
func (q *recvQueue) Finished() bool { return q.finDone }

// Held returns the ranges beyond RCV.NXT in order. The slice is the queue's own and is good until
// the next Insert.
func (q *recvQueue) Held() []Range { return q.held }

// Beyond reports whether anything beyond RCV.NXT has arrived: bytes, or the FIN.
func (q *recvQueue) Beyond() bool { return len(q.held) > 0 || q.finSeen && !q.finDone }

// HeldOctets returns how many bytes the ranges beyond RCV.NXT have. It costs O(ranges).
func (q *recvQueue) HeldOctets() (n uint32) {
	for _, r := range q.held {
		n += r.Len()
	}
	return n
}

// Find returns the held range that the byte s is in. A FIN beyond RCV.NXT is in the range that it
// follows, or is one by itself.
func (q *recvQueue) Find(s Seq) (r Range, ok bool) {
	if q.finSeen && !q.finDone && s == q.fin {
		if n := len(q.held); n > 0 && q.held[n-1].End == q.fin {
			return q.held[n-1], true
		}
		return Range{q.fin, q.fin + 1}, true
	}
	i := q.search(s)
	if i < len(q.held) && q.held[i].Start.AtOrBefore(s) {
		return q.held[i], true
	}
	return Range{}, false
}

// search returns the index of the first held range that ends after s.
func (q *recvQueue) search(s Seq) int {
	lo, hi := 0, len(q.held)
	if hi > 0 && q.held[hi-1].End.AtOrBefore(s) { // beyond everything: the usual place
		return hi
	}
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if q.held[mid].End.After(s) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// insertion is what became of an arriving segment.
type insertion struct {
	// Keep is the bytes to keep, from Offset in the payload on. It has all that are new, and
	// begins and ends with a new one; of those between some may be held already, and the owner
	// keeps either copy. It is empty if nothing is new.
	Keep   Range
	Offset uint32
	// Duplicate is the first contiguous run of bytes in the segment that had been received before:
	// what a DSACK reports.
	Duplicate Range
	// Block is the held range that the segment is in now, empty if RCV.NXT has gone past it or
	// nothing was kept. That of a FIN without bytes is what Find tells of it.
	Block Range
	// InOrder is how many bytes have become readable, from the old RCV.NXT on. The FIN is not
	// counted.
	InOrder uint32
	// Dropped is how many new bytes were dropped, beyond the window, behind the FIN, or for want
	// of a range.
	Dropped uint32
	// FIN tells that with this segment the FIN is reached. It is told once.
	FIN bool
	// FilledGap tells that the segment filled all or part of a gap, which RFC 5681 §4.2
	// acknowledges at once.
	FilledGap bool
}

// Insert takes the segment a with the window RCV.WND, whose right edge must not go back, and moves
// RCV.NXT over what is in order now. A segment that is not acceptable may be inserted too: nothing
// of it is kept, and its duplicate is told. A FIN that is not the first, or lies before bytes that
// are held, is ignored, and so are bytes behind a FIN. It costs O(log ranges), and a move of the
// ranges behind where one comes or goes.
func (q *recvQueue) Insert(a Arrival, wnd uint32) (ins insertion) {
	fit := trimToWindow(q.nxt, wnd, a)
	ins.Dropped, ins.Duplicate = fit.Beyond, fit.Old
	if q.finDone {
		ins.Keep = Range{q.nxt, q.nxt}
		if ins.Duplicate.End == q.nxt && ins.Duplicate.Len() > 0 {
			ins.Duplicate.End-- // the FIN is no byte
		}
		ins.Dropped += fit.Keep.Len()
		return ins
	}
	if fit.FIN && !q.finSeen && (len(q.held) == 0 || q.held[len(q.held)-1].End.AtOrBefore(fit.Keep.End)) {
		q.finSeen, q.fin = true, fit.Keep.End
	}
	r := fit.Keep
	if q.finSeen && r.End.After(q.fin) {
		cut := Range{MaxSeq(r.Start, q.fin), r.End} // behind the FIN
		ins.Dropped += cut.Len()
		r.End = MaxSeq(r.Start, q.fin)
	}
	if r.Len() > 0 {
		q.add(&ins, r, fit.Offset)
	} else {
		ins.Keep = Range{r.Start, r.Start}
	}
	if q.finSeen && q.nxt == q.fin {
		q.nxt++
		q.finDone, ins.FIN = true, true
		q.held = nil
	} else if q.finSeen && fit.FIN && r.Len() == 0 && fit.Keep.End == q.fin {
		ins.Block, _ = q.Find(q.fin)
	}
	return ins
}

// add puts r, not empty and inside the window, among the ranges. offset is where it begins in the
// payload.
func (q *recvQueue) add(ins *insertion, r Range, offset uint32) {
	i := q.search(r.Start)
	ins.Keep, ins.Offset = r, offset
	if i < len(q.held) && q.held[i].Start.Before(r.End) && ins.Duplicate.Len() == 0 {
		ins.Duplicate = Range{MaxSeq(r.Start, q.held[i].Start), MinSeq(r.End, q.held[i].End)}
	}
	if i < len(q.held) && q.held[i].Start.AtOrBefore(r.Start) { // held from its first byte on
		h := q.held[i]
		if r.End.AtOrBefore(h.End) {
			ins.Keep, ins.Offset, ins.Block = Range{r.Start, r.Start}, 0, h
			return
		}
		ins.Keep.Start, ins.Offset = h.End, offset+h.End.Sub(r.Start)
	}
	// Those from i to before j are touched or overlapped, and become one with r.
	if i > 0 && q.held[i-1].End == r.Start {
		i--
	}
	j := i
	block := r
	for j < len(q.held) && q.held[j].Start.AtOrBefore(r.End) {
		h := q.held[j]
		if h.End.AtOrAfter(r.End) && h.Start.Before(r.End) {
			ins.Keep.End = h.Start
		}
		block = Range{MinSeq(block.Start, h.Start), MaxSeq(block.End, h.End)}
		j++
	}
	if block.Start == q.nxt {
		ins.FilledGap = len(q.held) > 0
		ins.InOrder = block.Len()
		q.nxt = block.End
		q.held = q.held[:copy(q.held, q.held[j:])]
		return
	}
	if i == j {
		if len(q.held) >= int(q.max) {
			ins.Dropped += r.Len()
			ins.Keep, ins.Offset = Range{r.Start, r.Start}, 0
			return
		}
		q.held = append(q.held, Range{})
		copy(q.held[i+1:], q.held[i:])
		j++
	}
	ins.FilledGap = i+1 < j || i+1 < len(q.held)
	q.held[i] = block
	q.held = q.held[:i+1+copy(q.held[i+1:], q.held[j:])]
	ins.Block = block
}
