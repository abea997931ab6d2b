package up

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benchBytes is how much each operation of BenchmarkTUN sends.
const benchBytes = 64 << 20

// BenchmarkTUN sends over one connection between a stack and the kernel, at an MTU of 1500, with
// each TCP on the same link endpoint. cpu-ns/B is the processor time of both ends.
func BenchmarkTUN(b *testing.B) {
	for _, whose := range []string{Ours, GVisor} {
		for _, dir := range []string{"to-kernel", "from-kernel"} {
			b.Run("tcp="+whose+"/dir="+dir, func(b *testing.B) {
				s := newTestHost(b, Config{TCP: whose})
				stack, kernel := s.dialKernel(kernelAddrs[0].Addr())
				for _, c := range []net.Conn{stack, kernel} {
					c.SetDeadline(time.Time{})
				}
				from, to := stack, kernel
				if dir == "from-kernel" {
					from, to = kernel, stack
				}
				chunk, buf := make([]byte, 256<<10), make([]byte, 256<<10)
				send := func(n int) {
					for ; n > 0; n -= len(chunk) {
						if _, err := from.Write(chunk); err != nil {
							b.Errorf("write: %v", err)
							return
						}
					}
				}
				receive := func(n int) {
					for n > 0 {
						m, err := to.Read(buf[:min(n, len(buf))])
						if err != nil {
							b.Fatalf("read: %v", err)
						}
						n -= m
					}
				}
				go send(benchBytes / 4) // lets the windows grow
				receive(benchBytes / 4)
				b.SetBytes(benchBytes)
				b.ReportAllocs()
				before := cpuTime(b)
				b.ResetTimer()
				for range b.N {
					sent := make(chan struct{})
					go func() {
						defer close(sent)
						send(benchBytes)
					}()
					receive(benchBytes)
					<-sent
				}
				b.StopTimer()
				b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/benchBytes, "cpu-ns/B")
			})
		}
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
