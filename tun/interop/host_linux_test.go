package interop

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
	"tcpwheel/tun"
)

// host is one end of a network: a kernel in a namespace of its own, or a stack.
type host struct {
	tcp   string
	addrs [2]netip.Prefix // IPv4 and IPv6
	ns    *tun.Namespace  // a kernel's
	stack *stack.Stack    // a stack's

	maxSeg int // TCP_MAXSEG of a stack's sockets, unless 0
}

// conn is one end of a connection.
type conn interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
	abort() // closes with a RST
	keepalive(t *testing.T, idle, interval time.Duration, count int)
	noDelay(t *testing.T, on bool)
}

// listener is a host's listener.
type listener interface {
	accept() (conn, error)
	net.Listener
}

func (h *host) at(v6 bool, port uint16) netip.AddrPort {
	i := 0
	if v6 {
		i = 1
	}
	return netip.AddrPortFrom(h.addrs[i].Addr(), port)
}

// newStack makes the stack of a host on a link.
func newStack(t *testing.T, h *host, link stack.LinkEndpoint, p *plan) *stack.Stack {
	t.Helper()
	factory := gtcp.NewProtocol
	if h.tcp == ours {
		cfg := netstack.DefaultConfig()
		cfg.CheckInvariants = !p.fast
		if p.config != nil {
			p.config(&cfg)
		}
		var err error
		factory, err = netstack.NewProtocolWith(cfg)
		must(t, err)
	}
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{factory},
	})
	if h.tcp == gvisor {
		// With RACK, gVisor's sender sometimes stops for ever, even towards itself: when the path MTU
		// shrinks, or the tail of its data is lost.
		sack, moderate, noRACK := tcpip.TCPSACKEnabled(true), tcpip.TCPModerateReceiveBufferOption(true), tcpip.TCPRecovery(0)
		for _, o := range []tcpip.SettableTransportProtocolOption{&sack, &moderate, &noRACK} {
			mustNot(t, s.SetTransportProtocolOption(gtcp.ProtocolNumber, o))
		}
	}
	mustNot(t, s.CreateNIC(1, link))
	for _, p := range h.addrs {
		addr := tcpip.ProtocolAddress{Protocol: family(p.Addr()), AddressWithPrefix: tcpip.AddressWithPrefix{
			Address: tcpip.AddrFromSlice(p.Addr().AsSlice()), PrefixLen: p.Bits()}}
		mustNot(t, s.AddProtocolAddress(1, addr, stack.AddressProperties{}))
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}, {Destination: header.IPv6EmptySubnet, NIC: 1}})
	return s
}

func mustNot(t *testing.T, err tcpip.Error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func family(a netip.Addr) tcpip.NetworkProtocolNumber {
	if a.Is6() {
		return header.IPv6ProtocolNumber
	}
	return header.IPv4ProtocolNumber
}

func full(a netip.AddrPort) tcpip.FullAddress {
	if !a.IsValid() {
		return tcpip.FullAddress{}
	}
	return tcpip.FullAddress{NIC: 1, Addr: tcpip.AddrFromSlice(a.Addr().AsSlice()), Port: a.Port()}
}

// patience is how long a read and a write may take until the end counts as stopped, however slow
// the machine. 0 leaves the deadlines as they are.
type patience struct{ read, write time.Duration }

func (p patience) forRead(c net.Conn) net.Conn {
	if p.read > 0 {
		c.SetReadDeadline(time.Now().Add(p.read))
	}
	return c
}

func (p patience) forWrite(c net.Conn) net.Conn {
	if p.write > 0 {
		c.SetWriteDeadline(time.Now().Add(p.write))
	}
	return c
}

// kernelConn is a connection's end in a kernel.
type kernelConn struct {
	*net.TCPConn
	patience
}

func (c kernelConn) Read(b []byte) (int, error)  { return c.forRead(c.TCPConn).Read(b) }
func (c kernelConn) Write(b []byte) (int, error) { return c.forWrite(c.TCPConn).Write(b) }

func (c kernelConn) abort() {
	c.SetLinger(0)
	c.Close()
}

func (c kernelConn) keepalive(t *testing.T, idle, interval time.Duration, count int) {
	t.Helper()
	must(t, c.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: idle, Interval: interval, Count: count}))
}

func (c kernelConn) noDelay(t *testing.T, on bool) {
	t.Helper()
	must(t, c.SetNoDelay(on))
}

// stackConn is a connection's end in a stack.
type stackConn struct {
	*gonet.TCPConn
	ep tcpip.Endpoint
	patience
}

