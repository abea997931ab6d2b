package track

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
)

// behindNAT changes the client's address and port, and passes a router.
func behindNAT(p *capture.Packet) {
	out := netip.MustParseAddrPort("203.0.113.1:61000")
	if p.Src.Port() == 80 {
		p.Dst = out
	} else {
		p.Src = out
	}
	p.TTL--
}

// TestBothSidesOfANAT captures a connection with a timeout on both sides of a NAT. The loss counts
// once, whether the handshake was captured or not.
func TestBothSidesOfANAT(t *testing.T) {
	for _, handshake := range []bool{true, false} {
		var settled int
		l := newLab(t, Config{Settled: func(c *Conn, _ *Flow, _ *Episode) { settled++ }})
		both := func(at float64, fromA bool, seq, length, ack int, options ...option) {
			l.send(at, fromA, seq, length, ack, options...)
			l.send(at+0.2, fromA, seq, length, ack, append(options, behindNAT)...)
		}
		if handshake {
			both(0, true, 0, 0, 0, withFlags(tcp.SYN))
			both(40, false, 0, 0, 1, withFlags(tcp.SYN|tcp.ACK))
			both(40.5, true, 1, 0, 1)
		}
		both(50, true, 1, 1000, 1)
		both(90, false, 1, 0, 1001)
		both(100, true, 1001, 1000, 1)
		both(400, true, 1001, 1000, 1)
		both(440, false, 1, 0, 2001)
		both(9000, true, 2001, 10, 1)
		conns := l.done(2)
		a, b := conns[0], conns[1]
		if a.Twin || !b.Twin || b.TwinOf != a.ID {
			t.Errorf("handshake %t: twins %t and %t of %d, want the second of the first", handshake, a.Twin, b.Twin, b.TwinOf)
		}
		if settled != 1 || a.Flows[0].TimeLost < 200*time.Millisecond || b.Flows[0].TimeLost != 0 {
			t.Errorf("handshake %t: %d episodes, %v and %v lost, want one in the first connection", handshake, settled, a.Flows[0].TimeLost, b.Flows[0].TimeLost)
		}
		var sum Losses
		sum.AddConn(a)
		sum.AddConn(b)
		if sum.Conns != 1 || sum.Twins != 1 {
			t.Errorf("handshake %t: %d connections and %d twins, want 1 and 1", handshake, sum.Conns, sum.Twins)
		}
	}
}

// TestNoTwins has connections that begin at one time and have something in common.
func TestNoTwins(t *testing.T) {
	begin := func(l *lab, at float64, port uint16, seq, ack int) {
		l.send(at, true, seq, 0, 0, withFlags(tcp.SYN), withPort(port))
		l.send(at+1, false, ack, 0, seq+1, withFlags(tcp.SYN|tcp.ACK), withPort(port))
		l.send(at+2, true, seq+1, 0, ack+1, withPort(port))
	}
	for _, test := range []struct {
		name string
		make func(*lab)
	}{
		{"a scanner's SYNs have one number", func(l *lab) { begin(l, 0, 4000, 0, 0); begin(l, 0.1, 4001, 0, 5000) }},
		{"the same numbers a second later", func(l *lab) { begin(l, 0, 4000, 0, 0); begin(l, 1000, 4001, 0, 0) }},
		{"all numbers are 0", func(l *lab) {
			l.isn = [2]tcp.Seq{}
			begin(l, 0, 4000, 0, 0)
			begin(l, 0.1, 4001, 0, 0)
		}},
	} {
		l := newLab(t, Config{})
		test.make(l)
		for _, c := range l.done(2) {
			if c.Twin {
				t.Errorf("%s: connection %d is a twin of %d", test.name, c.ID, c.TwinOf)
			}
		}
	}
}
