package up

import (
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tcpwheel/tun"
)

// benchBytes is how much each operation of BenchmarkTUNCompare sends.
const benchBytes = 64 << 20

// BenchmarkTUNCompare sends over one connection between a stack and the kernel, at an MTU of 1500,
// in slices that alternate between the two TCPs. ratio is the median of our speed over
// gVisor's in adjacent slices; ratio-25 and ratio-75 are its quartiles. cpu-ratio is the same of
// the processor time of both ends. received and sent are the stack's packets in a slice. least is
// the fastest slice, and limit that without any TCP: see newLimit.
func BenchmarkTUNCompare(b *testing.B) {
	for _, dir := range []string{"to-kernel", "from-kernel"} {
		b.Run("dir="+dir, func(b *testing.B) {
			var send [2]func() (took, cpu time.Duration)
			var sites [2]*hostTest
			var before [2]tun.Stats
			for i, whose := range []string{Ours, GVisor} {
				sites[i] = newTestHost(b, Config{TCP: whose})
				send[i] = newSlices(b, sites[i], dir == "to-kernel")
				send[i]() // lets the windows grow
				before[i] = sites[i].Device().Stats()
			}
			var speed, cost []float64
			var took, least [2]time.Duration
			limit, limitLeast, limitCPU := newLimit(b, dir == "to-kernel"), time.Duration(0), time.Duration(0)
			b.SetBytes(2 * benchBytes)
			for b.Loop() {
				var t, c [2]time.Duration
				for i := range send {
					i := (i + len(speed)) % 2 // the first one alternates
					t[i], c[i] = send[i]()
					took[i] += t[i]
					if least[i] == 0 || t[i] < least[i] {
						least[i] = t[i]
					}
				}
				if took, cpu := limit(); limitLeast == 0 || took < limitLeast {
					limitLeast, limitCPU = took, cpu
				}
				speed = append(speed, float64(t[1])/float64(t[0]))
				cost = append(cost, float64(c[0])/float64(c[1]))
			}
			slices.Sort(speed)
			slices.Sort(cost)
			n := len(speed)
			b.ReportMetric(speed[n/2], "ratio")
			b.ReportMetric(speed[n/4], "ratio-25")
			b.ReportMetric(speed[n*3/4], "ratio-75")
			b.ReportMetric(cost[n/2], "cpu-ratio")
			b.ReportMetric(float64(n)*benchBytes/took[0].Seconds()/1e6, "ours-MB/s")
			b.ReportMetric(float64(n)*benchBytes/took[1].Seconds()/1e6, "gvisor-MB/s")
			b.ReportMetric(benchBytes/limitLeast.Seconds()/1e6, "limit-MB/s")
			b.ReportMetric(float64(limitCPU)/benchBytes, "limit-cpu-ns/B")
			for i, whose := range []string{"ours", "gvisor"} {
				now := sites[i].Device().Stats()
				b.ReportMetric(benchBytes/least[i].Seconds()/1e6, whose+"-least-MB/s")
				b.ReportMetric(float64(now.RxPackets-before[i].RxPackets)/float64(n), whose+"-received")
				b.ReportMetric(float64(now.TxPackets-before[i].TxPackets)/float64(n), whose+"-sent")
			}
		})
	}
}

// newSlices connects a stack and the kernel. The function that it returns sends benchBytes, and
// returns how long that took and its processor time.
func newSlices(b *testing.B, s *hostTest, toKernel bool) func() (took, cpu time.Duration) {
	stack, kernel := s.dialKernel(kernelAddrs[0].Addr())
	for _, c := range []net.Conn{stack, kernel} {
		c.SetDeadline(time.Time{})
	}
	from, to := kernel, stack
	if toKernel {
		from, to = stack, kernel
	}
	chunk, buf := make([]byte, 256<<10), make([]byte, 256<<10)
	return func() (took, cpu time.Duration) {
		before, start := cpuTime(b), time.Now()
		sent := make(chan error, 1)
		go func() {
			for n := benchBytes; n > 0; n -= len(chunk) {
				if _, err := from.Write(chunk); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for n := benchBytes; n > 0; {
			m, err := to.Read(buf[:min(n, len(buf))])
			if err != nil {
				b.Fatalf("read: %v", err)
			}
			n -= m
		}
		if err := <-sent; err != nil {
			b.Fatalf("write: %v", err)
		}
		return time.Since(start), cpuTime(b) - before
	}
}

// cpuTime returns the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
