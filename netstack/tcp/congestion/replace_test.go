package congestion

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

// TestReplace replaces each controller by each other, in slow start, congestion avoidance and
// recovery, and checks the window.
func TestReplace(t *testing.T) {
	const mss = 1000
	ack := func(c Controller, now wheel.Time) {
		c.OnAck(now, Ack{Acked: mss, Delivered: mss, Flight: c.Cwnd(), RTT: 10 * time.Millisecond, SRTT: 10 * time.Millisecond, Limited: true})
	}
	for _, from := range Names() {
		for _, to := range Names() {
			old, err := New(from, Config{MSS: mss})
			if err != nil {
				t.Fatal(err)
			}
			now := wheel.Time(0)
			for range 5 {
				now = now.Add(10 * time.Millisecond)
				ack(old, now)
			}
			replace := func(when string, old Controller) Controller {
				cwnd, ssthresh := old.Cwnd(), old.Ssthresh()
				c, err := Replace(old, to, Config{MSS: mss})
				if err != nil {
					t.Fatal(err)
				}
				if c.Name() != to || c.Cwnd() != cwnd || c.Ssthresh() != ssthresh {
					t.Errorf("%s to %s %s: %s with window %d and threshold %d, want %d and %d", from, to, when, c.Name(), c.Cwnd(), c.Ssthresh(), cwnd, ssthresh)
				}
				return c
			}
			c := replace("in slow start", old)
			c.OnCongestion(now, c.Cwnd(), FastRetransmit)
			c = replace("in recovery", c)
			want := c.Ssthresh()
			if c.OnRecovered(now, 0); c.Cwnd() != want {
				t.Errorf("%s to %s: window after recovery %d, want the threshold %d", from, to, c.Cwnd(), want)
			}
			c = replace("in congestion avoidance", c)
			before := c.Cwnd()
			for range 100 {
				now = now.Add(10 * time.Millisecond)
				ack(c, now)
			}
			if c.Cwnd() <= before && to != "vegas" {
				t.Errorf("%s to %s: the window stays at %d", from, to, before)
			}
			if c.OnTimeout(now, c.Cwnd(), true); c.Cwnd() != mss {
				t.Errorf("%s to %s: window after a timeout %d, want %d", from, to, c.Cwnd(), mss)
			}
			if c = replace("after a timeout", c); c.Undo(now, 0, 0) {
				t.Errorf("%s to %s: a timeout before the change was undone", from, to)
			}
		}
	}
	old, _ := New("cubic", Config{MSS: mss})
	if _, err := Replace(old, "none such", Config{MSS: mss}); err == nil {
		t.Error("Replace by a control that does not exist: no error")
	}
}
