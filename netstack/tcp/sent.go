package tcp

import "tcpwheel/wheel"

// MaxSentSegments is the largest value of Config.MaxSegments.
const MaxSentSegments = 1 << 20

// maxFlight is the largest flight in sequence numbers: the largest window (RFC 7323 §2.3), a SYN
// and a FIN.
const maxFlight = 1<<30 + 2

// sentQueue tracks the segments in flight in sequence order, with their state and exact sums over
// them. It has no timers and no congestion control.
//
// Segments are in an arena and named by index, for timers and lists. A ring of the IDs in sequence
// order allows binary search. Both double in size up to the bound.
//
// Callbacks get a segment before the change that they report, and must not change the queue except
// sentSegment.Armed. Not safe for concurrent use; must not be copied once used.
type sentQueue struct {
	arena []sentSegment // by segmentID-1
	free  segmentID     // freed segments, linked by next
	used  uint32        // arena entries ever used
	order []segmentID
	head  uint32
	n     uint32
	max   uint32

	oldest, newest segmentID  // oldest and newest by last transmission
	overtaken      segmentID  // the newest segment that RACK knows was overtaken
	latest         wheel.Time // the latest time seen

	outstanding, sacked, lost, retransOut tally

	pendingRexmit uint32 // lost segments not yet retransmitted

	highSacked Seq // end of the highest range ever SACKed; valid if sacked is not empty
	edge       lossEdge

	visits, moves uint64 // segments visited, and IDs moved for a split: bounded in tests
}

// Len returns the number of segments.
func (q *sentQueue) Len() int { return int(q.n) }

// Front returns the segment with the lowest sequence numbers, or 0.
func (q *sentQueue) Front() segmentID {
	if q.n == 0 {
		return 0
	}
	return q.order[q.head]
}

// Back returns the segment with the highest sequence numbers, or 0.
func (q *sentQueue) Back() segmentID {
	if q.n == 0 {
		return 0
	}
	return q.at(q.n - 1)
}

// Next returns the segment after id in sequence order, or 0.
func (q *sentQueue) Next(id segmentID) segmentID { return q.Get(id).next }

// Get returns segment id, which must be in the queue. The pointer is valid until the next Push,
// Sack or Split.
func (q *sentQueue) Get(id segmentID) *sentSegment {
	if id == 0 || int(id) > len(q.arena) || q.arena[id-1].Len == 0 {
		panic("BUG: no such segment in the queue")
	}
	return q.seg(id)
}

// Outstanding counts all segments in the queue: sent and not cumulatively acknowledged.
func (q *sentQueue) Outstanding() tally { return q.outstanding }

// Sacked counts the SACKed segments.
func (q *sentQueue) Sacked() tally { return q.sacked }

// Lost counts the segments deemed lost, retransmitted or not.
func (q *sentQueue) Lost() tally { return q.lost }

// RetransOut counts the retransmissions deemed in flight.
func (q *sentQueue) RetransOut() tally { return q.retransOut }

// Pipe counts what is deemed in the network.
//
// RFC 6675 §4, SetPipe: a byte that is not SACKed counts once if it is not lost, and once if it was
// retransmitted. A byte retransmitted without having been lost counts twice.
func (q *sentQueue) Pipe() tally {
	return q.outstanding.minus(q.sacked).minus(q.lost).plus(q.retransOut)
}

// Push appends a segment sent now. seq must follow the last segment, and length must be at least 1.
// It reports false, and does nothing, if the queue is full or would exceed the largest window. A
// now before an earlier one counts as that. It costs O(1) amortised.
func (q *sentQueue) Push(now wheel.Time, seq Seq, length uint32, flags sentFlags) (segmentID, bool) {
	if back := q.Back(); length == 0 || back != 0 && q.seg(back).End() != seq {
		panic("BUG: a segment must follow the one sent before it, and not be empty")
	}
	if q.n >= q.max || length > maxFlight || q.outstanding.Bytes > maxFlight-length {
		return 0, false
	}
	back := q.Back()
	id := q.alloc()
	q.latest = max(q.latest, now)
	s := q.seg(id)
	ref := s.ref
	*s = sentSegment{}
	s.Seq, s.Len, s.Flags, s.Transmissions, s.prev, s.ref = seq, length, flags, 1, back, ref
	s.FirstSent, s.Sent = q.latest, q.latest
	if back != 0 {
		q.seg(back).next = id
	}
	q.insert(q.n, id)
	q.outstanding.add(length)
	q.timeInsert(id)
	q.edge.pushed(id)
	return id, true
}

