package host

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// interactive runs flows of 30 exchanges each, whose answers of 1 to 20 segments the application
// limits, over a link that loses packets. It returns their times, sorted, and the retransmissions.
func interactive(t *testing.T, loss float64, set func(*tcp.Config)) (times []time.Duration, rexmits uint64) {
	t.Helper()
	for seed := range uint64(60) {
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
		down := sim.LinkConfig{Rate: 10_000_000, Delay: rtt / 2, Queue: sim.Limit{Packets: 40}, Loss: sim.Losses{sim.Bernoulli{P: loss}}}
		if _, _, err := w.Join("a", hosts[0], "b", hosts[1], sim.LinkConfig{Delay: rtt / 2}, down); err != nil {
			t.Fatal(err)
		}
		answer := uint32(1448 * (1 + seed%20))
		if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return &Responder{Request: 100, Response: answer} }); err != nil {
			t.Fatal(err)
		}
		ask := &Requests{Request: 100, Response: answer, Count: 30, Keep: true}
		if _, err := hosts[0].Dial(hosts[1], 80, nil, ask); err != nil {
			t.Fatal(err)
		}
		w.Net.Run(wheel.Time(5 * time.Minute))
		if len(ask.Latency) != 30 {
			t.Fatalf("seed %d: %d of 30 exchanges end", seed, len(ask.Latency))
		}
		times = append(times, ask.Latency...)
		rexmits += hosts[1].Counters().RetransSegs
	}
	slices.Sort(times)
	return times, rexmits
}

// TestInteractiveAfterLoss: for application-limited senders the default reduces the flight
// (RFC 9438 §4.6), and Linux cwnd. The test shows what that costs interactive flows with random
// losses, and bounds it: the default takes longer in the mean, but at most half more.
func TestInteractiveAfterLoss(t *testing.T) {
	for _, loss := range []float64{0.01, 0.05} {
		flight, n := interactive(t, loss, func(*tcp.Config) {})
		cwnd, m := interactive(t, loss, func(c *tcp.Config) { c.Congestion.ReduceCwnd = true })
		valid, k := interactive(t, loss, func(c *tcp.Config) { c.Congestion.Validate = true })
		mean := func(d []time.Duration) (sum time.Duration) {
			for _, v := range d {
				sum += v
			}
			return sum / time.Duration(len(d))
		}
		for _, v := range []struct {
			name    string
			times   []time.Duration
			rexmits uint64
		}{{"flight (RFC 9438)", flight, n}, {"cwnd (Linux)", cwnd, m}, {"pipeACK (RFC 7661)", valid, k}} {
			t.Logf("loss %v, %s: mean %v, p50 %v, p95 %v, p99 %v, %d retransmissions", loss, v.name, mean(v.times),
				v.times[len(v.times)/2], v.times[len(v.times)*95/100], v.times[len(v.times)*99/100], v.rexmits)
		}
		if a, b := mean(flight), mean(cwnd); a < b || a > b+b/2 {
			t.Errorf("loss %v: exchanges take %v in the mean, and %v when cwnd is reduced; want 1 to 1.5 times that", loss, a, b)
		}
	}
}
