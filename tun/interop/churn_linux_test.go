package interop

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/tun"
	"tcpwheel/tun/netns"
	"tcpwheel/tun/up"
)

var churnFor = flag.Duration("churn", 2*time.Second, "how long TestChurn runs")

// churn is a host with an emulated link, whose connections come and go.
type churn struct {
	t        *testing.T
	ns       *tun.Namespace
	host     *up.Host
	kernel   netip.AddrPort // an echo server of the kernel
	made     [3]atomic.Uint64
	requests sync.WaitGroup // of the echo server
}

// halfCloser is a connection of any end.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// churnDials are how connections begin: by the kernel, by gVisor's API, and by ours.
var churnDials = [3]struct {
	name string
	dial func(c *churn, ctx context.Context) (net.Conn, error)
}{
	{"kernel", func(c *churn, ctx context.Context) (conn net.Conn, err error) {
		err = c.ns.Do(func() error {
			conn, err = new(net.Dialer).DialContext(ctx, "tcp", netip.AddrPortFrom(addrsB[0].Addr(), up.EchoPort).String())
			return err
		})
		return conn, err
	}},
	{"gVisor's API", func(c *churn, ctx context.Context) (net.Conn, error) {
		return gonet.DialContextTCP(ctx, c.host.Stack(), full(c.kernel), family(c.kernel.Addr()))
	}},
	{"ours", func(c *churn, ctx context.Context) (net.Conn, error) { return c.host.Dial(ctx, c.kernel) }},
}

// use makes a connection to an echo server and ends it: at once, after an exchange, after a
// half-close, or by a RST with data on the way.
func (c *churn) use(how int, rng *rand.Rand) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	dialed, err := churnDials[how].dial(c, ctx)
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer dialed.Close()
	conn := dialed.(halfCloser)
	conn.SetDeadline(time.Now().Add(2 * time.Minute))
	n := 1 + rng.IntN(30_000)
	end := rng.IntN(4)
	if end == 0 {
		return nil
	}
	if _, err := conn.Write(make([]byte, n)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	if end == 1 {
		if l, ok := conn.(interface{ SetLinger(int) error }); ok {
			return l.SetLinger(0)
		}
		return nil // unread data makes a RST of the close
	}
	if end == 2 {
		if err := conn.CloseWrite(); err != nil {
			return fmt.Errorf("half-close: %w", err)
		}
	}
	if _, err := io.ReadFull(conn, make([]byte, n)); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if end == 2 {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			return fmt.Errorf("the end of the stream: %w", err)
		}
	}
	return nil
}

// round makes connections for d, and waits until they are gone.
func (c *churn) round(d time.Duration, seed uint64) {
	var workers sync.WaitGroup
	until := time.Now().Add(d)
	for w := range 12 {
		workers.Go(func() {
			for rng := rand.New(rand.NewPCG(seed, uint64(w))); time.Now().Before(until); {
				how := w % len(churnDials)
				if err := c.use(how, rng); err != nil {
					c.t.Errorf("%s: %v", churnDials[how].name, err)
					return
				}
				c.made[how].Add(1)
			}
		})
	}
	workers.Wait()
	c.requests.Wait()
	eventually(c.t, "the connections end", func() bool {
		counts, _ := netstack.CountStates(c.host.Stack())
		delete(counts, 10) // TIME-WAIT
		return len(counts) == 0
	})
}

// held is what a process holds.
type held struct {
	heap              int64 // bytes, without connections in TIME-WAIT
	goroutines, files int
	buffers           int64
	timeWaits         int
}

func (c *churn) holds() (h held) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	files, err := os.ReadDir("/proc/self/fd")
	must(c.t, err)
	b, _ := netstack.Buffers(c.host.Stack())
	h = held{goroutines: runtime.NumGoroutine(), files: len(files), buffers: b.Used, timeWaits: len(netstack.TimeWaits(c.host.Stack()))}
	h.heap = int64(m.HeapAlloc) - 512*int64(h.timeWaits) // TestTimeWait*: at most that much for each
	return h
}

// TestChurn opens and ends connections for the time of -churn through tcpwheel up, over a link that
// takes 10 ms and loses 5 %: by the kernel, by gVisor's API and by ours; with resets and
// half-closes. Heap, goroutines and descriptors stay what they were after the first round.
func TestChurn(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: churn takes some seconds")
	}
	c := &churn{t: t, ns: netns.Test(t)}
	var err error
	c.host, err = up.Start(up.Config{
		Netns: c.ns.Path(), Addrs: addrsB[:], HostAddrs: addrsA[:], Seed: 1,
		Link:      sim.LinkConfig{Delay: 10 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}}},
		KeepAlive: net.KeepAliveConfig{Enable: true, Idle: 3 * time.Second, Interval: time.Second, Count: 5}, // a RST may be lost
	})
	must(t, err)
	t.Cleanup(func() { must(t, c.host.Close()) })
	c.serve()
	const rounds = 10
	var first, last held
	for i := range rounds {
		c.round(*churnFor/rounds, uint64(i))
		if last = c.holds(); i == 1 {
			first = last
		}
		t.Logf("%d, %d and %d connections so far; %+v", c.made[0].Load(), c.made[1].Load(), c.made[2].Load(), last)
	}
	// The pools of the link and of the stack's packets reach their size in the first rounds.
	if last.heap > first.heap+4<<20 || last.goroutines > first.goroutines || last.files > first.files || last.buffers != 0 {
		t.Errorf("after the first rounds %+v, in the end %+v", first, last)
	}
}

// serve runs the kernel's echo server.
func (c *churn) serve() {
	var l net.Listener
	must(c.t, c.ns.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(addrsA[0].Addr(), 0).String())
		return err
	}))
	c.kernel = l.Addr().(*net.TCPAddr).AddrPort()
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			c.requests.Go(func() {
				defer conn.Close()
				conn.SetDeadline(time.Now().Add(time.Minute)) // a RST may be lost
				if _, err := io.Copy(conn, struct{ io.Reader }{conn}); err == nil {
					_ = conn.(*net.TCPConn).CloseWrite()
				}
			})
		}
	})
	c.t.Cleanup(func() {
		l.Close()
		accepting.Wait()
	})
}
