package tcp

import (
	"fmt"

	"tcpwheel/wheel"
)

// MaxSentSegments is the most that the bound of a sentQueue may be.
const MaxSentSegments = 1 << 20

// maxFlight is the most sequence numbers in flight: the largest window (RFC 7323 §2.3), a SYN and a
// FIN.
const maxFlight = 1<<30 + 2

// sentQueue is the send side's book of what is in flight: the segments in sequence order, what is
// known of each, and the sums over all of them, which are exact after every call. It has no timer
// and no congestion control.
//
// Segments live in an arena and are named by its indices, so that timers can refer to them and
// lists go through them; a ring of the names in sequence order serves binary search. Both grow by
// doubling up to the bound.
//
// Callbacks are called with a segment as it was before the change that they are told of, and must
// not change the queue, Segment.Armed apart. Not safe for concurrent use; not to be copied once it
// is used.
type sentQueue struct {
	arena []sentSegment // by segmentID-1
	free  segmentID     // those given back, through next
	used  uint32        // of the arena, so far
	order []segmentID
	head  uint32
	n     uint32
	max   uint32

	oldest, newest segmentID  // in the order of last transmissions
	overtaken      segmentID  // the newest one that RACK knows to be older than what was delivered
	latest         wheel.Time // the latest time seen

	outstanding, sacked, lost, retransOut tally

	pendingRexmit uint32 // segments that are lost and were not retransmitted since

	highSacked Seq // the end of the highest range ever SACKed; valid while sacked is not empty
	edge       lossEdge

	visits, moves uint64 // segments looked at, and names moved to make room for a split: tests bound them
}

// newSentQueue returns an empty queue for at most maxSegments segments, a number from 1 to
// MaxSentSegments. Nothing is allocated before the first Push.
func newSentQueue(maxSegments int) (sentQueue, error) {
	if maxSegments < 1 || maxSegments > MaxSentSegments {
		return sentQueue{}, fmt.Errorf("tcp: max segments %d, want 1..%d", maxSegments, MaxSentSegments)
	}
	return sentQueue{max: uint32(maxSegments)}, nil
}

// Len returns how many segments are in the queue.
func (q *sentQueue) Len() int { return int(q.n) }

// Front returns the segment with the lowest sequence numbers, 0 if there is none.
func (q *sentQueue) Front() segmentID {
	if q.n == 0 {
		return 0
	}
	return q.order[q.head]
}

// Back returns the segment with the highest sequence numbers, 0 if there is none.
func (q *sentQueue) Back() segmentID {
	if q.n == 0 {
		return 0
	}
	return q.at(q.n - 1)
}

// Next returns the segment after id in sequence order, 0 if there is none.
func (q *sentQueue) Next(id segmentID) segmentID { return q.Get(id).next }

// Get returns the segment id, which must be in the queue. The pointer is good until the next Push,
// Sack or Split.
func (q *sentQueue) Get(id segmentID) *sentSegment {
	if id == 0 || int(id) > len(q.arena) || q.arena[id-1].Len == 0 {
		panic("BUG: no such segment in the queue")
	}
	return q.seg(id)
}

// Outstanding is all that is in the queue: sent and not cumulatively acknowledged.
func (q *sentQueue) Outstanding() tally { return q.outstanding }

// Sacked is what of it the receiver said to hold.
func (q *sentQueue) Sacked() tally { return q.sacked }

// Lost is what of it is deemed lost, retransmitted or not.
func (q *sentQueue) Lost() tally { return q.lost }

// RetransOut is what of it is deemed to be on its way as a retransmission.
func (q *sentQueue) RetransOut() tally { return q.retransOut }

// Pipe is what is deemed to be on its way, in segments and bytes.
//
// RFC 6675 §4, SetPipe: a byte that is not SACKed counts once if it is not lost, and once if it
// was retransmitted; so one that is retransmitted without having been deemed lost counts twice.
func (q *sentQueue) Pipe() tally {
	return q.outstanding.minus(q.sacked).minus(q.lost).plus(q.retransOut)
}

// Push appends a segment that is sent now. It must start where the last one ends, if there is one,
// and be of at least one sequence number. Push reports false, and does nothing, if the queue is
// full, or would be longer than a window can be. It costs O(1), growth apart. A now before an
// earlier one counts as that.
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
	*s = sentSegment{
		Seq: seq, Len: length, Flags: flags, FirstSent: q.latest, Sent: q.latest, Transmissions: 1, prev: back, ref: s.ref,
	}
	if back != 0 {
		q.seg(back).next = id
	}
	q.insert(q.n, id)
	q.outstanding.add(length)
	q.timeInsert(id)
	q.edge.pushed(id)
	return id, true
}

// Find returns the segment that seq is in, 0 if there is none. It costs O(log n).
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

// Ack takes out what is before una, and calls f for each segment that is wholly acknowledged, in
// sequence order, before it goes. One that is acknowledged in part loses that part and nothing
// else; its stamps and Armed stay. It returns the sequence numbers taken out, 0 for a una that is
// old. It costs O(1) for each segment taken out.
func (q *sentQueue) Ack(una Seq, f func(segmentID)) (octets uint32) {
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
	*s = sentSegment{next: q.free, ref: s.ref}
	q.free = id
	q.head = (q.head + 1) & uint32(len(q.order)-1)
	q.n--
}

// uncount takes c off the sums that a segment of this state is in.
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

// Split cuts the segment id in two where at is, which must be inside of it: after a smaller MSS, or
// for a part of it that was SACKed. id keeps the first part; the second, whose name is returned,
// has the same stamps and state, no timer, and the FIN and PSH. It reports false, and does nothing,
// if the queue is full. It costs O(log n), and moving the names of at most half of the segments, 4
// bytes each.
func (q *sentQueue) Split(id segmentID, at Seq) (second segmentID, ok bool) {
	return q.split(id, at, q.max)
}

// splitToFit is Split after a smaller MSS, for which a full queue has some room yet: a segment that
// is too long for the path would never arrive.
func (q *sentQueue) splitToFit(id segmentID, at Seq) (second segmentID, ok bool) {
	return q.split(id, at, q.mostSplit())
}

// mostSplit is how many segments there may be after splitToFit.
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
	q.uncount(s.state, tally{Segments: ^uint32(0)}) // one more
	q.insert(i+1, second)
	return second, true
}

// recycle makes an empty queue fit for another connection, with the memory that it has. Names are
// given out from 1 again.
func (q *sentQueue) recycle() {
	if q.n != 0 {
		panic("BUG: the queue is not empty")
	}
	*q = sentQueue{arena: q.arena, order: q.order}
}
