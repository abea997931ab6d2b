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

// TestDeliveryRate: Info shows the bottleneck's rate for a sender that fills it, and marks that of
// a sender that does not. Loss does not change it.
func TestDeliveryRate(t *testing.T) {
	const rate, rtt = 10_000_000, 40 * time.Millisecond
	payload := 1448.0 / 1500 // of an IP packet
	for _, test := range []struct {
		name        string
		app         App
		loss        float64
		least, most float64 // bits/s of IP packets
		limited     bool
	}{
		{"bulk", &Bulk{Bytes: 8 << 20}, 0, 0.97 * rate, 1.03 * rate, false},
		{"bulk with 0.1 % loss", &Bulk{Bytes: 8 << 20}, 0.001, 0.5 * rate, 1.05 * rate, false},
		// Half of the window: 7240 bytes are delivered in a round trip and 6 ms.
		{"a burst each second", &OnOff{Burst: 7240, Pause: time.Second, Bursts: 7}, 0, 0.1 * rate, rate, true},
	} {
		w, err := NewWorld(sim.Config{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Seed: 1}
		var hosts [2]*Host
		for i := range hosts {
			if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg); err != nil {
				t.Fatal(err)
			}
		}
		there := sim.LinkConfig{Rate: rate, Delay: rtt / 2, Queue: sim.Limit{Bytes: 100_000}, Loss: sim.Losses{sim.Bernoulli{P: test.loss}}}
		if _, _, err := w.Join("a", hosts[0], "b", hosts[1], there, sim.LinkConfig{Delay: rtt / 2}); err != nil {
			t.Fatal(err)
		}
		if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return &Sink{} }); err != nil {
			t.Fatal(err)
		}
		s, err := hosts[0].Dial(hosts[1], 80, nil, test.app)
		if err != nil {
			t.Fatal(err)
		}
		w.Net.Run(wheel.Time(6 * time.Second))
		info := s.Conn().Info(w.Net.Now())
		if got := float64(info.DeliveryRate) / payload; got < test.least || got > test.most || info.DeliveryRateAppLimited != test.limited {
			t.Errorf("%s: delivery rate %.0f bit/s, limited by the application: %v; want %.0f to %.0f, %v",
				test.name, got, info.DeliveryRateAppLimited, test.least, test.most, test.limited)
		}
	}
}
