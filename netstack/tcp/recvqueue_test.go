package tcp

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// byteQueue is the simple twin of recvQueue: it records for each sequence number whether its byte
// has arrived.
type byteQueue struct {
	first, nxt Seq
	edge       Seq // right edge of the window, which never moves left
	have       map[Seq]bool
	fin        Seq
	finSeen    bool
	finDone    bool
}

func (q *byteQueue) ranges() (all []SeqRange) {
	for s := q.nxt; s != q.nxt+256; s++ {
		if !q.have[s] {
			continue
		}
		if n := len(all); n > 0 && all[n-1].End == s {
			all[n-1].End++
		} else {
			all = append(all, SeqRange{s, s + 1})
		}
	}
	return all
}

// stepBoth inserts the segment into both and compares all visible state.
func stepBoth(t *testing.T, q *recvQueue, twin *byteQueue, a Arrival, wnd uint32) {
	t.Helper()
	twin.edge = MaxSeq(twin.edge, twin.nxt.Add(wnd))
	wnd = twin.edge.Sub(twin.nxt)
	before := len(q.Held())
	ins := q.insert(a, wnd)
	p := a.payload()
	var fresh []Seq
	var dup SeqRange
	runOver := false
	finAt, maxHeld := p.End, twin.nxt
	for s := range twin.have {
		maxHeld = MaxSeq(maxHeld, s+1)
	}
	if !twin.finDone && a.FIN && !twin.finSeen && finAt.InWindow(twin.nxt, wnd) && !maxHeld.After(finAt) {
		twin.finSeen, twin.fin = true, finAt
	}
	for i := range a.Len {
		s := p.Start.Add(i)
		old := s.Before(twin.nxt) && !(twin.finDone && s == twin.fin) || twin.have[s]
		if old && !runOver {
			if dup.Len() == 0 {
				dup.Start = s
			}
			dup.End = s + 1
		}
		runOver = runOver || dup.Len() > 0 && !old
		if !old && s.InWindow(twin.nxt, wnd) && !twin.finDone && !(twin.finSeen && s.AtOrAfter(twin.fin)) {
			fresh = append(fresh, s)
		}
	}
	refused := len(fresh) > 0 && ins.Keep.Len() == 0
	if refused && (before < int(q.max) || len(q.Held()) != int(q.max) || ins.Dropped == 0) {
		t.Fatalf("Insert(%+v, %d) = %+v: refused with %d of %d ranges held", a, wnd, ins, before, q.max)
	}
	if !refused {
		if len(fresh) > 0 && (ins.Keep != SeqRange{fresh[0], fresh[len(fresh)-1] + 1} || ins.Offset != fresh[0].Sub(p.Start)) {
			t.Fatalf("Insert(%+v, %d) = %+v, want %v..%v kept", a, wnd, ins, fresh[0], fresh[len(fresh)-1])
		}
		if len(fresh) == 0 && ins.Keep.Len() > 0 {
			t.Fatalf("Insert(%+v, %d) = %+v, want nothing kept", a, wnd, ins)
		}
		for _, s := range fresh {
			twin.have[s] = true
		}
	}
	if ins.Duplicate.Len() != dup.Len() || dup.Len() > 0 && ins.Duplicate != dup {
		t.Fatalf("Insert(%+v, %d) = %+v, want the duplicate %v", a, wnd, ins, dup)
	}
	var inOrder uint32
	for twin.have[twin.nxt] {
		delete(twin.have, twin.nxt)
		twin.nxt++
		inOrder++
	}
	fin := twin.finSeen && !twin.finDone && twin.nxt == twin.fin
	if fin {
		twin.finDone = true
		twin.nxt++
	}
	if ins.InOrder != inOrder || ins.FIN != fin || q.Nxt() != twin.nxt || q.finDone != twin.finDone {
		t.Fatalf("Insert(%+v, %d) = %+v at %v, want %d in order, FIN %v, at %v", a, wnd, ins, q.Nxt(), inOrder, fin, twin.nxt)
	}
	want, got := twin.ranges(), q.Held()
	if len(want) != len(got) || len(got) > int(q.max) {
		t.Fatalf("Insert(%+v, %d): held %v, want %v", a, wnd, got, want)
	}
	var octets uint32
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("Insert(%+v, %d): held %v, want %v", a, wnd, got, want)
		}
		octets += want[i].Len()
	}
	if heldBytes(q) != octets {
		t.Fatalf("heldBytes = %d, want %d", heldBytes(q), octets)
	}
	if len(fresh) > 0 && !refused {
		if r, ok := q.Find(fresh[0]); ok && r != ins.Block || !ok && ins.Block.Len() > 0 {
			t.Fatalf("Insert(%+v, %d) = %+v, but Find gives %v", a, wnd, ins, r)
		}
	}
}

func newBoth(t *testing.T, nxt Seq, ranges int) (*recvQueue, *byteQueue) {
	t.Helper()
	q := &recvQueue{}
	if err := q.Init(nxt, ranges); err != nil {
		t.Fatal(err)
	}
	return q, &byteQueue{first: nxt, nxt: nxt, edge: nxt, have: map[Seq]bool{}}
}

