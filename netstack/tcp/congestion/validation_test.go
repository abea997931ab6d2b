package congestion

import (
	"math"
	"testing"
	"time"

	"tcpwheel/wheel"
)

func TestValidation(t *testing.T) {
	var v validation
	if _, ok := v.PipeACK(); ok || !v.Validated(math.MaxUint32) {
		t.Error("a measure without measurement")
	}
	now, una := wheel.Time(0), uint32(0)
	round := func(n uint32) {
		v.OnAck(now, n, una+n, una+n+1, 100*time.Millisecond)
		una += n + 1
	}
	round(0)
	round(5000)
	if p, ok := v.PipeACK(); !ok || p != 5000 {
		t.Errorf("pipeACK %d, %v, want 5000", p, ok)
	}
	// RFC 7661 §4.3: validated while pipeACK is half of cwnd.
	if !v.Validated(10000) || v.Validated(10002) {
		t.Error("half the window")
	}
	// The largest sample of the last second counts.
	now = wheel.Time(700 * time.Millisecond)
	round(100)
	if p, _ := v.PipeACK(); p != 5000 {
		t.Errorf("pipeACK %d after 700 ms", p)
	}
	now = wheel.Time(5 * time.Second)
	round(200)
	if p, _ := v.PipeACK(); p > 201 {
		t.Errorf("pipeACK %d after 5 s", p)
	}
}

// TestPreservedWindow checks that RFC 7661 preserves an unused window for five minutes, and then
// halves it.
func TestPreservedWindow(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		h := newControlTest(t, name, Config{Validate: true})
		for h.c.Cwnd() < 40*mss {
			h.round()
		}
		h.c.OnCongestion(h.now, h.c.Cwnd(), FastRetransmit)
		h.c.OnRecovered(h.now, h.c.Cwnd())
		h.round()
		h.round()
		w, ssthresh := h.c.Cwnd(), h.c.Ssthresh()
		h.now = h.now.Add(10 * time.Second)
		h.c.OnIdle(h.now, 10*time.Second, time.Second)
		if h.c.Cwnd() != w {
			t.Fatalf("window of %d bytes after 10 s, want %d", h.c.Cwnd(), w)
		}
		h.c.OnApplicationLimited(h.now.Add(nonvalidatedPeriod - 1))
		if h.c.Cwnd() != w {
			t.Fatalf("window of %d bytes just before the end, want %d", h.c.Cwnd(), w)
		}
		// RFC 7661 §4.4.3: ssthresh = max(ssthresh, 3*cwnd/4), cwnd = max(1/2*cwnd, IW)
		h.c.OnApplicationLimited(h.now.Add(nonvalidatedPeriod))
		h.want(w/2, max(ssthresh, w*3/4))
		for i := range wheel.Time(5) {
			h.c.OnApplicationLimited(h.now.Add(nonvalidatedPeriod * time.Duration(i+2)))
		}
		if h.c.Cwnd() != 10*mss {
			t.Errorf("window of %d bytes at the end, want IW", h.c.Cwnd())
		}
	})
}

// TestLossInNonvalidatedPhase checks RFC 7661 §4.4.1: the larger of pipeACK and FlightSize counts,
// not cwnd.
func TestLossInNonvalidatedPhase(t *testing.T) {
	h := newControlTest(t, "newreno", Config{Validate: true})
	for h.c.Cwnd() < 40*mss {
		h.round()
	}
	h.now = h.now.Add(10 * time.Second)
	for range 3 { // rounds of six segments in a window of 40 and more
		h.una += 6 * mss
		h.c.OnAck(h.now, Ack{Acked: 6 * mss, Flight: 6 * mss, Una: h.una, Nxt: h.una + 6*mss, SRTT: h.rtt, Limited: true})
	}
	p := h.c.State().PipeACK
	if p < 6*mss || p >= h.c.Cwnd()/2 {
		t.Fatalf("pipeACK %d, window %d", p, h.c.Cwnd())
	}
	h.c.OnCongestion(h.now, 2*mss, FastRetransmit)
	h.want(p/2, p/2)
}

// TestValidationKeepsSlowStart checks that RFC 7661 changes no window in slow start, whose ACKs
// come one by one or delayed. RFC 7661 §4.3: pipeACK is undefined before the first measurement. The
// ACK of the SYN is none.
func TestValidationKeepsSlowStart(t *testing.T) {
	forAll(t, func(t *testing.T, name string) {
		for _, segments := range []uint32{1, 2, 3} {
			plain, validated := newControlTest(t, name, Config{}), newControlTest(t, name, Config{Validate: true})
			for _, h := range []*controlTest{plain, validated} {
				h.c.OnAck(h.now, Ack{Acked: 1, Flight: 1, Una: 1, Nxt: 1, RTT: h.rtt, SRTT: h.rtt, SYN: true})
				h.una = 1
			}
			if n := validated.c.State().PipeACK; n != 0 {
				t.Fatalf("pipeACK %d after the handshake, want it undefined", n)
			}
			for plain.c.InSlowStart() && plain.c.Cwnd() < 500*mss {
				for _, h := range []*controlTest{plain, validated} {
					h.now = h.now.Add(h.rtt)
					for left := h.c.Cwnd() / mss; left > 0; {
						n := min(left, segments)
						h.ack(n * mss)
						left -= n
					}
				}
				if validated.c.Cwnd() != plain.c.Cwnd() {
					t.Fatalf("%d segments an ACK: cwnd %d with validation, want %d", segments, validated.c.Cwnd(), plain.c.Cwnd())
				}
			}
		}
	})
}
