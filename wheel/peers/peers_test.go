package peers

import (
	"flag"
	"fmt"
	"testing"
	"time"
)

var sizes = []int{1e3, 1e5, 1e6}

// fillLimit is how long starting n timers may take. An implementation that walks all timers would
// need hours.
const fillLimit = 2 * time.Second

// busyFrom is the number of timers from which expiry in real time keeps the processor busy. With
// fewer, the benchmark would measure the clock.
const busyFrom = 100_000

func BenchmarkStartStop(b *testing.B) { withTimers(b, facility.startStop) }
func BenchmarkRearm(b *testing.B)     { withTimers(b, facility.rearm) }

// withTimers benchmarks work on facilities with n running timers.
func withTimers(b *testing.B, work func(f facility, b *testing.B)) {
	each(b, func(b *testing.B, impl implementation, n int) {
		f := open(b, impl, n)
		fill(b, f, n)
		b.ReportAllocs()
		work(f, b)
	})
}

// BenchmarkExpire reports ns/timer, besides the time of a whole pass.
func BenchmarkExpire(b *testing.B) {
	each(b, func(b *testing.B, impl implementation, n int) {
		switch {
		case impl.realTime && n < busyFrom:
			b.Skipf("with fewer than %d timers the clock would be measured", busyFrom)
		case impl.name == "scheme1" && n > 10_000:
			b.Skip("looks at all timers on each of 10,000 ticks")
		case !impl.realTime:
			fill(b, impl.make(n), n) // skips an implementation that takes too long
		}
		f := open(b, impl, n)
		b.ReportAllocs()
		f.expire(b)
		b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(n), "ns/timer")
	})
}

func each(b *testing.B, bench func(b *testing.B, impl implementation, n int)) {
	for _, impl := range implementations() {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("impl=%s/n=%d", impl.name, n), func(b *testing.B) { bench(b, impl, n) })
		}
	}
}

// open makes a facility that lives as long as b.
func open(b *testing.B, impl implementation, n int) facility {
	f := impl.make(n)
	b.Cleanup(f.close)
	return f
}

// fill starts n timers of f. It skips b if that takes too long.
func fill(b *testing.B, f facility, n int) {
	for i, start := 0, time.Now(); i < n; i++ {
		f.start(i)
		if i%256 == 0 && time.Since(start) > fillLimit {
			b.Skipf("%d of %d timers started in %v", i+1, n, fillLimit)
		}
	}
}

// TestEveryImplementation runs each implementation under each workload once.
func TestEveryImplementation(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime")
	defer flag.Set(benchtime.Name, benchtime.Value.String())
	flag.Set(benchtime.Name, "20x")
	const n = 50
	for _, impl := range implementations() {
		t.Run(impl.name, func(t *testing.T) {
			for name, work := range map[string]func(f facility, b *testing.B){
				"start-stop": func(f facility, b *testing.B) { fill(b, f, n); f.startStop(b) },
				"rearm":      func(f facility, b *testing.B) { fill(b, f, n); f.rearm(b) },
				"expire":     func(f facility, b *testing.B) { f.expire(b) },
			} {
				if r := testing.Benchmark(func(b *testing.B) { work(open(b, impl, n), b) }); r.N != 20 {
					t.Errorf("%s: %d iterations, want 20", name, r.N)
				}
			}
		})
	}
}
