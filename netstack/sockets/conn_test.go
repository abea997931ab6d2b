package sockets_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
	"tcpwheel/tcptimers"
)

// TestCloseWakes closes connections and listeners that goroutines wait for.
func TestCloseWakes(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		s := newLoop(t, p)
		l, err := sockets.Listen(s, port("127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		a, _ := mustPipe(t, s)
		calls := map[string]func() error{
			"accept":    func() error { _, err := l.Accept(); return err },
			"read":      func() error { _, err := a.Read(make([]byte, 1)); return err },
			"read too":  func() error { _, err := a.Read(make([]byte, 1)); return err },
			"WriteTo":   func() error { _, err := io.Copy(io.Discard, a); return err },
			"write":     func() error { _, err := a.Write(make([]byte, 64<<20)); return err },
			"write too": func() error { _, err := a.Write(make([]byte, 64<<20)); return err },
		}
		var wg sync.WaitGroup
		for name, call := range calls {
			wg.Go(func() { wantError(t, name, call(), net.ErrClosed) })
		}
		time.Sleep(50 * time.Millisecond)
		for what, c := range map[string]io.Closer{"conn": a, "listener": l} {
			if err := c.Close(); err != nil {
				t.Errorf("close %s: %v", what, err)
			}
		}
		wg.Wait()
		for name, call := range calls {
			wantError(t, name+" after Close", call(), net.ErrClosed)
		}
		for name, err := range map[string]error{
			"Close": a.Close(), "CloseRead": a.CloseRead(), "CloseWrite": a.CloseWrite(), "SetDeadline": a.SetDeadline(time.Time{}),
			"SetNoDelay": a.SetNoDelay(true), "Listener.Close": l.Close(), "Listener.SetDeadline": l.SetDeadline(time.Time{}),
		} {
			wantError(t, name+" after Close", err, net.ErrClosed)
		}
		if a.LocalAddr() == nil || a.RemoteAddr() == nil {
			t.Errorf("addresses after Close: %v, %v", a.LocalAddr(), a.RemoteAddr())
		}
	})
}

// TestWritesAreNotMixed lets goroutines write more than the buffers hold. Each write arrives whole.
func TestWritesAreNotMixed(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		a, b := mustPipe(t, newLoop(t, p))
		const writers, size = 4, 3 << 20
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				if _, err := a.Write(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
					t.Error(err)
				}
			})
		}
		got := make([]byte, writers*size)
		if _, err := io.ReadFull(b, got); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		for i := range writers {
			part := got[i*size : (i+1)*size]
			if n := bytes.Count(part, part[:1]); n != size {
				t.Errorf("part %d has %d bytes of %d, want all of them", i, n, part[0])
			}
		}
	})
}

// TestCopy lets io.Copy use WriteTo and ReadFrom, in both directions at once.
func TestCopy(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		a, b := mustPipe(t, newLoop(t, p))
		data := make([]byte, 5<<20)
		netstack.NewSeededSource(1).Read(data)
		var wg sync.WaitGroup
		for _, c := range []*sockets.Conn{a, b} {
			wg.Go(func() {
				// A reader with small, uneven reads.
				if n, err := io.Copy(c, iotest.HalfReader(bytes.NewReader(data))); n != int64(len(data)) || err != nil {
					t.Errorf("ReadFrom: %d, %v", n, err)
				}
				c.CloseWrite()
			})
			wg.Go(func() {
				var got bytes.Buffer
				if n, err := io.Copy(&got, c); n != int64(len(data)) || err != nil || !bytes.Equal(got.Bytes(), data) {
					t.Errorf("WriteTo: %d bytes, %v, want %d", n, err, len(data))
				}
			})
		}
		wg.Wait()
	})
}

