package cli

import (
	"testing"
	"time"
)

func TestNCStatus(t *testing.T) {
	for _, test := range []struct {
		sent, received, sentBefore, receivedBefore uint64
		want                                       string
	}{
		{0, 0, 0, 0, "sent 0 B, 0 B/s; received 0 B, 0 B/s"},
		{999, 1000, 0, 0, "sent 999 B, 2 kB/s; received 1 kB, 2 kB/s"},
		{12345678, 1 << 40, 12344678, 1<<40 - 5e9, "sent 12.3 MB, 2 kB/s; received 1.1 TB, 10 GB/s"},
		{999499, 999500, 999499, 999500, "sent 999 kB, 0 B/s; received 1 MB, 0 B/s"},
	} {
		got := ncStatus(test.sent, test.received, test.sentBefore, test.receivedBefore, 500*time.Millisecond)
		if got != test.want || len(got) > statusColumns {
			t.Errorf("ncStatus of %d and %d, after %d and %d = %q, want %q", test.sent, test.received, test.sentBefore, test.receivedBefore, got, test.want)
		}
	}
}

func TestParseSeconds(t *testing.T) {
	for s, want := range map[string]time.Duration{"5": 5 * time.Second, "0.5": time.Second / 2, "20ms": 20 * time.Millisecond, "0": 0, "-1": 0, "x": 0, "": 0, "1e300": 0, "NaN": 0} {
		if got, err := parseSeconds(s); got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSeconds(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
}
