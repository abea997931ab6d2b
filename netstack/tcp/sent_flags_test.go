package tcp

import (
	"fmt"
	"testing"

	"tcpwheel/wheel"
)

// RFC 9293 §3.4: SYN is the first sequence number of a segment and FIN the last, so each stays with
// its part. RFC 6298 and RACK need the times in both.
func TestSplitKeepsTimesAndFlags(t *testing.T) {
	q, _ := newSentQueue(4)
	id, _ := q.Push(7, 100, 10, sentSYN|sentPSH|sentFIN)
	q.Retransmit(9, id)
	q.Get(id).Armed = true
	second, ok := q.Split(id, 104)
	if !ok {
		t.Fatal("the split is refused")
	}
	a, b := q.Get(id), q.Get(second)
	if a.Flags != sentSYN || b.Flags != sentPSH|sentFIN || !a.Armed || b.Armed {
		t.Errorf("parts have flags %b, %b and timers %v, %v", a.Flags, b.Flags, a.Armed, b.Armed)
	}
	for _, s := range []*sentSegment{a, b} {
		if s.FirstSent != 7 || s.Sent != 9 || s.Transmissions != 2 || !s.RetransOut() || !s.Retransmitted() {
			t.Errorf("part %v is %+v", s.Seq, *s)
		}
	}
	q.Ack(101, nil)
	if got := q.Get(id).Flags; got != 0 {
		t.Errorf("flags %b after the SYN was acknowledged", got)
	}
	q.Ack(110, nil)
	if q.Front() != 0 || q.Back() != 0 {
		t.Error("an empty queue has segments")
	}
	if _, ok := q.Push(1, 500, 1, 0); !ok || q.Get(q.Front()).Sent != 9 {
		t.Error("in an empty queue, a clock that steps back is not held")
	}
}

// TestSackFlood SACKs single bytes: the segments and the work per block stay bounded.
func TestSackFlood(t *testing.T) {
	const limit = 256
	q, _ := newSentQueue(limit)
	for i := range 8 {
		q.Push(wheel.Time(i), Seq(i*1000), 1000, 0)
	}
	for i := Seq(1); i < 8000; i += 2 {
		visits, moves := q.visits, q.moves
		q.Sack(SeqRange{i, i + 1}, nil)
		if q.visits-visits > 64 || q.moves-moves > limit {
			t.Fatalf("block %d: %d visits, %d moves", i, q.visits-visits, q.moves-moves)
		}
	}
	if q.Len() > limit || len(q.arena) > limit {
		t.Errorf("%d segments, arena of %d, want at most %d", q.Len(), len(q.arena), limit)
	}
	if err := q.check(); err != nil {
		t.Error(err)
	}
}

// TestSackIgnores has blocks outside the flight, and empty ones.
func TestSackIgnores(t *testing.T) {
	q, _ := newSentQueue(8)
	q.Push(0, 1000, 1000, 0)
	for _, r := range []SeqRange{{1100, 1100}, {1200, 1100}, {999, 1100}, {1900, 2001}, {5000, 6000}} {
		if got := q.Sack(r, nil); got != 0 || q.Len() != 1 {
			t.Errorf("Sack(%v) = %d, and %d segments", r, got, q.Len())
		}
	}
}

// RFC 2018 §5: "After a retransmit timeout the data sender SHOULD turn off all of the SACKed bits,
// since the timeout might indicate that the data receiver has reneged."
func TestForgetSacks(t *testing.T) {
	q, _ := newSentQueue(8)
	for i := range 4 {
		q.Push(0, Seq(i*100), 100, 0)
	}
	q.Sack(SeqRange{100, 300}, nil)
	var told []Seq
	q.ForgetSacks(func(id segmentID) { told = append(told, q.Get(id).Seq) })
	if len(told) != 2 || told[0] != 100 || told[1] != 200 {
		t.Errorf("SACKed %v, want 100 and 200", told)
	}
	if q.Sacked() != (tally{}) || q.Lost() != (tally{2, 200}) || q.Pipe() != (tally{2, 200}) {
		t.Errorf("SACKed %v, lost %v, pipe %v", q.Sacked(), q.Lost(), q.Pipe())
	}
}

func TestSentQueueDoesNotAllocate(t *testing.T) {
	q, _ := newSentQueue(64)
	nxt := Seq(0)
	round := func() {
		for range 16 {
			q.Push(0, nxt, 100, 0)
			nxt = nxt.Add(100)
		}
		q.Sack(SeqRange{nxt.Add(^uint32(850)), nxt.Add(^uint32(330))}, nil)
		q.MarkLost(q.Front())
		q.Retransmit(1, q.Front())
		q.Ack(nxt, nil)
	}
	round()
	if got := testing.AllocsPerRun(100, round); got != 0 {
		t.Errorf("%v allocations in a round, want 0", got)
	}
}

// newSentQueue returns an empty queue for at most maxSegments segments, 1..MaxSentSegments. It
// allocates on the first Push.
func newSentQueue(maxSegments int) (sentQueue, error) {
	if maxSegments < 1 || maxSegments > MaxSentSegments {
		return sentQueue{}, fmt.Errorf("tcp: max segments %d, want 1..%d", maxSegments, MaxSentSegments)
	}
	return sentQueue{max: uint32(maxSegments)}, nil
}
