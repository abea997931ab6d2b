package netstack

import (
	"fmt"
	"strings"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestCheckInvariants breaks a connection in each way that Config.CheckInvariants must find.
func TestCheckInvariants(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, _ := n.connect(false)
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { return true }) // a segment stays in flight
	a.Write([]byte("x"))
	e := n.a.stack.RegisteredEndpoints()[0].(*Endpoint)
	e.mu.Lock()
	defer e.mu.Unlock()
	panics := func() (said string) {
		defer func() {
			if r := recover(); r != nil {
				said = fmt.Sprint(r)
			}
		}()
		checkInvariants(e)
		return ""
	}
	if said := panics(); said != "" {
		t.Fatalf("an intact connection: %s", said)
	}
	rexmit := func() *timerRef { return &e.timers.segments[0] }
	state := rexmit().state
	for _, test := range []struct {
		want          string
		breakIt, mend func()
	}{
		{"the send queue holds", func() { e.snd.start++ }, func() { e.snd.start-- }},
		{"the receive queue ends at", func() { e.rcv.end++ }, func() { e.rcv.end-- }},
		{"out-of-order chunk", func() { e.rcv.later = []recvChunk{{0, buffer.Buffer{}}} }, func() { e.rcv.later = nil }},
		{"running timers", func() { rexmit().state = timerIdle }, func() { rexmit().state = state }},
		{"segments in flight have", func() { rexmit().state = timerIdle; e.timers.busy-- }, func() { rexmit().state = state; e.timers.busy++ }},
	} {
		test.breakIt()
		said := panics()
		test.mend()
		if !strings.HasPrefix(said, "BUG: 10.0.0.1:") || !strings.Contains(said, test.want) {
			t.Errorf("checkInvariants panicked with %q, want %q", said, test.want)
		}
	}
}
