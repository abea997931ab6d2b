package stat

import (
	"math"
	"testing"
)

// TestSampleIsEven keeps quantiles near of many values, halved by its caller in between or not.
func TestSampleIsEven(t *testing.T) {
	const n, most = 1_000_000, 1 << 12
	for _, halve := range []int{-1, 0, 5, 300_001} {
		var s Sample[int64]
		if len(s.Kept()) != 0 || s.Seen() != 0 || s.Step() != 1 {
			t.Error("the zero value is not empty")
		}
		for i := range int64(n) {
			if i == int64(halve) {
				s.Halve()
			}
			s.Add(i*7919%n, most)
		}
		if kept := len(s.Kept()); kept > most || kept != (n+s.Step()-1)/s.Step() || s.Seen() != n {
			t.Errorf("%d of %d kept, want each %dth of %d, and %d at most", kept, s.Seen(), s.Step(), n, most)
		}
		for k, v := range s.Kept() {
			if v != int64(k*s.Step())*7919%n {
				t.Fatalf("value %d that is kept is %d, want the one added as number %d", k, v, k*s.Step())
			}
		}
		for _, q := range []float64{0, 0.1, 0.5, 0.95, 1} {
			if got, want := Quantile(s.Kept(), q), q*n; math.Abs(got-want) > n/50 {
				t.Errorf("quantile %g is %g, want about %g", q, got, want)
			}
		}
	}
}
