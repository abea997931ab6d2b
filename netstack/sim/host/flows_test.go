package host

import (
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

func testPlan() FlowsConfig {
	return FlowsConfig{
		Seed: 3, Flows: 4, Bytes: 200_000, Stagger: 10 * time.Millisecond, Duration: 20 * time.Second,
		Link: sim.LinkConfig{
			Rate: 10_000_000, Delay: 10 * time.Millisecond, Queue: sim.Limit{Packets: 50}, Loss: sim.Losses{sim.Bernoulli{P: 0.02}},
		},
		Policy: "per-segment control=newreno", Verify: true,
	}
}

// runFlows runs a plan in pieces and returns the counters of its ends.
func runFlows(t testing.TB, p FlowsConfig, piece time.Duration) (f *Flows, sender, receiver tcp.Counters) {
	t.Helper()
	f, err := NewFlows(p)
	if err != nil {
		t.Fatal(err)
	}
	for at := wheel.Time(0); f.Run(at); at = at.Add(piece) {
	}
	f.Run(wheel.Time(p.Duration))
	for _, err := range []error{f.Err(), f.Sender.Engine().Check(), f.Receiver.Engine().Check()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return f, f.Sender.Counters(), f.Receiver.Counters()
}

// TestFlows checks that all flows complete, and that a run in pieces gives the result of a run in
// one piece.
func TestFlows(t *testing.T) {
	p := testPlan()
	f, sender, receiver := runFlows(t, p, p.Duration)
	if got, want := f.Receiver.Counts().Readable, uint64(p.Flows)*p.Bytes; f.Completed() != p.Flows || got != want {
		t.Errorf("%d of %d flows completed, %d bytes, want %d", f.Completed(), p.Flows, got, want)
	}
	if sender.RetransSegs == 0 {
		t.Error("no segment was retransmitted, want some lost")
	}
	again, sender2, receiver2 := runFlows(t, p, 13*time.Millisecond)
	if sender != sender2 || receiver != receiver2 || f.Receiver.Counts() != again.Receiver.Counts() {
		t.Errorf("in pieces %+v, %+v, want %+v, %+v", sender2, receiver2, sender, receiver)
	}
}

// TestFlowsOfTwoPorts opens more flows than one port of the receiver serves.
func TestFlowsOfTwoPorts(t *testing.T) {
	p := FlowsConfig{Flows: flowsPerPort + 10, Bytes: 1, Stagger: time.Second, Duration: time.Minute}
	if f, _, _ := runFlows(t, p, time.Second); f.Completed() != p.Flows {
		t.Errorf("%d of %d flows completed", f.Completed(), p.Flows)
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
				p.Link.Rate, p.Return.Rate, p.Policy = bench.rate, bench.rate, "per-segment rexmit="+rexmit
				f, err := NewFlows(p)
				if err != nil {
					b.Fatal(err)
				}
				f.Run(wheel.Time(time.Second))
				before, at := f.Receiver.Counts().DataSegments, f.World.Net.Now()
				b.ReportAllocs()
				b.ResetTimer()
				for f.Receiver.Counts().DataSegments-before < uint64(b.N) {
					at = at.Add(10 * time.Millisecond)
					f.Run(at)
				}
				b.ReportMetric(float64(f.Receiver.Counts().DataSegments-before)/b.Elapsed().Seconds(), "segments/s")
			})
		}
	}
}
