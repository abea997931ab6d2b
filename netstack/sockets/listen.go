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

// ListenConfig listens. The zero value of each field but Stack stands for its default. Multiple goroutines may invoke its methods.
type ListenConfig struct {
	Stack *stack.Stack

	NIC     tcpip.NICID // the only interface, 0 for all
	Backlog int         // connections that may wait for Accept, 4096 by default

	// KeepAlive, of the connections, is off by default.
	KeepAlive net.KeepAliveConfig

	// Config, if not nil, is what the connections have of their own: timer policy, ECN, pacing. The stack's TCP must be package netstack's.
	Config *netstack.SocketConfig

	// Control, if not nil, is called with the endpoint before it is bound, to set options. Connections inherit them.
	Control func(ep tcpip.Endpoint) error

	// Tasks, if not nil, are those that will use the listener and its connections, in virtual time.
	Tasks *Tasks
}

// backlog is the default, which is Linux's for its net.core.somaxconn.
const backlog = 4096

// Listen listens at an address with a port, such as "10.7.0.2:80", "[::]:80", or ":80" for all addresses; port 0 is the stack's choice.
// The network is "tcp", "tcp4" or "tcp6". An error is a *net.OpError.
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

// Listen listens as a ListenConfig with nothing but the stack does.
func Listen(s *stack.Stack, at netip.AddrPort) (*Listener, error) {
	return (&ListenConfig{Stack: s}).ListenTCP(at)
}

// ListenTCP listens at an address and port. An address that is not valid, and "::", is all addresses, of IPv4 and IPv6 as far as the
// stack has them; port 0 is the stack's choice. An error is a *net.OpError.
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
		return nil, callError("socket", err)
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
	ops.SetReuseAddress(true) // as package net does: connections in TIME-WAIT do not keep the port
	if err := prepare(l.ep, lc.Config, lc.Control); err != nil {
		return err
	}
	if err := l.ep.Bind(full(lc.Stack, lc.NIC, at)); err != nil {
		return callError("bind", err)
	}
	n := lc.Backlog
	if n <= 0 {
		n = backlog
	}
	if err := l.ep.Listen(n); err != nil {
		return callError("listen", err)
	}
	return nil
}

// Listener is a net.Listener with the methods of net.TCPListener, but for those that concern a descriptor. Multiple goroutines may
// invoke its methods.
type Listener struct {
	socket
	gate      gate
	keepAlive net.KeepAliveConfig
	wq        *waiter.Queue
	entry     waiter.Entry
	local     netip.AddrPort
}

var _ net.Listener = (*Listener)(nil)

// NotifyEvent implements waiter.EventListener, for the stack to call.
func (l *Listener) NotifyEvent(waiter.EventMask) { l.happened(&l.gate) }

// Accept implements net.Listener. The connection is a *Conn.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return c, nil
}

// AcceptTCP waits for the next connection.
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
			return nil, l.opError("accept", callError("accept", err))
		}
	}
}

// accepted makes a connection of an endpoint, which may have ended already.
func (l *Listener) accepted(ep tcpip.Endpoint, wq *waiter.Queue, peer netip.AddrPort) *Conn {
	c := &Conn{socket: socket{ep: ep, clock: l.clock, tasks: l.tasks}}
	c.listenTo(wq)
	c.learnAddresses()
	c.remote = peer
	if l.keepAlive.Enable {
		_ = setKeepAlive(ep, l.keepAlive) // its values are clamped, not refused
	}
	return c
}

// Close implements net.Listener: connections that nobody has accepted are reset, and goroutines that wait return with net.ErrClosed.
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

// SetDeadline has Accept fail after t of the stack's clock; a zero t is never.
func (l *Listener) SetDeadline(t time.Time) error {
	if l.gate.state.Load()&gateClosed != 0 {
		return l.opError("set", net.ErrClosed)
	}
	l.setDeadline(&l.gate, t)
	return nil
}

// Endpoint returns the endpoint, for options that have no method here. It belongs to the listener.
func (l *Listener) Endpoint() tcpip.Endpoint { return l.ep }

func (l *Listener) opError(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.Addr(), Err: err}
}