func TestRecvQueueAgreesWithTwin(t *testing.T) {
	// RFC 9293 §3.10.7.4: "Segments with higher beginning sequence numbers SHOULD be held for later
	// processing (SHLD-31)."
	rnd := rand.New(rand.NewPCG(3, 4))
	finished := 0
	for range 400 {
		q, twin := newBoth(t, Seq(rnd.Uint32())|0xffffff00, 1+rnd.IntN(8))
		finAt := twin.first.Add(uint32(150 + rnd.IntN(100)))
		for range 150 {
			a := Arrival{Seq: twin.nxt + Seq(rnd.IntN(80)-30), Len: uint32(rnd.IntN(25)), SYN: rnd.IntN(40) == 0}
			if end := a.payload().End; end.AtOrAfter(finAt) && rnd.IntN(10) > 0 { // the others go beyond it
				a.FIN = a.payload().Start.AtOrBefore(finAt)
				if a.FIN {
					a.Len = finAt.Sub(a.payload().Start)
				}
			}
			stepBoth(t, q, twin, a, uint32(rnd.IntN(100)))
		}
		if q.finDone {
			finished++
		}
	}
	if finished < 100 {
		t.Errorf("only %d of 400 runs reached their FIN", finished)
	}
}

func TestRecvQueueBounded(t *testing.T) {
	// A flood of single bytes, each its own range.
	q, _ := newBoth(t, 0, 16)
	for s := Seq(1 << 16); s > 1; s -= 2 {
		if ins := q.insert(Arrival{Seq: s, Len: 1}, 1<<17); (ins.Dropped == 1) != (s <= 1<<16-32) {
			t.Fatalf("byte %v: %+v", s, ins)
		}
	}
	if n := len(q.Held()); n != 16 {
		t.Errorf("%d ranges held, want 16", n)
	}
	if ins := q.insert(Arrival{Seq: 0, Len: 1 << 16}, 1<<17); ins.InOrder != 1<<16+1 || !ins.FilledGap {
		t.Errorf("what fills all gaps: %+v", ins)
	}
	if ins := q.insert(Arrival{Seq: 1<<16 + 1, Len: 1}, 1<<17); ins.InOrder != 1 || ins.FilledGap {
		t.Errorf("in order again: %+v", ins)
	}
}

func TestRecvQueueFilledGap(t *testing.T) {
	// RFC 5681 §4.2: "the receiver SHOULD send an immediate ACK when it receives a data segment
	// that fills in all or part of a gap in the sequence space."
	for _, c := range []struct {
		a    Arrival
		want bool
	}{
		{Arrival{Seq: 30, Len: 5}, false}, // a new gap
		{Arrival{Seq: 20, Len: 5}, true},  // part of it
		{Arrival{Seq: 35, Len: 5}, false}, // above it
		{Arrival{Seq: 25, Len: 5}, true},
		{Arrival{Seq: 10, Len: 2}, true}, // part, in order
		{Arrival{Seq: 12, Len: 8}, true},
		{Arrival{Seq: 40, Len: 8}, false},
	} {
		q, _ := newBoth(t, 10, 8)
		for _, prev := range []Arrival{{Seq: 30, Len: 5}, {Seq: 20, Len: 5}, {Seq: 35, Len: 5}, {Seq: 25, Len: 5}, {Seq: 10, Len: 2}, {Seq: 12, Len: 8}} {
			if prev == c.a {
				break
			}
			q.insert(prev, 100)
		}
		if ins := q.insert(c.a, 100); ins.FilledGap != c.want {
			t.Errorf("%+v: filled %v, want %v", c.a, ins.FilledGap, c.want)
		}
	}
}

func TestRecvQueueInitBounds(t *testing.T) {
	for _, n := range []int{0, 4097} {
		if err := new(recvQueue).Init(0, n); err == nil {
			t.Errorf("Init(0, %d) succeeds", n)
		}
	}
}

func TestRecvQueueDoesNotAllocate(t *testing.T) {
	q, _ := newBoth(t, 0, 8)
	q.insert(Arrival{Seq: 10, Len: 1}, 100)
	s := Seq(0)
	if n := testing.AllocsPerRun(100, func() {
		q.insert(Arrival{Seq: s + 10, Len: 10}, 100)
		q.insert(Arrival{Seq: s, Len: 10}, 100)
		s += 20
	}); n != 0 {
		t.Errorf("%v allocations per two segments", n)
	}
}

func FuzzRecvQueue(f *testing.F) {
	f.Add(uint32(0), uint8(4), []byte{0, 10, 0, 50, 20, 5, 0, 50, 10, 10, 1, 50})
	f.Add(uint32(1<<32-20), uint8(1), []byte{30, 5, 0, 90, 40, 5, 3, 90, 0, 30, 0, 90})
	f.Fuzz(func(t *testing.T, nxt uint32, ranges uint8, ops []byte) {
		q, twin := newBoth(t, Seq(nxt), 1+int(ranges%16))
		for range 64 {
			if len(ops) < 4 {
				break
			}
			op := binary.BigEndian.Uint32(ops)
			ops = ops[4:]
			a := Arrival{Seq: twin.nxt + Seq(int8(op>>24)), Len: op >> 16 & 63, FIN: op>>8&1 != 0, SYN: op>>8&2 != 0}
			stepBoth(t, q, twin, a, op&127)
		}
	})
}

// insert is Insert with a result.
func (q *recvQueue) insert(a Arrival, wnd uint32) (ins insertion) {
	q.Insert(a, wnd, &ins)
	return ins
}

// heldBytes returns the number of bytes beyond RCV.NXT.
func heldBytes(q *recvQueue) (n uint32) {
	for _, r := range q.held {
		n += r.Len()
	}
	return n
}
