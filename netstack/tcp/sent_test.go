package tcp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// sentTwin is the simple twin of sentQueue: a byte of state for each sequence number in flight.
type sentTwin struct {
	una   Seq
	state []byte
	sent  []wheel.Time
}

const (
	twinSacked = 1 << iota
	twinLost
	twinRetrans
)

func (w *sentTwin) count(mask, want byte) (n uint32) {
	for _, b := range w.state {
		if b&mask == want {
			n++
		}
	}
	return n
}

func (w *sentTwin) each(r SeqRange, f func(i int)) {
	for s := r.Start; s != r.End; s++ {
		f(int(s.Sub(w.una)))
	}
}

// check checks all invariants of the queue.
func (q *sentQueue) check() error {
	var out, sacked, lost, retrans tally
	timed, prev := 0, segmentID(0)
	edgeSeen := false
	var edge lossEdge
	for i := range q.n {
		id := q.at(i)
		s := q.Get(id)
		switch {
		case s.prev != prev || prev != 0 && (q.seg(prev).next != id || q.seg(prev).End() != s.Seq):
			return fmt.Errorf("segment %v: not linked to the one before it", s.Seq)
		case s.Sacked() && s.state != stateSacked:
			return fmt.Errorf("segment %v: SACKed, and state %b", s.Seq, s.state)
		case !s.Sacked() && (s.state&stateTimed != 0) != (!s.Lost() || s.RetransOut()):
			return fmt.Errorf("segment %v: state %b", s.Seq, s.state)
		case q.Find(s.Seq) != id || q.Find(s.End()-1) != id:
			return fmt.Errorf("segment %v is not found", s.Seq)
		}
		out.add(s.Len)
		if s.Sacked() {
			sacked.add(s.Len)
			for j, to := i+1, q.follow(id); ; j++ { // a shortcut passes SACKed segments only
				if j == q.n && to != 0 || j < q.n && q.at(j) != to && !q.seg(q.at(j)).Sacked() {
					return fmt.Errorf("segment %v: its short cut leads astray", s.Seq)
				}
				if j == q.n || q.at(j) == to {
					break
				}
			}
			if edgeSeen {
				edge.bytes += s.Len
				if !q.seg(prev).Sacked() {
					edge.runs++
				}
			}
		}
		if id == q.edge.id {
			edgeSeen, edge.id = true, id
			if s.Sacked() {
				return fmt.Errorf("segment %v: SACKed and the edge", s.Seq)
			}
		}
		if s.Lost() {
			lost.add(s.Len)
		}
		if s.RetransOut() {
			retrans.add(s.Len)
		}
		if s.state&stateTimed != 0 {
			timed++
		}
		prev = id
	}
	if out != q.outstanding || sacked != q.sacked || lost != q.lost || retrans != q.retransOut || edge != q.edge {
		return fmt.Errorf("sums are %v %v %v %v %v, want %v %v %v %v %v",
			q.outstanding, q.sacked, q.lost, q.retransOut, q.edge, out, sacked, lost, retrans, edge)
	}
	older, cutSeen := segmentID(0), q.overtaken == 0
	for id := q.oldest; id != 0; id = q.seg(id).newer {
		s := q.seg(id)
		if s.older != older || older != 0 && !sentAfter(s.Sent, s.End(), q.seg(older).Sent, q.seg(older).End()) {
			return fmt.Errorf("segment %v: out of order by time", s.Seq)
		}
		cutSeen = cutSeen || id == q.overtaken
		older = id
		timed--
	}
	if older != q.newest || timed != 0 || !cutSeen {
		return fmt.Errorf("%d segments are missing in the order by time, newest %d, want %d", timed, q.newest, older)
	}
	return nil
}

