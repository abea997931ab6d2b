package up

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
)

// The addresses of both sides.
var (
	stackAddrs  = prefixes("10.7.0.2/24", "fd07::2/64")
	kernelAddrs = prefixes("10.7.0.1/24", "fd07::1/64")
)

// hostTest is a kernel in a namespace of its own, and a host behind it.
type hostTest struct {
	*Host
	t  testing.TB
	ns *tun.Namespace
}

func newTestHost(t testing.TB, c Config) *hostTest {
	t.Helper()
	s := &hostTest{t: t, ns: netns.Test(t)}
	c.Netns, c.Addrs, c.HostAddrs = s.ns.Path(), stackAddrs, kernelAddrs
	site, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	s.Host = site
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

const testLimit = 8 * time.Minute

// dial connects from the kernel to a port of the stack.
func (s *hostTest) dial(ctx context.Context, a netip.Addr, port uint16) (c *net.TCPConn, err error) {
	err = s.ns.Do(func() error {
		d := net.Dialer{Timeout: testLimit}
		conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(a, port).String())
		if err == nil {
			c = conn.(*net.TCPConn)
			c.SetDeadline(time.Now().Add(testLimit))
		}
		return err
	})
	return c, err
}

func (s *hostTest) mustDial(a netip.Addr, port uint16) *net.TCPConn {
	s.t.Helper()
	c, err := s.dial(s.t.Context(), a, port)
	if err != nil {
		s.t.Fatalf("the kernel dials port %d of %v: %v", port, a, err)
	}
	s.t.Cleanup(func() { c.Close() })
	return c
}

// dialKernel connects from the stack to a server of the kernel, and returns both ends.
func (s *hostTest) dialKernel(a netip.Addr) (stack, kernel net.Conn) {
	s.t.Helper()
	var l net.Listener
	if err := s.ns.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(a, 0).String())
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(context.Background(), testLimit)
	defer cancel()
	stack, err := s.Dial(ctx, l.Addr().(*net.TCPAddr).AddrPort())
	if err != nil {
		s.t.Fatalf("the stack dials the kernel at %v: %v", l.Addr(), err)
	}
	s.t.Cleanup(func() { stack.Close() })
	if kernel, err = l.Accept(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { kernel.Close() })
	for _, c := range []net.Conn{stack, kernel} {
		c.SetDeadline(time.Now().Add(testLimit))
	}
	return stack, kernel
}

// web returns an HTTP client in the kernel's namespace.
func (s *hostTest) web() *http.Client {
	tr := &http.Transport{DisableKeepAlives: true}
	tr.DialContext = func(ctx context.Context, network, addr string) (c net.Conn, err error) {
		err = s.ns.Do(func() error {
			c, err = (&net.Dialer{}).DialContext(ctx, network, addr)
			return err
		})
		return c, err
	}
	return &http.Client{Transport: tr, Timeout: testLimit}
}

func (s *hostTest) get(a netip.Addr, path string) (status int, body []byte) {
	s.t.Helper()
	r, err := s.web().Get("http://" + netip.AddrPortFrom(a, HTTPPort).String() + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err = io.ReadAll(r.Body); err != nil {
		s.t.Fatalf("GET %s: %v after %d bytes", path, err, len(body))
	}
	return r.StatusCode, body
}

// getBytes checks that /bytes/N returns the first bytes of Content.
func (s *hostTest) getBytes(a netip.Addr, n int64) {
	s.t.Helper()
	status, body := s.get(a, fmt.Sprintf("/bytes/%d", n))
	want := sha256.New()
	io.Copy(want, &Content{Size: n})
	if got := sha256.Sum256(body); status != http.StatusOK || int64(len(body)) != n || !bytes.Equal(got[:], want.Sum(nil)) {
		s.t.Errorf("%v: /bytes/%d: status %d, %d bytes with checksum %x, want %x", a, n, status, len(body), got, want.Sum(nil))
	}
}

// transfer sends n bytes and an EOF from one end to the other, and compares checksums.
func (s *hostTest) transfer(from, to net.Conn, n int64) {
	s.t.Helper()
	sent := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{from}, struct{ io.Reader }{&Content{Size: n}}, make([]byte, 64<<10))
		if err == nil {
			err = from.(interface{ CloseWrite() error }).CloseWrite()
		}
		sent <- err
	}()
	got, want := sha256.New(), sha256.New()
	m, err := io.Copy(got, to)
	if err := <-sent; err != nil {
		s.t.Fatalf("send: %v", err)
	}
	io.Copy(want, &Content{Size: n})
	if err != nil || m != n || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		s.t.Fatalf("%d bytes with checksum %x arrived, %v, want %d with %x", m, got.Sum(nil), err, n, want.Sum(nil))
	}
}

