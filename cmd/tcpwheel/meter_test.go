package main

import (
	"bytes"
	"testing"
	"time"

	"tcpwheel/tun/nc"
)

func TestMeterLine(t *testing.T) {
	for _, test := range []struct {
		s, r, sent, received uint64
		d                    time.Duration
		want                 string
	}{
		{0, 0, 0, 0, time.Second, "sent 0 B, 0 B/s; received 0 B, 0 B/s"},
		{999, 1000, 999, 1000, time.Second / 2, "sent 999 B, 2 kB/s; received 1 kB, 2 kB/s"},
		{12345678, 1 << 40, 1000, 5e9, 2 * time.Second, "sent 12.3 MB, 500 B/s; received 1.1 TB, 2.5 GB/s"},
		{999499, 999500, 0, 0, time.Second, "sent 999 kB, 0 B/s; received 1 MB, 0 B/s"},
	} {
		if got := meterLine(test.s, test.r, test.sent, test.received, test.d); got != test.want || len(got) > 79 {
			t.Errorf("meterLine(%d, %d, %d, %d, %v) = %q, want %q", test.s, test.r, test.sent, test.received, test.d, got, test.want)
		}
	}
}

// TestMeter shows nothing where there is no terminal, and erases what it has shown before it prints anything else.
func TestMeter(t *testing.T) {
	var b bytes.Buffer
	m := startMeter(&b, &nc.Counts{})
	m.print("a\n")
	m.show("four")
	m.show("two")
	m.print("b\n")
	m.stop()
	if want := "a\n\rfour\rtwo \r   \rb\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestParseSeconds(t *testing.T) {
	for s, want := range map[string]time.Duration{"5": 5 * time.Second, "0.5": time.Second / 2, "20ms": 20 * time.Millisecond, "0": 0, "-1": 0, "x": 0, "": 0, "1e300": 0, "NaN": 0} {
		if got, err := parseSeconds(s); got != want || (err == nil) != (want > 0) {
			t.Errorf("parseSeconds(%q) = %v, %v, want %v", s, got, err, want)
		}
	}
}
