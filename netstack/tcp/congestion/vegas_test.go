package congestion

import (
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestVegasThresholds(t *testing.T) {
	// Brakmo and Peterson 1995, §III-B: the difference of expected and actual rate, times BaseRTT,
	// stays between α and β. Of 20 segments over 100 ms, 20·(RTT-BaseRTT)/RTT are queued.
	for _, test := range []struct {
		rtt  time.Duration
		want uint32
	}{
		{100 * time.Millisecond, 21 * mss}, // 0 queued
		{111 * time.Millisecond, 21 * mss}, // 1.98
		{112 * time.Millisecond, 20 * mss}, // 2.14
		{125 * time.Millisecond, 20 * mss}, // 4
		{126 * time.Millisecond, 19 * mss}, // 4.13
	} {
		h := newControlTest(t, "vegas", Config{})
		h.congested(20)
		h.rtt = test.rtt
		h.ack(1) // starts a round
		h.ack(20 * mss)
		if h.c.Cwnd() != test.want {
			t.Errorf("RTT %v: cwnd %d, want %d", test.rtt, h.c.Cwnd(), test.want)
		}
		if s := h.c.State(); s.BaseRTT != 100*time.Millisecond {
			t.Errorf("BaseRTT %v", s.BaseRTT)
		}
	}
}

func TestVegasSlowStart(t *testing.T) {
	// Brakmo and Peterson 1995, §III-C: the window doubles every other round trip.
	h := newControlTest(t, "vegas", Config{})
	c := h.c.(*vegas)
	var windows []uint32
	last := c.roundEnd
	for range 400 {
		h.ack(mss)
		if c.roundEnd != last {
			last = c.roundEnd
			windows = append(windows, c.cwnd/mss)
		}
	}
	// The window grows in every other round.
	for i := 2; i+1 < len(windows); i += 2 {
		if still := windows[i] == windows[i-1] || windows[i] == windows[i+1]; !still {
			t.Errorf("windows at the ends of rounds: %v", windows)
			break
		}
	}
	if !h.c.InSlowStart() || len(windows) < 5 {
		t.Fatalf("windows %v", windows)
	}
	// More than γ = 1 segment is queued: slow start ends.
	h.rtt = 150 * time.Millisecond
	for i := 0; h.c.InSlowStart() && i < 10; i++ {
		h.round()
	}
	if h.c.InSlowStart() || h.c.Ssthresh() > 4*1000*mss {
		t.Errorf("still in slow start, ssthresh %d", h.c.Ssthresh())
	}
}

// TestVegasBaseRTTIsOfData: a SYN is shorter than a segment of data and so faster on a slow link.
// Its round trip is not the BaseRTT of data.
func TestVegasBaseRTTIsOfData(t *testing.T) {
	h := newControlTest(t, "vegas", Config{})
	h.c.OnAck(h.now, Ack{Acked: 1, Flight: 1, Una: 1, Nxt: 1, RTT: 90 * time.Millisecond, SYN: true})
	h.ack(mss)
	if s := h.c.State(); s.BaseRTT != 100*time.Millisecond {
		t.Errorf("BaseRTT %v, want the 100 ms of data", s.BaseRTT)
	}
}

func TestVegasFloor(t *testing.T) {
	h := newControlTest(t, "vegas", Config{Alpha: 1, Beta: 1, Gamma: 1})
	h.congested(20)
	h.ack(1)
	h.rtt = 10 * time.Second
	for range 100 {
		h.round()
	}
	if h.c.Cwnd() != 2*mss || h.c.InSlowStart() {
		t.Errorf("cwnd %d, slow start %v", h.c.Cwnd(), h.c.InSlowStart())
	}
}

func TestVegasCheck(t *testing.T) {
	const rto = 300 * time.Millisecond
	late, early := wheel.Time(rto+1), wheel.Time(rto)
	var v VegasCheck
	// "When a duplicate ACK is received, Vegas checks to see if the difference between the current
	// time and the timestamp recorded for the relevant segment is greater than the timeout value."
	if v.OnAck(early, true, 0, rto) || !v.OnAck(late, true, 0, rto) {
		t.Error("a duplicate ACK is not judged by the segment's age")
	}
	if v.OnAck(late, false, 0, rto) {
		t.Error("an ACK of new data is checked without a retransmission")
	}
	// "When a nonduplicate ACK is received, if it is the first or second one after a
	// retransmission, Vegas again checks".
	v.OnRetransmit()
	for i, want := range []bool{true, true, false} {
		if v.OnAck(late, false, 0, rto) != want {
			t.Errorf("ACK %d of new data after a retransmission: want %v", i+1, want)
		}
	}
	v.OnRetransmit()
	if v.OnAck(early, false, 0, rto) {
		t.Error("retransmits before the timeout")
	}
}
