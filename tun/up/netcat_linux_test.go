package up

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
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

const ncPort = 8080

// kernel is a kernel in a namespace of its own.
type kernel struct {
	t  *testing.T
	ns *tun.Namespace
}

// newKernel makes a namespace that ends with the test. It skips the test without root.
func newKernel(t *testing.T) *kernel {
	t.Helper()
	return &kernel{t, netns.Test(t)}
}

// listen makes the kernel listen before it has an address.
func (k *kernel) listen() (l *net.TCPListener) {
	k.t.Helper()
	if err := k.ns.Do(func() error {
		any, err := net.Listen("tcp", fmt.Sprintf(":%d", ncPort))
		if err == nil {
			l = any.(*net.TCPListener)
		}
		return err
	}); err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { l.Close() })
	l.SetDeadline(time.Now().Add(testLimit))
	return l
}

// dial connects from the kernel to the stack.
func (k *kernel) dial(a netip.Addr) (c *net.TCPConn) {
	k.t.Helper()
	if err := k.ns.Do(func() error {
		any, err := net.DialTimeout("tcp", netip.AddrPortFrom(a, ncPort).String(), testLimit)
		if err == nil {
			c = any.(*net.TCPConn)
			c.SetDeadline(time.Now().Add(testLimit))
		}
		return err
	}); err != nil {
		k.t.Fatalf("the kernel dials %v: %v", a, err)
	}
	k.t.Cleanup(func() { c.Close() })
	return c
}

