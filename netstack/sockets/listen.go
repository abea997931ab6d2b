package sockets

import (
	"context"
	"net"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
)

// ListenConfig makes listeners. Stack is required; the zero value of each other field is its
// default. Multiple goroutines may invoke its methods.
type ListenConfig struct {
	Stack *stack.Stack

	NIC     tcpip.NICID // interface to listen on; the default 0 is all
	Backlog int         // connections that may wait for Accept; the default is 4096

	// KeepAlive configures keepalive for the connections. The default is off.
	KeepAlive net.KeepAliveConfig

	// Config overrides the stack's timer policy, ECN and pacing for the connections. The default nil
	// overrides nothing. The stack's TCP must be package netstack's.
	Config *netstack.SocketConfig

	// Control, if not nil, is called with the endpoint before Bind, to set options. Connections
	// inherit them.
	Control func(ep tcpip.Endpoint) error

	// Tasks are the tasks that use the listener and its connections, in virtual time. The default nil
	// is real time.
	Tasks *Tasks
}

// defaultBacklog is Linux's default net.core.somaxconn.
const defaultBacklog = 4096

// Listen listens at an address with a port, such as "10.7.0.2:80", "[::]:80", or ":80" for all
// addresses. The stack chooses a port for 0. The network is "tcp", "tcp4" or "tcp6". Errors are of
// type *net.OpError.
func (lc *ListenConfig) Listen(network, address string) (net.Listener, error) {
	fail := func(err error) (net.Listener, error) {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	if !isNetwork(network) {
		return fail(net.UnknownNetworkError(network))
	}
	addrs, port, err := resolve(context.Background(), nil, network, address)
	if err != nil {
		return fail(err)
	}
	l, err := lc.listen(network, netip.AddrPortFrom(addrs[0], port))
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Listen listens with a ListenConfig that has only a Stack.
func Listen(s *stack.Stack, at netip.AddrPort) (*Listener, error) {
	return (&ListenConfig{Stack: s}).ListenTCP(at)
}

// ListenTCP listens at an address and port. An invalid address, or "::", is every address of the IP
// versions that the stack has. The stack chooses a port for 0. Errors are of type *net.OpError.
func (lc *ListenConfig) ListenTCP(at netip.AddrPort) (*Listener, error) { return lc.listen("tcp", at) }

func (lc *ListenConfig) listen(network string, at netip.AddrPort) (*Listener, error) {
	l, err := lc.open(network, at)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: tcpAddr(at), Err: err}
	}
	return l, nil
}

func (lc *ListenConfig) open(network string, at netip.AddrPort) (*Listener, error) {
	proto := tcpip.NetworkProtocolNumber(header.IPv6ProtocolNumber)
	if network == "tcp4" || at.Addr().Unmap().Is4() || !lc.Stack.CheckNetworkProtocol(proto) {
		proto = header.IPv4ProtocolNumber
	}
	wq := &waiter.Queue{}
	ep, err := lc.Stack.NewEndpoint(gtcp.ProtocolNumber, proto, wq)
	if err != nil {
		return nil, syscallError("socket", err)
	}
	l := &Listener{socket: socket{ep: ep, clock: lc.Stack.Clock(), tasks: lc.Tasks}, keepAlive: lc.KeepAlive, wq: wq}
	if err := lc.bind(l, network, at); err != nil {
		ep.Close()
		return nil, err
	}
	l.entry.Init(l, waiter.ReadableEvents|waiter.EventHUp|waiter.EventErr)
	wq.EventRegister(&l.entry)
	if a, err := ep.GetLocalAddress(); err == nil {
		l.local = addrPort(a)
	}
	if !l.local.Addr().IsValid() {
		any := netip.IPv6Unspecified()
		if proto == header.IPv4ProtocolNumber {
			any = netip.IPv4Unspecified()
		}
		l.local = netip.AddrPortFrom(any, l.local.Port())
	}
	return l, nil
}

func (lc *ListenConfig) bind(l *Listener, network string, at netip.AddrPort) error {
	ops := l.ep.SocketOptions()
	ops.SetV6Only(network == "tcp6")
	ops.SetDelayOption(false)
	ops.SetReuseAddress(true) // as package net: TIME-WAIT must not keep the port
	if err := configure(l.ep, lc.Config, lc.Control); err != nil {
		return err
	}
	if err := l.ep.Bind(fullAddress(lc.Stack, lc.NIC, at)); err != nil {
		return syscallError("bind", err)
	}
	n := lc.Backlog
	if n <= 0 {
		n = defaultBacklog
	}
	if err := l.ep.Listen(n); err != nil {
		return syscallError("listen", err)
	}
	return nil
}

// Listener is a net.Listener with the methods of net.TCPListener, except those for file
// descriptors. Multiple goroutines may invoke its methods.
type Listener struct {
	socket
	gate      gate
	keepAlive net.KeepAliveConfig
	wq        *waiter.Queue
	entry     waiter.Entry
	local     netip.AddrPort
}

var _ net.Listener = (*Listener)(nil)

// NotifyEvent implements waiter.EventListener. The stack calls it.
func (l *Listener) NotifyEvent(waiter.EventMask) { l.wake(&l.gate) }

// Accept implements net.Listener. The connection is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptTCP waits for the next connection and returns it.
func (l *Listener) AcceptTCP() (*Conn, error) {
	for {
		seq := l.gate.events.Load()
		if err := l.gate.err(); err != nil {
			return nil, l.opError("accept", err)
		}
		var peer tcpip.FullAddress
		ep, wq, err := l.ep.Accept(&peer)
		switch err.(type) {
		case nil:
			return l.accepted(ep, wq, addrPort(peer)), nil
		case *tcpip.ErrWouldBlock:
			l.wait(&l.gate, seq)
		default:
			if err := l.gate.err(); err != nil {
				return nil, l.opError("accept", err)
			}
			return nil, l.opError("accept", syscallError("accept", err))
		}
	}
}

// accepted makes a Conn from an accepted endpoint, which may have ended already.
func (l *Listener) accepted(ep tcpip.Endpoint, wq *waiter.Queue, peer netip.AddrPort) *Conn {
	c := &Conn{socket: socket{ep: ep, clock: l.clock, tasks: l.tasks}}
	c.registerEvents(wq)
	c.learnAddresses()
	c.remote = peer
	if l.keepAlive.Enable {
		_ = setKeepAlive(ep, l.keepAlive) // values are clamped, never refused
	}
	return c
}

// Close implements net.Listener. It resets the connections still waiting for Accept. Goroutines
// that wait return net.ErrClosed.
func (l *Listener) Close() error {
	if l.gate.state.Or(gateClosed)&gateClosed != 0 {
		return l.opError("close", net.ErrClosed)
	}
	l.ep.Close()
	l.shut(&l.gate)
	l.wq.EventUnregister(&l.entry)
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return tcpAddr(l.local) }

// SetDeadline makes Accept fail after t, on the stack's clock. A zero t removes the deadline.
func (l *Listener) SetDeadline(t time.Time) error {
	if l.gate.state.Load()&gateClosed != 0 {
		return l.opError("set", net.ErrClosed)
	}
	l.setDeadline(&l.gate, t)
	return nil
}

// Endpoint returns the endpoint, for options without a method here. It belongs to the listener.
func (l *Listener) Endpoint() tcpip.Endpoint { return l.ep }

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.Addr(), Err: err}
}
