package tcp

import "tcpwheel/wheel"

// Sack notes that the receiver holds the bytes of block (RFC 2018), and calls f for each segment
// of which that is news, in sequence order, before it is noted. Segments that are covered in part
// are split at the block's edges; where the queue is full, and for their part, they count as not
// covered. A block that is empty or reaches outside of what is in flight is ignored. It returns the
// bytes that were news.
//
// It costs O(log n) amortised and O(1) for each segment of news, and what Split costs: segments
// that were SACKed before are skipped.
func (q *sentQueue) Sack(block Range, f func(segmentID)) (octets uint32) {
	if q.n == 0 || !block.Start.Before(block.End) || block.Start.Before(q.seg(q.Front()).Seq) ||
		block.End.After(q.seg(q.Back()).End()) {
		return 0
	}
	id := q.Find(block.Start)
	if s := q.seg(id); s.Seq != block.Start && !s.Sacked() {
		second, ok := q.Split(id, block.Start)
		if !ok {
			second = s.next
		}
		id = second
	}
	for id = q.nextUnsacked(id); id != 0; id = q.nextUnsacked(q.seg(id).next) {
		q.visits++
		if q.seg(id).Seq.AtOrAfter(block.End) {
			break
		}
		if q.seg(id).End().After(block.End) {
			if _, ok := q.Split(id, block.End); !ok {
				break
			}
		}
		if f != nil {
			f(id)
		}
		q.sack(id)
		octets += q.seg(id).Len
	}
	return octets
}

func (q *sentQueue) sack(id segmentID) {
	s := q.seg(id)
	q.timeRemove(id)
	if s.Lost() {
		q.lost.sub(s.Len)
	}
	if s.RetransOut() {
		q.retransOut.sub(s.Len)
	}
	if s.state.needsRexmit() {
		q.pendingRexmit--
	}
	if q.sacked.Segments == 0 || s.End().After(q.highSacked) {
		q.highSacked = s.End()
	}
	s.state = stateSacked
	s.skip = s.next
	q.sacked.add(s.Len)
	q.edge.sacked(q, id)
}

// nextUnsacked returns the first segment from id on that is not SACKed, 0 if there is none. It
// leaves a short cut in all that it passes (path compression), which is why SACKed runs cost no
// more than O(log n) amortised.
func (q *sentQueue) nextUnsacked(id segmentID) segmentID {
	root := id
	for root != 0 && q.seg(root).Sacked() {
		q.visits++
		root = q.follow(root)
	}
	target := root
	if target == 0 {
		target = q.Back() // SACKed too, and what is pushed from now on follows it
	}
	for id != root && id != target {
		next := q.follow(id)
		q.seg(id).skip = target
		id = next
	}
	return root
}

// follow returns where the short cut of a sacked segment leads to, and its neighbour if it has
// none.
func (q *sentQueue) follow(id segmentID) segmentID {
	if s := q.seg(id); s.skip != 0 {
		return s.skip
	}
	return q.seg(id).next
}

// Retransmit notes that the segment id is sent again now; it must not be SACKed. It costs O(1), and
// a step for each segment that was sent at the same instant and has later sequence numbers.
func (q *sentQueue) Retransmit(now wheel.Time, id segmentID) {
	s := q.Get(id)
	if s.Sacked() {
		panic("BUG: retransmission of a SACKed segment")
	}
	q.timeRemove(id)
	q.latest = max(q.latest, now)
	s.Sent = q.latest
	if s.Transmissions < 255 {
		s.Transmissions++
	}
	if !s.RetransOut() {
		if s.Lost() {
			q.pendingRexmit--
		}
		s.state |= stateRetransOut
		q.retransOut.add(s.Len)
	}
	q.timeInsert(id)
}

// MarkLost notes that every transmission of the segment id is deemed lost; it must not be SACKed.
// It costs O(1). An extra call changes nothing.
func (q *sentQueue) MarkLost(id segmentID) {
	q.markFirstLost(id)
	s := q.seg(id)
	if s.RetransOut() {
		s.state &^= stateRetransOut
		q.retransOut.sub(s.Len)
		q.pendingRexmit++
	}
	q.timeRemove(id)
}

