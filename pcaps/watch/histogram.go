package watch

import (
	"math/bits"
	"time"

	"tcpwheel/wheel/base/record"
	"tcpwheel/wheel/stat"
)

// histogram counts durations in buckets that are 1/16 wide, for quantiles with an error of 3 %.
type histogram struct {
	counts [64 * 16]uint32
	n      uint64
}

// bucketOf returns the bucket of a duration, which bucketMiddle inverts.
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

func (h *histogram) add(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.n++
}

func (h *histogram) merge(g *histogram) {
	h.n += g.n
	for i := range h.counts {
		h.counts[i] += g.counts[i]
	}
}

func (h *histogram) quantiles(to *KindTally) {
	if h.n == 0 {
		return
	}
	at := func(q float64) *float64 {
		rank, sum := uint64(stat.Rank(int(h.n), q)), uint64(0)
		for b, n := range h.counts {
			if sum += uint64(n); sum > rank {
				return record.Seconds(bucketMiddle(b))
			}
		}
		return nil
	}
	to.P50, to.P95, to.P99 = at(0.50), at(0.95), at(0.99)
}