func (c stackConn) Read(b []byte) (int, error)  { return c.forRead(c.TCPConn).Read(b) }
func (c stackConn) Write(b []byte) (int, error) { return c.forWrite(c.TCPConn).Write(b) }

func (c stackConn) abort() {
	c.ep.SocketOptions().SetLinger(tcpip.LingerOption{Enabled: true})
	c.Close()
}

func (c stackConn) keepalive(t *testing.T, idle, interval time.Duration, count int) {
	t.Helper()
	i, v := tcpip.KeepaliveIdleOption(idle), tcpip.KeepaliveIntervalOption(interval)
	mustNot(t, c.ep.SetSockOpt(&i))
	mustNot(t, c.ep.SetSockOpt(&v))
	mustNot(t, c.ep.SetSockOptInt(tcpip.KeepaliveCountOption, count))
	c.ep.SocketOptions().SetKeepAlive(true)
}

func (c stackConn) noDelay(t *testing.T, on bool) {
	t.Helper()
	c.ep.SocketOptions().SetDelayOption(!on)
}

// state returns the state of a stack's end, by gVisor's name.
func (c stackConn) state() gtcp.EndpointState { return gtcp.EndpointState(c.ep.State()) }

// dial connects. from may be the zero value.
func (h *host) dial(ctx context.Context, from, to netip.AddrPort) (c conn, err error) {
	err = h.do(func() error {
		c, err = h.dialHere(ctx, from, to)
		return err
	})
	return c, err
}

// do calls f where dialHere works: for a kernel, on a thread in its namespace.
func (h *host) do(f func() error) error {
	if h.stack != nil {
		return f()
	}
	return h.ns.Do(f)
}

func (h *host) dialHere(ctx context.Context, from, to netip.AddrPort) (conn, error) {
	if h.stack != nil {
		return h.dialStack(ctx, from, to)
	}
	d := net.Dialer{KeepAlive: -1}
	if from.IsValid() {
		d.LocalAddr = net.TCPAddrFromAddrPort(from)
	}
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, err
	}
	return kernelConn{TCPConn: c.(*net.TCPConn)}, nil
}

func (h *host) dialStack(ctx context.Context, from, to netip.AddrPort) (conn, error) {
	wq := &waiter.Queue{}
	ep, terr := h.stack.NewEndpoint(gtcp.ProtocolNumber, family(to.Addr()), wq)
	if terr != nil {
		return nil, errors.New(terr.String())
	}
	fail := func(err error) (conn, error) {
		ep.Close()
		return nil, err
	}
	ep.SocketOptions().SetDelayOption(false)
	if h.maxSeg != 0 {
		if err := ep.SetSockOptInt(tcpip.MaxSegOption, h.maxSeg); err != nil {
			return fail(errors.New(err.String()))
		}
	}
	entry, ready := waiter.NewChannelEntry(waiter.WritableEvents)
	wq.EventRegister(&entry)
	defer wq.EventUnregister(&entry)
	if from.IsValid() {
		if err := ep.Bind(full(from)); err != nil {
			return fail(errors.New(err.String()))
		}
	}
	terr = ep.Connect(full(to))
	if _, ok := terr.(*tcpip.ErrConnectStarted); ok {
		select {
		case <-ctx.Done():
			return fail(ctx.Err())
		case <-ready:
		}
		terr = ep.LastError()
	}
	if terr != nil {
		return fail(errors.New(terr.String()))
	}
	return stackConn{TCPConn: gonet.NewTCPConn(wq, ep), ep: ep}, nil
}

type kernelListener struct{ net.Listener }

func (l kernelListener) accept() (conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	k := c.(*net.TCPConn)
	k.SetKeepAlive(false)
	return kernelConn{TCPConn: k}, nil
}

// stackListener is a gonet listener whose connections show their endpoints.
type stackListener struct {
	*gonet.TCPListener
	ep   tcpip.Endpoint
	wq   *waiter.Queue
	stop chan struct{}
	once *sync.Once
}

func (l stackListener) accept() (conn, error) {
	entry, ready := waiter.NewChannelEntry(waiter.ReadableEvents)
	l.wq.EventRegister(&entry)
	defer l.wq.EventUnregister(&entry)
	for {
		ep, wq, err := l.ep.Accept(nil)
		if err == nil {
			return stackConn{TCPConn: gonet.NewTCPConn(wq, ep), ep: ep}, nil
		}
		if _, ok := err.(*tcpip.ErrWouldBlock); !ok {
			return nil, errors.New(err.String())
		}
		select {
		case <-ready:
		case <-l.stop:
			return nil, net.ErrClosed
		}
	}
}

func (l stackListener) Accept() (net.Conn, error) { return l.accept() }