// markFirstLost notes that the first transmission of id is deemed lost, and leaves a retransmission
// on its way.
func (q *sentQueue) markFirstLost(id segmentID) {
	s := q.Get(id)
	if s.Sacked() {
		panic("BUG: loss of a SACKed segment")
	}
	if !s.Lost() {
		s.state |= stateLost
		q.lost.add(s.Len)
		if !s.RetransOut() {
			q.pendingRexmit++
		}
	}
	if !s.RetransOut() {
		q.timeRemove(id)
	}
}

// ForgetSacks forgets what the receiver said to hold, after a retransmission timeout or on evidence
// that it dropped what it held. The segments concerned are deemed lost, all transmissions of them;
// f is called for each, in sequence order, before that. It costs O(n).
func (q *sentQueue) ForgetSacks(f func(segmentID)) {
	// RFC 2018 §5: "After a retransmit timeout the data sender SHOULD turn off all of the SACKed
	// bits, since the timeout might indicate that the data receiver has reneged."
	for id := q.Front(); id != 0; id = q.seg(id).next {
		s := q.seg(id)
		q.visits++
		if !s.Sacked() {
			continue
		}
		if f != nil {
			f(id)
		}
		s.state, s.skip = stateLost, 0
		q.sacked.sub(s.Len)
		q.lost.add(s.Len)
		q.pendingRexmit++
	}
	q.edge = lossEdge{id: q.Front()}
}

// pendingRexmits returns how many segments are lost and were not retransmitted since.
func (q *sentQueue) pendingRexmits() uint32 { return q.pendingRexmit }

// has reports whether id names a segment of the queue.
func (q *sentQueue) has(id segmentID) bool {
	return id != 0 && int(id) <= len(q.arena) && q.arena[id-1].Len != 0
}

// forgetLosses takes back that segments were lost, of those that were not retransmitted since: they
// count as on their way again. It costs O(n).
func (q *sentQueue) forgetLosses() {
	after := segmentID(0)
	for id := q.Front(); id != 0; id = q.seg(id).next {
		s := q.seg(id)
		if !s.Lost() {
			continue
		}
		q.lost.sub(s.Len)
		if s.RetransOut() {
			// It was sent twice, and both are on their way.
			s.state &^= stateLost
			continue
		}
		q.pendingRexmit--
		s.state &^= stateLost
		// Those of one flight were sent in their order, so that the place of one is soon found
		// behind that of the last.
		if after != 0 && q.seg(after).state&stateTimed == 0 || after != 0 && !sentAfter(s.Sent, s.End(), q.seg(after).Sent, q.seg(after).End()) {
			after = 0
		}
		for next := q.newerThan(after); next != 0 && sentAfter(s.Sent, s.End(), q.seg(next).Sent, q.seg(next).End()); next = q.newerThan(after) {
			after = next
		}
		if q.overtaken != 0 && after != 0 && q.overtaken == after || q.overtaken != 0 && after == 0 {
			q.overtaken = 0 // RACK finds it again
		}
		q.timeLink(id, after)
		after = id
	}
	q.overtaken = 0
	q.edge = lossEdge{id: q.Front()}
	q.recountEdge()
}

// newerThan returns the segment sent next after id, the oldest for 0.
func (q *sentQueue) newerThan(id segmentID) segmentID {
	if id == 0 {
		return q.oldest
	}
	return q.seg(id).newer
}

// recountEdge puts the edge of RFC 6675 to the first segment that is not SACKed, and counts what is
// SACKed above it.
func (q *sentQueue) recountEdge() {
	id := q.Front()
	for id != 0 && q.seg(id).Sacked() {
		id = q.seg(id).next
	}
	q.edge = lossEdge{id: id}
	if id == 0 {
		return
	}
	for prev, id := false, q.seg(id).next; id != 0; id = q.seg(id).next {
		s := q.seg(id)
		if s.Sacked() {
			q.edge.octets += s.Len
			if !prev {
				q.edge.runs++
			}
		}
		prev = s.Sacked()
	}
}