// TestCopyErrors: copies return the errors of the reader and the writer, and count what has passed.
func TestCopyErrors(t *testing.T) {
	a, b := mustPipe(t, newLoop(t, netstack.NewProtocol))
	broken := errors.New("broken")
	n, err := io.Copy(a, io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)))
	if n != 3 || err != broken {
		t.Errorf("ReadFrom: %d, %v, want 3, %v", n, err, broken)
	}
	n, err = io.Copy(writerFunc(func(p []byte) (int, error) { return 1, nil }), b)
	if n != 1 || err != io.ErrShortWrite {
		t.Errorf("WriteTo a writer that writes one byte: %d, %v, want 1, %v", n, err, io.ErrShortWrite)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestOptions sets options and reads them from the endpoint.
func TestOptions(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		a, b := mustPipe(t, newLoop(t, p))
		ops := a.Endpoint().SocketOptions()
		for _, c := range []*sockets.Conn{a, b} {
			if o := c.Endpoint().SocketOptions(); o.GetDelayOption() || o.GetKeepAlive() {
				t.Error("Nagle's algorithm or keepalive is on from the beginning")
			}
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		must(a.SetNoDelay(false))
		must(a.SetLinger(0))
		must(a.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: 2 * time.Second, Count: 3}))
		must(a.SetReadBuffer(100_000))
		must(a.SetWriteBuffer(100_000))
		var idle tcpip.KeepaliveIdleOption
		var interval tcpip.KeepaliveIntervalOption
		a.Endpoint().GetSockOpt(&idle)
		a.Endpoint().GetSockOpt(&interval)
		count, _ := a.Endpoint().GetSockOptInt(tcpip.KeepaliveCountOption)
		if !ops.GetDelayOption() || !ops.GetLinger().Enabled || ops.GetLinger().Timeout != 0 || !ops.GetKeepAlive() ||
			time.Duration(idle) != time.Second || time.Duration(interval) != 2*time.Second || count != 3 {
			t.Errorf("delay %v, linger %v, keepalive %v, %v, %v, %d", ops.GetDelayOption(), ops.GetLinger(), ops.GetKeepAlive(),
				time.Duration(idle), time.Duration(interval), count)
		}
		must(a.SetKeepAlivePeriod(5 * time.Second))
		must(a.SetKeepAlive(false))
		must(a.SetLinger(-1))
		a.Endpoint().GetSockOpt(&idle)
		if ops.GetKeepAlive() || ops.GetLinger().Enabled || time.Duration(idle) != 5*time.Second {
			t.Errorf("keepalive %v, linger %v, idle %v", ops.GetKeepAlive(), ops.GetLinger(), time.Duration(idle))
		}
		must(a.SetUserTimeout(20 * time.Second))
		var user tcpip.TCPUserTimeoutOption
		if a.Endpoint().GetSockOpt(&user); time.Duration(user) != 20*time.Second {
			t.Errorf("user timeout %v, want 20s", time.Duration(user))
		}
		wantError(t, "user timeout below 0", a.SetUserTimeout(-1), syscall.EINVAL)
		wantError(t, "period 0", a.SetKeepAlivePeriod(0), syscall.EINVAL)
		wantError(t, "buffer 0", a.SetReadBuffer(0), syscall.EINVAL)
	})
}

// TestConfig gives each end of a connection its own timer policy, and changes it.
func TestConfig(t *testing.T) {
	config := func(policy string) *netstack.SocketConfig {
		return &netstack.SocketConfig{Policy: tcptimers.MustPolicy(policy)}
	}
	s := newLoop(t, netstack.NewProtocol)
	l, err := (&sockets.ListenConfig{Stack: s, Config: config("bsd")}).ListenTCP(port("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err := (&sockets.Dialer{Stack: s, Config: config("linux")}).DialTCP(t.Context(), l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for c, want := range map[*sockets.Conn]string{a: "linux", b: "bsd"} {
		if info, _ := c.Info(); info.Policy != want {
			t.Errorf("policy %q, want %q", info.Policy, want)
		}
	}
	if err := a.SetConfig(*config("rfc6298")); err == nil {
		t.Error("a tick finer than the connection's wheel was taken")
	}
	if err := a.SetConfig(netstack.SocketConfig{}); err == nil {
		t.Error("a policy without fields was taken")
	}
	again := *config("linux")
	again.Pacing = true
	if err := a.SetConfig(again); err != nil {
		t.Errorf("SetConfig: %v", err)
	}

	g := newLoop(t, gtcp.NewProtocol)
	_, err = (&sockets.ListenConfig{Stack: g, Config: config("bsd")}).Listen("tcp", "127.0.0.1:0")
	wantError(t, "gVisor's listens with a policy", err, errors.ErrUnsupported)
	_, err = (&sockets.Dialer{Stack: g, Config: config("bsd")}).Dial("tcp", "127.0.0.1:1")
	wantError(t, "gVisor's dials with a policy", err, errors.ErrUnsupported)
}

// TestInfo: Info exists for this module's connections, not for gVisor's.
func TestInfo(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		a, b := mustPipe(t, newLoop(t, p))
		io.WriteString(a, "hello")
		io.ReadFull(b, make([]byte, 5))
		info, ok := a.Info()
		if _, ours := a.Endpoint().(*netstack.Endpoint); ok != ours || ok && (info.BytesSent != 5 || info.State.String() != "ESTABLISHED") {
			t.Errorf("Info() = %+v, %v", info, ok)
		}
	})
}

