package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestLossWindowIsOneSegment lets one-byte segments time out again and again: each timeout sends
// only the first.
func TestLossWindowIsOneSegment(t *testing.T) {
	cfg := hostileConfig()
	cfg.Socket.NoDelay = true
	h := newHostile(t, cfg, EngineConfig{})
	x := h.connect(t, 65535, Options{})
	for range 10 {
		h.e.Wrote(h.now, x.s, 1, 0)
		h.collect()
		h.advance(3*time.Millisecond, 10)
	}
	una := x.iss.Add(1)
	sent := 0
	for h.now < 80e9 {
		before := h.e.Counters().TCPTimeouts
		h.advance(time.Second, 1)
		if h.e.Counters().TCPTimeouts == 0 {
			continue // tail loss probes
		}
		for _, p := range h.sent {
			// RFC 5681 §3.1: upon a timeout cwnd is set to no more than the loss window, which
			// equals one full-sized segment.
			if sent++; p.Header.Seq != una {
				t.Errorf("at %v SND.UNA%+d was retransmitted, want the first", time.Duration(h.now), p.Header.Seq.Sub(una))
			}
		}
		if len(h.sent) > int(h.e.Counters().TCPTimeouts-before) {
			t.Errorf("at %v %d segments left for %d timeouts", time.Duration(h.now), len(h.sent), h.e.Counters().TCPTimeouts-before)
		}
		h.sent = h.sent[:0]
	}
	if sent < 4 {
		t.Errorf("%d retransmissions in 80 s, want 4 at least", sent)
	}
}

// TestVegasCheckRetransmitsWithoutRACK lets only the Vegas check find the first segment lost, while
// RFC 6675 chooses what to send.
func TestVegasCheckRetransmitsWithoutRACK(t *testing.T) {
	cfg := hostileConfig()
	cfg.Policy = tcptimers.MustPolicy("rfc7765")
	cfg.Policy.Rexmit = tcptimers.RexmitPerSegment
	cfg.VegasCheck, cfg.MaxSegments = true, 1 // so there is new data that the window holds back
	h := newHostile(t, cfg, EngineConfig{})
	x := h.connect(t, 20_000, Options{HasMSS: true, MSS: 1000, SACKPermitted: true})
	write := func(n uint32) {
		h.e.Wrote(h.now, x.s, n, 0)
		h.collect()
	}
	for range 10 {
		write(1000)
		h.advance(20*time.Millisecond, 100)
		h.ack(x, x.nxt, 20_000)
	}
	una := x.nxt
	write(5000)
	h.advance(500*time.Millisecond, 1)
	h.ack(x, una, 20_000)
	// RFC 6675 §5 (4.3): "Retransmit the first data segment presumed dropped -- the segment
	// starting with sequence number HighACK + 1."
	if len(h.sent) != 1 || h.sent[0].Header.Seq != una || h.sent[0].Rexmit != 1 {
		t.Errorf("a duplicate ACK half a second later is answered by %+v, want the first segment again", h.sent)
	}
}
