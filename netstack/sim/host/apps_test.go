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

const testPort = 80

// appTest is a pair of hosts. The first dials the second.
type appTest struct {
	w        *World
	a, b     *Host
	ab, ba   sim.LinkID
	accepted *Session
}

func newAppTest(t testing.TB, link sim.LinkConfig, app App) *appTest {
	t.Helper()
	w, err := NewWorld(sim.Config{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	w.Verify = true
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))}
	x := &appTest{w: w}
	for i, h := range []**Host{&x.a, &x.b} {
		if *h, err = w.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), cfg); err != nil {
			t.Fatal(err)
		}
	}
	if x.ab, x.ba, err = w.Join("a", x.a, "b", x.b, link, link); err != nil {
		t.Fatal(err)
	}
	err = x.b.Listen(testPort, tcp.ListenConfig{Backlog: 1}, func() App {
		return AppFunc(func(now wheel.Time, s *Session, ev tcp.Events) {
			x.accepted = s
			app.OnEvents(now, s, ev)
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// run dials and runs until the given time. It returns the dialling end.
func (x *appTest) run(t testing.TB, app App, until time.Duration) *Session {
	t.Helper()
	s, err := x.a.Dial(x.b, testPort, nil, app)
	if err != nil {
		t.Fatal(err)
	}
	x.w.Net.Run(wheel.Time(until))
	for _, h := range []*Host{x.a, x.b} {
		if err := h.Engine().Check(); err != nil {
			t.Error(err)
		}
	}
	for _, err := range x.w.Faults() {
		t.Error(err)
	}
	return s
}

func TestRequests(t *testing.T) {
	const answer = 3 * 1448 // full segments: Nagle's algorithm does not wait
	link := sim.LinkConfig{Delay: 10 * time.Millisecond}
	x := newAppTest(t, link, Apps{&Responder{Request: 100, Response: answer}, &Closer{}})
	r := &Requests{Request: 100, Response: answer, Count: 5, Think: time.Second, Finish: true, Keep: true}
	s := x.run(t, r, time.Hour)
	if s.Read() != 5*answer || x.accepted.Read() != 500 || !s.Closed() || !x.accepted.Closed() {
		t.Errorf("read %d and %d bytes, closed %v and %v, want %d, 500, true, true", s.Read(), x.accepted.Read(), s.Closed(), x.accepted.Closed(), 5*answer)
	}
	if len(r.Latency) != 5 || r.Latency[4] != 20*time.Millisecond {
		t.Errorf("latency %v, want five, the last of 20 ms: all fits into the initial window", r.Latency)
	}
}

func TestOnOff(t *testing.T) {
	x := newAppTest(t, sim.LinkConfig{Delay: time.Millisecond}, Apps{&Sink{}, &Closer{}})
	s := x.run(t, &OnOff{Burst: 1000, Pause: 10 * time.Second, Bursts: 4, Finish: true}, 25*time.Second)
	if got := x.accepted.Read(); got != 3000 || s.Closed() {
		t.Errorf("after 25 s %d bytes have arrived, closed %v, want 3000 of 4000, false", got, s.Closed())
	}
	x.w.Net.Run(wheel.Time(time.Hour))
	if got := x.accepted.Read(); got != 4000 || !s.Closed() {
		t.Errorf("after an hour %d bytes have arrived, closed %v, want 4000, true", got, s.Closed())
	}
}

// TestSlowSink checks that a slow reader slows the connection down, by its window.
func TestSlowSink(t *testing.T) {
	x := newAppTest(t, sim.LinkConfig{Delay: time.Millisecond}, &Sink{Chunk: 10_000, Pause: 100 * time.Millisecond})
	x.run(t, &Bulk{}, 100*time.Second)
	if got := x.accepted.Read(); got < 9_900_000 || got > 10_100_000 {
		t.Errorf("%d bytes were read in 100 s, want 10^7, about", got)
	}
	if held := x.accepted.Readable(); held > 4<<20 {
		t.Errorf("%d bytes wait to be read, more than the largest receive buffer", held)
	}
}

// TestCorruptedAreDropped flips a bit of every packet: none gets through, and all are counted.
func TestCorruptedAreDropped(t *testing.T) {
	link := sim.LinkConfig{Delay: time.Millisecond, Corrupt: 1}
	x := newAppTest(t, link, &Sink{})
	x.run(t, &Bulk{}, time.Minute)
	c, n := x.b.Counters(), x.b.Counts()
	sent := x.w.Net.Link(x.ab).Counts().Delivered
	if c.InSegs != c.InErrs || c.InCsumErrors != c.InErrs || n.IPErrors+c.InErrs != sent || sent < 3 {
		t.Errorf("of %d packets %d were dropped by IP, %d by TCP, and %d taken", sent, n.IPErrors, c.InErrs, c.InSegs-c.InErrs)
	}
	if x.accepted != nil {
		t.Error("a connection was established")
	}
}

func TestHostErrors(t *testing.T) {
	w, err := NewWorld(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := tcp.EngineConfig{Conn: tcp.DefaultConfig(tcptimers.MustPolicy("per-segment"))}
	for _, addr := range []string{"0.0.0.0", "::ffff:10.0.0.1"} {
		if _, err := w.NewHost(netip.MustParseAddr(addr), cfg); err == nil {
			t.Errorf("a host has the address %s", addr)
		}
	}
	a, _ := w.NewHost(netip.MustParseAddr("10.0.0.1"), cfg)
	b, _ := w.NewHost(netip.MustParseAddr("10.0.0.1"), cfg)
	if _, _, err := w.Join("a", a, "b", b, sim.LinkConfig{}, sim.LinkConfig{}); err == nil {
		t.Error("two hosts have one address")
	}
}