func (l stackListener) Close() error {
	l.once.Do(func() {
		close(l.stop)
		l.ep.Close()
	})
	return nil
}

// listen listens until the test ends.
func (h *host) listen(t *testing.T, at netip.AddrPort) listener {
	t.Helper()
	return h.listenFor(t, at, 8192)
}

// listenFor is listen with a backlog, of a stack.
func (h *host) listenFor(t *testing.T, at netip.AddrPort, backlog int) (l listener) {
	t.Helper()
	if h.stack != nil {
		wq := &waiter.Queue{}
		ep, err := h.stack.NewEndpoint(gtcp.ProtocolNumber, family(at.Addr()), wq)
		mustNot(t, err)
		mustNot(t, ep.Bind(full(at)))
		if h.maxSeg != 0 {
			mustNot(t, ep.SetSockOptInt(tcpip.MaxSegOption, h.maxSeg))
		}
		mustNot(t, ep.Listen(backlog))
		l = stackListener{gonet.NewTCPListener(h.stack, wq, ep), ep, wq, make(chan struct{}), new(sync.Once)}
	} else {
		must(t, h.ns.Do(func() error {
			k, err := net.Listen("tcp", at.String())
			l = kernelListener{k}
			return err
		}))
	}
	t.Cleanup(func() { l.Close() })
	return l
}

const (
	testLimit   = 8 * time.Minute // for a dial, a read or a write, on any machine
	gvisorLimit = time.Minute     // for gVisor's sender, which may stop: see network.stopped
)

// acceptWithin accepts a connection. If none comes in that time, it closes the listener.
func acceptWithin(l listener, limit time.Duration) (conn, error) {
	late := time.AfterFunc(limit, func() { l.Close() })
	defer late.Stop()
	return l.accept()
}

// connect returns both ends of a connection that a opens.
func (n *network) connect(v6 bool) (a, b conn) {
	n.t.Helper()
	n.port++
	to := n.b.at(v6, n.port)
	l := n.b.listen(n.t, to)
	defer l.Close()
	ctx, cancel := context.WithTimeout(n.t.Context(), testLimit)
	defer cancel()
	a, err := n.a.dial(ctx, netip.AddrPort{}, to)
	if err != nil {
		n.t.Fatalf("%s dials %s at %v: %v", n.a.tcp, n.b.tcp, to, err)
	}
	n.t.Cleanup(func() { a.Close() })
	b, err = acceptWithin(l, testLimit)
	must(n.t, err)
	n.t.Cleanup(func() { b.Close() })
	a, b = n.patient(a), n.patient(b)
	*n.conns = append(*n.conns, a, b)
	return a, b
}

// patient sets the deadline of an end to what any machine can meet.
func (n *network) patient(c conn) conn {
	c.SetDeadline(time.Now().Add(testLimit)) // for waits other than Read and Write
	p := patience{testLimit, testLimit}
	_, us := isOurs(c)
	switch {
	case !n.hasGVisor():
	case us:
		p.read = gvisorLimit
	default:
		p.write = gvisorLimit
	}
	switch end := c.(type) {
	case kernelConn:
		end.patience = p
		return end
	case stackConn:
		end.patience = p
		return end
	}
	return c
}

func (n *network) hasGVisor() bool { return n.a.tcp == gvisor || n.b.tcp == gvisor }

// ourEnd returns the end of our stack: b's, if both are ours.
func (n *network) ourEnd(a, b conn) stackConn {
	if n.b.tcp == ours {
		return b.(stackConn)
	}
	return a.(stackConn)
}

// is reports whether an error of any kind of host is that errno.
func is(err error, want syscall.Errno) bool {
	if err == nil {
		return false
	}
	if errors.Is(err, want) {
		return true
	}
	text := map[syscall.Errno]tcpip.Error{
		syscall.ECONNRESET:   &tcpip.ErrConnectionReset{},
		syscall.ECONNREFUSED: &tcpip.ErrConnectionRefused{},
		syscall.ECONNABORTED: &tcpip.ErrConnectionAborted{},
		syscall.ETIMEDOUT:    &tcpip.ErrTimeout{},
		syscall.EPIPE:        &tcpip.ErrClosedForSend{},
	}[want]
	return text != nil && strings.HasSuffix(err.Error(), text.String())
}

// isTimeout reports whether a deadline has passed.
func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// readEnd expects the end of the stream, and no data before it.
func readEnd(t *testing.T, c conn) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v, want the end of the stream", n, err)
	}
}

// eventually waits until f is true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for until := time.Now().Add(testLimit); time.Now().Before(until); time.Sleep(2 * time.Millisecond) {
		if f() {
			return
		}
	}
	t.Fatalf("%s: not after %v", what, testLimit)
}
