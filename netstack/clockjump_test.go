package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// jumpyClock is a clock that jumps: by a virtual machine's migration, say.
type jumpyClock struct {
	*VirtualClock
	by time.Duration
}

func (c *jumpyClock) NowMonotonic() tcpip.MonotonicTime {
	return c.VirtualClock.NowMonotonic().Add(c.by)
}

// TestClockJumps: the clock jumps back and ahead while data is in flight, and a connection still
// delivers all of it. Time that goes back counts as no time.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{-time.Hour, -time.Millisecond, time.Second, time.Minute} {
		t.Run(jump.String(), func(t *testing.T) {
			clock := new(jumpyClock)
			r := newRigOn(t, NewProtocol, true, func(c *VirtualClock) tcpip.Clock { clock.VirtualClock = c; return clock })
			_, c, p := r.established()
			const each, rounds = 20_000, 20
			for i := range rounds {
				if n, err := c.fill(each); n != each || err != nil {
					t.Fatalf("round %d: %d bytes were taken, %v", i, n, err)
				}
				if i == rounds/2 {
					clock.by += jump
				}
				for until := r.clock.Time().Add(5 * time.Second); c.ep.(*Endpoint).snd.size() > 0; r.pass(10 * time.Millisecond) {
					if p.ack(); r.clock.Time() > until {
						t.Fatalf("round %d: %d bytes are not acknowledged after 5 s", i, c.ep.(*Endpoint).snd.size())
					}
				}
			}
		})
	}
}