// run runs a netcat in the background. A server is listening when it returns.
func (k *kernel) run(ctx context.Context, c NetcatConfig) (done <-chan error) {
	k.t.Helper()
	c.Host.Netns, c.Host.Addrs, c.Host.HostAddrs = k.ns.Path(), stackAddrs, kernelAddrs
	if c.In == nil {
		c.In = strings.NewReader("")
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	said, ended := make(chan string, 10), make(chan error, 1)
	c.Say = func(what string) { said <- what }
	go func() { ended <- RunNetcat(ctx, c) }()
	for c.Listen {
		select {
		case what := <-said:
			if strings.HasPrefix(what, "listening") {
				return ended
			}
		case err := <-ended:
			k.t.Fatal(err)
		}
	}
	return ended
}

// forKernels runs a test with either TCP, over either family.
func forKernels(t *testing.T, f func(t *testing.T, k *kernel, tcp string, stack, kernel netip.Addr)) {
	for _, tcp := range []string{Ours, GVisor} {
		for i, family := range []string{"ipv4", "ipv6"} {
			t.Run("tcp="+tcp+"/"+family, func(t *testing.T) {
				f(t, newKernel(t), tcp, stackAddrs[i].Addr(), kernelAddrs[i].Addr())
			})
		}
	}
}

// summed is the length and checksum of data.
type summed struct {
	n    int64
	hash []byte
}

func sumOf(r io.Reader) summed {
	h := sha256.New()
	n, _ := io.Copy(h, r)
	return summed{n, h.Sum(nil)}
}

func (s summed) want(t *testing.T, what string, want summed) {
	t.Helper()
	if s.n != want.n || !bytes.Equal(s.hash, want.hash) {
		t.Errorf("%s: %d bytes with checksum %x, want %d with %x", what, s.n, s.hash, want.n, want.hash)
	}
}

// sizeFor is how much is sent one way: in a long run 100 MiB over IPv4.
func sizeFor(a netip.Addr) int64 {
	if a.Is4() && os.Getenv("TCPWHEEL_LONG") != "" {
		return 100 << 20
	}
	return 10 << 20
}

// TestNetcatClient sends to a server of the kernel, which answers after the end of the stream.
func TestNetcatClient(t *testing.T) {
	t.Parallel()
	const back = 1 << 20
	forKernels(t, func(t *testing.T, k *kernel, tcp string, _, kernel netip.Addr) {
		there := sizeFor(kernel)
		l := k.listen()
		received := make(chan summed, 1)
		go func() {
			defer close(received)
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			received <- sumOf(c)
			if _, err := io.Copy(c, &Content{Size: back}); err != nil {
				t.Error(err)
			}
		}()
		r, w := io.Pipe()
		answer := make(chan summed, 1)
		go func() { answer <- sumOf(r) }()
		var conn *NetcatReport
		err := <-k.run(t.Context(), NetcatConfig{Host: Config{TCP: tcp}, At: netip.AddrPortFrom(kernel, ncPort), In: &Content{Size: there},
			Out: w, Report: func(c *NetcatReport) { conn = c }})
		w.Close()
		if err != nil {
			t.Error(err)
		}
		(<-received).want(t, "to the kernel", sumOf(&Content{Size: there}))
		(<-answer).want(t, "from the kernel", sumOf(&Content{Size: back}))
		if conn == nil || conn.Sent != uint64(there) || conn.Received != back || conn.TCP != tcp || (conn.Info != nil) != (tcp == Ours) {
			t.Errorf("report %+v", conn)
		}
		if left := netns.Devices(t, k.ns); len(left) > 0 {
			t.Errorf("devices %q are left", left)
		}
	})
}

// TestNetcatServer: a client of the kernel connects, sends, ends its stream, and reads.
func TestNetcatServer(t *testing.T) {
	t.Parallel()
	const back = 1 << 20
	forKernels(t, func(t *testing.T, k *kernel, tcp string, stack, _ netip.Addr) {
		there := sizeFor(stack)
		r, w := io.Pipe()
		received := make(chan summed, 1)
		go func() { received <- sumOf(r) }()
		done := k.run(t.Context(), NetcatConfig{Host: Config{TCP: tcp}, Listen: true, At: netip.AddrPortFrom(netip.Addr{}, ncPort),
			In: &Content{Size: back}, Out: w})
		c := k.dial(stack)
		answer := make(chan summed, 1)
		go func() { answer <- sumOf(c) }()
		if _, err := io.Copy(c, &Content{Size: there}); err != nil {
			t.Error(err)
		}
		c.CloseWrite()
		(<-answer).want(t, "from the stack", sumOf(&Content{Size: back}))
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.Close()
		(<-received).want(t, "to the stack", sumOf(&Content{Size: there}))
		if left := netns.Devices(t, k.ns); len(left) > 0 {
			t.Errorf("devices %q are left", left)
		}
	})
}

// TestNetcatErrors: a client fails in every possible way, and each error says why.
func TestNetcatErrors(t *testing.T) {
	t.Parallel()
	forKernels(t, func(t *testing.T, k *kernel, tcp string, _, kernel netip.Addr) {
		site := Config{TCP: tcp}
		at := netip.AddrPortFrom(kernel, ncPort)
		if err := <-k.run(t.Context(), NetcatConfig{Host: site, At: at}); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("there is no listener: %v, want %v", err, syscall.ECONNREFUSED)
		}
		lossy := site
		lossy.Link.Loss = sim.Losses{sim.Bernoulli{P: 1}}
		err := <-k.run(t.Context(), NetcatConfig{Host: lossy, At: at, Timeout: 100 * time.Millisecond})
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() || !strings.Contains(err.Error(), "nc: dial tcp") {
			t.Errorf("there is no answer: %v, want a timeout", err)
		}
		l := k.listen()
		go func() {
			if c, err := l.AcceptTCP(); err == nil {
				c.SetLinger(0)
				c.Close()
			}
		}()
		in, w := io.Pipe()
		defer w.Close()
		if err := <-k.run(t.Context(), NetcatConfig{Host: site, At: at, In: in}); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("reset: %v, want %v", err, syscall.ECONNRESET)
		}
		go func() {
			if c, err := l.AcceptTCP(); err == nil {
				io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		err = <-k.run(t.Context(), NetcatConfig{Host: site, At: at, In: in, Timeout: 100 * time.Millisecond})
		if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
			t.Errorf("idle: %v, want a timeout", err)
		}
		if left := netns.Devices(t, k.ns); len(left) > 0 {
			t.Errorf("devices %q are left", left)
		}
	})
}