// forHosts runs a test on a host with either TCP, over either family.
func forHosts(t *testing.T, c Config, f func(t *testing.T, s *hostTest, stack, kernel netip.Addr)) {
	for _, whose := range []string{Ours, GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			c.TCP = whose
			s := newTestHost(t, c)
			for i, family := range []string{"ipv4", "ipv6"} {
				t.Run(family, func(t *testing.T) {
					test := *s
					test.t = t
					f(t, &test, stackAddrs[i].Addr(), kernelAddrs[i].Addr())
				})
			}
		})
	}
}

// TestWeb: an HTTP client of the kernel gets bytes from the stack.
func TestWeb(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		for _, n := range []int64{0, 1, 1000, 10 << 20} {
			s.getBytes(stack, n)
		}
		for path, want := range map[string]int{"/bytes/x": 400, "/bytes/-1": 400, "/bytes/1099511627777": 400, "/else": 404, "/info": 404} {
			if status, body := s.get(stack, path); status != want {
				t.Errorf("%s: status %d, %q, want %d", path, status, body, want)
			}
		}
		if status, body := s.get(stack, "/"); status != 200 || strings.Contains(string(body), "/info") || strings.Contains(string(body), "Connections now") ||
			!strings.Contains(string(body), "TCP "+s.config.TCP+" behind "+s.Device().Name()) || strings.Contains(string(body), "ZgotmplZ") {
			t.Errorf("/: status %d, %q", status, body)
		}
	})
}

// TestWebIsBounded: of clients that send half a request, at most MaxForwarded are served. They are
// closed after 10 s, those that wait for more requests after a minute, and then others are served.
func TestWebIsBounded(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{MaxForwarded: 20})
	stack := stackAddrs[0].Addr()
	if w := &s.services.web; w.ReadHeaderTimeout != headerTimeout || w.IdleTimeout != idleTimeout || w.MaxHeaderBytes != maxHeader {
		t.Errorf("timeouts %v and %v, headers of %d bytes", w.ReadHeaderTimeout, w.IdleTimeout, w.MaxHeaderBytes)
	}
	begun := time.Now()
	var half []*net.TCPConn
	for range 20 {
		c := s.mustDial(stack, HTTPPort)
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\nHost: x\r\nX:")); err != nil {
			t.Fatal(err)
		}
		half = append(half, c)
	}
	late := s.mustDial(stack, HTTPPort)
	if _, err := late.Write([]byte("GET /bytes/10 HTTP/1.0\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(late); err != nil || time.Since(begun) < headerTimeout-time.Second {
		t.Errorf("the 21st client was served after %v, %v, want once the others are closed", time.Since(begun), err)
	}
	for _, c := range half {
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Error(err)
		}
	}
	if d := time.Since(begun); d > headerTimeout+idleTimeout/2 { // the machine may be busy
		t.Errorf("half requests were open for %v, want %v", d, headerTimeout)
	}
}

