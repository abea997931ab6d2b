package track

import (
	"testing"
	"time"
)

func TestSpanText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 999: "999 ns", 1500: "1.50 µs", -23 * time.Millisecond: "-23.0 ms", 631400 * time.Microsecond: "631 ms", 75 * time.Second: "75.0 s",
	} {
		if got := SpanText(d); got != want {
			t.Errorf("SpanText(%d) = %q, want %q", d, got, want)
		}
	}
}
