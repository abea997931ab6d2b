package up

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkTUNCrowd runs 64 flows at full speed from a stack to the kernel, and dials 64
// connections meanwhile, one after the other. It reports the MB/s of the flows and the total time
// of the dials, for each TCP on a device of its own.
func BenchmarkTUNCrowd(b *testing.B) {
	const flows, dials = 64, 64
	whose := []string{Ours, GVisor}
	var rate [2]float64
	var took [2]time.Duration
	var sites [2]*hostTest
	for i, tcp := range whose {
		sites[i] = newTestHost(b, Config{TCP: tcp})
	}
	for b.Loop() {
		for i, s := range sites {
			r, d := crowd(s, flows, dials)
			rate[i] += r
			took[i] += d
		}
	}
	for i, tcp := range whose {
		b.ReportMetric(rate[i]/float64(b.N)/1e6, tcp+"-MB/s")
		b.ReportMetric(took[i].Seconds()*1e3/float64(b.N), tcp+"-dials-ms")
	}
	b.ReportMetric(rate[0]/rate[1], "rate-ratio")
	b.ReportMetric(float64(took[1])/float64(took[0]), "dials-ratio")
}

// crowd returns the bytes per second of all flows, and the time that the dials took.
func crowd(s *hostTest, flows, dials int) (rate float64, took time.Duration) {
	var l net.Listener
	if err := s.ns.Do(func() (err error) {
		l, err = net.Listen("tcp", netip.AddrPortFrom(kernelAddrs[0].Addr(), 0).String())
		return err
	}); err != nil {
		s.t.Fatal(err)
	}
	var wait sync.WaitGroup
	var got atomic.Int64
	wait.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer c.Close()
				for buf := make([]byte, 64<<10); ; {
					n, err := c.Read(buf)
					got.Add(int64(n))
					if err != nil {
						return
					}
				}
			})
		}
	})
	var conns []io.Closer
	dial := func() net.Conn {
		ctx, cancel := context.WithTimeout(context.Background(), testLimit)
		defer cancel()
		c, err := s.Dial(ctx, l.Addr().(*net.TCPAddr).AddrPort())
		if err != nil {
			s.t.Fatal(err)
		}
		conns = append(conns, c)
		return c
	}
	for range flows {
		c := dial()
		wait.Go(func() {
			for buf := make([]byte, 64<<10); ; {
				if _, err := c.Write(buf); err != nil {
					return
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond) // lets the windows grow
	before, start := got.Load(), time.Now()
	time.Sleep(time.Second)
	rate = float64(got.Load()-before) / time.Since(start).Seconds()
	start = time.Now()
	for range dials {
		dial()
	}
	took = time.Since(start)
	l.Close()
	for _, c := range conns {
		c.Close()
	}
	wait.Wait()
	return rate, took
}
