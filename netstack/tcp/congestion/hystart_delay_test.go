package congestion

import (
	"math"
	"testing"
	"time"
)

// linuxStart runs slow start of cubic with Linux's HyStart: rounds of a window each, whose ACKs
// come gap apart. rtt gives the RTT of a round. It returns the threshold in segments, 0 if slow
// start goes on.
func linuxStart(t *testing.T, paced bool, rounds int, gap time.Duration, rtt func(round int) time.Duration) uint32 {
	h := newControlTest(t, "cubic", Config{SlowStart: HyStartLinux, Paced: paced})
	for i := range rounds {
		h.rtt = rtt(i)
		begin := h.now.Add(h.rtt)
		for k := range h.c.Cwnd() / mss {
			h.now = begin.Add(time.Duration(k) * gap)
			h.una += mss
			h.c.OnAck(h.now, Ack{
				Acked: mss, Delivered: mss, Flight: h.c.Cwnd(), Una: h.una, Nxt: h.una - mss + h.c.Cwnd(),
				RTT: h.rtt, SRTT: h.rtt, Limited: true,
			})
		}
		h.now = begin
	}
	if h.c.Ssthresh() == math.MaxUint32 {
		return 0
	}
	return h.c.Ssthresh() / mss
}

// TestHyStartLinux: slow start ends by an ACK train of half the minimum RTT, or by a delay that
// grew by an eighth of it, 4 to 16 ms, and never below 16 segments.
func TestHyStartLinux(t *testing.T) {
	const ms = time.Millisecond
	steady := func(int) time.Duration { return 100 * ms }
	growing := func(by time.Duration) func(int) time.Duration {
		return func(i int) time.Duration { return 100*ms + time.Duration(max(i-2, 0))*by }
	}
	for _, test := range []struct {
		name  string
		paced bool
		gap   time.Duration
		rtt   func(int) time.Duration
		want  uint32 // ssthresh after seven rounds, segments
	}{
		{"no sign", false, 0, steady, 0},
		// The third round, of 40 segments, is the first that spans 50.5 ms: with half of a millisecond
		// for super-segments. The fourth is the first that spans 101 ms.
		{"ACKs 2 ms apart", false, 2 * ms, steady, 66},
		{"paced: the whole RTT", true, 2 * ms, steady, 131},
		{"ACKs farther apart are no train", false, 2*ms + 1, steady, 0},
		// The first round of 110 ms has 80 segments; the ninth sample decides.
		{"12.5 ms more", false, 0, growing(12500*time.Microsecond + 1), 88},
		{"12.5 ms at most, two rounds", false, 0, growing(6250 * time.Microsecond), 0},
	} {
		rounds := 7
		if test.name == "12.5 ms at most, two rounds" {
			rounds = 5
		}
		if got := linuxStart(t, test.paced, rounds, test.gap, test.rtt); got != test.want {
			t.Errorf("%s: slow start ends at %d segments, want %d", test.name, got, test.want)
		}
	}
}
