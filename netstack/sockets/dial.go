package sockets

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
)

// Dialer makes connections. Stack is required; the zero value of each other field is its default.
// Multiple goroutines may invoke its methods.
type Dialer struct {
	Stack *stack.Stack

	// Timeout and Deadline limit the whole dial, on the stack's clock; the earlier counts. With the
	// default 0 only TCP's own timeouts do.
	Timeout  time.Duration
	Deadline time.Time

	// LocalAddr is the local address and port. By default the stack chooses both.
	LocalAddr netip.AddrPort

	// NIC is the interface to use. The default 0 is the route's.
	NIC tcpip.NICID

	// KeepAlive configures keepalive. The default is off.
	KeepAlive net.KeepAliveConfig

	// Config overrides the stack's timer policy, ECN and pacing for the connections. The default nil
	// overrides nothing. The stack's TCP must be package netstack's.
	Config *netstack.SocketConfig

	// Control, if not nil, is called with each endpoint before Bind and Connect, to set options.
	Control func(ep tcpip.Endpoint) error

	// Resolver looks up names; a *net.Resolver is one. Without it only addresses are accepted.
	Resolver Resolver

	// Tasks are the tasks that use the connections, in virtual time. The default nil is real time.
	Tasks *Tasks
}

// Resolver looks up the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dial connects with a Dialer that has only a Stack.
func Dial(ctx context.Context, s *stack.Stack, to netip.AddrPort) (*Conn, error) {
	return (&Dialer{Stack: s}).DialTCP(ctx, to)
}

// Dial calls DialContext with the background context.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// DialContext connects to an address with a port, such as "10.7.0.1:80" or "[fd07::1]:http", on the
// network "tcp", "tcp4" or "tcp6". The context has no effect once connected. Errors are of type
// *net.OpError.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Source: tcpAddr(d.LocalAddr), Err: err}
	}
	if !isNetwork(network) {
		return fail(net.UnknownNetworkError(network))
	}
	addrs, port, err := resolve(ctx, d.Resolver, network, address)
	if err != nil {
		return fail(err)
	}
	// One deadline for all addresses.
	one := *d
	one.Deadline, one.Timeout = d.deadline(), 0
	var first error
	for _, a := range addrs {
		c, err := one.DialTCP(ctx, netip.AddrPortFrom(a, port))
		if err == nil {
			return c, nil
		}
		if op, ok := errors.AsType[*net.OpError](err); ok {
			op.Net = network
		}
		if first == nil {
			first = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, first
}

// resolve splits and looks up an address with a port.
func resolve(ctx context.Context, r Resolver, network, address string) (addrs []netip.Addr, port uint16, err error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, 0, err
	}
	n, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		p, err := net.LookupPort(network, service)
		if err != nil {
			return nil, 0, err
		}
		n = uint64(p)
	}
	if host == "" {
		return []netip.Addr{{}}, uint16(n), nil
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		addrs = []netip.Addr{a}
	case r == nil:
		return nil, 0, &net.AddrError{Err: "host name without a Resolver", Addr: host}
	default:
		ip := "ip" + network[len("tcp"):]
		if addrs, err = r.LookupNetIP(ctx, ip, host); err != nil {
			return nil, 0, err
		}
	}
	for _, a := range addrs {
		if inNetwork(network, a) {
			return addrs, uint16(n), nil
		}
	}
	return nil, 0, &net.AddrError{Err: "no address for network " + network, Addr: host}
}

// deadline returns the earlier of Deadline and the end of Timeout.
func (d *Dialer) deadline() time.Time {
	at := d.Deadline
	if d.Timeout > 0 {
		if t := d.Stack.Clock().Now().Add(d.Timeout); at.IsZero() || t.Before(at) {
			at = t
		}
	}
	return at
}

