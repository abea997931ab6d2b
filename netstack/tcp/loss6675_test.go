package tcp

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tcpwheel/wheel"
)

// lossTest has segments of 100 bytes, numbered from 0, and SMSS 100.
type lossTest struct {
	*testing.T
	q    sentQueue
	l    loss6675
	lost []int
}

func newLossTest(t *testing.T, segments int) *lossTest {
	q, err := newSentQueue(1 << 17)
	if err != nil {
		t.Fatal(err)
	}
	for i := range segments {
		q.Push(wheel.Time(i), Seq(100*i), 100, 0)
	}
	return &lossTest{T: t, q: q, l: loss6675{SMSS: 100}}
}

// sack SACKs from..to, inclusive, and checks which segments are lost.
func (t *lossTest) sack(from, to int, lost ...int) {
	t.Helper()
	t.q.Sack(SeqRange{Seq(100 * from), Seq(100*to + 100)}, nil)
	t.update(lost...)
}

func (t *lossTest) update(lost ...int) {
	t.Helper()
	t.lost = nil
	t.l.Update(&t.q, func(id segmentID) { t.lost = append(t.lost, int(t.q.Get(id).Seq/100)) })
	if !slices.Equal(t.lost, lost) {
		t.Errorf("lost %v, want %v", t.lost, lost)
	}
	if err := t.q.check(); err != nil {
		t.Error(err)
	}
}

// next checks the result of NextSeg, segment -1 for none, and retransmits it.
func (t *lossTest) next(canSendNew bool, segment int, rule nextSegRule) {
	t.Helper()
	id, got := t.l.NextSeg(&t.q, canSendNew)
	at := -1
	if id != 0 {
		at = int(t.q.Get(id).Seq / 100)
		t.q.Retransmit(1e9, id)
		t.l.Retransmitted(&t.q, id, got)
	}
	if at != segment || got != rule {
		t.Errorf("NextSeg = %d by rule %d, want %d by rule %d", at, got, segment, rule)
	}
}

func (t *lossTest) pipe(octets uint32) {
	t.Helper()
	if got := t.q.Pipe().Bytes; got != octets {
		t.Errorf("pipe %d, want %d", got, octets)
	}
}

// RFC 6675 §4: "DupThresh discontiguous SACKed sequences have arrived above 'SeqNum'".
func TestLoss6675Sequences(t *testing.T) {
	test := newLossTest(t, 10)
	test.l.SMSS = 1000
	test.sack(1, 1)
	test.sack(3, 3)
	test.sack(4, 4)
	test.sack(6, 6, 0)
	test.sack(8, 8, 2)
	test.sack(9, 9)
	test.sack(7, 7) // joins two ranges: a lost segment stays lost
	for i, want := range []bool{0: true, 2: true, 5: false, 6: false} {
		if got := test.l.IsLost(&test.q, Seq(100*i+50)); got != want {
			t.Errorf("IsLost(%d) = %v, want %v", i, got, want)
		}
	}
}

// RFC 6675 §4: "more than (DupThresh - 1) * SMSS bytes with sequence numbers greater than 'SeqNum'
// have been SACKed".
func TestLoss6675Bytes(t *testing.T) {
	test := newLossTest(t, 10)
	test.sack(2, 3) // two segments are not more than two
	test.q.Sack(SeqRange{400, 401}, nil)
	test.update(0, 1)
	test.pipe(1000 - 201 - 200)
}

// RFC 6675 §4, NextSeg: rules 1 to 4, and "HighRxt MUST NOT be updated." by the rescue;
// RFC 6675 §5: recovery goes to RecoveryPoint.
func TestNextSeg(t *testing.T) {
	test := newLossTest(t, 10)
	test.sack(1, 1)
	test.sack(3, 5, 0, 2)
	test.sack(7, 7)
	test.l.Enter(0, 1000)
	test.pipe(300) // 6, 8 and 9
	test.next(true, 0, nextSegLost)
	test.next(false, 2, nextSegLost)
	test.pipe(500)
	test.next(true, -1, nextSegNew)
	test.next(false, 6, nextSegHole)
	test.pipe(600) // 6 counts twice
	test.next(true, -1, nextSegNew)
	test.next(false, -1, nextSegNone) // no rescue before the first retransmission arrives
	test.q.Ack(200, nil)
	test.pipe(500)
	test.next(false, 9, nextSegRescue)
	test.pipe(600)
	test.next(false, -1, nextSegNone) // once per recovery
	test.sack(9, 9)
	test.next(false, 8, nextSegHole) // HighRxt is the end of 6
	if at, ok := test.l.InRecovery(); at != 1000 || !ok {
		t.Errorf("recovery until %v, %v, want 1000", at, ok)
	}
	test.l.Leave()
	if _, ok := test.l.InRecovery(); ok {
		t.Error("in recovery after Leave")
	}
}

