package up

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sockets"
)

var loopAt = netip.MustParseAddrPort("127.0.0.1:8080")

// newLoop makes a stack with a loopback link.
func newLoop(t testing.TB, p stack.TransportProtocolFactory) *stack.Stack {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{p},
	})
	t.Cleanup(s.Destroy)
	if err := s.CreateNIC(1, loopback.New()); err != nil {
		t.Fatal(err)
	}
	addr := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: tcpip.AddressWithPrefix{
		Address: header.IPv4Loopback, PrefixLen: 8}}
	if err := s.AddProtocolAddress(1, addr, stack.AddressProperties{}); err != nil {
		t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	return s
}

// forLoops runs a test on a stack of either TCP.
func forLoops(t *testing.T, f func(t *testing.T, s *stack.Stack)) {
	for name, p := range map[string]stack.TransportProtocolFactory{Ours: netstack.NewProtocol, GVisor: gtcp.NewProtocol} {
		t.Run("tcp="+name, func(t *testing.T) { f(t, newLoop(t, p)) })
	}
}

// netcatRun is a running client or server.
type netcatRun struct {
	out     bytes.Buffer
	done    chan error
	said    chan string
	mu      sync.Mutex
	reports []*NetcatReport
}

// startNetcat runs c and keeps its output. A server is listening when it returns.
func startNetcat(ctx context.Context, t *testing.T, s *stack.Stack, c NetcatConfig) *netcatRun {
	t.Helper()
	r := &netcatRun{done: make(chan error, 1), said: make(chan string, 100)}
	c.At = loopAt
	if c.In == nil {
		c.In = strings.NewReader("")
	}
	if c.Out == nil {
		c.Out = &r.out
	}
	c.Say = func(what string) { r.said <- what }
	c.Report = func(conn *NetcatReport) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.reports = append(r.reports, conn)
	}
	go func() { r.done <- c.serve(ctx, s) }()
	if c.Listen {
		if what := <-r.said; what != "listening at 127.0.0.1:8080" {
			t.Fatalf("said %q", what)
		}
	}
	return r
}

// startNetcats starts a server and a client, which are connected when it returns. Config.Timeout
// bounds the dial too, which a busy machine may exceed; then it starts both again.
func startNetcats(t *testing.T, s *stack.Stack, server, client NetcatConfig) (a, b *netcatRun) {
	t.Helper()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		a, b = startNetcat(ctx, t, s, server), startNetcat(t.Context(), t, s, client)
		for len(b.said) == 0 && len(b.done) == 0 {
			time.Sleep(time.Millisecond)
		}
		if len(b.said) > 0 {
			return a, b
		}
		cancel()
		a.wait(t)
	}
	t.Fatalf("no client connects: %v", b.wait(t))
	return nil, nil
}

func (r *netcatRun) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it has not ended after a minute")
		return nil
	}
}

// ended waits until n connections have ended.
func (r *netcatRun) ended(t *testing.T, n int) {
	t.Helper()
	for range 6000 {
		r.mu.Lock()
		have := len(r.reports)
		r.mu.Unlock()
		if have >= n {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d connections have not ended after a minute", n)
}

// TestNetcatTalk: a client and a server send to each other at once, until both streams have ended.
func TestNetcatTalk(t *testing.T) {
	t.Parallel()
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		server := startNetcat(t.Context(), t, s, NetcatConfig{Listen: true, In: bytes.NewReader(data)})
		client := startNetcat(t.Context(), t, s, NetcatConfig{In: iotest.HalfReader(bytes.NewReader(data)), Timeout: 3 * time.Minute})
		for _, r := range []*netcatRun{client, server} {
			if err := r.wait(t); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(r.out.Bytes(), data) {
				t.Errorf("%d bytes came, want %d", r.out.Len(), len(data))
			}
			n := uint64(len(data))
			if len(r.reports) != 1 || r.reports[0].Sent != n || r.reports[0].Received != n || r.reports[0].Error != "" {
				t.Errorf("reports %+v", r.reports)
			}
		}
		if a, b := client.reports[0], server.reports[0]; a.Local != b.Remote || a.Remote != b.Local || a.Remote != loopAt {
			t.Errorf("ends %v and %v, want those of one connection", a, b)
		}
		// The server has served its one connection.
		if err := startNetcat(t.Context(), t, s, NetcatConfig{}).wait(t); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("second client: %v, want a refusal", err)
		}
	})
}

