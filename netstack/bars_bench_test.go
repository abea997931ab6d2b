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

// impls are the TCPs that the benchmarks compare.
var impls = []struct {
	name string
	f    stack.TransportProtocolFactory
}{{"ours", NewProtocol}, {"gvisor", gtcp.NewProtocol}}

// BenchmarkSetUps opens and closes connections between two stacks, one after the other. The TCPs
// take turns. ratio is our rate over gVisor's.
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

// BenchmarkCrowd runs 64 bulk flows between two stacks, then dials 64 connections at once. It
// measures the flows' MB/s and the time until all dials are connected. The TCPs take turns. The
// ratios are our rate over gVisor's, and gVisor's time over ours.
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
	time.Sleep(300 * time.Millisecond) // let the windows grow
	return c
}

// Write counts the bytes that have arrived.
func (c *crowd) Write(b []byte) (int, error) {
	c.got.Add(int64(len(b)))
	return len(b), nil
}

func (c *crowd) keep(x net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, x)
}

// rate returns the bytes that arrive in a second.
func (c *crowd) rate(d time.Duration) float64 {
	before, start := c.got.Load(), time.Now()
	time.Sleep(d)
	return float64(c.got.Load()-before) / time.Since(start).Seconds()
}

// dial dials n connections at once and returns the time until all are connected.
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

// dialInRow dials n connections one after the other and returns the time.
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
	c.n.a.stack.Close() // resets waiting connections
	c.n.b.stack.Close()
	c.wait.Wait()
}
