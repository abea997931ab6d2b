package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestLimits: each limit of a sender is timed, as in Linux's tcp_info.
func TestLimits(t *testing.T) {
	const ms = time.Millisecond
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	cfg.RecvBuffer, cfg.RecvBufferMax = 20_000, 0
	p := newPair(t, 10*ms, cfg, cfg)
	p.open()
	info := func() Info { return p.ends[0].conn.Info(p.now) }
	want := func(what string, busy, rwnd, sndbuf time.Duration) {
		t.Helper()
		i := info()
		for _, x := range []struct {
			name      string
			got, want time.Duration
		}{{"busy", i.BusyTime, busy}, {"limited by the peer's window", i.RwndLimited, rwnd}, {"limited by the send buffer", i.SndbufLimited, sndbuf}} {
			if x.got != x.want {
				t.Errorf("%s: %s for %v, want %v", what, x.name, x.got, x.want)
			}
		}
	}
	want("nothing written", 0, 0, 0)
	p.write(0, 1000)
	p.run(500 * ms)
	want("one segment", 20*ms, 0, 0)
	p.do(0, func(c *Conn, _ *Output) { c.SetWriterWaits(true) })
	p.write(0, 2000)
	p.run(500 * ms)
	// Nagle's algorithm holds the second segment for a round trip.
	want("two segments, the send buffer is full", 60*ms, 0, 20*ms)
	p.do(0, func(c *Conn, _ *Output) { c.SetWriterWaits(false) })
	p.ends[1].lazy = true
	p.write(0, 50_000)
	p.run(3 * time.Second)
	// The window of 20,000 bytes is full after one round trip: IW10 is 14,480 bytes.
	want("the peer does not read for 3 s", 60*ms+3*time.Second, 3*time.Second-20*ms, 20*ms)
}