// runSent applies ops to a queue and its twin. next returns numbers from 0 to n-1.
func runSent(t *testing.T, steps, limit int, next func(n int) int) {
	t.Helper()
	q, err := newSentQueue(limit)
	if err != nil {
		t.Fatal(err)
	}
	w := &sentTwin{una: Seq(0xffff_ff00)}
	now := wheel.Time(0)
	some := func() segmentID { return q.at(uint32(next(q.Len()))) }
	for step := range steps {
		now = now.Add([]time.Duration{0, 0, 1, 1000}[next(4)])
		op := next(9)
		if q.Len() == 0 {
			op = 0
		}
		switch op {
		case 0, 1:
			n := 1 + next(20)
			nxt := w.una.Add(uint32(len(w.state)))
			_, ok := q.Push(now, nxt, uint32(n), 0)
			if ok && q.Len() > limit || !ok && q.Len() < limit {
				t.Fatalf("step %d: Push(%v, %d) = %v with %d of %d segments", step, nxt, n, ok, q.Len(), limit)
			}
			if ok {
				w.state = append(w.state, make([]byte, n)...)
				w.sent = append(w.sent, slices.Repeat([]wheel.Time{now}, n)...)
			}
		case 2:
			n := next(min(len(w.state), 40) + 1)
			w.una, w.state, w.sent = w.una.Add(uint32(n)), w.state[n:], w.sent[n:]
			if got := q.Ack(w.una, nil); got != uint32(n) {
				t.Fatalf("step %d: Ack(%v) = %d, want %d", step, w.una, got, n)
			}
		case 3, 4, 5:
			from := next(len(w.state))
			r := SeqRange{w.una.Add(uint32(from)), w.una.Add(uint32(from + 1 + next(len(w.state)-from)))}
			var told []SeqRange
			full := q.Len()+2 > limit
			got := q.Sack(r, func(id segmentID) {
				if s := q.Get(id); s.Sacked() {
					t.Fatalf("step %d: Sack reports %v, which was SACKed before", step, s.Seq)
				}
				told = append(told, SeqRange{q.Get(id).Seq, q.Get(id).End()})
			})
			want := uint32(0)
			w.each(r, func(i int) {
				if w.state[i]&twinSacked == 0 {
					want++
				}
			})
			for _, o := range told {
				if !r.contains(o) {
					t.Fatalf("step %d: Sack(%v) reports %v", step, r, o)
				}
				w.each(o, func(i int) { w.state[i] = twinSacked; got-- })
				want -= o.Len()
			}
			if got != 0 || want != 0 && !full {
				t.Fatalf("step %d: Sack(%v) returns %d more than it told, %d missing", step, r, got, want)
			}
		case 6:
			id := some()
			if s := q.Get(id); !s.Sacked() {
				q.MarkLost(id)
				w.each(SeqRange{s.Seq, s.End()}, func(i int) { w.state[i] = twinLost })
			}
		case 7:
			id := some()
			if s := q.Get(id); !s.Sacked() {
				q.Retransmit(now, id)
				w.each(SeqRange{s.Seq, s.End()}, func(i int) { w.state[i] |= twinRetrans; w.sent[i] = now })
			}
		case 8:
			id := some()
			if s := q.Get(id); next(4) > 0 && s.Len > 1 {
				q.Split(id, s.Seq.Add(1+uint32(next(int(s.Len-1)))))
			} else if next(4) == 0 {
				q.ForgetSacks(nil)
				for i, b := range w.state {
					if b == twinSacked {
						w.state[i] = twinLost
					}
				}
			}
		}
		if err := q.check(); err != nil {
			t.Fatalf("step %d, operation %d: %v", step, op, err)
		}
		pipe := w.count(twinSacked|twinLost, 0) + w.count(twinRetrans, twinRetrans)
		got := [5]uint32{q.Outstanding().Bytes, q.Sacked().Bytes, q.Lost().Bytes, q.RetransOut().Bytes, q.Pipe().Bytes}
		want := [5]uint32{uint32(len(w.state)), w.count(twinSacked, twinSacked), w.count(twinLost, twinLost),
			w.count(twinRetrans, twinRetrans), pipe}
		if got != want {
			t.Fatalf("step %d, operation %d: outstanding, sacked, lost, retransmitted, pipe %v, want %v", step, op, got, want)
		}
		for i, b := range w.state {
			s := q.Get(q.Find(w.una.Add(uint32(i))))
			if s.Sacked() != (b&twinSacked != 0) || s.Lost() != (b&twinLost != 0) || s.RetransOut() != (b&twinRetrans != 0) ||
				s.Sent != w.sent[i] {
				t.Fatalf("step %d, operation %d: byte %d is in %+v, want state %b, sent %v", step, op, i, *s, b, w.sent[i])
			}
		}
		if q.Find(w.una-1) != 0 || q.Find(w.una.Add(uint32(len(w.state)))) != 0 {
			t.Fatalf("step %d: found what is not in flight", step)
		}
	}
}

