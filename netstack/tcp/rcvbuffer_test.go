package tcp

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestRecvRTT(t *testing.T) {
	var r recvRTT
	now, nxt := wheel.Time(0), Seq(1<<32-4000)
	// A window of 10 segments arrives per round. Rounds take 50 ms, and one takes 90 ms.
	for _, round := range []time.Duration{90 * ms, 50 * ms, 60 * ms} {
		for range 10 {
			r.OnData(now, nxt, 10000)
			nxt, now = nxt+1000, now.Add(round/10)
		}
	}
	if rtt, ok := r.RTT(); !ok || rtt != 50*ms {
		t.Errorf("by rounds: %v, %v, want 50ms", rtt, ok)
	}
	r.OnTimestamp(0)
	r.OnTimestamp(40 * ms)
	r.OnTimestamp(48 * ms)
	if rtt, ok := r.RTT(); !ok || rtt != 41*ms {
		t.Errorf("by timestamps: %v, %v, want 41ms", rtt, ok)
	}
	for range 100 {
		now, nxt = now.Add(ms), nxt+10000
		r.OnData(now, nxt, 10000)
	}
	if rtt, _ := r.RTT(); rtt != 41*ms {
		t.Errorf("rounds changed the estimate by timestamps to %v", rtt)
	}
}

// TestRecvBufferFollowsSlowStart lets a sender double per round up to the window.
func TestRecvBufferFollowsSlowStart(t *testing.T) {
	const rtt, mss, bound = 100 * ms, 1000, 6 << 20
	var tune recvBufferTuner
	tune.Init(0, 10*mss)
	buff, cwnd, now := uint32(64<<10), uint32(10*mss), wheel.Time(0)
	for round := range 12 {
		n := min(cwnd, buff)
		if n < cwnd && buff < bound {
			t.Errorf("round %d: a buffer of %d holds up a window of %d", round, buff, cwnd)
		}
		now = now.Add(rtt)
		if b, ok := tune.OnRead(now, n, rtt, mss, bound); ok {
			buff = max(buff, b)
		}
		if buff > bound {
			t.Fatalf("round %d: buffer %d exceeds %d", round, buff, bound)
		}
		cwnd *= 2
	}
	if buff != bound {
		t.Errorf("buffer %d, want the bound of %d", buff, bound)
	}
}

func TestRecvBufferSlowReader(t *testing.T) {
	// An application that reads 5000 bytes per round needs no larger buffer, whatever the window.
	var tune recvBufferTuner
	tune.Init(0, 10000)
	for i := range 100 {
		if b, ok := tune.OnRead(wheel.Time(100*ms)*wheel.Time(i+1), 5000, 100*ms, 1000, 1<<20); ok {
			t.Fatalf("round %d: wants %d", i, b)
		}
	}
	if b, ok := tune.OnRead(wheel.Time(time.Hour), 1<<32-1, 0, 1000, 1<<20); ok {
		t.Errorf("without an RTT: wants %d", b)
	}
	if b, ok := tune.OnRead(wheel.Time(time.Hour), 1<<32-1, 100*ms, 1<<16-1, 1<<20); !ok || b != 1<<20 {
		t.Errorf("a read without end: %d, %v", b, ok)
	}
}
