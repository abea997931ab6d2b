package stat

import (
	"testing"
	"time"
)

// TestHistogram compares quantiles with the exact ones, and the buckets of all sizes with spans.
func TestHistogram(t *testing.T) {
	var h, g Histogram
	if h.Quantile(0.5) != 0 || h.Max() != 0 || h.Len() != 0 {
		t.Error("the zero value is not empty")
	}
	var exact []time.Duration
	for i := range 5000 {
		d := time.Duration(float64(time.Microsecond) * float64(i*i+1))
		exact = append(exact, d)
		if i%2 == 0 {
			h.Add(d)
		} else {
			g.Add(d)
		}
	}
	h.Merge(&g)
	for _, q := range []float64{0, 0.5, 0.95, 0.99, 1} {
		if e := float64(h.Quantile(q)) / Quantile(exact, q); e < 0.96 || e > 1.04 {
			t.Errorf("quantile %v: %v, want %v", q, h.Quantile(q), Quantile(exact, q))
		}
	}
	if h.Len() != len(exact) || h.Max() != exact[len(exact)-1] {
		t.Errorf("%d spans up to %v, want %d up to %v", h.Len(), h.Max(), len(exact), exact[len(exact)-1])
	}
	for _, d := range []time.Duration{-1, 0, 1, 31, 32, 33, 1 << 40, 1<<63 - 1} {
		if b := bucketOf(d); b >= len(h.counts) || (bucketMiddle(b)-max(d, 0)).Abs() > d/16+1 {
			t.Errorf("%d ns is in bucket %d, of %d ns", int64(d), b, int64(bucketMiddle(b)))
		}
	}
}
