package testbed

import (
	"slices"
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestTransmissions loses a segment twice and half of another, and sends it once too often.
func TestTransmissions(t *testing.T) {
	a := newTransmissions()
	for i, s := range []struct {
		port       uint16
		start, end uint64
		attempt    uint32
		lost       bool
	}{
		{1, 0, 100, 1, true},
		{2, 0, 100, 1, false}, // another stream
		{1, 100, 200, 1, true},
		{1, 0, 100, 2, true},
		{1, 150, 200, 2, false}, // half of a segment
		{1, 0, 100, 3, false},
		{1, 100, 150, 2, false}, // the other half, for the first time
		{1, 0, 100, 4, false},   // after one that was not lost
	} {
		if got := a.send(wheel.Time(i), s.port, s.start, s.end); got != s.attempt {
			t.Errorf("transmission %d is the %d. of its first byte, want %d", i, got, s.attempt)
		}
		if s.lost {
			a.lose(s.port, s.start, s.attempt)
		}
	}
	var r Result
	a.count(&r)
	if r.Sent != 8 || r.Lost != 3 || r.Retransmitted != 5 || r.Spurious != 1 || r.Repaired != 4 || r.WaitSum != 3+2+2+4 ||
		!slices.Equal(r.Waits, []time.Duration{3, 2, 2, 4}) {
		t.Errorf("%+v", r)
	}
}
