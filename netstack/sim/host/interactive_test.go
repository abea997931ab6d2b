package host

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// interaction is a path on which interactive flows lose packets.
type interaction struct {
	name  string
	loss  sim.Loss // nil is none but those of the queue
	flows int      // interactive flows at a time
	bulk  int      // flows that send to the same host without end
}

func interactions() []interaction {
	random := func(p float64) interaction {
		return interaction{fmt.Sprintf("random %v %%", 100*p), sim.Bernoulli{P: p}, 1, 0}
	}
	burst := func(p float64) interaction {
		return interaction{fmt.Sprintf("bursts of 3, %v %%", 100*p), sim.GilbertElliott{P: p / 3, R: 1. / 3, Bad: 1}, 1, 0}
	}
	return []interaction{
		random(0.005), random(0.01), random(0.02), random(0.05), burst(0.01), burst(0.03),
		{"1 bulk flow", nil, 1, 1}, {"4 bulk flows", nil, 1, 4}, {"8 interactive flows", nil, 8, 0}, {"24 interactive flows", nil, 24, 0},
	}
}

// exchanged is what interactive flows measured.
type exchanged struct {
	times   []time.Duration // of exchanges, sorted
	rexmits uint64          // of all flows
	bulk    uint64          // bytes that the bulk flows moved in each second, in the mean
}

func (e *exchanged) mean() (sum time.Duration) {
	for _, v := range e.times {
		sum += v
	}
	return sum / time.Duration(len(e.times))
}

func (e *exchanged) at(percent int) time.Duration { return e.times[len(e.times)*percent/100] }

// interactive runs flows of 30 exchanges each, whose answers of 1 to 20 segments the application
// limits, over a link of 10 Mbit/s, a round trip of 40 ms and a queue of 40 packets.
func interactive(t *testing.T, x *interaction, seeds uint64, set func(*tcp.Config)) (e exchanged) {
	t.Helper()
	for seed := range seeds {
		w, err := NewWorld(sim.Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Seed: seed}
		set(&cfg.Conn)
		var hosts [2]*Host
		for i := range hosts {
			if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg); err != nil {
				t.Fatal(err)
			}
		}
		const rtt = 40 * time.Millisecond
		down := sim.LinkConfig{Rate: 10_000_000, Delay: rtt / 2, Queue: sim.Limit{Packets: 40}}
		if x.loss != nil {
			down.Loss = sim.Losses{x.loss}
		}
		if _, _, err := w.Join("a", hosts[0], "b", hosts[1], sim.LinkConfig{Delay: rtt / 2}, down); err != nil {
			t.Fatal(err)
		}
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		var bulk []*Session
		must(hosts[1].Listen(79, tcp.ListenConfig{Backlog: 16}, func() App { return &Bulk{Buffer: 1 << 20} }))
		for range x.bulk {
			s, err := hosts[0].Dial(hosts[1], 79, nil, &Sink{})
			must(err)
			bulk = append(bulk, s)
		}
		var asks []*Requests
		for i := range x.flows {
			answer, port := uint32(1448*(1+(seed+uint64(i))%20)), uint16(80+i)
			must(hosts[1].Listen(port, tcp.ListenConfig{Backlog: 1}, func() App { return &Responder{Request: 100, Response: answer} }))
			ask := &Requests{Request: 100, Response: answer, Count: 30, Keep: true}
			_, err := hosts[0].Dial(hosts[1], port, nil, ask)
			must(err)
			asks = append(asks, ask)
		}
		for at := wheel.Time(0); at < wheel.Time(5*time.Minute); {
			at = at.Add(100 * time.Millisecond)
			w.Net.Run(at)
			if !slices.ContainsFunc(asks, func(a *Requests) bool { return len(a.Latency) < 30 }) {
				break
			}
		}
		for _, ask := range asks {
			if len(ask.Latency) != 30 {
				t.Fatalf("%s, seed %d: %d of 30 exchanges end", x.name, seed, len(ask.Latency))
			}
			e.times = append(e.times, ask.Latency...)
		}
		for _, s := range bulk {
			e.bulk += uint64(float64(s.Arrived()) / time.Duration(w.Net.Now()).Seconds() / float64(seeds))
		}
		e.rexmits += hosts[1].Counters().RetransSegs
	}
	slices.Sort(e.times)
	return e
}

// TestInteractiveAfterLoss: for application-limited senders cubic reduces cwnd by default, as Linux
// does; RFC 9438 §4.6 prefers the flight. With -v it shows what that costs interactive flows,
// and what it gives to others. docs/differences.md has the decision.
func TestInteractiveAfterLoss(t *testing.T) {
	seeds, all := uint64(20), interactions()
	if os.Getenv("TCPWHEEL_LONG") != "" {
		seeds = 60
	}
	for _, x := range all {
		var took [3]time.Duration
		for i, v := range []struct {
			name string
			set  func(*tcp.Config)
		}{
			{"flight (RFC 9438)", func(c *tcp.Config) { c.Congestion.Reduce = congestion.ReduceFlight }},
			{"cwnd (default)", func(*tcp.Config) {}},
			{"pipeACK (RFC 7661)", func(c *tcp.Config) { c.Congestion.Validate = true }},
		} {
			e := interactive(t, &x, seeds, v.set)
			took[i] = e.mean()
			t.Logf("%-20s %-18s mean %5.1f ms, p50 %5.1f, p95 %6.1f, p99 %6.1f; %5d retransmissions, bulk %4.0f kB/s", x.name, v.name,
				e.mean().Seconds()*1e3, e.at(50).Seconds()*1e3, e.at(95).Seconds()*1e3, e.at(99).Seconds()*1e3, e.rexmits, float64(e.bulk)/1e3)
		}
		if a, b := took[0], took[1]; x.bulk == 0 && x.flows == 1 && (a < b || a > b+b/2) {
			t.Errorf("%s: exchanges take %v in the mean, and %v when cwnd is reduced; want 1 to 1.5 times that", x.name, a, b)
		}
	}
}
