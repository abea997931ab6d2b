package host

import (
	"math/rand/v2"
	"testing"
)

// TestRangeSet compares a rangeSet with one bit for each byte.
func TestRangeSet(t *testing.T) {
	const n = 60
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 0))
		var s rangeSet
		var bits [n]bool
		for range 30 {
			from := r.Uint64N(n)
			to := from + r.Uint64N(min(n-from, 12)+1)
			s.add(from, to)
			for i := from; i < to; i++ {
				bits[i] = true
			}
			var got [n]bool
			last := uint64(0)
			for i, x := range s {
				if x.from >= x.to || i > 0 && x.from <= last {
					t.Fatalf("seed %d: %v is not in order, or not merged", seed, s)
				}
				last = x.to
				for k := x.from; k < x.to; k++ {
					got[k] = true
				}
			}
			prefix := uint64(0)
			for prefix < n && bits[prefix] {
				prefix++
			}
			if got != bits || s.prefix() != prefix {
				t.Fatalf("seed %d: after [%d, %d): %v with prefix %d, want %v with %d", seed, from, to, s, s.prefix(), bits, prefix)
			}
		}
	}
}