// TestInfo requests the connections while one is open.
func TestInfo(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{Serve: append(DefaultServices(), "info")}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		if status, body := s.get(stack, "/"); status != 200 || !strings.Contains(string(body), "\n/info  ") {
			t.Errorf("/: status %d, %q", status, body)
		}
		c := s.mustDial(stack, EchoPort)
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		status, body := s.get(stack, "/info?connections=established")
		var r Report
		if err := json.Unmarshal(body, &struct {
			*Report
			Counters    any
			Connections any `json:"connections"`
		}{Report: &r}); err != nil || status != 200 {
			t.Fatalf("/info: status %d, %v in %s", status, err, body)
		}
		var found struct {
			Connections []struct {
				Local, Remote netip.AddrPort
				State         string
				Info          map[string]any
			}
		}
		if err := json.Unmarshal(body, &found); err != nil {
			t.Fatal(err)
		}
		if r.Device != s.Device().Name() || r.TCP.Name != s.config.TCP || len(r.Listeners) != 8 || r.States["ESTABLISHED"] < 2 {
			t.Errorf("/info reports %s, TCP %+v, listeners %v, states %v", r.Device, r.TCP, r.Listeners, r.States)
		}
		if status, body := s.get(stack, "/info"); status != 200 || bytes.Contains(body, []byte(`"connections":`)) {
			t.Errorf("/info without a query: status %d, %s", status, body)
		}
		for _, query := range []string{"connections=open", "connections=all&limit=0", "connections=all&limit=x"} {
			if status, body := s.get(stack, "/info?"+query); status != 400 {
				t.Errorf("/info?%s: status %d, %s", query, status, body)
			}
		}
		want := netip.AddrPortFrom(stack, EchoPort)
		for _, conn := range found.Connections {
			if conn.Local == want && conn.Remote == c.LocalAddr().(*net.TCPAddr).AddrPort() {
				if conn.State != "ESTABLISHED" {
					t.Errorf("the connection is in %s, want ESTABLISHED", conn.State)
				}
				if ours := s.config.TCP == Ours; ours && conn.Info["bytes_received"] != 1.0 || !ours && conn.Info != nil {
					t.Errorf("info: %v", conn.Info)
				}
				return
			}
		}
		t.Errorf("no connection %v in %s", want, body)
	})
}

// TestInfoListsTimers: a service sends to a client that does not read. /info lists the timers of
// its segments until all are acknowledged, and then the persist timer.
func TestInfoListsTimers(t *testing.T) {
	t.Parallel()
	c := Config{Plan: &LinkPlan{ToStack: sim.LinkConfig{Delay: 100 * time.Millisecond}}}
	s := newTestHost(t, c)
	conn := s.mustDial(stackAddrs[0].Addr(), ChargenPort)
	seen := map[string]int{} // the largest Count of each kind
	for deadline := time.Now().Add(testLimit); seen["rexmit"] < 2 || seen["persist"] == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timers seen: %v, want some of segments and a persist timer", seen)
		}
		for _, r := range s.Report(Selection{State: "all"}).Connections {
			for _, timer := range r.Timers {
				name := timer.Kind.String()
				seen[name] = max(seen[name], timer.Count)
				if timer.Count < 1 || timer.Count > 1 && !timer.OfSegment || time.Duration(timer.Due) < -testLimit || time.Duration(timer.Due) > time.Hour {
					t.Errorf("timer %+v", timer)
				}
			}
		}
	}
	conn.Close()
}

// TestEcho sends data and ends its stream. It gets all of it back, and an EOF.
func TestEcho(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		for _, n := range []int64{1, 1000, 4 << 20} {
			c := s.mustDial(stack, EchoPort)
			s.transfer(c, c, n)
		}
	})
}

// TestDiscard sends to the stack, which ends its stream after the last byte.
func TestDiscard(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		c := s.mustDial(stack, DiscardPort)
		if _, err := io.Copy(c, &Content{Size: 1 << 20}); err != nil {
			t.Fatal(err)
		}
		c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
			t.Errorf("read %d bytes, %v, want the end only", len(got), err)
		}
	})
}

// TestChargen reads some lines and closes.
func TestChargen(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		c := s.mustDial(stack, ChargenPort)
		got := make([]byte, 100_000)
		if _, err := io.ReadFull(c, got); err != nil {
			t.Fatal(err)
		}
		if want := bytes.Repeat(chargenLines(), 20)[:len(got)]; !bytes.Equal(got, want) {
			t.Errorf("the lines differ")
		}
	})
}

