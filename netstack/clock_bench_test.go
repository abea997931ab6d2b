package netstack

import (
	"fmt"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// BenchmarkClock measures a stack's timers while others run, compared with gVisor's standard clock:
// a timer made and stopped, as per connection, and one moved, as per segment. The others are at
// least an hour away.
func BenchmarkClock(b *testing.B) {
	for _, running := range []int{0, 100_000} {
		for _, impl := range []string{"scheme3", "scheme6", "scheme7", "std"} {
			for _, op := range []string{"start-stop", "reset", "start-stop-parallel"} {
				b.Run(fmt.Sprintf("op=%s/running=%d/impl=%s", op, running, impl), func(b *testing.B) {
					clock := tcpip.NewStdClock()
					if impl != "std" {
						cfg := ClockConfig{}
						cfg.Scheme = impl
						clock = startClock(b, cfg)
					}
					for i := range running {
						t := clock.AfterFunc(time.Hour+time.Duration(i)*time.Millisecond, func() {})
						b.Cleanup(func() { t.Stop() })
					}
					benchmarkClock(b, clock, op)
				})
			}
		}
	}
}

func benchmarkClock(b *testing.B, clock tcpip.Clock, op string) {
	nop := func() {}
	b.ReportAllocs()
	b.ResetTimer()
	switch op {
	case "start-stop":
		for b.Loop() {
			clock.AfterFunc(time.Minute, nop).Stop()
		}
	case "reset":
		t := clock.AfterFunc(time.Minute, nop)
		defer t.Stop()
		for b.Loop() {
			t.Reset(time.Minute)
		}
	case "start-stop-parallel":
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				clock.AfterFunc(time.Minute, nop).Stop()
			}
		})
	}
}

// BenchmarkClockIdle counts wake-ups while 100,000 distant timers run, such as the keepalive timers
// of idle connections.
func BenchmarkClockIdle(b *testing.B) {
	for _, scheme := range []string{"scheme3", "scheme6", "scheme7"} {
		for _, running := range []int{0, 100_000} {
			b.Run(fmt.Sprintf("scheme=%s/running=%d", scheme, running), func(b *testing.B) {
				cfg := ClockConfig{}
				cfg.Scheme = scheme
				clock := startClock(b, cfg)
				for i := range running {
					clock.AfterFunc(2*time.Hour+time.Duration(i)*time.Millisecond, func() {})
				}
				woken := make(chan struct{})
				clock.AfterFunc(0, func() { close(woken) })
				<-woken // from here on the wheel decides how long the clock sleeps
				time.Sleep(100 * time.Millisecond)
				const span = time.Second
				for b.Loop() {
					before := clock.Stats().Wakeups
					time.Sleep(span)
					b.ReportMetric(float64(clock.Stats().Wakeups-before)/span.Seconds(), "wakeups/s")
				}
			})
		}
	}
}