func TestNextSegOfEmptyQueue(t *testing.T) {
	test := newLossTest(t, 0)
	test.l.Enter(0, 0)
	test.next(true, -1, nextSegNew)
	test.next(false, -1, nextSegNone)
}

// TestLoss6675AgreesWithTheRFC compares with IsLost and SetPipe as written in RFC 6675 §4, byte by
// byte.
func TestLoss6675AgreesWithTheRFC(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		test := newLossTest(t, 0)
		test.l.SMSS = uint32(1 + rnd.IntN(30))
		sacked, lost, una, nxt := make(map[Seq]bool), make(map[Seq]bool), Seq(0), Seq(0)
		for range 100 {
			switch rnd.IntN(4) {
			case 0:
				n := uint32(1 + rnd.IntN(20))
				test.q.Push(0, nxt, n, 0)
				nxt = nxt.Add(n)
			case 1:
				if rnd.IntN(4) == 0 {
					una = una.Add(rnd.Uint32N(nxt.Sub(una) + 1))
					test.q.Ack(una, nil)
				}
			default:
				if una == nxt {
					continue
				}
				from := una.Add(rnd.Uint32N(nxt.Sub(una)))
				r := SeqRange{from, from.Add(1 + rnd.Uint32N(min(15, nxt.Sub(from))))}
				test.q.Sack(r, nil)
				for s := r.Start; s != r.End; s++ {
					sacked[s] = true
				}
			}
			test.l.Update(&test.q, nil)
			if err := test.q.check(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			octets, runs, pipe := uint32(0), 0, uint32(0)
			for s := nxt; s != una; {
				s--
				if sacked[s] {
					octets++
					if s.Add(1) == nxt || !sacked[s.Add(1)] {
						runs++
					}
					continue
				}
				// A lost segment stays lost: when runs join, there may be fewer than DupThresh
				// again.
				lost[s] = lost[s] || runs >= dupThresh || octets > (dupThresh-1)*test.l.SMSS
				want := lost[s]
				got := test.l.IsLost(&test.q, s)
				if got != want || got != test.q.Get(test.q.Find(s)).Lost() {
					t.Fatalf("seed %d: IsLost(%v) = %v, want %v: %d bytes in %d runs", seed, s, got, want, octets, runs)
				}
				if !got {
					pipe++
				}
			}
			if got := test.q.Pipe().Bytes; got != pipe {
				t.Fatalf("seed %d: pipe %d, want %d", seed, got, pipe)
			}
		}
	}
}

// TestLoss6675Work bounds the visits with 10^5 segments in flight, each ACK SACKing one and
// retransmitting one.
func TestLoss6675Work(t *testing.T) {
	const n = 100_000
	test := newLossTest(t, n)
	test.l.Enter(0, 100*n)
	for i := 1; i < n; i += 2 {
		before := test.q.visits
		test.q.Sack(SeqRange{Seq(100 * i), Seq(100*i + 100)}, nil)
		test.l.Update(&test.q, nil)
		if id, rule := test.l.NextSeg(&test.q, true); rule == nextSegLost {
			test.q.Retransmit(wheel.Time(n+i), id)
			test.l.Retransmitted(&test.q, id, rule)
		}
		if got := test.q.visits - before; got > 128 {
			t.Fatalf("ACK %d visits %d segments, want at most 128", i, got)
		}
	}
	if got := test.q.RetransOut().Segments; got < n/2-dupThresh {
		t.Errorf("%d segments were retransmitted, want all but the last of %d", got, n/2)
	}
}
