package tcp

// lossEdge is the lowest segment that is neither SACKed nor judged lost by RFC 6675, with what is
// SACKed above it. As it only rises, until SACKs are forgotten, the judgement costs one visit of
// each segment in all.
type lossEdge struct {
	id     segmentID // 0: there is none, the next one pushed will be it
	octets uint32    // SACKed above id
	runs   uint32    // discontiguous ranges of them
}

func (e *lossEdge) pushed(id segmentID) {
	if e.id == 0 {
		*e = lossEdge{id: id}
	}
}

// leaving is told before id is popped from the front.
func (e *lossEdge) leaving(q *sentQueue, id segmentID) {
	if e.id == id {
		e.rise(q)
	}
}

// sacked is told after id is SACKed.
func (e *lossEdge) sacked(q *sentQueue, id segmentID) {
	s := q.seg(id)
	switch {
	case e.id == 0 || s.Seq.Before(q.seg(e.id).Seq):
	case e.id == id:
		// The run above it is above no more: a step as over a lost segment.
		e.rise(q)
	default:
		e.octets += s.Len
		e.runs++
		if s.prev != 0 && q.seg(s.prev).Sacked() {
			e.runs--
		}
		if s.next != 0 && q.seg(s.next).Sacked() {
			e.runs--
		}
	}
}

// rise moves on to the next segment that is not SACKed.
func (e *lossEdge) rise(q *sentQueue) {
	id := q.seg(e.id).next
	if id != 0 && q.seg(id).Sacked() {
		e.runs--
	}
	for id != 0 && q.seg(id).Sacked() {
		q.visits++
		e.octets -= q.seg(id).Len
		id = q.seg(id).next
	}
	e.id = id
}
