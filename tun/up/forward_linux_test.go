package up

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tcpwheel/tun/netns"
)

// forwardTest is a host with a forward in one direction: clients reach a server through the stack.
type forwardTest struct {
	*hostTest
	server net.Listener
	dialIt func() (net.Conn, error)

	mu  sync.Mutex
	log []string
}

// forForwards runs a test with either TCP, in either direction, over either family.
func forForwards(t *testing.T, c Config, f func(t *testing.T, s *forwardTest)) {
	for _, whose := range []string{Ours, GVisor} {
		for i, family := range []string{"ipv4", "ipv6"} {
			c.TCP = whose
			t.Run(fmt.Sprintf("tcp=%s/expose/%s", whose, family), func(t *testing.T) { f(t, newExposed(t, c, i)) })
			t.Run(fmt.Sprintf("tcp=%s/forward/%s", whose, family), func(t *testing.T) { f(t, newForwarded(t, c, i)) })
		}
	}
}

// newExposed makes the stack expose a server in the namespace of the test to the kernel in the
// host's.
func newExposed(t *testing.T, c Config, family int) *forwardTest {
	t.Helper()
	s := &forwardTest{}
	var err error
	if s.server, err = net.Listen("tcp", []string{"127.0.0.1:0", "[::1]:0"}[family]); err != nil {
		t.Skipf("no loopback of that family: %v", err)
	}
	t.Cleanup(func() { s.server.Close() })
	at := s.server.Addr().(*net.TCPAddr).AddrPort()
	c.Expose = []Forward{{Bind: stackAddrs[family].Addr().String(), Port: 8080, Host: at.Addr().String(), HostPort: at.Port()}}
	c.Log = s.tell
	s.hostTest = newTestHost(t, c)
	s.dialIt = func() (net.Conn, error) { return s.dial(s.t.Context(), stackAddrs[family].Addr(), 8080) }
	return s
}

// newForwarded makes the stack forward from the kernel in the namespace of the test to a server in
// the host's.
func newForwarded(t *testing.T, c Config, family int) *forwardTest {
	t.Helper()
	s := &forwardTest{}
	to := kernelAddrs[family].Addr()
	c.Forward = []Forward{{Host: to.String(), HostPort: 8080}}
	c.Log = s.tell
	s.hostTest = newTestHost(t, c)
	if err := s.ns.Do(func() (err error) {
		s.server, err = net.Listen("tcp", netip.AddrPortFrom(to, 8080).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.server.Close() })
	at := s.Report(Selection{}).Forwards[0].Listen[0]
	s.dialIt = func() (net.Conn, error) { return net.DialTimeout("tcp", at.String(), testLimit) }
	return s
}

func (s *forwardTest) tell(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, what)
}

func (s *forwardTest) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// connect returns both ends of a connection.
func (s *forwardTest) connect() (client, server *net.TCPConn) {
	s.t.Helper()
	c, err := s.dialIt()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { c.Close() })
	d, err := s.server.Accept()
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { d.Close() })
	for _, c := range []net.Conn{c, d} {
		c.SetDeadline(time.Now().Add(testLimit))
	}
	return c.(*net.TCPConn), d.(*net.TCPConn)
}

// awaitOpen waits until so many connections are open.
func (s *forwardTest) awaitOpen(n int) (r ForwardReport) {
	s.t.Helper()
	for range 6000 {
		if r = s.Report(Selection{}).Forwards[0]; r.Open == n {
			return r
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatalf("%d connections are open, want %d", r.Open, n)
	return r
}

// TestForwardCarries transfers data in one direction, and then, over the direction that is still
// open, in the other.
func TestForwardCarries(t *testing.T) {
	t.Parallel()
	forForwards(t, Config{}, func(t *testing.T, s *forwardTest) {
		const n = 5 << 20
		client, server := s.connect()
		s.transfer(client, server, n)
		s.transfer(server, client, 2*n)
		r := s.awaitOpen(0)
		if r.Accepted != 1 || r.Failed != 0 || r.FromClients != n || r.ToClients != 2*n || len(s.told()) != 0 {
			t.Errorf("report %+v, log %q, want %d bytes there and %d back", r, s.told(), n, 2*n)
		}
		client, server = s.connect()
		s.transfer(server, client, n) // the server ends first
		s.transfer(client, server, 1)
		s.awaitOpen(0)
	})
}

// TestForwardResets resets either end, with both directions open and after the end of one.
func TestForwardResets(t *testing.T) {
	t.Parallel()
	forForwards(t, Config{}, func(t *testing.T, s *forwardTest) {
		for _, test := range []struct {
			name         string
			server, half bool // the server resets; after it has ended its stream
		}{{"client", false, false}, {"server", true, false}, {"client, half closed", false, true}, {"server, half closed", true, true}} {
			a, b := s.connect()
			if test.server {
				a, b = b, a
			}
			if _, err := a.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(b, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			if test.half {
				a.CloseWrite()
				if n, err := b.Read(make([]byte, 1)); n != 0 || err != io.EOF {
					t.Fatalf("%s: read %d, %v, want the end", test.name, n, err)
				}
			}
			if err := a.SetLinger(0); err != nil {
				t.Fatal(err)
			}
			a.Close()
			// An end that has read EOF learns of the reset by writing: the kernel returns EPIPE, once.
			err := kernelConn{b}.AwaitReset()
			if want := syscall.ECONNRESET; !test.half && !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", test.name, err, want)
			}
			if want := syscall.EPIPE; test.half && !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", test.name, err, want)
			}
			s.awaitOpen(0)
		}
	})
}

// TestForwardRefused: a client is reset if the target has no listener. The log says so once.
func TestForwardRefused(t *testing.T) {
	t.Parallel()
	forForwards(t, Config{}, func(t *testing.T, s *forwardTest) {
		s.server.Close()
		for range 3 {
			c, err := s.dialIt()
			if err != nil {
				if errors.Is(err, syscall.ECONNRESET) {
					continue // reset before it knew that it was connected
				}
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(testLimit))
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("read: %v, want %v", err, syscall.ECONNRESET)
			}
			c.Close()
		}
		if r := s.awaitOpen(0); r.Accepted != 3 || r.Failed != 3 {
			t.Errorf("report %+v, want 3 failures", r)
		}
		if log := s.told(); len(log) != 1 || !strings.Contains(log[0], "connection refused") {
			t.Errorf("log %q, want one refusal", log)
		}
	})
}

