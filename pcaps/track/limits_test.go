package track

import (
	"testing"
	"time"
)

// TestLimits: ten flights of a segment or four, each a round trip of 50 ms after the one before. A
// window of 4 segments is the receiver's limit; where it is larger, data that follows an ACK at once
// had waited for it, and data that comes later is the application's.
func TestLimits(t *testing.T) {
	for _, test := range []struct {
		name   string
		window uint16
		pause  float64 // from an ACK to the next data, ms
		want   Limits
	}{
		{"a closed window", 4 * 1460, 0, Limits{Receiver: 500 * time.Millisecond}},
		{"a congestion window", 60000, 0, Limits{Congestion: 450 * time.Millisecond, Application: 50 * time.Millisecond}},
		{"an application", 60000, 30, Limits{Application: 770 * time.Millisecond}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t, Config{Limits: true})
			l.open(0, withWindow(test.window))
			at, seq := 100.0, 1
			for range 10 {
				for range 4 {
					l.send(at, true, seq, 1460, 1)
					seq += 1460
				}
				at += 50
				l.send(at, false, 1, 0, seq, withWindow(test.window))
				at += test.pause
			}
			f := &l.wantClean(1)[0].Flows[0]
			got, ok := f.Limits()
			if test.want.RTT50, test.want.RTT95 = 50*time.Millisecond, 50*time.Millisecond; !ok || got != test.want {
				t.Errorf("%+v, %v, want %+v", got, ok, test.want)
			}
			if _, ok := l.conns[0].Flows[1].Limits(); ok {
				t.Error("the other direction sent no data, and has limits")
			}
		})
	}
}
