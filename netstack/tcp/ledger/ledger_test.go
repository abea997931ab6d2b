package ledger

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tcpwheel/wheel"
)

// TestLedger compares a Ledger with the list of transmissions of each byte.
func TestLedger(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var l Ledger
		var bytes [][]int32
		for n := range 40 {
			end := int64(len(bytes))
			start := max(end-rng.Int64N(20), 0)
			if rng.IntN(4) == 0 {
				start = end + rng.Int64N(5) // behind a gap
			}
			r := Range{start, start + 1 + rng.Int64N(12)}
			for range start - end {
				bytes = append(bytes, []int32{int32(len(l.Sent))})
			}
			i := l.Send(Transmission{Range: r, At: wheel.Time(n)})
			for int64(len(bytes)) < r.End {
				bytes = append(bytes, nil)
			}
			for pos := r.Start; pos < r.End; pos++ {
				bytes[pos] = append(bytes[pos], i)
			}
			if got, want := l.Sent[i].New, r.End > end; got != want {
				t.Fatalf("seed %d: New of [%d, %d) = %v, want %v", seed, r.Start, r.End, got, want)
			}
		}
		l.Cut(rng.Int64N(l.End()))
		pos := int64(0)
		for i, r := range l.Runs {
			if r.Start != pos || r.End <= r.Start || l.Find(pos) != i {
				t.Fatalf("seed %d: run %d is [%d, %d) behind %d", seed, i, r.Start, r.End, pos)
			}
			for ; pos < r.End; pos++ {
				var got []int32
				for _, try := range r.Tries {
					got = append(got, try.N)
				}
				if !slices.Equal(got, bytes[pos]) {
					t.Fatalf("seed %d: byte %d was sent in %v, want %v", seed, pos, got, bytes[pos])
				}
			}
		}
		if l.End() != int64(len(bytes)) {
			t.Fatalf("seed %d: End() = %d, want %d", seed, l.End(), len(bytes))
		}
	}
}

// TestCutKeepsFates sets the fate of one part of a run that was cut.
func TestCutKeepsFates(t *testing.T) {
	var l Ledger
	l.Send(Transmission{Range: Range{0, 10}})
	l.Send(Transmission{Range: Range{4, 6}})
	first, last := l.Between(Range{0, 4})
	if first != 0 || last != 1 {
		t.Fatalf("Between([0, 4)) = %d, %d, want 0, 1", first, last)
	}
	l.Runs[0].Tries[0].Fate = Delivered
	if _, fate, ok := l.Attempt(3, 1); !ok || fate != Delivered {
		t.Errorf("first attempt at byte 3: %v, %v", fate, ok)
	}
	if _, fate, ok := l.Attempt(5, 1); !ok || fate != Unknown {
		t.Errorf("first attempt at byte 5: %v, %v", fate, ok)
	}
	if x, _, ok := l.Attempt(5, 2); !ok || x.Start != 4 {
		t.Errorf("second attempt at byte 5: %v, %v", x, ok)
	}
	if _, _, ok := l.Attempt(7, 2); ok {
		t.Error("byte 7 was sent once")
	}
}
