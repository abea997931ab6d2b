package replay

import (
	"net/netip"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/capture"
	"tcpwheel/pcaps/track"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// scenario is a connection in the simulator, captured at its client.
type scenario struct {
	policy  string
	acks    tcptimers.DelAckConfig
	control string
	rtt     time.Duration
	rate    uint64
	loss    sim.Losses
	back    sim.Losses // of what the server sends
	jitter  time.Duration
	client  func() host.App
	server  func() host.App
	seed    uint64
	stamps  bool
	far     bool // captured at the server
	older   bool // Linux's timeouts of SYNs before 6.5
}

var epoch = wheel.Time(1_700_000_000 * int64(time.Second))

type clientTap struct {
	w       *host.World
	packets *[]capture.Packet
	sent    bool
}

func (t clientTap) Sent(now wheel.Time, d *host.Datagram, _ sim.Fate) {
	if t.sent {
		t.add(now, d)
	}
}

func (t clientTap) Arrived(now wheel.Time, d *host.Datagram) {
	if !t.sent {
		t.add(now, d)
	}
}

func (t clientTap) add(now wheel.Time, d *host.Datagram) {
	p := capture.Packet{
		Number: int64(len(*t.packets) + 1), Time: epoch.Add(time.Duration(now)), Header: d.Body.Header, Len: d.Body.Len, TTL: 64, HasID: true,
	}
	p.Src = netip.AddrPortFrom(t.w.Addr(d.From), d.Body.Header.SrcPort)
	p.Dst = netip.AddrPortFrom(t.w.Addr(d.To), d.Body.Header.DstPort)
	p.ID = uint32(p.Number & 0xffff)
	*t.packets = append(*t.packets, p)
}

// capture lets the scenario happen.
func (s *scenario) capture(t testing.TB) []capture.Packet {
	t.Helper()
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	w, err := host.NewWorld(sim.Config{Seed: s.seed})
	check(err)
	var hosts [2]*host.Host
	for i := range hosts {
		p := tcptimers.MustPolicy(s.policy)
		if s.older {
			p.SetSynLinear(false)
		}
		if s.acks != (tcptimers.DelAckConfig{}) {
			p.DelAck = s.acks
		}
		cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(p), Seed: s.seed + uint64(i)}
		cfg.Key[0] = byte(i)
		cfg.Conn.Control = "newreno"
		if s.control != "" {
			cfg.Conn.Control = s.control
		}
		cfg.Conn.Timestamps = s.stamps
		cfg.Conn.Socket.NoDelay = true
		cfg.Conn.RecvBufferMax = 0
		hosts[i], err = w.NewHost(netip.AddrFrom4([4]byte{10, 9, 0, byte(i + 1)}), cfg)
		check(err)
	}
	link := sim.LinkConfig{Rate: s.rate, Delay: s.rtt / 2, Loss: s.loss, Jitter: sim.Jitter{Amount: s.jitter}}
	back := sim.LinkConfig{Delay: s.rtt / 2, Loss: s.back}
	ab, ba, err := w.Join("a", hosts[0], "b", hosts[1], link, back)
	check(err)
	var packets []capture.Packet
	w.Net.Tap(ab, clientTap{w, &packets, !s.far})
	w.Net.Tap(ba, clientTap{w, &packets, s.far})
	check(hosts[1].Listen(80, tcp.ListenConfig{Backlog: 8}, s.server))
	_, err = hosts[0].Dial(hosts[1], 80, nil, s.client())
	check(err)
	w.Net.Run(wheel.Time(10 * time.Minute))
	if faults := w.Faults(); len(faults) > 0 {
		t.Fatal(faults[0])
	}
	return packets
}

// recorded returns what a recorder makes of packets.
func recorded(t testing.TB, packets []capture.Packet) (conns []*track.Conn, all []*CapturedConn, errs []error) {
	t.Helper()
	r := NewRecorder(Config{All: true, Done: func(c *track.Conn, s *CapturedConn, err error) {
		conns, all, errs = append(conns, c), append(all, s), append(errs, err)
	}})
	for i := range packets {
		r.Add(&packets[i])
	}
	r.Close()
	return conns, all, errs
}

func sink() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} }

var apps = []struct {
	name           string
	client, server func() host.App
}{
	{"bulk", func() host.App { return &host.Bulk{Bytes: 300_000, Finish: true} }, sink},
	{"bursts", func() host.App {
		return &host.OnOff{Burst: 20_000, Pause: 700 * time.Millisecond, Bursts: 20, Finish: true}
	}, sink},
	{"small", func() host.App {
		return &host.OnOff{Burst: 900, Pause: 450 * time.Millisecond, Bursts: 30, Finish: true}
	}, sink},
	{"requests", func() host.App {
		return &host.Requests{Request: 300, Response: 8000, Count: 20, Think: 100 * time.Millisecond, Finish: true}
	}, func() host.App { return host.Apps{&host.Responder{Request: 300, Response: 8000}, &host.Closer{}} }},
}