// TestStackDials: the stack connects to servers of the kernel, and data flows in both directions.
func TestStackDials(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, _, kernel netip.Addr) {
		a, k := s.dialKernel(kernel)
		s.transfer(a, k, 10<<20)
		s.transfer(k, a, 10<<20) // the other direction is still open
	})
}

// TestRefused: either side dials a port without a listener.
func TestRefused(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, kernel netip.Addr) {
		if _, err := s.dial(t.Context(), stack, 81); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the kernel dials a closed port: %v, want a refusal", err)
		}
		_, err := s.Dial(t.Context(), netip.AddrPortFrom(kernel, 81))
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the stack dials a closed port: %v, want a refusal", err)
		}
	})
}

// TestLossyLink transfers data over a link that loses 5 % of its packets.
func TestLossyLink(t *testing.T) {
	t.Parallel()
	c := Config{Link: sim.LinkConfig{Delay: time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}}, Seed: 1}
	c.TCP = Ours
	s := newTestHost(t, c)
	for i, stack := range stackAddrs {
		s.getBytes(stack.Addr(), 1<<20)
		a, k := s.dialKernel(kernelAddrs[i].Addr())
		s.transfer(a, k, 1<<20)
		s.transfer(k, a, 1<<20)
	}
	r := s.Report(Selection{})
	if r.Link == nil || r.Link.FromStack.Counts.Lost == 0 || r.Link.ToStack.Counts.Lost == 0 {
		t.Errorf("the link lost nothing: %+v", r.Link)
	}
	t.Logf("link %+v, %d segments retransmitted", r.Link, r.Counters.RetransSegs)
}

// TestRunLeavesNothing ends a host while connections are busy. The kernel's ends are reset, and no
// device is left.
func TestRunLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, whose := range []string{Ours, GVisor} {
		t.Run("tcp="+whose, func(t *testing.T) {
			ns := netns.Test(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			ready, done := make(chan string, 1), make(chan error, 1)
			c := Config{Device: "up0", Netns: ns.Path(), TCP: whose,
				Addrs: prefixes("10.9.0.2/32", "fd09::2/128"), HostAddrs: kernelAddrs} // reached by a route
			go func() { done <- Run(ctx, c, func(s string) { ready <- s }) }()
			select {
			case s := <-ready:
				if want := "up0: kernel 10.7.0.1/24 fd07::1/64, stack 10.9.0.2/32 fd09::2/128 with TCP " + whose; !strings.HasPrefix(s, want) {
					t.Errorf("ready: %q, want %q first", s, want)
				}
			case err := <-done:
				t.Fatal(err)
			}
			if got := netns.Devices(t, ns); len(got) != 1 || got[0] != "up0" {
				t.Errorf("devices %q, want up0", got)
			}
			s := &hostTest{t: t, ns: ns}
			var conns []net.Conn
			for _, a := range c.Addrs {
				for _, port := range []uint16{EchoPort, ChargenPort, DiscardPort, HTTPPort} {
					conns = append(conns, s.mustDial(a.Addr(), port))
				}
			}
			cancel()
			if err := <-done; err != nil {
				t.Errorf("Run: %v", err)
			}
			if got := netns.Devices(t, ns); len(got) != 0 {
				t.Errorf("devices %q are left", got)
			}
			for _, c := range conns {
				if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the connection to %v was not ended", c.RemoteAddr())
				}
			}
		})
	}
}

