package nc

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
	"tcpwheel/tun/up"
)

var loopAt = netip.MustParseAddrPort("127.0.0.1:8080")

// newLoop makes a stack that talks to itself.
func newLoop(t *testing.T, p stack.TransportProtocolFactory) *stack.Stack {
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
	for name, p := range map[string]stack.TransportProtocolFactory{up.Ours: netstack.NewProtocol, up.GVisor: gtcp.NewProtocol} {
		t.Run("tcp="+name, func(t *testing.T) { f(t, newLoop(t, p)) })
	}
}

// running is a client or a server that runs.
type running struct {
	out     bytes.Buffer
	done    chan error
	said    chan string
	mu      sync.Mutex
	reports []*Connection
}

// start runs c, whose output is kept. A server listens when it returns.
func start(ctx context.Context, t *testing.T, s *stack.Stack, c Config) *running {
	t.Helper()
	r := &running{done: make(chan error, 1), said: make(chan string, 100)}
	c.At = loopAt
	if c.In == nil {
		c.In = strings.NewReader("")
	}
	if c.Out == nil {
		c.Out = &r.out
	}
	c.Say = func(what string) { r.said <- what }
	c.Report = func(conn *Connection) {
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

// startBoth starts a server and a client, which have a connection when it returns. Config.Timeout is one for the dial, too, for which a busy
// machine may take longer, and then both are started anew.
func startBoth(t *testing.T, s *stack.Stack, server, client Config) (a, b *running) {
	t.Helper()
	for range 20 {
		ctx, cancel := context.WithCancel(t.Context())
		t.Cleanup(cancel)
		a, b = start(ctx, t, s, server), start(t.Context(), t, s, client)
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

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		t.Fatal("it has not ended after a minute")
		return nil
	}
}

// ended waits until n connections have.
func (r *running) ended(t *testing.T, n int) {
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

// TestTalk has a client and a server send to each other at once, until both have ended their streams.
func TestTalk(t *testing.T) {
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		data := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
		server := start(t.Context(), t, s, Config{Listen: true, In: bytes.NewReader(data)})
		client := start(t.Context(), t, s, Config{In: iotest.HalfReader(bytes.NewReader(data)), Timeout: 3 * time.Minute})
		for _, r := range []*running{client, server} {
			if err := r.wait(t); err != nil {
				t.Error(err)
			}
			if !bytes.Equal(r.out.Bytes(), data) {
				t.Errorf("%d octets came, want %d", r.out.Len(), len(data))
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
		if err := start(t.Context(), t, s, Config{}).wait(t); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("second client: %v, want a refusal", err)
		}
	})
}

// TestHalfClose has input end long before output.
func TestHalfClose(t *testing.T) {
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		server := start(t.Context(), t, s, Config{Listen: true})
		late, w := io.Pipe()
		client := start(t.Context(), t, s, Config{In: late})
		time.Sleep(50 * time.Millisecond) // the server's stream has ended
		io.WriteString(w, "late")
		w.Close()
		if err := errors.Join(client.wait(t), server.wait(t)); err != nil || server.out.String() != "late" {
			t.Errorf("%q came, %v, want what was sent late", server.out.String(), err)
		}
	})
}

// TestInteractive has a client end because the server did, with input that never ends.
func TestInteractive(t *testing.T) {
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		server := start(t.Context(), t, s, Config{Listen: true, In: strings.NewReader("bye")})
		in, w := io.Pipe()
		defer w.Close()
		client := start(t.Context(), t, s, Config{In: in, Interactive: true})
		if err := errors.Join(client.wait(t), server.wait(t)); err != nil || client.out.String() != "bye" {
			t.Errorf("%q, %v", client.out.String(), err)
		}
	})
}

