package tcp

import (
	"math/rand/v2"
	"testing"

	"tcpwheel/wheel"
)

// lossTest has segments of 100 bytes, numbered from 0, and SMSS 100.
type lossTest struct {
	*testing.T
	q sentQueue
	l loss6675
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