// TestNetcatHalfClose: input ends long before output.
func TestNetcatHalfClose(t *testing.T) {
	t.Parallel()
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		server := startNetcat(t.Context(), t, s, NetcatConfig{Listen: true})
		late, w := io.Pipe()
		client := startNetcat(t.Context(), t, s, NetcatConfig{In: late})
		time.Sleep(50 * time.Millisecond) // the server's stream has ended
		io.WriteString(w, "late")
		w.Close()
		if err := errors.Join(client.wait(t), server.wait(t)); err != nil || server.out.String() != "late" {
			t.Errorf("%q came, %v, want the late bytes", server.out.String(), err)
		}
	})
}

// TestNetcatInteractive: a client ends because the server did, though its input never ends.
func TestNetcatInteractive(t *testing.T) {
	t.Parallel()
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		server := startNetcat(t.Context(), t, s, NetcatConfig{Listen: true, In: strings.NewReader("bye")})
		in, w := io.Pipe()
		defer w.Close()
		client := startNetcat(t.Context(), t, s, NetcatConfig{In: in, Interactive: true})
		if err := errors.Join(client.wait(t), server.wait(t)); err != nil || client.out.String() != "bye" {
			t.Errorf("%q, %v", client.out.String(), err)
		}
	})
}

// TestNetcatKeep: a server accepts one connection after the other, until its context ends.
func TestNetcatKeep(t *testing.T) {
	t.Parallel()
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		ctx, cancel := context.WithCancel(t.Context())
		server := startNetcat(ctx, t, s, NetcatConfig{Listen: true, Keep: true})
		for _, what := range []string{"one ", "two ", "three"} {
			if err := startNetcat(t.Context(), t, s, NetcatConfig{In: strings.NewReader(what)}).wait(t); err != nil {
				t.Error(err)
			}
		}
		server.ended(t, 3)
		cancel()
		if err := server.wait(t); !errors.Is(err, context.Canceled) || server.out.String() != "one two three" {
			t.Errorf("%q, %v", server.out.String(), err)
		}
	})
}

// TestNetcatKeepAfterReset: a failed connection does not end the server.
func TestNetcatKeepAfterReset(t *testing.T) {
	t.Parallel()
	s := newLoop(t, netstack.NewProtocol)
	ctx, cancel := context.WithCancel(t.Context())
	server := startNetcat(ctx, t, s, NetcatConfig{Listen: true, Keep: true})
	c, err := sockets.Dial(t.Context(), s, loopAt)
	if err != nil {
		t.Fatal(err)
	}
	<-server.said // it has a connection to reset
	c.SetLinger(0)
	c.Close()
	if err := startNetcat(t.Context(), t, s, NetcatConfig{In: strings.NewReader("x")}).wait(t); err != nil {
		t.Error(err)
	}
	server.ended(t, 2)
	cancel()
	server.wait(t)
	if !strings.Contains(server.reports[0].Error, "connection reset by peer") || server.reports[1].Error != "" {
		t.Errorf("reports %+v and %+v", *server.reports[0], *server.reports[1])
	}
}

// TestNetcatEnds: connections end with errors, on either side.
func TestNetcatEnds(t *testing.T) {
	t.Parallel()
	const idle = 300 * time.Millisecond
	broken := errors.New("broken")
	never := func() io.Reader {
		r, w := io.Pipe()
		t.Cleanup(func() { w.Close() })
		return r
	}
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		breaks, breakIt := io.Pipe()
		defer breaks.Close()
		for _, test := range []struct {
			name           string
			server, client NetcatConfig
			wantServer     error
			wantClient     error
		}{
			{"idle client", NetcatConfig{In: never()}, NetcatConfig{In: never(), Timeout: idle}, syscall.ECONNRESET, os.ErrDeadlineExceeded},
			{"idle server", NetcatConfig{In: never(), Timeout: idle}, NetcatConfig{In: never()}, os.ErrDeadlineExceeded, syscall.ECONNRESET},
			{"input", NetcatConfig{In: never()}, NetcatConfig{In: breaks}, syscall.ECONNRESET, broken},
			{"output", NetcatConfig{In: strings.NewReader("x")}, NetcatConfig{In: never(), Out: failing{broken}}, syscall.ECONNRESET, broken},
		} {
			t.Run(test.name, func(t *testing.T) {
				test.server.Listen = true
				server, client := startNetcats(t, s, test.server, test.client)
				if test.client.In == breaks { // not before the server has a connection to reset
					<-server.said
					breakIt.CloseWithError(broken)
				}
				if err := client.wait(t); !errors.Is(err, test.wantClient) {
					t.Errorf("client: %v, want %v", err, test.wantClient)
				}
				if err := server.wait(t); !errors.Is(err, test.wantServer) {
					t.Errorf("server: %v, want %v", err, test.wantServer)
				}
				if len(client.reports) != 1 || client.reports[0].Error == "" {
					t.Errorf("client's reports %+v, want one with the error", client.reports)
				}
			})
		}
	})
}