// DialTCP connects to an address and port. An invalid address is the stack's own. The context has
// no effect once connected. Errors are of type *net.OpError.
func (d *Dialer) DialTCP(ctx context.Context, to netip.AddrPort) (*Conn, error) {
	c, err := d.dial(ctx, to)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Source: tcpAddr(d.LocalAddr), Addr: tcpAddr(to), Err: err}
	}
	return c, nil
}

func (d *Dialer) dial(ctx context.Context, to netip.AddrPort) (*Conn, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	if !to.Addr().IsValid() {
		to = netip.AddrPortFrom(loopback(d.Stack), to.Port())
	}
	wq := &waiter.Queue{}
	ep, err := d.Stack.NewEndpoint(gtcp.ProtocolNumber, family(to.Addr()), wq)
	if err != nil {
		return nil, syscallError("socket", err)
	}
	c := &Conn{socket: socket{ep: ep, clock: d.Stack.Clock(), tasks: d.Tasks}}
	c.registerEvents(wq)
	if err := d.connect(ctx, c, to); err != nil {
		c.Close()
		return nil, err
	}
	c.learnAddresses()
	if !c.remote.IsValid() {
		c.remote = to // it has already ended
	}
	return c, nil
}

// connect connects the Conn that dial has made.
func (d *Dialer) connect(ctx context.Context, c *Conn, to netip.AddrPort) error {
	c.ep.SocketOptions().SetDelayOption(false)
	if d.KeepAlive.Enable {
		if err := setKeepAlive(c.ep, d.KeepAlive); err != nil {
			return syscallError("setsockopt", err)
		}
	}
	if err := configure(c.ep, d.Config, d.Control); err != nil {
		return err
	}
	if d.LocalAddr != (netip.AddrPort{}) {
		if err := c.ep.Bind(fullAddress(d.Stack, d.NIC, d.LocalAddr)); err != nil {
			return syscallError("bind", err)
		}
	}
	if at := d.deadline(); !at.IsZero() {
		c.setDeadline(&c.wr, at)
		defer c.setDeadline(&c.wr, time.Time{})
	}
	if ctx.Done() != nil {
		stop := context.AfterFunc(ctx, func() { c.wake(&c.wr) })
		defer stop()
	}
	seq := c.wr.events.Load()
	if c.wr.err() != nil {
		return timedOut{}
	}
	err := c.ep.Connect(fullAddress(d.Stack, d.NIC, to))
	switch err.(type) {
	case nil:
		return nil
	case *tcpip.ErrConnectStarted:
	default:
		return syscallError("connect", err)
	}
	for {
		if ctx.Err() != nil {
			return contextError(ctx)
		}
		if c.wr.err() != nil {
			return timedOut{}
		}
		if done, err := c.connected(); done {
			return err
		}
		c.wait(&c.wr, seq)
		seq = c.wr.events.Load()
	}
}

// configure applies a Dialer's or ListenConfig's options to an endpoint.
func configure(ep tcpip.Endpoint, cfg *netstack.SocketConfig, control func(tcpip.Endpoint) error) error {
	if cfg != nil {
		if err := setConfig(ep, *cfg); err != nil {
			return err
		}
	}
	if control != nil {
		return control(ep)
	}
	return nil
}

// connected reports whether the handshake has ended, and its error.
func (c *Conn) connected() (bool, error) {
	switch gtcp.EndpointState(c.ep.State()) {
	case gtcp.StateInitial, gtcp.StateBound, gtcp.StateConnecting, gtcp.StateSynSent, gtcp.StateSynRecv:
		return false, nil
	case gtcp.StateError, gtcp.StateClose:
		err := c.ep.LastError()
		if err == nil {
			return true, os.NewSyscallError("connect", errno(&tcpip.ErrConnectionAborted{}))
		}
		return true, syscallError("connect", err)
	}
	return true, nil
}

// loopback returns an address of the stack itself.
func loopback(s *stack.Stack) netip.Addr {
	if s.CheckNetworkProtocol(family(netip.IPv6Unspecified())) && !s.CheckNetworkProtocol(family(netip.IPv4Unspecified())) {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}
