package tcp

// lossEdge is the lowest segment that is neither SACKed nor marked lost by RFC 6675, with the
// SACKed data above it. It only rises until SACKs are forgotten, so each segment is visited once.
type lossEdge struct {
	id    segmentID // 0 is none: the next pushed segment
	bytes uint32    // bytes SACKed above id
	runs  uint32    // SACKed ranges above id
}

func (e *lossEdge) pushed(id segmentID) {
	if e.id == 0 {
		*e = lossEdge{id: id}
	}
}

// leaving must be called before id is popped from the front.
func (e *lossEdge) leaving(q *sentQueue, id segmentID) {
	if e.id == id {
		e.rise(q)
	}
}

// sacked must be called after id is SACKed.
func (e *lossEdge) sacked(q *sentQueue, id segmentID) {
	s := q.seg(id)
	switch {
	case e.id == 0 || s.Seq.Before(q.seg(e.id).Seq):
	case e.id == id:
		// The run above the edge is no longer above it.
		e.rise(q)
	default:
		e.bytes += s.Len
		e.runs++
		if s.prev != 0 && q.seg(s.prev).Sacked() {
			e.runs--
		}
		if s.next != 0 && q.seg(s.next).Sacked() {
			e.runs--
		}
	}
}

// rise moves the edge to the next segment that is not SACKed.
func (e *lossEdge) rise(q *sentQueue) {
	id := q.seg(e.id).next
	if id != 0 && q.seg(id).Sacked() {
		e.runs--
	}
	for id != 0 && q.seg(id).Sacked() {
		q.visits++
		e.bytes -= q.seg(id).Len
		id = q.seg(id).next
	}
	e.id = id
}
