package host

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

// latePath is the path of an upload of 100 MB: 66 ms, 200 Mbit/s, a queue of 2000 packets.
type latePath struct {
	policy string  // as for tcp.ParseConfig
	late   float64 // the share of packets that is late
	by     time.Duration
	loss   float64 // the share of packets that is lost
	seed   uint64
}

// upload returns how long the upload took, and the sender's counters.
func (p latePath) upload(t testing.TB) (time.Duration, tcp.Counters) {
	t.Helper()
	const size = 100_000_000
	w, err := NewWorld(sim.Config{Seed: p.seed})
	if err != nil {
		t.Fatal(err)
	}
	var hosts [2]*Host
	for i, text := range []string{p.policy, "linux recv-buffer-max=64MiB max-out-of-order=4096"} {
		cfg, err := tcp.ParseConfig(text)
		if err != nil {
			t.Fatal(err)
		}
		if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), tcp.EngineConfig{Conn: cfg, Seed: p.seed}); err != nil {
			t.Fatal(err)
		}
	}
	back := sim.LinkConfig{Delay: 33 * time.Millisecond}
	there := back
	there.Rate, there.Queue = 200_000_000, sim.Limit{Packets: 2000}
	there.Reorder = sim.Reorder{Probability: p.late, Extra: p.by}
	if p.loss > 0 {
		there.Loss = sim.Losses{sim.Bernoulli{P: p.loss}}
	}
	if _, _, err := w.Join("a", hosts[0], "b", hosts[1], there, back); err != nil {
		t.Fatal(err)
	}
	if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return &Sink{} }); err != nil {
		t.Fatal(err)
	}
	var done wheel.Time
	ended := AppFunc(func(now wheel.Time, s *Session, _ tcp.Events) {
		if done == 0 && s.Conn().Acked() >= size {
			done = now
		}
	})
	if _, err := hosts[0].Dial(hosts[1], 80, nil, Apps{&Bulk{Bytes: size, Finish: true}, ended}); err != nil {
		t.Fatal(err)
	}
	for done == 0 && w.Net.Now() < wheel.Time(10*time.Minute) && w.Net.Step() {
	}
	if done == 0 {
		t.Fatalf("%+v: not done by %v", p, w.Net.Now())
	}
	return time.Duration(done), hosts[0].Counters()
}

// TestLatePackets: where packets are late the window stays. A sender that takes each late one for
// lost, and learns nothing from the undo, needs 8 to 26 s for these uploads.
func TestLatePackets(t *testing.T) {
	for _, p := range []latePath{
		{"per-segment late-originals=on", 0.001, 5 * time.Millisecond, 0, 1},
		{"per-segment late-originals=on", 0.01, 5 * time.Millisecond, 0, 2},
		{"per-segment late-originals=on", 0.01, 20 * time.Millisecond, 0, 1},
		{"per-segment late-originals=on", 0.05, 50 * time.Millisecond, 0, 1},
		{"linux late-originals=on", 0.001, 5 * time.Millisecond, 0, 1},
		{"linux late-originals=on", 0.01, 5 * time.Millisecond, 0, 3},
		{"linux late-originals=on", 0.01, 20 * time.Millisecond, 0, 2},
	} {
		took, c := p.upload(t)
		t.Logf("%+v: %.2f s, %d retransmissions, %d timeouts", p, took.Seconds(), c.RetransSegs, c.TCPTimeouts)
		if took > 5*time.Second || c.TCPTimeouts > 0 {
			t.Errorf("%+v: %v with %d timeouts, want 5s at most and none", p, took, c.TCPTimeouts)
		}
	}
}

// BenchmarkLate measures the upload with late packets, and with lost ones: the price of waiting for
// late packets is that losses are found later. The unit is seconds of virtual time, in the mean
// over seeds:
//
//	go test -run '^$' -bench Late -benchtime 6x ./netstack/sim/host
func BenchmarkLate(b *testing.B) {
	for _, policy := range []string{
		"per-segment late-originals=on", "per-segment", "linux late-originals=on", "linux",
		"per-segment control=newreno late-originals=on", "linux control=newreno late-originals=on",
	} {
		for _, p := range []latePath{
			{late: 0.0001}, {late: 0.001}, {late: 0.01}, {late: 0.05},
			{loss: 0.0001}, {loss: 0.001}, {late: 0.01, loss: 0.0001}, {late: 0.01, loss: 0.001},
		} {
			for _, p.by = range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond} {
				if p.late == 0 && p.by != time.Millisecond {
					continue
				}
				p.policy = policy
				b.Run(fmt.Sprintf("%s/late=%v%%/by=%v/loss=%v%%", policy, 100*p.late, p.by, 100*p.loss), func(b *testing.B) {
					var sum time.Duration
					var c tcp.Counters
					for i := range b.N {
						p.seed = uint64(i + 1)
						took, counters := p.upload(b)
						sum, c.RetransSegs, c.TCPTimeouts = sum+took, c.RetransSegs+counters.RetransSegs, c.TCPTimeouts+counters.TCPTimeouts
					}
					n := float64(b.N)
					b.ReportMetric(sum.Seconds()/n, "virtual-s")
					b.ReportMetric(float64(c.RetransSegs)/n, "retransmissions")
					b.ReportMetric(float64(c.TCPTimeouts)/n, "timeouts")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}
