package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestSlowStartsEndedByDelayAreCounted raises the RTT from 40 to 80 ms during slow start, and
// checks the counters. RFC 9406 §4.2: "If CSS_ROUNDS rounds are complete, enter congestion
// avoidance by setting the ssthresh to the current cwnd."
func TestSlowStartsEndedByDelayAreCounted(t *testing.T) {
	for _, test := range []struct {
		control string
		grows   bool
		want    uint64
	}{
		{"cubic", true, 1}, {"cubic", false, 0}, {"vegas", true, 1}, {"newreno", true, 0},
	} {
		cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
		cfg.Control = test.control
		cfg.RecvBuffer = 4 << 20
		p := newPair(t, 20*time.Millisecond, cfg, cfg)
		p.open()
		p.write(0, 50_000_000)
		p.run(100 * time.Millisecond)
		if test.grows {
			p.delay = 40 * time.Millisecond
		}
		c, counters := &p.ends[0].conn, &p.ends[0].out.Counters
		for until := p.now.Add(2 * time.Second); c.snd.cc.InSlowStart() && c.snd.cc.Cwnd() < 2<<20 && p.step(until); {
		}
		if counters.TCPHystartDelayDetect != test.want {
			t.Errorf("%s, round trips that grow: %v: counted %d, want %d", test.control, test.grows, counters.TCPHystartDelayDetect, test.want)
		}
		if got, want := counters.TCPHystartDelayCwnd, test.want*uint64(c.snd.cc.Cwnd()/c.snd.mss); got != want {
			t.Errorf("%s, round trips that grow: %v: a window of %d segments, want %d", test.control, test.grows, got, want)
		}
	}
}