// TestKeep has a server take one connection after the other, until its context ends.
func TestKeep(t *testing.T) {
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		ctx, cancel := context.WithCancel(t.Context())
		server := start(ctx, t, s, Config{Listen: true, Keep: true})
		for _, what := range []string{"one ", "two ", "three"} {
			if err := start(t.Context(), t, s, Config{In: strings.NewReader(what)}).wait(t); err != nil {
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

// TestKeepAfterReset has a connection fail, which does not end the server.
func TestKeepAfterReset(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	ctx, cancel := context.WithCancel(t.Context())
	server := start(ctx, t, s, Config{Listen: true, Keep: true})
	c, err := sockets.Dial(t.Context(), s, loopAt)
	if err != nil {
		t.Fatal(err)
	}
	c.SetLinger(0)
	c.Close()
	if err := start(t.Context(), t, s, Config{In: strings.NewReader("x")}).wait(t); err != nil {
		t.Error(err)
	}
	server.ended(t, 2)
	cancel()
	server.wait(t)
	if !strings.Contains(server.reports[0].Error, "connection reset by peer") || server.reports[1].Error != "" {
		t.Errorf("reports %+v and %+v", *server.reports[0], *server.reports[1])
	}
}

// TestEnds has connections end by errors, on whichever side.
func TestEnds(t *testing.T) {
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
			server, client Config
			wantServer     error
			wantClient     error
		}{
			{"idle client", Config{In: never()}, Config{In: never(), Timeout: time.Second}, syscall.ECONNRESET, os.ErrDeadlineExceeded},
			{"idle server", Config{In: never(), Timeout: time.Second}, Config{In: never()}, os.ErrDeadlineExceeded, syscall.ECONNRESET},
			{"input", Config{In: never()}, Config{In: breaks}, syscall.ECONNRESET, broken},
			{"output", Config{In: strings.NewReader("x")}, Config{In: never(), Out: failing{broken}}, syscall.ECONNRESET, broken},
		} {
			t.Run(test.name, func(t *testing.T) {
				test.server.Listen = true
				server, client := startBoth(t, s, test.server, test.client)
				if test.client.In == breaks { // not before the server has a connection that can be reset
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

// TestResetWhileSending has a server that ends its stream first, and resets the connection before the client has sent all that it is to:
// the client learns although its input has nothing at the time.
func TestResetWhileSending(t *testing.T) {
	forLoops(t, func(t *testing.T, s *stack.Stack) {
		l, err := sockets.Listen(s, loopAt)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		in, w := io.Pipe()
		defer w.Close()
		client := start(t.Context(), t, s, Config{In: in})
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

// TestInterrupted ends the context of a client that waits for a connection, and of both ends of one.
func TestInterrupted(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	ctx, cancel := context.WithCancel(t.Context())
	in, w := io.Pipe()
	defer w.Close()
	server := start(ctx, t, s, Config{Listen: true, In: in})
	client := start(ctx, t, s, Config{In: in})
	<-client.said
	<-server.said
	cancel()
	for _, r := range []*running{server, client} {
		if err := r.wait(t); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the end of the context", err)
		}
	}
	server = start(t.Context(), t, s, Config{Listen: true})
	if err := start(ctx, t, s, Config{}).wait(t); !errors.Is(err, context.Canceled) {
		t.Errorf("dial: %v, want the end of the context", err)
	}
	start(t.Context(), t, s, Config{}).wait(t)
	server.wait(t)
}

// TestListenTwice tells what keeps a server from listening.
func TestListenTwice(t *testing.T) {
	s := newLoop(t, netstack.NewProtocol)
	l, err := sockets.Listen(s, loopAt)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := Config{Listen: true, At: loopAt, In: strings.NewReader("")}
	if err := c.serve(t.Context(), s); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("%v, want %v", err, syscall.EADDRINUSE)
	}
}

func TestCheck(t *testing.T) {
	with := func(change func(*Config)) Config {
		c := Config{At: netip.MustParseAddrPort("10.7.0.1:80"), Site: up.Config{
			Addrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.2/24")}, HostAddrs: []netip.Prefix{netip.MustParsePrefix("10.7.0.1/24")}}}
		change(&c)
		return c
	}
	for _, test := range []struct {
		c    Config
		want string // in the error; empty for none
	}{
		{with(func(c *Config) {}), ""},
		{with(func(c *Config) { c.Listen, c.Keep = true, true; c.At = netip.AddrPortFrom(netip.Addr{}, 80) }), ""},
		{with(func(c *Config) { c.Site.Addrs = nil }), "no address for the stack"},
		{with(func(c *Config) { c.At = netip.AddrPortFrom(c.At.Addr(), 0) }), "port 0"},
		{with(func(c *Config) { c.At = netip.AddrPortFrom(netip.Addr{}, 80) }), "no address to connect to"},
		{with(func(c *Config) { c.At = netip.MustParseAddrPort("0.0.0.0:80") }), "address 0.0.0.0"},
		{with(func(c *Config) { c.Keep = true }), "keep listening, without"},
		{with(func(c *Config) { c.Listen = true; c.Source = c.At }), "a source address or port for a server"},
		{with(func(c *Config) { c.Timeout = -1 }), "timeout -1ns"},
	} {
		err := test.c.Check()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("Check(%+v) = %v, want %q", test.c, err, test.want)
		}
	}
}