func TestSentQueueAgreesWithTwin(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 1))
		runSent(t, 200, 4+r.IntN(60), r.IntN)
	}
}

// FuzzSentQueue takes the first operations from numbers, and 60 more from random numbers of that
// seed. Its input is numbers, as go test would spend most of its time on making bytes fewer.
func FuzzSentQueue(f *testing.F) {
	f.Add(uint64(0x0005030009000013), uint64(0x0c02010107000006), uint64(9), uint64(0), uint64(0), uint64(1), uint64(2), uint64(3))
	f.Fuzz(func(t *testing.T, a, b, c, d, e, g, h, i uint64) {
		var ops []byte
		for _, word := range []uint64{a, b, c, d, e, g, h, i} {
			ops = binary.LittleEndian.AppendUint64(ops, word)
		}
		r := rand.New(rand.NewPCG(a, i))
		runSent(t, 80, 32, func(n int) (got int) {
			if len(ops) == 0 {
				return r.IntN(n)
			}
			got, ops = int(ops[0])%n, ops[1:]
			return got
		})
	})
}

// TestSentQueueFound has an input that FuzzSentQueue once failed on.
func TestSentQueueFound(t *testing.T) {
	ops, err := os.ReadFile("testdata/sentqueue.bin")
	if err != nil {
		t.Fatal(err)
	}
	runSent(t, len(ops)/3, 32, func(n int) (got int) {
		if len(ops) > 0 {
			got, ops = int(ops[0])%n, ops[1:]
		}
		return got
	})
}

func TestNewSentQueueBounds(t *testing.T) {
	for _, n := range []int{-1, 0, MaxSentSegments + 1} {
		if _, err := newSentQueue(n); err == nil {
			t.Errorf("NewSentQueue(%d) has no error", n)
		}
	}
}

// TestSentQueueWork bounds the segments visited for each ACK with 10^5 in flight.
func TestSentQueueWork(t *testing.T) {
	const n, size = 100_000, 1000
	q, _ := newSentQueue(n)
	for i := range n {
		q.Push(wheel.Time(i), Seq(i*size), size, 0)
	}
	var worst uint64
	visit := func(what string, bound uint64, f func()) {
		before := q.visits
		f()
		worst = max(worst, q.visits-before)
		if got := q.visits - before; got > bound {
			t.Fatalf("%s visits %d segments, want at most %d", what, got, bound)
		}
	}
	// The block grows by a segment per ACK, from the second segment to the last but one.
	for i := 1; i < n-1; i++ {
		visit("Sack of a growing block", 64, func() { q.Sack(SeqRange{size, Seq((i + 1) * size)}, nil) })
	}
	q.Sack(SeqRange{size, n * size}, nil)
	visit("Sack of what is SACKed, the first time", n+64, func() { q.Sack(SeqRange{2 * size, n * size}, nil) })
	visit("Sack of a SACKed range", 64, func() { q.Sack(SeqRange{2 * size, n * size}, nil) })
	visit("Ack of one", 4+n, func() { q.Ack(size, nil) })
	if q.Sacked().Segments != n-1 || q.Outstanding().Segments != n-1 {
		t.Fatalf("SACKed %v of %v", q.Sacked(), q.Outstanding())
	}
	visit("Ack of all", n+1, func() { q.Ack(n*size, nil) })
	if q.moves != 0 {
		t.Errorf("%d names were moved without a split", q.moves)
	}
}
