package netstack

import (
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// lateCookie returns a listener and a peer whose SYN was answered by a cookie, and its
// retransmission by a half-open connection with another sequence number.
func (r *rig) lateCookie() (l *rigSocket, p *rigPeer) {
	l = r.socket("l").bind(rigPort).listen(2)
	q, p := r.peer(2001), r.peer(2000)
	q.syn()
	p.syn() // a cookie answers
	q.rst() // makes room
	r.quietly(p.syn)
	return l, p
}

// TestListenersAsGVisor compares listeners' queues, cookies and options.
func TestListenersAsGVisor(t *testing.T) {
	runParity(t, []parityScript{
		{"the queue overflows", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(2)
			for port := uint16(2000); port < 2002; port++ {
				p := r.peer(port)
				p.syn()
				p.ack()
			}
			r.peer(2002).syn()
			l.look().accept("a")
			r.peer(2003).syn()
			r.peer(2003).ack()
			l.accept("b")
			l.accept("c")
			l.accept("d")
			l.stats()
		}},
		{"the last ACK meets a full queue", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			p, q := r.peer(2000), r.peer(2001)
			p.syn()
			q.syn()
			l.listen(1)
			p.ack()
			q.ack()
			l.accept("p")
			l.accept("none")
			q.ack()
			l.accept("q")
			l.stats()
		}},
		{"half-open connections overflow: cookies", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			for port := uint16(2000); port < 2005; port++ {
				r.peer(port).syn()
			}
			for port := uint16(2004); port >= 2000; port-- {
				r.peer(port).ack()
			}
			for l.accept("c") != nil {
			}
			l.stats()
		}},
		{"a backlog of 1 has cookies always", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(1)
			p := r.peer(2000)
			p.syn()
			p.data(7)
			if c := l.accept("c"); c != nil {
				c.read()
			}
			l.stats()
		}},
		{"a backlog of 0", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(0)
			r.peer(2000).syn()
			l.look().listen(-1).listen(2)
			r.peer(2000).syn()
			l.stats()
		}},
		{"cookies always", func(r *rig) {
			on := tcpip.TCPAlwaysUseSynCookies(true)
			r.s.SetTransportProtocolOption(ProtocolNumber, &on)
			l := r.socket("l").bind(rigPort).listen(2)
			for port := uint16(2000); port < 2003; port++ {
				p := r.peer(port)
				p.syn()
				p.ack()
				p.data(3)
			}
			for c := l.accept("c"); c != nil; c = l.accept("c") {
				c.read().close()
			}
			p := r.peer(2003)
			p.syn()
			p.send(header.TCPFlagAck, 1, 77777, 0)
			l.stats()
		}},
		{"a cookie comes back to a half-open connection", func(r *rig) {
			l, p := r.lateCookie()
			p.nxt = 1
			p.data(5)
			if c := l.accept("c"); c != nil {
				c.read().write(7)
				p.ack()
				p.data(3)
				c.read().close()
			}
			l.stats()
		}},
		{"a cookie comes back to a half-open connection while the queue is full", func(r *rig) {
			l, p := r.lateCookie()
			for port := uint16(2002); port < 2004; port++ {
				r.peer(port).syn() // and here
				r.peer(port).ack()
			}
			p.nxt = 1
			p.data(5) // no room
			l.accept("first")
			p.snd -= 5
			p.data(5)
			l.accept("second")
			if c := l.accept("c"); c != nil {
				c.read().close()
			}
			l.stats()
		}},
		{"an ACK of no connection", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(2)
			p := r.peer(2000)
			p.send(header.TCPFlagAck, 5, 9, 0)
			p.send(header.TCPFlagSyn|header.TCPFlagAck, 5, 9, 0)
			p.send(header.TCPFlagRst, 5, 0, 0)
			p.send(0, 5, 0, 0)
			p.send(header.TCPFlagFin, 5, 0, 0)
			l.look().stats()
		}},
		{"shut down, and listening again", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			p, q := r.peer(2000), r.peer(2001)
			p.syn()
			p.ack()
			q.syn()
			q.ack()
			l.shutdown(tcpip.ShutdownWrite).look().shutdown(tcpip.ShutdownRead).look()
			l.accept("none")
			r.peer(2002).syn()
			r.peer(2002).send(header.TCPFlagAck, 1, 1, 0)
			l.listen(3).look()
			p3 := r.peer(2003)
			p3.syn()
			p3.ack()
			l.accept("c")
			l.close().look().soError()
			l.accept("none")
			r.peer(2004).syn()
			l.stats()
		}},
		{"calls that a listener does not take", func(r *rig) {
			l := r.socket("l").listen(3)
			l.bind(81).read().write(1)
			l.connect(2000)
			l.soError().stats()
			_, err := l.ep.GetRemoteAddress()
			l.say("remote", err)
			_, err = l.ep.GetSockOptInt(tcpip.ReceiveQueueSizeOption)
			l.say("queue", err)
			r.notef("accepts: %v", l.ep.SocketOptions().GetLastError() == nil)
			c := r.socket("c")
			c.accept("none")
			c.connect(2001)
			c.accept("none")
			c.listen(1).bind(0).stats()
		}},
		{"deferred accept", func(r *rig) {
			l := r.socket("l").bind(rigPort)
			wait := tcpip.TCPDeferAcceptOption(5 * time.Second)
			l.say("defer", l.ep.SetSockOpt(&wait)).listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			l.accept("none")
			r.pass(2 * time.Second) // the SYN-ACK is not retransmitted
			p.ack()
			l.accept("none")
			p.data(4)
			if c := l.accept("c"); c != nil {
				c.read()
			}
			l.stats()
		}},
		{"deferred accept, and the wait is over", func(r *rig) {
			l := r.socket("l").bind(rigPort)
			wait := tcpip.TCPDeferAcceptOption(5 * time.Second)
			l.say("defer", l.ep.SetSockOpt(&wait)).listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			r.pass(4900 * time.Millisecond)
			p.ack()
			l.accept("none")
			r.skip = []string{"SegmentsSent"} // gVisor retransmits the SYN-ACK at another time
			r.quietly(func() { r.pass(200 * time.Millisecond) })
			p.ack()
			l.accept("c")
			l.stats()
		}},
		{"a SYN-ACK is retransmitted until the limit", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			p := r.peer(2000)
			p.syn()
			r.pass(40 * time.Second)
			p.ack()
			l.accept("c")
			l.stats()
		}},
		{"RST to a connection in the queue", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			p.rst()
			l.look()
			if c := l.accept("c"); c != nil {
				c.look().read().soError()
			}
		}},
		{"closed with connections in the queue", func(r *rig) {
			l := r.socket("l").bind(rigPort).listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			l.close().look()
			p.ack()
		}},
		{"what is inherited", func(r *rig) {
			l := r.socket("l").bind(rigPort)
			timeout := tcpip.TCPUserTimeoutOption(7 * time.Second)
			l.ep.SetSockOpt(&timeout)
			l.ep.SetSockOptInt(tcpip.MaxSegOption, 1000)
			l.ep.SocketOptions().SetMark(5)
			l.ep.SocketOptions().SetReceiveBufferSize(100_000, true)
			l.listen(3)
			p := r.peer(2000)
			p.syn()
			p.ack()
			if c := l.accept("c"); c != nil {
				var got tcpip.TCPUserTimeoutOption
				c.ep.GetSockOpt(&got)
				r.notef("user timeout %v, mark %d, receive buffer %d", time.Duration(got), c.ep.SocketOptions().GetMark(), c.ep.SocketOptions().GetReceiveBufferSize())
			}
		}},
	})
}
