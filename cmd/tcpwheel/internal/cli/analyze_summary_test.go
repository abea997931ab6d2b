package cli

import (
	"testing"
	"time"
)

// TestMedianRecoveryAddsUp keeps more recoveries than fit: the median is one of them, so that its
// parts add up.
func TestMedianRecoveryAddsUp(t *testing.T) {
	var s recoveries
	if _, ok := s.median(); ok {
		t.Error("a median of none")
	}
	const n = 3 * maxRecoveries
	for i := range n {
		d := time.Duration(i * 7919 % n)
		s.add(recovery{d, 2, 3, d + 5})
	}
	r, ok := s.median()
	if !ok || r.d+r.a+r.p != r.tRec || s.seen != n || len(s.all) > maxRecoveries {
		t.Errorf("%+v of %d, %d kept", r, s.seen, len(s.all))
	}
	if off := r.tRec - n/2; off.Abs() > n/50 {
		t.Errorf("the median is %d, want about %d", r.tRec, n/2)
	}
}
