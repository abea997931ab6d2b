package netstack

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// impls are the TCPs that are measured beside each other.
var impls = []struct {
	name string
	f    stack.TransportProtocolFactory
}{{"ours", NewProtocol}, {"gvisor", gtcp.NewProtocol}}

// BenchmarkSetUps sets connections up and closes them, one after the other, between two stacks on a pipe of Ethernet's: in slices,
// each TCP in its turn. ratio is how many times as many of ours there are in a second.
func BenchmarkSetUps(b *testing.B) {
	const slice = 200
	var took [2]time.Duration
	for b.Loop() {
		for i, impl := range impls {
			n := newPair(b, pairConfig{a: impl.f, b: impl.f})
			tw := tcpip.TCPTimeWaitTimeoutOption(time.Millisecond)
			for _, s := range []*stack.Stack{n.a.stack, n.b.stack} {
				if err := s.SetTransportProtocolOption(ProtocolNumber, &tw); err != nil {
					b.Fatal(err)
				}
			}
			l := n.listen(false)
			setUp := func() {
				x, err := n.tryDial(false, 20*time.Second)
				if err != nil {
					b.Fatal(err)
				}
				y, err := l.Accept()
				if err != nil {
					b.Fatal(err)
				}
				x.Close()
				y.Close()
			}
			setUp()
			start := time.Now()
			for range slice {
				setUp()
			}
			took[i] += time.Since(start)
			l.Close()
			n.a.stack.Destroy()
			n.b.stack.Destroy()
		}
	}
	for i, impl := range impls {
		b.ReportMetric(float64(b.N*slice)/took[i].Seconds(), impl.name+"/s")
	}
	b.ReportMetric(float64(took[1])/float64(took[0]), "ratio")
}

// BenchmarkCrowd has 64 flows send as fast as they can over a pipe of Ethernet's between two stacks, and then 64 others dialled at once
// beside them: MB/s of the flows, and how long it takes until all others are connected. Each TCP in its turn; ratio is how many times
// as much of ours, and how many times as long of gVisor's.
func BenchmarkCrowd(b *testing.B) {
	var rate [2]float64
	var dials, row [2]time.Duration
	for b.Loop() {
		for i, impl := range impls {
			n := newPair(b, pairConfig{a: impl.f, b: impl.f})
			c := newCrowd(b, n, 64)
			rate[i] += c.rate(time.Second)
			dials[i] += c.dial(64)
			row[i] += c.dialInRow(64)
			c.end()
			n.a.stack.Destroy()
			n.b.stack.Destroy()
		}
	}
	for i, impl := range impls {
		b.ReportMetric(rate[i]/float64(b.N)/1e6, impl.name+"-MB/s")
		b.ReportMetric(dials[i].Seconds()*1e3/float64(b.N), impl.name+"-dials-ms")
		b.ReportMetric(row[i].Seconds()*1e3/float64(b.N), impl.name+"-row-ms")
	}
	b.ReportMetric(rate[0]/rate[1], "rate-ratio")
	b.ReportMetric(float64(dials[1])/float64(dials[0]), "dials-ratio")
	b.ReportMetric(float64(row[1])/float64(row[0]), "row-ratio")
}

// crowd is many flows from a to b of a pair.
type crowd struct {
	b     *testing.B
	n     *pairNet
	l     net.Listener
	wait  sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
	got   atomic.Int64
}

func newCrowd(b *testing.B, n *pairNet, flows int) *crowd {
	c := &crowd{b: b, n: n, l: n.listen(false)}
	c.wait.Go(func() {
		for {
			x, err := c.l.Accept()
			if err != nil {
				return
			}
			c.keep(x)
			c.wait.Go(func() { io.Copy(c, x) })
		}
	})
	for range flows {
		x, err := n.tryDial(false, 60*time.Second)
		if err != nil {
			b.Fatal(err)
		}
		c.keep(x)
		c.wait.Go(func() {
			for buf := make([]byte, 64<<10); ; {
				if _, err := x.Write(buf); err != nil {
					return
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // the windows grow
	return c
}

// Write counts what has arrived.
func (c *crowd) Write(b []byte) (int, error) {
	c.got.Add(int64(len(b)))
	return len(b), nil
}

func (c *crowd) keep(x net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, x)
}

// rate returns how many octets arrive in a second.
func (c *crowd) rate(d time.Duration) float64 {
	before, start := c.got.Load(), time.Now()
	time.Sleep(d)
	return float64(c.got.Load()-before) / time.Since(start).Seconds()
}

// dial dials others at once, and returns how long it takes until all are connected.
func (c *crowd) dial(n int) time.Duration {
	start := time.Now()
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			x, err := c.n.tryDial(false, 60*time.Second)
			if err != nil {
				c.b.Error(err)
				return
			}
			c.keep(x)
		})
	}
	wait.Wait()
	return time.Since(start)
}

// dialInRow dials others one after the other, and returns how long that takes.
func (c *crowd) dialInRow(n int) time.Duration {
	start := time.Now()
	for range n {
		x, err := c.n.tryDial(false, 60*time.Second)
		if err != nil {
			c.b.Fatal(err)
		}
		c.keep(x)
	}
	return time.Since(start)
}

func (c *crowd) end() {
	c.l.Close()
	c.mu.Lock()
	for _, x := range c.conns {
		x.Close()
	}
	c.mu.Unlock()
	c.n.a.stack.Close() // resets what waits for a peer
	c.n.b.stack.Close()
	c.wait.Wait()
}