// Find returns the segment that contains seq, or 0. It costs O(log n).
func (q *sentQueue) Find(seq Seq) segmentID {
	i := q.position(seq)
	if i == q.n {
		return 0
	}
	if id := q.at(i); seq.AtOrAfter(q.seg(id).Seq) {
		return id
	}
	return 0
}

// Ack removes everything before una, and calls f in sequence order for each fully acknowledged
// segment before removing it. A partly acknowledged segment loses that part; its times and Armed
// stay. Ack returns the sequence numbers removed, 0 for an old una. It costs O(1) for each removed
// segment.
func (q *sentQueue) Ack(una Seq, f func(segmentID)) (bytes uint32) {
	before := q.outstanding.Bytes
	for q.n > 0 {
		id := q.order[q.head]
		s := q.seg(id)
		q.visits++
		if s.End().After(una) {
			if una.After(s.Seq) {
				q.trim(s, una.Sub(s.Seq))
			}
			break
		}
		if f != nil {
			f(id)
		}
		q.pop(id)
	}
	return before - q.outstanding.Bytes
}

func (q *sentQueue) trim(s *sentSegment, n uint32) {
	s.Seq, s.Len = s.Seq.Add(n), s.Len-n
	s.Flags &^= sentSYN
	q.outstanding.Bytes -= n
	q.uncount(s.state, tally{0, n})
}

func (q *sentQueue) pop(id segmentID) {
	s := q.seg(id)
	q.edge.leaving(q, id)
	q.timeRemove(id)
	q.outstanding.sub(s.Len)
	q.uncount(s.state, tally{1, s.Len})
	if s.next != 0 {
		q.seg(s.next).prev = 0
	}
	ref := s.ref
	*s = sentSegment{}
	s.next, s.ref = q.free, ref
	q.free = id
	q.head = (q.head + 1) & uint32(len(q.order)-1)
	q.n--
}

// uncount subtracts c from the sums that a segment in this state is in.
func (q *sentQueue) uncount(state segmentState, c tally) {
	if state&stateSacked != 0 {
		q.sacked = q.sacked.minus(c)
	}
	if state&stateLost != 0 {
		q.lost = q.lost.minus(c)
	}
	if state&stateRetransOut != 0 {
		q.retransOut = q.retransOut.minus(c)
	}
	if state.needsRexmit() {
		q.pendingRexmit -= c.Segments
	}
}

// Split cuts segment id in two at at, which must be inside it: for a smaller MSS, or for a partial
// SACK. id keeps the first part. The second part, which is returned, has the same times and state,
// the FIN and PSH, and no timer. It reports false, and does nothing, if the queue is full. It costs
// O(log n) plus moving the IDs of at most half the segments, 4 bytes each.
func (q *sentQueue) Split(id segmentID, at Seq) (second segmentID, ok bool) {
	return q.split(id, at, q.max)
}

// splitToFit is Split for a smaller MSS. It may exceed the bound of a full queue, because a segment
// too long for the path would never arrive.
func (q *sentQueue) splitToFit(id segmentID, at Seq) (second segmentID, ok bool) {
	return q.split(id, at, q.mostSplit())
}

// mostSplit returns the bound of splitToFit.
func (q *sentQueue) mostSplit() uint32 { return min(2*q.max+64, MaxSentSegments) }

func (q *sentQueue) split(id segmentID, at Seq, most uint32) (second segmentID, ok bool) {
	if s := q.Get(id); !at.After(s.Seq) || !at.Before(s.End()) {
		panic("BUG: a split must be inside of the segment")
	}
	if q.n >= most {
		return 0, false
	}
	i := q.position(at)
	second = q.alloc()
	s, t := q.seg(id), q.seg(second)
	ref := t.ref
	*t = *s
	t.ref = ref
	first := at.Sub(s.Seq)
	t.Seq, t.Len, t.Armed, t.Flags = at, s.Len-first, false, s.Flags&^sentSYN
	s.Len, s.Flags = first, s.Flags&^(sentFIN|sentPSH)
	t.prev, s.next = id, second
	if t.next != 0 {
		q.seg(t.next).prev = second
	}
	if s.Sacked() {
		s.skip = second
	}
	if s.state&stateTimed != 0 {
		q.timeLink(second, id)
	}
	q.outstanding.Segments++
	q.uncount(s.state, tally{Segments: ^uint32(0)}) // adds one
	q.insert(i+1, second)
	return second, true
}

// recycle resets an empty queue for another connection but keeps its memory. IDs start from 1
// again.
func (q *sentQueue) recycle() {
	if q.n != 0 {
		panic("BUG: the queue is not empty")
	}
	*q = sentQueue{arena: q.arena, order: q.order}
}
