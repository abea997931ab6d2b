package host

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TestSmallSegmentsAfterTimeout sends 46,080 bytes in segments of 10, with an MSS of 8,960. The
// first window of ten segments' bytes holds all 4,608 of them, and the path drops most. In bytes
// alone, the window of one MSS after the timeout would hold 896 of them, and a round trip would
// deliver two or three. RFC 5681 §3.1: the loss window is one segment.
func TestSmallSegmentsAfterTimeout(t *testing.T) {
	for _, test := range []struct {
		name       string
		path       sim.LinkConfig
		outOfOrder int // ranges that the receiver keeps
	}{
		{"queue of one packet", sim.LinkConfig{Rate: 10_000_000, Queue: sim.Limit{Packets: 1}, Delay: 4 * time.Millisecond,
			Loss: sim.Losses{sim.Bernoulli{P: 0.3}}}, 8},
		{"reordering", sim.LinkConfig{Delay: 20 * time.Millisecond, Loss: sim.Losses{sim.Bernoulli{P: 0.05}},
			Reorder: sim.Reorder{Probability: 0.5, Extra: 60 * time.Millisecond}}, 1},
	} {
		for _, name := range tcptimers.PolicyNames() {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				const segments = 4608
				w, err := NewWorld(sim.Config{Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				w.Verify = true
				cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy(name)), Seed: 1, MTU: 9000}
				cfg.Conn.Socket.NoDelay, cfg.Conn.MaxOutOfOrder = true, test.outOfOrder
				cfg.Conn.Policy.R2, cfg.Conn.Policy.MaxRexmits = 1<<14*time.Hour, 0
				var hosts [2]*Host
				for i := range hosts {
					if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg); err != nil {
						t.Fatal(err)
					}
				}
				if _, _, err = w.Join("a", hosts[0], "b", hosts[1], test.path, sim.LinkConfig{Delay: time.Millisecond}); err != nil {
					t.Fatal(err)
				}
				if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return &Sink{} }); err != nil {
					t.Fatal(err)
				}
				s, err := hosts[0].Dial(hosts[1], 80, nil, &Bulk{Bytes: 10 * segments, Chunk: 10, Finish: true})
				if err != nil {
					t.Fatal(err)
				}
				w.Net.Run(wheel.Time(4000 * time.Hour))
				for _, err := range w.Faults() {
					t.Error(err)
				}
				info := s.Conn().Info(w.Net.Now())
				per := float64(info.BytesSent) / (10 * segments)
				t.Logf("%.1f transmissions a segment", per)
				if info.BytesAcked != 10*segments || per > 10 {
					t.Errorf("%d bytes of %d arrived, with %.1f transmissions a segment, want 10 at most", info.BytesAcked, 10*segments, per)
				}
			})
		}
	}
}
