package congestion

import (
	"testing"
	"time"
)

// rounds drives HyStart++ through rounds of n samples each.
type hystartTest struct {
	t   *testing.T
	h   *hystartPlusPlus
	una uint32
}

func (s *hystartTest) round(rtt time.Duration, n uint32) (done bool) {
	s.t.Helper()
	next := s.una + n + 1 // SND.NXT when the round's ACKs arrive
	if !s.h.started {
		s.h.started, s.h.windowEnd = true, s.una+n
	}
	for range n {
		if done {
			s.t.Fatal("done before the round was")
		}
		s.una++
		done = s.h.OnAck(rtt, s.una, next+n-1)
	}
	return done
}

func TestHyStart(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		rtts  []time.Duration // per round, 8 samples each
		css   []bool          // after each
		done  int             // the last round of slow start, -1 for none
		count uint32
	}{
		// RFC 9406 §4.2: "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR,
		// MAX_RTT_THRESH))"
		{"below 4 ms", []time.Duration{10 * ms, 14*ms - 1, 18*ms - 2}, []bool{false, false, false}, -1, 8},
		{"4 ms", []time.Duration{10 * ms, 14 * ms}, []bool{false, true}, -1, 8},
		{"an eighth", []time.Duration{80 * ms, 90*ms - 1}, []bool{false, false}, -1, 8},
		{"an eighth and more", []time.Duration{80 * ms, 90 * ms}, []bool{false, true}, -1, 8},
		{"16 ms", []time.Duration{time.Second, 1016*ms - 1}, []bool{false, false}, -1, 8},
		{"16 ms and more", []time.Duration{time.Second, 1016 * ms}, []bool{false, true}, -1, 8},
		// RFC 9406 §4.2: for rounds where at least N_RTT_SAMPLE RTT samples have been obtained.
		{"too few samples", []time.Duration{10 * ms, 90 * ms}, []bool{false, false}, -1, 7},
		// RFC 9406 §4.3: CSS_ROUNDS is 5. RFC 9406 §4.2: "If the transition into CSS happens in the
		// middle of a round, that partial round counts towards the limit."
		{"five rounds", []time.Duration{10 * ms, 20 * ms, 20 * ms, 20 * ms, 20 * ms, 20 * ms},
			[]bool{false, true, true, true, true, true}, 5, 8},
		// An RTT below that of the entry: slow start goes on.
		{"jitter", []time.Duration{10 * ms, 20 * ms, 20*ms - 1}, []bool{false, true, false}, -1, 8},
	} {
		s := &hystartTest{t: t, h: newHystart(Config{})}
		for i, rtt := range test.rtts {
			if done := s.round(rtt, test.count); done != (i == test.done) || s.h.Conservative() != test.css[i] {
				t.Errorf("%s: round %d: done %v, conservative %v", test.name, i, done, s.h.Conservative())
			}
		}
	}
}

func TestHyStartGrowth(t *testing.T) {
	for _, test := range []struct {
		paced, css         bool
		limit, acked, want uint32
	}{
		// RFC 9406 §4.2: "cwnd = cwnd + min(N, L * SMSS)"
		{false, false, 0, 3 * mss, 3 * mss},
		{false, false, 0, 9 * mss, 8 * mss},
		// RFC 9406 §4.3: "L = infinity if paced, L = 8 if non-paced"
		{true, false, 0, 99 * mss, 99 * mss},
		{false, false, 44, 99 * mss, 44 * mss},
		{true, false, 44, 99 * mss, 44 * mss},
		// RFC 9406 §4.2: "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)"
		{false, true, 0, 9 * mss, 2 * mss},
		{true, true, 0, 40 * mss, 10 * mss},
	} {
		h := newHystart(Config{Paced: test.paced, HyStartLimit: test.limit})
		h.css = test.css
		if got := h.Growth(test.acked, mss); got != test.want {
			t.Errorf("Growth(%d) = %d with %+v, want %d", test.acked, got, test, test.want)
		}
	}
}

// TestHyStartEndsSlowStart raises the RTT with the window, as a queue does, in each controller with
// HyStart++.
func TestHyStartEndsSlowStart(t *testing.T) {
	for _, name := range []string{"newreno", "cubic"} {
		h := newControlTest(t, name, Config{SlowStart: HyStartPlusPlus})
		h.rtt = 20 * time.Millisecond
		var entry uint32
		for i := 0; h.c.InSlowStart(); i++ {
			if i == 30 {
				t.Fatalf("%s: still in slow start at %d bytes", name, h.c.Cwnd())
			}
			if h.c.Cwnd() > 100*mss {
				h.rtt = 30 * time.Millisecond
			}
			h.round()
			if entry == 0 && h.c.State().Conservative {
				entry = h.c.Cwnd()
			}
		}
		// RFC 9406 §4.2: "enter congestion avoidance by setting the ssthresh to the current cwnd."
		// Five rounds of growth by a quarter give 1.25^5 = 3.05; the first was under way.
		if w := float64(h.c.Ssthresh()) / float64(entry); entry > 320*mss || w < 2.4 || w > 3.06 {
			t.Errorf("%s: ssthresh %d, conservative from %d", name, h.c.Ssthresh(), entry)
		}
	}
}
