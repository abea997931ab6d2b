package netstack

import (
	"fmt"
	"strings"
	"testing"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// TestVerify spoils a connection in each way that Config.Verify is to find.
func TestVerify(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, _ := n.connect(false)
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { return true }) // so that a segment stays in flight
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
		e.verify()
		return ""
	}
	if said := panics(); said != "" {
		t.Fatalf("a connection that nobody spoilt: %s", said)
	}
	rexmit := func() *timerRef { return &e.timers.segments[0] }
	state := rexmit().state
	for _, test := range []struct {
		want        string
		spoil, mend func()
	}{
		{"wait to be acknowledged", func() { e.snd.start++ }, func() { e.snd.start-- }},
		{"received in order", func() { e.rcv.end++ }, func() { e.rcv.end-- }},
		{"out of order", func() { e.rcv.later = []recvChunk{{0, buffer.Buffer{}}} }, func() { e.rcv.later = nil }},
		{"timers run", func() { rexmit().state = timerIdle }, func() { rexmit().state = state }},
		{"timers of their own", func() { rexmit().state = timerIdle; e.timers.busy-- }, func() { rexmit().state = state; e.timers.busy++ }},
	} {
		test.spoil()
		said := panics()
		test.mend()
		if !strings.HasPrefix(said, "BUG: 10.0.0.1:") || !strings.Contains(said, test.want) {
			t.Errorf("verify says %q, want %q", said, test.want)
		}
	}
}
