package tcp

import (
	"testing"
	"time"

	"tcpwheel/tcptimers"
)

// TestForget ends a connection with segments in flight. No timer is left, neither peer nor
// application is told, and another connection may take its place.
func TestForget(t *testing.T) {
	cfg := DefaultConfig(tcptimers.MustPolicy("per-segment"))
	p := newPair(t, 10*time.Millisecond, cfg, cfg)
	p.open()
	p.write(0, 5000)
	sent := p.n
	p.ends[0].events = 0
	p.do(0, func(c *Conn, o *Output) { c.Forget(o) })
	if p.n != sent || p.ends[0].events != 0 || len(p.ends[0].timers) != 0 || p.ends[0].conn.State() != StateClosed {
		t.Errorf("%d segments, events %b and %d timers in %v, want none of them and CLOSED", p.n-sent, p.ends[0].events, len(p.ends[0].timers), p.ends[0].conn.State())
	}
	p.do(0, func(c *Conn, o *Output) { c.Forget(o) }) // changes nothing
	p.wire = nil
	p.ends[0].conn.Init(&cfg, Path{MTU: 1500}, 77, 0)
	p.ends[1].conn.Init(&cfg, Path{MTU: 1500}, 99, 0)
	clear(p.ends[1].timers)
	p.open()
}
