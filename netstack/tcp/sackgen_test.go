package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// sackTest is a receiver that acknowledges every segment.
type sackTest struct {
	t *testing.T
	q *recvQueue
	g sackGenerator
}

func newSACKTest(t *testing.T, nxt Seq) *sackTest {
	q, _ := newBoth(t, nxt, 32)
	return &sackTest{t: t, q: q}
}

// receive takes bytes from..to, and checks RCV.NXT and the blocks.
func (s *sackTest) receive(from, to, nxt Seq, want ...SeqRange) {
	s.t.Helper()
	ins := s.q.insert(Arrival{Seq: from, Len: to.Sub(from)}, 1<<20)
	s.g.OnInsert(&ins)
	var buf [3]SeqRange
	n := s.g.Blocks(s.q, buf[:])
	s.g.OnAckSent(s.q)
	if s.q.Nxt() != nxt || !slices.Equal(buf[:n], want) {
		s.t.Errorf("%v..%v: ACK %v SACK %v, want ACK %v SACK %v", from, to, s.q.Nxt(), buf[:n], nxt, want)
	}
}

func TestSACKBlocksIn(t *testing.T) {
	for space, want := range map[int]int{40: 4, 28: 3, 36: 4, 35: 3, 12: 1, 11: 0, 0: 0, 44: 4} {
		if got := sackBlocksIn(space); got != want {
			t.Errorf("SACKBlocksIn(%d) = %d, want %d", space, got, want)
		}
	}
}

func TestSACKExamples(t *testing.T) {
	// RFC 2018 §7, case 3: of 8 segments of 500 bytes from 5000, the second, fourth, sixth and
	// eighth are lost; then the fourth and second arrive.
	s := newSACKTest(t, 5000)
	s.receive(5000, 5500, 5500)
	s.receive(6000, 6500, 5500, SeqRange{6000, 6500})
	s.receive(7000, 7500, 5500, SeqRange{7000, 7500}, SeqRange{6000, 6500})
	s.receive(8000, 8500, 5500, SeqRange{8000, 8500}, SeqRange{7000, 7500}, SeqRange{6000, 6500})
	s.receive(6500, 7000, 5500, SeqRange{6000, 7500}, SeqRange{8000, 8500})
	s.receive(5500, 6000, 7500, SeqRange{8000, 8500})
	s.receive(7500, 8000, 8500)
}

func TestDSACKExamples(t *testing.T) {
	// RFC 2883 §4: "Each duplicate contiguous sequence of data received is reported in at most one
	// D-SACK block." This covers a duplicate below the cumulative ACK, with and without a held
	// block.
	s := newSACKTest(t, 3000)
	s.receive(3000, 3500, 3500)
	s.receive(3500, 4000, 4000)
	s.receive(3000, 3500, 4000, SeqRange{3000, 3500})
	s.receive(4500, 5000, 4000, SeqRange{4500, 5000})
	s.receive(3000, 3500, 4000, SeqRange{3000, 3500}, SeqRange{4500, 5000})
	// RFC 2883 §4: "then the second SACK block in that SACK option should specify that (possibly
	// larger) block of data."
	s.receive(5500, 6000, 4000, SeqRange{5500, 6000}, SeqRange{4500, 5000})
	s.receive(5000, 5500, 4000, SeqRange{4500, 6000})
	s.receive(5000, 5500, 4000, SeqRange{5000, 5500}, SeqRange{4500, 6000})
	// Two duplicate runs in one segment: the first is reported, once.
	s.receive(6500, 7000, 4000, SeqRange{6500, 7000}, SeqRange{4500, 6000})
	s.receive(4500, 7000, 4000, SeqRange{4500, 6000}, SeqRange{4500, 7000})
	s.receive(4000, 4500, 7000)
	// Part old, part new.
	s.receive(6500, 7500, 7500, SeqRange{6500, 7000})
}

