package track

import (
	"testing"

	"tcpwheel/netstack/tcp"
)

// TestSYNTimeouts distinguishes Linux's SYN timeouts since 6.5 from earlier ones. The times are of
// Linux 6.18 with tcp_syn_linear_timeouts 4, 0 and 1, whose timer wheel turns 4 s into 4.25, and of
// 4.4BSD.
func TestSYNTimeouts(t *testing.T) {
	for _, test := range []struct {
		name string
		syns []float64
		ack  bool // of SYN-ACKs
		want SYNTimeouts
		best string
	}{
		{"6.18", []float64{0, 1.002, 2.026, 3.050, 4.074, 5.098, 7.114, 11.342, 19.530, 35.658, 68.174}, false, SYNLinear, "linux"},
		{"6.18, two", []float64{0, 1.002, 2.026}, false, SYNLinear, "linux"},
		{"6.18, with 0", []float64{0, 1.009, 3.025, 7.281, 15.477, 31.601, 64.113}, false, SYNDoubling, "linux"},
		{"6.18, two with 0", []float64{0, 1.009, 3.025}, false, SYNDoubling, "linux"},
		{"6.18, with 1", []float64{0, 1.025, 2.050, 4.069, 8.290, 16.482, 32.614, 66.150}, false, SYNUnknown, ""},
		{"one", []float64{0, 1.009}, false, SYNUnknown, "linux"},
		{"4.4BSD", []float64{0, 5.8, 29.8}, false, SYNUnknown, "bsd"},
		{"SYN-ACKs", []float64{0, 1.009, 3.025, 7.281}, true, SYNUnknown, "linux"},
	} {
		l := newLab(t, Config{})
		flags := tcp.SYN
		if test.ack {
			l.send(0, true, 0, 0, 0, withFlags(tcp.SYN))
			flags |= tcp.ACK
		}
		for _, at := range test.syns {
			l.send(1000*at, !test.ack, 0, 0, 1, withFlags(flags))
		}
		f := &l.done(1)[0].Flows[0]
		if test.ack {
			f = f.other()
		}
		if got := f.Timers(); got.SYNs != test.want || got.Best != test.best || got.Gaps != len(test.syns)-1 {
			t.Errorf("%s: %+v, want SYNs %q of %q after %d gaps", test.name, got, test.want, test.best, len(test.syns)-1)
		}
	}
}
