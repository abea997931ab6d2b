package tcp

import "tcpwheel/wheel"

// Sack records that the receiver holds block (RFC 2018), and calls f in sequence order for each
// newly SACKed segment before recording it. Partly covered segments are split at the block's edges;
// if the queue is full they count as not covered. An empty block, or one that reaches outside the
// flight, is ignored. It returns the newly SACKed bytes.
//
// It costs O(log n) amortised, O(1) for each newly SACKed segment, and the cost of Split; runs
// SACKed before are skipped.
func (q *sentQueue) Sack(block SeqRange, f func(segmentID)) (bytes uint32) {
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
		bytes += q.seg(id).Len
	}
	return bytes
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

// nextUnsacked returns the first segment from id that is not SACKed, or 0. It compresses the path
// of shortcuts, so a SACKed run costs O(log n) amortised.
func (q *sentQueue) nextUnsacked(id segmentID) segmentID {
	root := id
	for root != 0 && q.seg(root).Sacked() {
		q.visits++
		root = q.follow(root)
	}
	target := root
	if target == 0 {
		target = q.Back() // also SACKed, and what is pushed next follows it
	}
	for id != root && id != target {
		next := q.follow(id)
		q.seg(id).skip = target
		id = next
	}
	return root
}

// follow returns the target of a SACKed segment's shortcut, or else its neighbour.
func (q *sentQueue) follow(id segmentID) segmentID {
	if s := q.seg(id); s.skip != 0 {
		return s.skip
	}
	return q.seg(id).next
}

// Retransmit records that segment id, which must not be SACKed, is retransmitted now. It costs
// O(1), and a step for each segment sent at the same instant with later sequence numbers.
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

// MarkLost records that every transmission of segment id, which must not be SACKed, is deemed lost.
// A second call is a no-op. It costs O(1).
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

// markFirstLost records that the first transmission of id is deemed lost; a retransmission stays in
// flight.
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

// ForgetSacks forgets all SACKs, after a timeout or when the receiver reneged. It marks all
// transmissions of these segments lost, calling f for each before, in sequence order. It costs
// O(n).
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

// pendingRexmits returns the number of lost segments not yet retransmitted.
func (q *sentQueue) pendingRexmits() uint32 { return q.pendingRexmit }

// has reports whether id is in the queue.
func (q *sentQueue) has(id segmentID) bool {
	return id != 0 && int(id) <= len(q.arena) && q.arena[id-1].Len != 0
}

// forgetLosses marks lost segments that were not retransmitted as in flight again. It costs O(n).
func (q *sentQueue) forgetLosses() {
	after := segmentID(0)
	for id := q.Front(); id != 0; id = q.seg(id).next {
		s := q.seg(id)
		if !s.Lost() {
			continue
		}
		q.lost.sub(s.Len)
		if s.RetransOut() {
			// It was sent twice, and both are in flight.
			s.state &^= stateLost
			continue
		}
		q.pendingRexmit--
		s.state &^= stateLost
		// Segments of one flight were sent in order, so the place of one is near that of the last.
		if after != 0 && q.seg(after).state&stateTimed == 0 || after != 0 && !sentAfter(s.Sent, s.End(), q.seg(after).Sent, q.seg(after).End()) {
			after = 0
		}
		for next := q.newerThan(after); next != 0 && sentAfter(s.Sent, s.End(), q.seg(next).Sent, q.seg(next).End()); next = q.newerThan(after) {
			after = next
		}
		if q.overtaken != 0 && after != 0 && q.overtaken == after || q.overtaken != 0 && after == 0 {
			q.overtaken = 0 // RACK recomputes it
		}
		q.timeLink(id, after)
		after = id
	}
	q.overtaken = 0
	q.edge = lossEdge{id: q.Front()}
	q.recountEdge()
}

// newerThan returns the segment sent next after id; the oldest for 0.
func (q *sentQueue) newerThan(id segmentID) segmentID {
	if id == 0 {
		return q.oldest
	}
	return q.seg(id).newer
}

// recountEdge resets the edge of RFC 6675 to the first segment not SACKed, and recounts what is
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
			q.edge.bytes += s.Len
			if !prev {
				q.edge.runs++
			}
		}
		prev = s.Sacked()
	}
}