type failing struct{ err error }

func (w failing) Write([]byte) (int, error) { return 0, w.err }

// TestNetcatResetWhileSending: the server ends its stream first, and resets the connection before
// the client has sent everything. The client notices even while its input is idle.
func TestNetcatResetWhileSending(t *testing.T) {
	t.Parallel()
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		l, err := sockets.Listen(s, loopAt)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		in, w := io.Pipe()
		defer w.Close()
		client := startNetcat(t.Context(), t, s, NetcatConfig{In: in})
		c, err := l.AcceptTCP()
		if err != nil {
			t.Fatal(err)
		}
		c.CloseWrite()
		time.Sleep(50 * time.Millisecond)
		c.SetLinger(0)
		c.Close()
		if err := client.wait(t); !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%v, want %v or %v", err, syscall.EPIPE, syscall.ECONNRESET)
		}
	})
}

// TestNetcatInterrupted ends the context of a client that is connecting, and of both ends of a
// connection.
func TestNetcatInterrupted(t *testing.T) {
	t.Parallel()
	s := newLoop(t, netstack.NewProtocol)
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	server := startNetcat(ctx, t, s, NetcatConfig{Listen: true, In: in})
	client := startNetcat(ctx, t, s, NetcatConfig{In: in})
	<-client.said
	<-server.said
	cancel()
	for _, r := range []*netcatRun{server, client} {
		if err := r.wait(t); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
	server = startNetcat(t.Context(), t, s, NetcatConfig{Listen: true})
	if err := startNetcat(ctx, t, s, NetcatConfig{}).wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("dial: %v, want the end of the context", err)
	}
	startNetcat(t.Context(), t, s, NetcatConfig{}).wait(t)
	server.wait(t)
}

// TestNetcatListenTwice: the error of a second server on the same port.
func TestNetcatListenTwice(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	l, err := sockets.Listen(s, loopAt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := NetcatConfig{Listen: true, At: loopAt, In: strings.NewReader("")}
	if err := c.serve(t.Context(), s); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v, want %v", err, syscall.EADDRINUSE)
	}
}

func TestNetcatCheck(t *testing.T) {
	with := func(change func(*NetcatConfig)) NetcatConfig {
		c := NetcatConfig{At: netip.MustParseAddrPort("10.7.0.1:80"), Host: Config{
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}, HostAddrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}}}
		change(&c)
		return c
	}
	for _, test := range []struct {
		c    NetcatConfig
		want string // in the error; "" is no error
	}{
		{with(func(c *NetcatConfig) {}), ""},
		{with(func(c *NetcatConfig) { c.Listen, c.Keep = true, true; c.At = netip.AddrPortFrom(netip.Addr{}, 80) }), ""},
		{with(func(c *NetcatConfig) { c.Host.Addrs = nil }), "no address for the stack"},
		{with(func(c *NetcatConfig) { c.At = netip.AddrPortFrom(c.At.Addr(), 0) }), "port 0"},
		{with(func(c *NetcatConfig) { c.At = netip.AddrPortFrom(netip.Addr{}, 80) }), "no address to connect to"},
		{with(func(c *NetcatConfig) { c.At = netip.MustParseAddrPort("0.0.0.0:80") }), "address 0.0.0.0"},
		{with(func(c *NetcatConfig) { c.Keep = true }), "keep listening without"},
		{with(func(c *NetcatConfig) { c.Listen = true; c.Source = c.At }), "a source address or port for a server"},
		{with(func(c *NetcatConfig) { c.Timeout = -1 }), "timeout -1ns"},
	} {
		err := test.c.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check(%+v) = %v, want %q", test.c, err, test.want)
		}
	}
}
