package netstack

import (
	"fmt"
	"reflect"
	"strings"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// rigSocket is an endpoint of a rig. Its methods log their results and the state after them.
type rigSocket struct {
	r    *rig
	name string
	ep   tcpip.Endpoint
	wq   *waiter.Queue
}

func (r *rig) socket(name string) *rigSocket { return r.socketOf(name, ipv4.ProtocolNumber) }

func (r *rig) socketOf(name string, net tcpip.NetworkProtocolNumber) *rigSocket {
	r.t.Helper()
	wq := new(waiter.Queue)
	ep, err := r.s.NewEndpoint(header.TCPProtocolNumber, net, wq)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(ep.Close)
	return &rigSocket{r, name, ep, wq}
}

func (s *rigSocket) say(what string, err tcpip.Error) *rigSocket {
	s.r.drain()
	s.r.notef("%s.%s: %s, %v", s.name, what, errName(err), gtcp.EndpointState(s.ep.State()))
	return s
}

func (s *rigSocket) bind(port uint16) *rigSocket {
	return s.say(fmt.Sprint("bind ", port), s.ep.Bind(tcpip.FullAddress{Port: port}))
}
func (s *rigSocket) listen(backlog int) *rigSocket {
	return s.say(fmt.Sprint("listen ", backlog), s.ep.Listen(backlog))
}

// connect connects to a port of the peer.
func (s *rigSocket) connect(port uint16) *rigPeer {
	err := s.ep.Connect(tcpip.FullAddress{Addr: rigThere, Port: port})
	p := s.r.peer(port)
	if at, err := s.ep.GetLocalAddress(); err == nil {
		p.here = at.Port
	}
	s.say(fmt.Sprint("connect ", port), err)
	return p
}
func (s *rigSocket) close() *rigSocket {
	s.ep.Close()
	return s.say("close", nil)
}
func (s *rigSocket) abort() *rigSocket {
	s.ep.Abort()
	return s.say("abort", nil)
}
func (s *rigSocket) shutdown(f tcpip.ShutdownFlags) *rigSocket {
	return s.say(fmt.Sprint("shutdown ", f), s.ep.Shutdown(f))
}
func (s *rigSocket) write(n int) *rigSocket {
	_, err := s.ep.Write(strings.NewReader(strings.Repeat("x", n)), tcpip.WriteOptions{})
	return s.say(fmt.Sprint("write ", n), err)
}
func (s *rigSocket) writeAtomic(n int) *rigSocket {
	took, err := s.ep.Write(strings.NewReader(strings.Repeat("x", n)), tcpip.WriteOptions{Atomic: true})
	return s.say(fmt.Sprintf("atomic write of %d takes %d", n, took), err)
}
func (s *rigSocket) read() *rigSocket {
	var b strings.Builder
	res, err := s.ep.Read(&b, tcpip.ReadOptions{})
	return s.say(fmt.Sprint("read ", res.Count), err)
}

// soError logs SO_ERROR.
func (s *rigSocket) soError() *rigSocket { return s.say("error", s.ep.SocketOptions().GetLastError()) }

// look logs the state and the readiness.
func (s *rigSocket) look() *rigSocket {
	const all = waiter.EventIn | waiter.EventOut | waiter.EventHUp | waiter.EventErr | waiter.EventRdHUp
	s.r.drain()
	s.r.notef("%s is %v, ready for %b", s.name, gtcp.EndpointState(s.ep.State()), s.ep.Readiness(all))
	return s
}

// accept accepts a connection, or returns nil.
func (s *rigSocket) accept(name string) *rigSocket {
	var from tcpip.FullAddress
	ep, wq, err := s.ep.Accept(&from)
	s.say("accept", err)
	if err != nil {
		return nil
	}
	s.r.notef("from %v port %d on %d", from.Addr, from.Port, from.NIC)
	s.r.t.Cleanup(ep.Close)
	return &rigSocket{s.r, name, ep, wq}
}

// established returns a connection that the peer has opened, with its listener and peer.
func (r *rig) established() (l, c *rigSocket, p *rigPeer) {
	r.t.Helper()
	l = r.socket("l").bind(rigPort).listen(8)
	p = r.peer(2000)
	p.syn()
	p.ack()
	if c = l.accept("c"); c == nil {
		r.t.Fatalf("nothing to accept:\n%s", strings.Join(r.log, "\n"))
	}
	return l, c, p
}

// stats logs the endpoint's counters.
func (s *rigSocket) stats() {
	s.r.counters(s.name, reflect.Indirect(reflect.ValueOf(s.ep.Stats())).Interface())
}