// TestNetcatInterruptedRun ends the context at any time. The kernel's end is reset, and no device
// is left.
func TestNetcatInterruptedRun(t *testing.T) {
	t.Parallel()
	for _, tcp := range []string{Ours, GVisor} {
		for _, after := range []time.Duration{0, time.Millisecond, 20 * time.Millisecond} {
			t.Run(fmt.Sprintf("tcp=%s/starting/%v", tcp, after), func(t *testing.T) {
				k := newKernel(t)
				k.listen()
				ctx, cancel := context.WithTimeout(t.Context(), after)
				defer cancel()
				in, w := io.Pipe()
				defer w.Close()
				if err := <-k.run(ctx, NetcatConfig{Host: Config{TCP: tcp}, At: netip.AddrPortFrom(kernelAddrs[0].Addr(), ncPort), In: in}); !errors.Is(err, ctx.Err()) {
					t.Errorf("%v, want %v", err, ctx.Err())
				}
				if left := netns.Devices(t, k.ns); len(left) > 0 {
					t.Errorf("devices %q are left", left)
				}
			})
		}
		for _, keep := range []bool{false, true} {
			t.Run(fmt.Sprintf("tcp=%s/busy/keep=%v", tcp, keep), func(t *testing.T) {
				k := newKernel(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := k.run(ctx, NetcatConfig{Host: Config{TCP: tcp}, Listen: true, Keep: keep, At: netip.AddrPortFrom(netip.Addr{}, ncPort),
					In: &Content{Size: 1 << 40}})
				c := k.dial(stackAddrs[0].Addr())
				if _, err := io.CopyN(io.Discard, c, 1<<20); err != nil {
					t.Fatal(err)
				}
				cancel()
				if err := <-done; keep && err != nil || !keep && !errors.Is(err, context.Canceled) {
					t.Errorf("Run = %v", err)
				}
				if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("the kernel reads %v, want %v", err, syscall.ECONNRESET)
				}
				if left := netns.Devices(t, k.ns); len(left) > 0 {
					t.Errorf("devices %q are left", left)
				}
			})
		}
	}
}

// TestNetcatLossyLink sends over a link that loses packets in both directions.
func TestNetcatLossyLink(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	k := newKernel(t)
	site := Config{Seed: 1}
	site.Link.Loss, site.Link.Delay = sim.Losses{sim.Bernoulli{P: 0.05}}, time.Millisecond
	done := k.run(t.Context(), NetcatConfig{Host: site, Listen: true, At: netip.AddrPortFrom(stackAddrs[0].Addr(), ncPort), In: &Content{Size: size}})
	c := k.dial(stackAddrs[0].Addr())
	c.CloseWrite()
	sumOf(c).want(t, "from the stack", sumOf(&Content{Size: size}))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestNetcatSource connects from a given address and port.
func TestNetcatSource(t *testing.T) {
	t.Parallel()
	k := newKernel(t)
	l := k.listen()
	for _, want := range []string{"10.7.0.2:4242", "10.7.0.2:0", "0.0.0.0:4343"} {
		from := make(chan netip.AddrPort, 1)
		go func() {
			defer close(from)
			if c, err := l.AcceptTCP(); err == nil {
				from <- c.RemoteAddr().(*net.TCPAddr).AddrPort()
				c.Close()
			}
		}()
		source := netip.MustParseAddrPort(want)
		if err := <-k.run(t.Context(), NetcatConfig{At: netip.AddrPortFrom(kernelAddrs[0].Addr(), ncPort), Source: source}); err != nil {
			t.Error(err)
		}
		if got := <-from; got.Addr().Unmap() != stackAddrs[0].Addr() || source.Port() != 0 && got.Port() != source.Port() {
			t.Errorf("connected from %v, want %v", got, source)
		}
	}
}