// TestListen listens on addresses of all kinds and dials them.
func TestListen(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		s := newLoop(t, p)
		lc, d := sockets.ListenConfig{Stack: s}, sockets.Dialer{Stack: s, Timeout: time.Minute}
		for _, test := range []struct {
			network, at string
			v4, v6      bool
		}{
			{"tcp", "127.0.0.1:0", true, false},
			{"tcp", "[::1]:0", false, true},
			{"tcp", ":0", true, true},
			{"tcp", "[::]:0", true, true},
			{"tcp", "0.0.0.0:0", true, false},
			{"tcp4", ":0", true, false},
			{"tcp6", ":0", false, true},
			{"tcp6", "[::]:0", false, true},
		} {
			l, err := lc.Listen(test.network, test.at)
			if err != nil {
				t.Errorf("listen at %s %s: %v", test.network, test.at, err)
				continue
			}
			_, err = lc.Listen(test.network, l.Addr().String())
			wantError(t, "listen twice", err, syscall.EADDRINUSE)
			at := l.Addr().(*net.TCPAddr).AddrPort()
			for _, to := range []struct {
				a    netip.Addr
				want bool
			}{{netip.MustParseAddr("127.0.0.1"), test.v4}, {netip.MustParseAddr("::1"), test.v6}} {
				c, err := d.DialTCP(t.Context(), netip.AddrPortFrom(to.a, at.Port()))
				if (err == nil) != to.want {
					t.Errorf("listen at %s %s, which is %v: dial %v: %v, want a connection %v", test.network, test.at, at, to.a, err, to.want)
				}
				if err != nil {
					wantError(t, "dial the other family", err, syscall.ECONNREFUSED)
					continue
				}
				b, err := l.Accept()
				if err != nil {
					t.Fatal(err)
				}
				for _, pair := range [][2]net.Addr{{c.LocalAddr(), b.RemoteAddr()}, {c.RemoteAddr(), b.LocalAddr()}} {
					if pair[0].String() != pair[1].String() {
						t.Errorf("addresses %v and %v of one end", pair[0], pair[1])
					}
				}
				c.Close()
				b.Close()
			}
			l.Close()
			if l, err := lc.Listen(test.network, at.String()); err != nil {
				t.Errorf("listen again at %v: %v", at, err)
			} else {
				l.Close()
			}
		}
	})
}

