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

// clampedTransfer sends 4 MiB over a link with an MTU of 64 KiB and a round trip of 40 µs. After
// 200 KB the receiver clamps its window. It returns how long the transfer takes.
func clampedTransfer(t *testing.T, buffer, clamp, chunk uint32) (took time.Duration) {
	t.Helper()
	const size = 4 << 20
	w, err := NewWorld(sim.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Verify = true
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment")), Seed: 1, MTU: 65536}
	cfg.Conn.RecvBuffer, cfg.Conn.RecvBufferMax = buffer, 0
	var hosts [2]*Host
	for i := range hosts {
		if hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg); err != nil {
			t.Fatal(err)
		}
	}
	link := sim.LinkConfig{Delay: 20 * time.Microsecond}
	if _, _, err = w.Join("a", hosts[0], "b", hosts[1], link, link); err != nil {
		t.Fatal(err)
	}
	clamped := AppFunc(func(now wheel.Time, s *Session, _ tcp.Events) {
		opts := s.Conn().Options()
		if opts.WindowClamp == 0 && s.Conn().Received() > 200_000 {
			opts.WindowClamp = clamp
			s.host.engine.SetOptions(now, s.Socket(), opts)
		}
	})
	sink := &Sink{Chunk: chunk, Pause: 20 * time.Microsecond}
	if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() App { return Apps{clamped, sink} }); err != nil {
		t.Fatal(err)
	}
	ended := AppFunc(func(now wheel.Time, s *Session, _ tcp.Events) {
		if took == 0 && s.Conn().Acked() >= size {
			took = time.Duration(now)
		}
	})
	if _, err := hosts[0].Dial(hosts[1], 80, nil, Apps{&Bulk{Bytes: size, Finish: true}, ended}); err != nil {
		t.Fatal(err)
	}
	w.Net.Run(wheel.Time(10 * time.Minute))
	for _, err := range w.Faults() {
		t.Error(err)
	}
	return took
}

// TestWindowBelowMSS: a window that falls below the MSS of 64 KiB costs one override timeout of
// 200 ms in all, and not one for each segment. RFC 9293 §3.8.6.2.1: "(4) or if the override timeout
// occurs."
func TestWindowBelowMSS(t *testing.T) {
	for _, buffer := range []uint32{65536, 131072, 200_000} {
		for _, part := range []uint32{2, 3, 4} {
			for _, chunk := range []uint32{0, 4096, 16384, 30_000} {
				took := clampedTransfer(t, buffer, buffer/part, chunk)
				if took == 0 || took > 240*time.Millisecond {
					t.Errorf("buffer %d, clamped to %d, read by %d: 4 MiB take %v, want 240ms at most", buffer, buffer/part, chunk, took)
				}
			}
		}
	}
}
