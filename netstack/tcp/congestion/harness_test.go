package congestion

import (
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/wheel"
)

const mss = 1000

// controlTest drives a controller as a sender that always has data, one or more segments per ACK.
type controlTest struct {
	t   *testing.T
	c   Controller
	now wheel.Time
	una uint32
	rtt time.Duration
}

func newControlTest(t *testing.T, name string, cfg Config) *controlTest {
	t.Helper()
	if cfg.MSS == 0 {
		cfg.MSS = mss
	}
	c, err := New(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &controlTest{t: t, c: c, rtt: 100 * time.Millisecond}
}

// ack acknowledges n bytes of a full window.
func (h *controlTest) ack(n uint32) {
	h.una += n
	flight := h.c.Cwnd()
	h.c.OnAck(h.now, Ack{
		Acked: n, Delivered: n, Flight: flight, Una: h.una, Nxt: h.una - n + flight,
		RTT: h.rtt, SRTT: h.rtt, Limited: true,
	})
}

// round acknowledges a window, a segment at a time.
func (h *controlTest) round() {
	h.now = h.now.Add(h.rtt)
	for left := h.c.Cwnd(); left > 0; {
		n := min(left, mss)
		h.ack(n)
		left -= n
	}
}

// congested ends slow start at a window of n segments.
func (h *controlTest) congested(n uint32) {
	h.t.Helper()
	for i := 0; h.c.Cwnd() < 4*n*mss && i < 100; i++ {
		h.round()
	}
	flight := 2 * n * mss
	if h.c.Name() == "cubic" {
		flight = (n*mss*10 + 6) / 7
	}
	h.c.OnCongestion(h.now, flight, FastRetransmit)
	h.c.OnRecovered(h.now, n*mss)
	h.want(n*mss, n*mss)
}

func (h *controlTest) want(cwnd, ssthresh uint32) {
	h.t.Helper()
	if h.c.Cwnd() != cwnd || h.c.Ssthresh() != ssthresh {
		h.t.Fatalf("cwnd %d, ssthresh %d, want %d, %d", h.c.Cwnd(), h.c.Ssthresh(), cwnd, ssthresh)
	}
}

// forAll runs a test for each controller.
func forAll(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

func absurd(r *rand.Rand) uint32 {
	switch r.IntN(4) {
	case 0:
		return ^uint32(0) - uint32(r.IntN(3))
	case 1:
		return uint32(r.IntN(3))
	}
	return r.Uint32() >> r.IntN(32)
}
