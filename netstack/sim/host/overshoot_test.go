package host

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/tcp/congestion"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// overshoot sends 10 MB over a bottleneck of 50 Mbit/s and 40 ms. queue is its length in
// bandwidth-delay products. It returns the packets that the queue dropped, and when all data was
// acknowledged.
func overshoot(t *testing.T, control string, start congestion.SlowStart, queue float64) (dropped uint64, done time.Duration) {
	t.Helper()
	const rate, rtt, size = 50_000_000, 40 * time.Millisecond, 10_000_000
	w, err := NewWorld(sim.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Verify = true
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Seed: 1}
	cfg.Conn.Control, cfg.Conn.Congestion.SlowStart = control, start
	cfg.Conn.RecvBuffer, cfg.Conn.RecvBufferMax = 8<<20, 0
	var hosts [2]*Host
	for i := range hosts {
		if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg); err != nil {
			t.Fatal(err)
		}
	}
	bottleneck := sim.LinkConfig{Rate: rate, Delay: rtt / 2, Queue: sim.Limit{Bytes: uint64(queue * rate / 8 * rtt.Seconds())}}
	there, _, err := w.Join("a", hosts[0], "b", hosts[1], bottleneck, sim.LinkConfig{Delay: rtt / 2})
	if err != nil {
		t.Fatal(err)
	}
	sink := &Sink{}
	if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return sink }); err != nil {
		t.Fatal(err)
	}
	bulk := &Bulk{Bytes: size, Finish: true}
	ended := AppFunc(func(now wheel.Time, s *Session, ev tcp.Events) {
		if done == 0 && s.Conn().Acked() >= size {
			done = time.Duration(now)
		}
	})
	if _, err := hosts[0].Dial(hosts[1], 80, nil, Apps{bulk, ended}); err != nil {
		t.Fatal(err)
	}
	w.Net.Run(wheel.Time(time.Minute))
	for _, err := range w.Faults() {
		t.Error(err)
	}
	return w.Net.Link(there).Counts().QueueDropped, done
}

// TestHyStartOvershootsLess: RFC 9406's abstract: "Slow start can overshoot the ideal send rate in
// many cases, causing high packet loss and poor performance. HyStart++ uses increase in round-trip
// delay as a heuristic to find an exit point before possible overshoot."
func TestHyStartOvershootsLess(t *testing.T) {
	for _, control := range []string{"newreno", "cubic"} {
		for _, test := range []struct {
			queue float64
			most  float64 // share of standard slow start's losses
		}{{1, 0.75}, {2, 0.4}, {4, 0.3}} {
			lost, took := overshoot(t, control, congestion.StandardSlowStart, test.queue)
			less, took2 := overshoot(t, control, congestion.HyStartPlusPlus, test.queue)
			t.Logf("%s, a queue of %v round trips: standard slow start loses %d packets and takes %v, HyStart++ %d and %v", control, test.queue, lost, took, less, took2)
			if lost == 0 || float64(less) > float64(test.most*float64(lost)) {
				t.Errorf("%s, a queue of %v round trips: HyStart++ loses %d packets, standard slow start %d, want %v of them at most", control, test.queue, less, lost, test.most)
			}
			if took2 == 0 || took2 > took+took/100 {
				t.Errorf("%s, a queue of %v round trips: HyStart++ takes %v, standard slow start %v, want no longer", control, test.queue, took2, took)
			}
		}
	}
}
