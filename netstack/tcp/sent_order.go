package tcp

import "tcpwheel/wheel"

func (q *sentQueue) seg(id segmentID) *sentSegment { return &q.arena[id-1] }

// at returns the i-th segment in sequence order.
func (q *sentQueue) at(i uint32) segmentID { return q.order[(q.head+i)&uint32(len(q.order)-1)] }

func (q *sentQueue) set(i uint32, id segmentID) { q.order[(q.head+i)&uint32(len(q.order)-1)] = id }

// position returns the index of the first segment that ends after seq, or n. It is a binary search.
func (q *sentQueue) position(seq Seq) uint32 {
	lo, hi := uint32(0), q.n
	for lo < hi {
		mid := (lo + hi) / 2
		q.visits++
		if q.seg(q.at(mid)).End().After(seq) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// insert puts id at index i of the sequence order, moving the IDs on the shorter side.
func (q *sentQueue) insert(i uint32, id segmentID) {
	if q.n == uint32(len(q.order)) {
		q.growOrder()
	}
	q.n++
	if i >= q.n/2 {
		for j := q.n - 1; j > i; j-- {
			q.set(j, q.at(j-1))
			q.moves++
		}
	} else {
		q.head = (q.head - 1) & uint32(len(q.order)-1)
		for j := uint32(0); j < i; j++ {
			q.set(j, q.at(j+1))
			q.moves++
		}
	}
	q.set(i, id)
}

func (q *sentQueue) growOrder() {
	grown := make([]segmentID, max(4, 2*len(q.order)))
	k := copy(grown, q.order[q.head:])
	copy(grown[k:], q.order[:q.head])
	q.order, q.head = grown, 0
}

// alloc returns an unused segment of the arena, last freed first. The arena doubles.
func (q *sentQueue) alloc() segmentID {
	if id := q.free; id != 0 {
		q.free = q.seg(id).next
		return id
	}
	if q.used == uint32(len(q.arena)) {
		n := max(4, 2*len(q.arena))
		if len(q.arena) < int(q.max) { // more only after splitToFit
			n = min(n, int(q.max))
		}
		grown := make([]sentSegment, n)
		copy(grown, q.arena)
		q.arena = grown
	}
	q.used++
	return segmentID(q.used)
}

// sentAfter is RACK_sent_after of RFC 8985 §6.2. It reports whether the transmission at t of a
// segment ending at end came after that at u of one ending at before. Sequence numbers order a
// burst.
func sentAfter(t wheel.Time, end Seq, u wheel.Time, before Seq) bool {
	return t > u || t == u && end.After(before)
}

// timeInsert puts id at the newest end of the order of last transmissions, but before those sent at
// the same instant with later sequence numbers (RFC 8985 §6.2, RACK_sent_after).
func (q *sentQueue) timeInsert(id segmentID) {
	s, after := q.seg(id), q.newest
	for after != 0 {
		a := q.seg(after)
		q.visits++
		if sentAfter(s.Sent, s.End(), a.Sent, a.End()) {
			break
		}
		after = a.older
	}
	q.timeLink(id, after)
}

// timeLink puts id after after in the order of last transmissions, first if after is 0.
func (q *sentQueue) timeLink(id, after segmentID) {
	s := q.seg(id)
	s.state |= stateTimed
	s.older, s.newer = after, q.oldest
	if after != 0 {
		s.newer = q.seg(after).newer
		q.seg(after).newer = id
	} else {
		q.oldest = id
	}
	if s.newer != 0 {
		q.seg(s.newer).older = id
	} else {
		q.newest = id
	}
}

// timeRemove removes id from the order of last transmissions, if it is there.
func (q *sentQueue) timeRemove(id segmentID) {
	s := q.seg(id)
	if s.state&stateTimed == 0 {
		return
	}
	if q.overtaken == id {
		q.overtaken = s.older
	}
	if s.older != 0 {
		q.seg(s.older).newer = s.newer
	} else {
		q.oldest = s.newer
	}
	if s.newer != 0 {
		q.seg(s.newer).older = s.older
	} else {
		q.newest = s.older
	}
	s.older, s.newer = 0, 0
	s.state &^= stateTimed
}
