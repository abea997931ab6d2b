package netstack

import (
	"slices"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestChallengeLimitIsOfTheStack challenges connections of all shards at one time.
//
// RFC 5961 §7: "An implementation SHOULD include an ACK throttling mechanism to be conservative."
// The limit is the stack's, not a connection's.
func TestChallengeLimitIsOfTheStack(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Shards = 4
	f, err := NewProtocolWith(cfg)
	if err != nil {
		t.Fatal(err)
	}
	const conns, each = 8, 500
	run := func() (sent []int) {
		r := newRig(t, f, true)
		r.socket("l").bind(rigPort).listen(conns + 1)
		total := 0
		for i := range conns {
			p := r.peer(uint16(2000 + i))
			p.syn()
			p.ack()
			before := p.sent
			for range each {
				p.send(header.TCPFlagSyn, 1, 0, 0)
			}
			sent = append(sent, p.sent-before)
			total += p.sent - before
		}
		if total < challengesPerSecond/2 || total > challengesPerSecond*3/2 {
			t.Errorf("%d connections sent %d challenge ACKs at one time, want about %d in the whole stack", conns, total, challengesPerSecond)
		}
		c, _ := Counters(r.s)
		if c.TCPACKSkippedChallenge != conns*each-uint64(total) {
			t.Errorf("TCPACKSkippedChallenge = %d, want %d", c.TCPACKSkippedChallenge, conns*each-total)
		}
		return sent
	}
	if a, b := run(), run(); !slices.Equal(a, b) {
		t.Errorf("two runs differ: %v, %v", a, b)
	}
}

// TestListenerResetsInOrder closes a listener with queued and half-open connections. The RSTs leave
// in the order of the SYNs.
func TestListenerResetsInOrder(t *testing.T) {
	r := newRig(t, NewProtocol, true)
	l := r.socket("l").bind(rigPort).listen(30)
	var want []uint16
	for port := uint16(2000); port < 2010; port++ {
		p := r.peer(port)
		p.syn()
		p.ack()
		want = append(want, port)
	}
	for port := uint16(2029); port >= 2010; port-- {
		r.peer(port).syn()
		want = append(want, port)
	}
	r.order = nil
	l.close()
	if !slices.Equal(r.order, want) {
		t.Errorf("resets to ports %v, want %v", r.order, want)
	}
}
