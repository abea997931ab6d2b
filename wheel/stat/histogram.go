package stat

import (
	"math/bits"
	"time"
)

// Histogram counts spans in a bounded memory, for quantiles with an error of 3 %: a bucket is at
// most 1/16 of its lower bound wide. The zero value is empty. Spans below 0 count as 0.
type Histogram struct {
	counts [64 * 16]uint64
	n      int
	most   time.Duration
}

// bucketOf returns the bucket of a span, which bucketMiddle inverts.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	e := max(bits.Len64(v)-5, 0)
	return e*16 + int(v>>e)
}

func bucketMiddle(b int) time.Duration {
	if b < 32 {
		return time.Duration(b)
	}
	e := b/16 - 1
	return time.Duration(uint64(b%16+16)<<e + 1<<e/2)
}

// Add adds a span.
func (h *Histogram) Add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
	h.most = max(h.most, d)
}

// Merge adds the spans of g.
func (h *Histogram) Merge(g *Histogram) {
	h.n += g.n
	h.most = max(h.most, g.most)
	for i := range h.counts {
		h.counts[i] += g.counts[i]
	}
}

// Len returns how many spans there are.
func (h *Histogram) Len() int { return h.n }

// Max returns the longest span, 0 of none.
func (h *Histogram) Max() time.Duration { return h.most }

// Quantile returns the middle of the bucket of the q-quantile, or Max if that is less; 0 of none.
func (h *Histogram) Quantile(q float64) time.Duration {
	if h.n == 0 {
		return 0
	}
	rank, sum := uint64(Rank(h.n, q)), uint64(0)
	for b, n := range h.counts {
		if sum += n; sum > rank {
			return min(bucketMiddle(b), h.most)
		}
	}
	panic("BUG: a rank beyond all spans")
}