// TestWrongAddresses dials and listens on invalid addresses.
func TestWrongAddresses(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	d := sockets.Dialer{Stack: s, Timeout: time.Minute}
	for _, test := range [][3]string{
		{"udp", "127.0.0.1:80", "dial udp: unknown network udp"},
		{"tcp", "127.0.0.1", "dial tcp: address 127.0.0.1: missing port in address"},
		{"tcp", "127.0.0.1:x", "unknown port"},
		{"tcp", "localhost:80", "dial tcp: address localhost: host name without a Resolver"},
		{"tcp6", "127.0.0.1:80", "no address for network tcp6"},
	} {
		if _, err := d.Dial(test[0], test[1]); err == nil || !strings.Contains(err.Error(), test[2]) {
			t.Errorf("dial %s %s: %v, want %q", test[0], test[1], err, test[2])
		}
	}
	lc := sockets.ListenConfig{Stack: s}
	if _, err := lc.Listen("udp", ":80"); err == nil || err.Error() != "listen udp: unknown network udp" {
		t.Errorf("listen: %v", err)
	}
	_, err := lc.Listen("tcp", "10.1.2.3:80")
	wantError(t, "listen at an address that the stack has not", err, syscall.EADDRNOTAVAIL)
	d.LocalAddr = port("10.1.2.3:0")
	_, err = d.Dial("tcp", "127.0.0.1:80")
	wantError(t, "dial from an address that the stack has not", err, syscall.EADDRNOTAVAIL)
	d.LocalAddr = netip.AddrPort{}
	d.NIC = 7
	if _, err = d.Dial("tcp", "127.0.0.1:80"); err == nil {
		t.Error("dial through an interface that the stack has not: no error")
	}
	s.SetRouteTable(nil)
	_, err = sockets.Dial(t.Context(), s, port("192.0.2.1:80"))
	wantError(t, "dial without a route", err, syscall.ENETUNREACH)
}

// TestResolver looks up names and tries their addresses in order.
func TestResolver(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	l, err := sockets.Listen(s, port("127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, p, _ := net.SplitHostPort(l.Addr().String())
	d := sockets.Dialer{Stack: s, Timeout: time.Minute, Resolver: names{"both": {"::1", "127.0.0.1"}, "six": {"::1"}}}
	c, err := d.DialContext(t.Context(), "tcp", "both:"+p)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	_, err = d.DialContext(t.Context(), "tcp", "six:"+p)
	wantError(t, "dial six", err, syscall.ECONNREFUSED)
	_, err = d.DialContext(t.Context(), "tcp", "none:"+p)
	wantError(t, "dial none", err, errNoName)
}

type names map[string][]string

var errNoName = errors.New("no such name")

func (n names) LookupNetIP(_ context.Context, _, host string) (list []netip.Addr, err error) {
	for _, a := range n[host] {
		list = append(list, netip.MustParseAddr(a))
	}
	if list == nil {
		return nil, errNoName
	}
	return list, nil
}

// TestAcceptReset accepts a connection that was reset before Accept.
func TestAcceptReset(t *testing.T) {
	forProtocols(t, func(t *testing.T, p stack.TransportProtocolFactory) {
		s := newLoop(t, p)
		l, err := sockets.Listen(s, port("127.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		a, err := sockets.Dial(t.Context(), s, l.Addr().(*net.TCPAddr).AddrPort())
		if err != nil {
			t.Fatal(err)
		}
		a.SetLinger(0)
		a.Close()
		b, err := l.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if b.RemoteAddr() == nil || b.RemoteAddr().String() != a.LocalAddr().String() || b.LocalAddr().String() != l.Addr().String() {
			t.Errorf("accepted from %v at %v, want from %v at %v", b.RemoteAddr(), b.LocalAddr(), a.LocalAddr(), l.Addr())
		}
		_, err = b.Read(make([]byte, 1))
		wantError(t, "read", err, syscall.ECONNRESET)
	})
}

// TestNewConn wraps a connection that a forwarder has made.
func TestNewConn(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	accepted := make(chan *sockets.Conn, 1)
	f := netstack.NewForwarder(s, 0, 10, func(r *netstack.ForwarderRequest) {
		wq := &waiter.Queue{}
		ep, err := r.CreateEndpoint(wq)
		r.Complete(err != nil)
		if err != nil {
			t.Errorf("CreateEndpoint: %v", err)
			close(accepted)
			return
		}
		accepted <- sockets.NewConn(s, wq, ep)
	})
	s.SetTransportProtocolHandler(gtcp.ProtocolNumber, f.HandlePacket)
	a, err := sockets.Dial(t.Context(), s, port("127.0.0.1:4242"))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	b := <-accepted
	defer b.Close()
	io.WriteString(a, "x")
	if _, err := io.ReadFull(b, make([]byte, 1)); err != nil || b.LocalAddr().String() != "127.0.0.1:4242" {
		t.Errorf("read at %v: %v", b.LocalAddr(), err)
	}
}
