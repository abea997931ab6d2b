package host

import (
	"reflect"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

func runFlows(t testing.TB, p FlowsConfig) Result {
	t.Helper()
	f, err := NewFlows(p)
	if err != nil {
		t.Fatal(err)
	}
	f.Run(wheel.Time(p.Duration))
	if err := f.Err(); err != nil {
		t.Fatal(err)
	}
	for _, h := range append(f.Senders, f.Receivers...) {
		if err := h.Engine().Check(); err != nil {
			t.Fatal(err)
		}
	}
	return f.Result()
}

func TestFlows(t *testing.T) {
	for _, pairs := range []int{1, 2} {
		p := testPlan()
		p.Pairs = pairs
		r := runFlows(t, p)
		if r.Completed != p.Flows || r.Failed != 0 || r.Bytes != uint64(p.Flows)*p.Bytes {
			t.Errorf("%d pairs: %d of %d flows completed, %d failed, %d bytes, want all with %d each",
				pairs, r.Completed, p.Flows, r.Failed, r.Bytes, p.Bytes)
		}
		if r.Retransmissions == 0 || r.Segments < r.Bytes/1500 {
			t.Errorf("%d pairs: %d segments with %d retransmitted, want some lost and more than %d", pairs, r.Segments, r.Retransmissions, r.Bytes/1500)
		}
		if again := runFlows(t, p); !reflect.DeepEqual(r, again) {
			t.Errorf("%d pairs: the same plan gave %+v, and then %+v", pairs, r, again)
		}
	}
}

// TestFlowsInPieces checks that a run in pieces gives the result of a run in one piece.
func TestFlowsInPieces(t *testing.T) {
	p := testPlan()
	want := runFlows(t, p)
	f, err := NewFlows(p)
	if err != nil {
		t.Fatal(err)
	}
	for at := time.Duration(0); at < p.Duration; at += 13 * time.Millisecond {
		f.Run(wheel.Time(at))
	}
	f.Run(wheel.Time(p.Duration))
	if got := f.Result(); !reflect.DeepEqual(got, want) {
		t.Errorf("in pieces %+v, want %+v", got, want)
	}
}

// gigabit is a plan for 1 Gbit/s, a round trip of 50 ms, and a queue of one bandwidth-delay
// product.
func gigabit(flows int, loss float64) FlowsConfig {
	p := FlowsConfig{
		Seed: 1, Flows: flows, Duration: 8000 * time.Hour,
		Link: sim.LinkConfig{Rate: 1_000_000_000, Delay: 25 * time.Millisecond, Queue: sim.Limit{Bytes: 6_250_000 + 1500*uint64(flows)}},
	}
	back := p.Link
	p.Return = &back
	p.Stagger = 50 * time.Millisecond
	if loss > 0 {
		p.Link.Loss = sim.Losses{sim.Bernoulli{P: loss}}
	}
	return p
}

// BenchmarkFlow counts a received data segment as one operation.
func BenchmarkFlow(b *testing.B) {
	for _, bench := range []struct {
		name  string
		flows int
		rate  uint64
		loss  float64
	}{
		{"flows=1/rate=1e9/loss=0.01", 1, 1e9, 0.01},
		{"flows=1/rate=1e9/loss=0", 1, 1e9, 0},
		{"flows=100/rate=1e9/loss=0.01", 100, 1e9, 0.01},
		{"flows=10000/rate=1e10/loss=0.001", 10000, 1e10, 0.001},
	} {
		for _, rexmit := range []string{"per-segment", "restart"} {
			b.Run(bench.name+"/rexmit="+rexmit, func(b *testing.B) {
				p := gigabit(bench.flows, bench.loss)
				p.Link.Rate, p.Return.Rate, p.Rexmit = bench.rate, bench.rate, rexmit
				f, err := NewFlows(p)
				if err != nil {
					b.Fatal(err)
				}
				f.Run(wheel.Time(time.Second))
				before, at := f.Segments(), f.World.Net.Now()
				b.ReportAllocs()
				b.ResetTimer()
				for f.Segments()-before < uint64(b.N) {
					at = at.Add(10 * time.Millisecond)
					f.Run(at)
				}
				b.ReportMetric(float64(f.Segments()-before)/b.Elapsed().Seconds(), "segments/s")
			})
		}
	}
}
