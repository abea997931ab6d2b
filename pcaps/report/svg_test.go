package report

import (
	"math"
	"testing"
	"time"
)

// TestTicks are few, in order, between the ends, and not empty, on scales of any size.
func TestTicks(t *testing.T) {
	for _, span := range [][2]float64{{0, 1}, {0, 1e-6}, {0.085, 0.1346}, {0, 3.7e9}, {1e6, 1e6 + 1}, {-3, 3}, {99.9, 100.1}} {
		s := newScale(span[0], span[1], 0, 700)
		checkTicks(t, s, s.ticks(8), 20)
	}
	for _, span := range [][2]float64{{1e-6, 100}, {0.05, 0.06}, {0.2, 0.2}, {1e-9, 1e-8}, {0.001, 3}} {
		s := newLogScale(span[0], span[1], 0, 700)
		if s.lo > span[0]*1.001 || s.hi < span[1]*0.999 {
			t.Errorf("newLogScale(%g, %g) is from %g to %g", span[0], span[1], s.lo, s.hi)
		}
		checkTicks(t, s, s.ticks(8), 20)
	}
}

func checkTicks(t *testing.T, s scale, all []float64, most int) {
	t.Helper()
	if len(all) < 2 || len(all) > most {
		t.Errorf("%v: %d ticks: %v", s, len(all), all)
	}
	for i, v := range all {
		if v < s.lo-1e-9*math.Abs(s.lo) || v > s.hi+1e-6*math.Abs(s.hi) || i > 0 && v <= all[i-1] {
			t.Errorf("%v: ticks %v", s, all)
		}
	}
}

// TestScales has both ends at both ends.
func TestScales(t *testing.T) {
	for _, s := range []scale{newScale(-5, 20, 10, 110), {lo: 0.001, hi: 10, from: 10, to: 110, log: true}} {
		if a, b := s.at(s.lo), s.at(s.hi); math.Abs(a-10) > 1e-9 || math.Abs(b-110) > 1e-9 {
			t.Errorf("%v: ends at %g and %g, want 10 and 110", s, a, b)
		}
	}
	if s := newScale(3, 3, 0, 10); s.at(3) != 0 {
		t.Errorf("an empty scale maps 3 to %g, want 0", s.at(3))
	}
}

func TestText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 999: "999 ns", 1500: "1.50 µs", -23 * time.Millisecond: "-23.0 ms", 631400 * time.Microsecond: "631 ms", 75 * time.Second: "75.0 s",
	} {
		if got := SpanText(d); got != want {
			t.Errorf("SpanText(%d) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 octets", 1: "1 octet", 999: "999 octets", 200_000: "200 kB", 1_234_567: "1.23 MB", 5e12: "5000 GB"} {
		if got := OctetText(n); got != want {
			t.Errorf("OctetText(%d) = %q, want %q", n, got, want)
		}
	}
	for s, want := range map[float64]string{0: "0", 2e-6: "2 µs", 0.05: "50 ms", 0.5: "500 ms", 20: "20 s"} {
		if got := spanTick(s); got != want {
			t.Errorf("spanTick(%g) = %q, want %q", s, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0", 500: "500", 1500: "1.5k", 2e6: "2M", 3e9: "3G"} {
		if got := octetTick(v); got != want {
			t.Errorf("octetTick(%g) = %q, want %q", v, got, want)
		}
	}
}

// TestSpansStayFew keeps quantiles near of many spans.
func TestSpansStayFew(t *testing.T) {
	var s Spans
	if s.Quantile(0.5) != 0 {
		t.Error("the median of nothing is not 0")
	}
	const n = 1_000_000
	for i := range n {
		s.Add(time.Duration(i * 7919 % n))
	}
	if len(s.all) > maxSpans || s.Len() != n {
		t.Errorf("%d of %d kept, want at most %d of %d", len(s.all), s.Len(), maxSpans, n)
	}
	for _, q := range []float64{0, 0.1, 0.5, 0.95, 1} {
		if got, want := float64(s.Quantile(q)), q*n; math.Abs(got-want) > n/50 {
			t.Errorf("quantile %g is %g, want about %g", q, got, want)
		}
	}
}