// TestForwardIsBounded: a server that does not read stops its client; memory stays bounded.
func TestForwardIsBounded(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{Ours, GVisor} {
		s := newExposed(t, Config{TCP: whose}, 0)
		client, server := s.connect()
		client.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
		n, err := client.Write(make([]byte, 256<<20))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n > 128<<20 {
			t.Errorf("wrote %d bytes to a server that does not read, %v", n, err)
		}
		client.CloseWrite()
		if m, err := io.Copy(io.Discard, server); err != nil || m != int64(n) {
			t.Errorf("read %d bytes, %v, want %d", m, err, n)
		}
	}
}

// TestForwardMany opens many connections at once. Some wait for others to end. The host closes
// while some are busy.
func TestForwardMany(t *testing.T) {
	t.Parallel()
	forForwards(t, Config{MaxForwarded: 20}, func(t *testing.T, s *forwardTest) {
		go func() {
			for {
				c, err := s.server.Accept()
				if err != nil {
					return
				}
				go func() {
					defer c.Close()
					io.Copy(c, c)
				}()
			}
		}()
		var wait sync.WaitGroup
		for range 100 {
			wait.Go(func() {
				c, err := s.dialIt()
				if err != nil {
					t.Errorf("dial: %v", err)
					return
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(testLimit))
				s.transfer(c, c, 10_000)
			})
		}
		wait.Wait()
		if r := s.awaitOpen(0); r.Accepted != 100 || r.FromClients != 1_000_000 || r.ToClients != r.FromClients {
			t.Errorf("report %+v", r)
		}
		var busy []net.Conn
		for range 30 {
			c, err := s.dialIt()
			if err != nil {
				t.Fatal(err)
			}
			busy = append(busy, c)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for _, c := range busy {
			c.SetDeadline(time.Now().Add(testLimit))
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("a connection was not ended")
			}
			c.Close()
		}
	})
}

// TestExposeReplacesAService: an exposed port 80 replaces HTTP there, at its address only.
func TestExposeReplacesAService(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	to := uint16(l.Addr().(*net.TCPAddr).Port)
	s := newTestHost(t, Config{Expose: []Forward{{Bind: stackAddrs[0].Addr().String(), Port: HTTPPort, Host: "127.0.0.1", HostPort: to}}})
	c := s.mustDial(stackAddrs[0].Addr(), HTTPPort)
	d, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	c.Write([]byte("x"))
	if b, err := io.ReadAll(io.LimitReader(d, 1)); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v", b, err)
	}
	s.getBytes(stackAddrs[1].Addr(), 1000)
}

// TestForwardFails: a port that is in use is an error of Start, which leaves nothing.
func TestForwardFails(t *testing.T) {
	t.Parallel()
	ns := netns.Test(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := Config{Netns: ns.Path(), Addrs: stackAddrs, HostAddrs: kernelAddrs,
		Forward: []Forward{{Host: "10.7.0.1", HostPort: 1}, {Port: uint16(l.Addr().(*net.TCPAddr).Port), Host: "10.7.0.1", HostPort: 1}}}
	if s, err := Start(c); err == nil {
		s.Close()
		t.Error("Start gave no error")
	} else if !errors.Is(err, syscall.EADDRINUSE) || !strings.Contains(err.Error(), "forward "+c.Forward[1].String()) {
		t.Errorf("Start: %v", err)
	}
	if got := netns.Devices(t, ns); len(got) != 0 {
		t.Errorf("devices %q are left", got)
	}
}

// failingListener first fails for lack of descriptors, and then accepts a connection.
type failingListener struct {
	net.Listener
	errs []error
}

func (l *failingListener) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return l.Listener.Accept()
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

// TestForwardContinues: the failures of a listener are reported once, and it accepts again.
func TestForwardContinues(t *testing.T) {
	t.Parallel()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	out, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var s forwardTest
	v, err := startForwards(nil, &Config{Log: s.tell})
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	to := out.Addr().(*net.TCPAddr).AddrPort()
	w := v.add(Forward{Host: to.Addr().String(), HostPort: to.Port()}, true)
	emfile := &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	w.listeners = []*bounded{newBounded(&failingListener{kernelListener{in.(*net.TCPListener)}, []error{emfile, emfile, emfile}}, w.slots)}
	v.wait.Go(func() { v.serve(w, w.listeners[0]) })
	client, err := net.Dial("tcp", in.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := out.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if told := s.told(); len(told) != 1 || !strings.Contains(told[0], "too many open files") {
		t.Errorf("log %q, want one line about too many open files", told)
	}
	client.Write([]byte("x"))
	if b, err := io.ReadAll(io.LimitReader(server, 1)); err != nil || string(b) != "x" {
		t.Errorf("read %q, %v, want x", b, err)
	}
}
