package report

import "testing"

func TestText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 200_000: "200 kB", 1_234_567: "1.23 MB", 5e12: "5000 GB"} {
		if got := BytesText(n); got != want {
			t.Errorf("BytesText(%d) = %q, want %q", n, got, want)
		}
	}
	for s, want := range map[float64]string{0: "0", 2e-6: "2 µs", 0.05: "50 ms", 0.5: "500 ms", 20: "20 s"} {
		if got := spanTick(s); got != want {
			t.Errorf("spanTick(%g) = %q, want %q", s, got, want)
		}
	}
	for v, want := range map[float64]string{0: "0 %", -2.5: "-2.5 %", 100: "100 %"} {
		if got := percentTick(v); got != want {
			t.Errorf("percentTick(%g) = %q, want %q", v, got, want)
		}
	}
}
