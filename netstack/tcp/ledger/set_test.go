package ledger

import (
	"math/rand/v2"
	"testing"
)

// TestSet compares a Set with one bit for each position.
func TestSet(t *testing.T) {
	const n = 60
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var s Set
		var bits [n]bool
		count := func(from, to int64) (set int64) {
			for _, b := range bits[from:to] {
				if b {
					set++
				}
			}
			return set
		}
		for range 30 {
			from := rng.Int64N(n)
			to := from + rng.Int64N(min(n-from, 12)+1)
			want := to - from - count(from, to)
			for i := from; i < to; i++ {
				bits[i] = true
			}
			if got := s.Add(Range{from, to}); got != want {
				t.Fatalf("seed %d: Add([%d, %d)) = %d, want %d", seed, from, to, got, want)
			}
			var got [n]bool
			last := int64(-1)
			for _, r := range s {
				if r.Start >= r.End || r.Start <= last {
					t.Fatalf("seed %d: %v is not in order, or not merged", seed, s)
				}
				for k := r.Start; k < r.End; k++ {
					got[k] = true
				}
				last = r.End
			}
			if got != bits || s.Len() != count(0, n) {
				t.Fatalf("seed %d: after [%d, %d): %v of %d", seed, from, to, s, s.Len())
			}
			from = rng.Int64N(n)
			to = from + rng.Int64N(n-from+1)
			if got, want := s.Contains(Range{from, to}), count(from, to) == to-from; got != want {
				t.Fatalf("seed %d: %v.Contains([%d, %d)) = %v", seed, s, from, to, got)
			}
			until := from
			for until < n && bits[until] {
				until++
			}
			if got := s.Until(from); got != until {
				t.Fatalf("seed %d: %v.Until(%d) = %d, want %d", seed, s, from, got, until)
			}
			common := Set(s.Common(Range{from, to}))
			if !s.Contains(Range{from, to}) && common.Len() == to-from || common.Len() != count(from, to) {
				t.Fatalf("seed %d: %v.Common([%d, %d)) = %v", seed, s, from, to, common)
			}
		}
		if pos := rng.Int64N(n); seed%2 == 0 {
			s.Forget(pos)
			if left := count(pos, n); s.Len() != left || len(s) > 0 && s[0].Start < pos {
				t.Fatalf("seed %d: after Forget(%d): %v, want %d", seed, pos, s, left)
			}
		}
	}
}