// TestSACKOfALoneFIN checks that a FIN received before missing data is SACKed, as in Linux, so the
// sender learns of the loss.
func TestSACKOfALoneFIN(t *testing.T) {
	fin := func(s *sackTest, at, nxt Seq, want ...SeqRange) {
		t.Helper()
		ins := s.q.insert(Arrival{Seq: at, FIN: true}, 1<<20)
		s.g.OnInsert(&ins)
		var buf [3]SeqRange
		n := s.g.Blocks(s.q, buf[:])
		s.g.OnAckSent(s.q)
		if s.q.Nxt() != nxt || !slices.Equal(buf[:n], want) {
			t.Errorf("FIN at %v: ACK %v SACK %v, want ACK %v SACK %v", at, s.q.Nxt(), buf[:n], nxt, want)
		}
	}
	// Alone, then again, then with the data before it, until all has arrived.
	s := newSACKTest(t, 5000)
	fin(s, 6000, 5000, SeqRange{6000, 6001})
	if !s.q.Beyond() || len(s.q.Held()) != 0 || heldBytes(s.q) != 0 {
		t.Error("a FIN beyond RCV.NXT is nothing, or bytes")
	}
	fin(s, 6000, 5000, SeqRange{6000, 6001})
	s.receive(5500, 6000, 5000, SeqRange{5500, 6001})
	s.receive(5000, 5500, 6001)
	if s.q.Beyond() {
		t.Error("the FIN is reached, and still beyond")
	}
	// RFC 2018 §4: "The first SACK block" "MUST specify the contiguous block of data containing the
	// segment which triggered this ACK".
	s = newSACKTest(t, 5000)
	s.receive(5200, 5300, 5000, SeqRange{5200, 5300})
	fin(s, 6000, 5000, SeqRange{6000, 6001}, SeqRange{5200, 5300})
	s.receive(5400, 5500, 5000, SeqRange{5400, 5500}, SeqRange{6000, 6001}, SeqRange{5200, 5300})
	// After bytes already held.
	s = newSACKTest(t, 5000)
	s.receive(5500, 6000, 5000, SeqRange{5500, 6000})
	fin(s, 6000, 5000, SeqRange{5500, 6001})
	s.receive(5000, 5500, 6001)
	// In order.
	s = newSACKTest(t, 5000)
	fin(s, 5000, 5001)
}

// TestSACKGenProperties receives at random, and checks every option against the rules.
func TestSACKGenProperties(t *testing.T) {
	// RFC 2018 §4: "The data receiver SHOULD include as many distinct SACK blocks as possible in
	// the SACK option."
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		q, _ := newBoth(t, -Seq(rnd.IntN(300)), 10)
		var g sackGenerator
		for range 100 {
			ins := q.insert(Arrival{Seq: q.Nxt() + Seq(rnd.IntN(200)-20), Len: uint32(1 + rnd.IntN(20))}, 1<<16)
			g.OnInsert(&ins)
			var buf [MaxSACKBlocks]SeqRange
			room := rnd.IntN(5)
			blocks := buf[:g.Blocks(q, buf[:room])]
			g.OnAckSent(q)
			dups := 0
			if ins.Duplicate.Len() > 0 && room > 0 {
				if dups = 1; blocks[0] != ins.Duplicate {
					t.Fatalf("%v: the duplicate %v is not first", blocks, ins.Duplicate)
				}
			}
			rest := blocks[dups:]
			if want := min(room-dups, len(q.Held())); len(rest) != want {
				t.Fatalf("%v: %d blocks besides the duplicate, want %d", blocks, len(rest), want)
			}
			if dups == 0 && ins.Block.Len() > 0 && len(rest) > 0 && rest[0] != ins.Block {
				t.Fatalf("%v: the segment's block %v is not first", blocks, ins.Block)
			}
			for i, b := range rest {
				if !slices.Contains(q.Held(), b) || slices.Contains(rest[:i], b) {
					t.Fatalf("%v: %v is not held, or twice", blocks, b)
				}
			}
		}
	}
}
