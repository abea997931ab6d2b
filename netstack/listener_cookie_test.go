package netstack

import (
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"

	"tcpwheel/netstack/tcp"
)

// TestACKsAfterALostCookieACK: the accept queue is full when the ACK of a cookie arrives with data,
// and again when another ACK follows. The peer is not reset, retransmits its data, and gets its
// connection. Its SYN may have been retransmitted and have opened a half-open connection.
func TestACKsAfterALostCookieACK(t *testing.T) {
	for _, halfOpen := range []bool{false, true} {
		r := newRig(t, NewProtocol, true)
		l := r.socket("l").bind(rigPort).listen(2)
		first, p := r.peer(2000), r.peer(2001)
		first.syn()
		p.syn() // a cookie answers
		if halfOpen {
			first.rst()
			r.quietly(p.syn)
			p.nxt = 1
			first = r.peer(2002)
			first.syn() // and here
		}
		other := r.peer(2003)
		other.syn()
		first.ack()
		other.ack()
		p.data(100)
		sent := p.sent
		p.ack()
		if p.sent != sent {
			t.Errorf("half-open %v: the ACK after a lost cookie ACK drew %v", halfOpen, p.last.Flags())
		}
		l.accept("first")
		l.accept("other")
		p.snd -= 100
		p.data(100)
		if c := l.accept("c"); c == nil || c.endpoint().rcvUsed != 100 {
			t.Errorf("half-open %v: the retransmission opened no connection", halfOpen)
		}
		stray := r.peer(2004)
		r.pass(tcp.CookieMaxLifetime + 1)
		if stray.send(header.TCPFlagAck, 1, 7, 0); stray.sent != 1 || stray.last.Flags() != header.TCPFlagRst {
			t.Errorf("half-open %v: an ACK long after that drew %d segments, %v", halfOpen, stray.sent, stray.last)
		}
	}
}
