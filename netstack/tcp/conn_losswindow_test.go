package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

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