// TestDeviceTakenAway deletes the device of a running host, which reports it.
func TestDeviceTakenAway(t *testing.T) {
	t.Parallel()
	ns := netns.Test(t)
	ready, done := make(chan string, 1), make(chan error, 1)
	c := Config{Device: "up0", Netns: ns.Path(), Addrs: stackAddrs, HostAddrs: kernelAddrs}
	go func() { done <- Run(t.Context(), c, func(s string) { ready <- s }) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	netns.DeleteDevice(t, ns, "up0")
	if err := <-done; err == nil || !strings.Contains(err.Error(), "up0") {
		t.Errorf("Run = %v, want an error that names the device", err)
	}
}

// TestStartFails starts hosts that cannot start. No device is left.
func TestStartFails(t *testing.T) {
	t.Parallel()
	ns := netns.Test(t)
	good := Config{Device: "up0", Netns: ns.Path(), Addrs: stackAddrs, HostAddrs: kernelAddrs}
	for name, change := range map[string]func(*Config){
		"policy":    func(c *Config) { c.Policy = "x" },
		"name":      func(c *Config) { c.Device = "a/b" },
		"namespace": func(c *Config) { c.Netns = "no-such-namespace" },
		"IPv6":      func(c *Config) { c.MTU = 1000 }, // too small for the kernel's IPv6
	} {
		c := good
		change(&c)
		if s, err := Start(c); err == nil {
			s.Close()
			t.Errorf("%s: Start gave no error", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
	if got := netns.Devices(t, ns); len(got) != 0 {
		t.Errorf("devices %q are left", got)
	}
}

// TestKernelPacketsAreNotDropped: the kernel sends at full speed until the window has grown.
func TestKernelPacketsAreNotDropped(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{})
	stack, kernel := s.dialKernel(kernelAddrs[0].Addr())
	size := 128 << 20
	if testing.Short() {
		size >>= 3
	}
	go func() {
		defer kernel.Close()
		if n, err := kernel.Write(make([]byte, size)); err != nil {
			t.Errorf("the kernel has sent %d bytes: %v", n, err)
		}
	}()
	if n, err := io.Copy(io.Discard, stack); n != int64(size) || err != nil {
		t.Errorf("got %d bytes, %v, want %d", n, err, size)
	}
	if n := s.Stack().Stats().DroppedPackets.Value(); n != 0 {
		t.Errorf("%d packets were dropped", n)
	}
}

// TestUDPEcho: datagrams come back, of either IP version.
func TestUDPEcho(t *testing.T) {
	t.Parallel()
	forHosts(t, Config{}, func(t *testing.T, s *hostTest, stack, _ netip.Addr) {
		var c net.Conn
		if err := s.ns.Do(func() (err error) {
			c, err = net.Dial("udp", netip.AddrPortFrom(stack, EchoPort).String())
			return err
		}); err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(testLimit))
		for _, want := range []string{"one", strings.Repeat("x", 1400)} {
			if _, err := c.Write([]byte(want)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 2000)
			if n, err := c.Read(b); err != nil || string(b[:n]) != want {
				t.Errorf("read %d bytes, %v, want %d", n, err, len(want))
			}
		}
	})
}

// TestPing: the stack answers ICMP echo requests.
func TestPing(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{})
	// type, code, checksum, identifier, sequence number
	request := []byte{8, 0, 0xf7, 0xfd, 0, 1, 0, 1}
	var c net.Conn
	if err := s.ns.Do(func() (err error) {
		c, err = net.Dial("ip4:icmp", stackAddrs[0].Addr().String())
		return err
	}); err != nil {
		t.Skipf("no raw socket here: %v", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(testLimit))
	if _, err := c.Write(request); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := c.Read(b); err != nil || n != 20+len(request) || b[20] != 0 { // after the IP header
		t.Errorf("read % x, %v, want an echo reply", b[:n], err)
	}
}

// TestSecondHostIsRefused: a host whose addresses are in use does not start, and the first one
// keeps working.
func TestSecondHostIsRefused(t *testing.T) {
	t.Parallel()
	s := newTestHost(t, Config{})
	c := s.config
	c.Device = ""
	second, err := Start(c)
	if err == nil {
		second.Close()
	}
	if want := "is on " + s.Device().Name() + " already: "; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a second host: %v, want an error with %q", err, want)
	}
	s.getBytes(stackAddrs[0].Addr(), 1000)
}
