package tcp

import "fmt"

// recvQueue tracks RCV.NXT and which bytes beyond it have arrived. It holds ranges, not payloads;
// the owner stores payload as each insertion says.
//
// RFC 9293 §3.10.7.4: "Segments with higher beginning sequence numbers SHOULD be held for later
// processing (SHLD-31)." At most the given number of disjoint ranges are held. A segment that would
// need one more is dropped, and held data is never dropped, so the receiver never reneges. Memory
// is 8 bytes per range, allocated on the first out-of-order segment and doubled up to the bound.
type recvQueue struct {
	nxt     Seq
	fin     Seq        // sequence number of the FIN, if finSeen
	held    []SeqRange // sorted, disjoint, not adjacent to each other or to nxt
	up      Seq        // RCV.UP, if receiver.urgent
	max     uint16     // ranges
	finDone bool       // the FIN is in order: nxt is fin+1
	finSeen bool
}

// Init starts the queue at nxt, IRS+1, with room for maxRanges ranges, 1..4096. It returns an error
// for another number.
func (q *recvQueue) Init(nxt Seq, maxRanges int) error {
	if maxRanges < 1 || maxRanges > 4096 {
		return fmt.Errorf("tcp: out-of-order ranges %d, want 1..4096", maxRanges)
	}
	*q = recvQueue{nxt: nxt, max: uint16(maxRanges)}
	return nil
}

// Nxt returns RCV.NXT, the number after the FIN once that is in order.
func (q *recvQueue) Nxt() Seq { return q.nxt }

// Held returns the sorted ranges beyond RCV.NXT. The slice is valid until the next Insert.
func (q *recvQueue) Held() []SeqRange { return q.held }

// Beyond reports whether data or the FIN beyond RCV.NXT has arrived.
func (q *recvQueue) Beyond() bool { return len(q.held) > 0 || q.finSeen && !q.finDone }

// Find returns the held range that contains s. A FIN beyond RCV.NXT belongs to the range before it,
// or is a range of its own.
func (q *recvQueue) Find(s Seq) (r SeqRange, ok bool) {
	if q.finSeen && !q.finDone && s == q.fin {
		if n := len(q.held); n > 0 && q.held[n-1].End == q.fin {
			return q.held[n-1], true
		}
		return SeqRange{q.fin, q.fin + 1}, true
	}
	i := q.search(s)
	if i < len(q.held) && q.held[i].Start.AtOrBefore(s) {
		return q.held[i], true
	}
	return SeqRange{}, false
}

// search returns the index of the first held range that ends after s.
func (q *recvQueue) search(s Seq) int {
	lo, hi := 0, len(q.held)
	if hi > 0 && q.held[hi-1].End.AtOrBefore(s) { // beyond all: the usual case
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

// insertion is the result of inserting a segment.
type insertion struct {
	// Keep is the range to store, from Offset in the payload. It begins and ends with a new byte
	// and has all new ones. Some between may be held already; store either copy. It is empty if
	// nothing is new.
	Keep   SeqRange
	Offset uint32
	// Duplicate is the first contiguous run of bytes received before, for a DSACK.
	Duplicate SeqRange
	// Block is the held range that the segment is now part of. It is empty if RCV.NXT has passed
	// the segment or nothing was kept. For a lone FIN it is Find of the FIN.
	Block SeqRange
	// InOrder is how many bytes became readable. It excludes the FIN.
	InOrder uint32
	// Dropped is how many new bytes were dropped: beyond the window, after the FIN, or for lack of
	// a range.
	Dropped uint32
	// FIN says that this segment put the FIN in order. It is set once.
	FIN bool
	// FilledGap says that the segment filled all or part of a gap, which RFC 5681 §4.2 acknowledges
	// at once.
	FilledGap bool
}

// Insert adds segment a with the window RCV.WND, whose right edge must not move left, and advances
// RCV.NXT over data in order. An unacceptable segment may be inserted too: nothing is kept, and its
// duplicate is reported. A second FIN, a FIN before held data, and data after a FIN are ignored. It
// costs O(log ranges), plus moving the ranges behind one that is added or removed.
func (q *recvQueue) Insert(a Arrival, wnd uint32, ins *insertion) {
	*ins = insertion{}
	if a.Seq == q.nxt && a.Len-1 < wnd && !a.SYN && !a.FIN && !q.finSeen && len(q.held) == 0 {
		q.nxt = a.Seq.Add(a.Len) // in order: the usual case
		ins.Keep.Start, ins.Keep.End, ins.InOrder = a.Seq, q.nxt, a.Len
		return
	}
	var fit trimmed
	trimToWindow(q.nxt, wnd, a, &fit)
	ins.Dropped, ins.Duplicate = fit.Beyond, fit.Old
	if q.finDone {
		ins.Keep = SeqRange{q.nxt, q.nxt}
		if ins.Duplicate.End == q.nxt && ins.Duplicate.Len() > 0 {
			ins.Duplicate.End-- // the FIN is not a byte
		}
		ins.Dropped += fit.Keep.Len()
		return
	}
	if fit.FIN && !q.finSeen && (len(q.held) == 0 || q.held[len(q.held)-1].End.AtOrBefore(fit.Keep.End)) {
		q.finSeen, q.fin = true, fit.Keep.End
	}
	r := fit.Keep
	if q.finSeen && r.End.After(q.fin) {
		cut := SeqRange{MaxSeq(r.Start, q.fin), r.End} // after the FIN
		ins.Dropped += cut.Len()
		r.End = MaxSeq(r.Start, q.fin)
	}
	if r.Len() > 0 {
		q.add(ins, r, fit.Offset)
	} else {
		ins.Keep = SeqRange{r.Start, r.Start}
	}
	if q.finSeen && q.nxt == q.fin {
		q.nxt++
		q.finDone, ins.FIN = true, true
		q.held = nil
	} else if q.finSeen && fit.FIN && r.Len() == 0 && fit.Keep.End == q.fin {
		ins.Block, _ = q.Find(q.fin)
	}
}

// add merges r into the ranges; r is not empty and inside the window. offset is its position in the
// payload.
func (q *recvQueue) add(ins *insertion, r SeqRange, offset uint32) {
	i := q.search(r.Start)
	ins.Keep, ins.Offset = r, offset
	if i < len(q.held) && q.held[i].Start.Before(r.End) && ins.Duplicate.Len() == 0 {
		ins.Duplicate = SeqRange{MaxSeq(r.Start, q.held[i].Start), MinSeq(r.End, q.held[i].End)}
	}
	if i < len(q.held) && q.held[i].Start.AtOrBefore(r.Start) { // its first byte is held
		h := q.held[i]
		if r.End.AtOrBefore(h.End) {
			ins.Keep, ins.Offset, ins.Block = SeqRange{r.Start, r.Start}, 0, h
			return
		}
		ins.Keep.Start, ins.Offset = h.End, offset+h.End.Sub(r.Start)
	}
	// The ranges i..j-1 touch or overlap r and merge with it.
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
		block = SeqRange{MinSeq(block.Start, h.Start), MaxSeq(block.End, h.End)}
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
			ins.Keep, ins.Offset = SeqRange{r.Start, r.Start}, 0
			return
		}
		q.held = append(q.held, SeqRange{})
		copy(q.held[i+1:], q.held[i:])
		j++
	}
	ins.FilledGap = i+1 < j || i+1 < len(q.held)
	q.held[i] = block
	q.held = q.held[:i+1+copy(q.held[i+1:], q.held[j:])]
	ins.Block = block
}
