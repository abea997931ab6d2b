package cli

import (
	"testing"
	"time"
)

// TestMedianRecoveryAddsUp keeps more recoveries than fit: the median is one of them, so that its
// parts add up.
func TestMedianRecoveryAddsUp(t *testing.T) {
	var s kindSums
	if _, ok := s.median(); ok {
		t.Error("a median of none")
	}
	const n = 3 * maxRecoveries
	for i := range n {
		d := time.Duration(i * 7919 % n)
		s.repairs.Add(recovery{d, 2, 3, d + 5}, maxRecoveries)
	}
	r, ok := s.median()
	if !ok || r.d+r.a+r.p != r.tRec {
		t.Errorf("%+v", r)
	}
	if off := r.tRec - n/2; off.Abs() > n/50 {
		t.Errorf("the median is %d, want about %d", r.tRec, n/2)
	}
}
