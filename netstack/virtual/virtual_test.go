package virtual_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack"
	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/")) }

// logWire delivers after 10 ms, loses byte 3000 of end 0 once, and logs the data that passes.
type logWire struct {
	log  strings.Builder
	lost bool
}

func (w *logWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if p.End > p.Start {
		fmt.Fprintf(&w.log, "%v %d [%d,%d)\n", time.Duration(now), from, p.Start, p.End)
	}
	if len(p.Bytes) != int(p.Size) || p.Bytes[0]>>4 != 4 {
		panic("Bytes and Size disagree")
	}
	p.Tag = int64(p.Start)
	return 10 * time.Millisecond, true
}

func (w *logWire) Arrive(_ wheel.Time, from int, p *virtual.Packet) bool {
	if p.Tag != int64(p.Start) {
		panic("the tag has changed")
	}
	if from == 0 && p.Start <= 3000 && 3000 < p.End && !w.lost {
		w.lost = true
		return false
	}
	return true
}

// talk connects end 1 to end 0 and runs both programs to their end. It calls after after each
// event.
func talk(t *testing.T, n *virtual.Net, server, client func(*sockets.Conn), after ...func()) {
	t.Helper()
	run := func(program func(*sockets.Conn), connect func() (*sockets.Conn, error)) {
		n.Tasks.Go(func() {
			c, err := connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			program(c)
		})
	}
	run(server, func() (*sockets.Conn, error) {
		l, err := n.Listen(0, 80)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		return l.AcceptTCP()
	})
	run(client, func() (*sockets.Conn, error) { return n.Dial(1, 40000, 80) })
	n.Run(time.Minute, func() bool {
		for _, f := range after {
			f()
		}
		return n.Tasks.Unfinished() == 0
	})
	if n.Tasks.Unfinished() != 0 {
		t.Errorf("%d tasks still wait", n.Tasks.Unfinished())
	}
}

// answer lets end 1 send a request and end 0 answer with 7000 bytes. It returns the log of the
// wire.
func answer(t *testing.T, ends [2]virtual.TCP) string {
	t.Helper()
	w := &logWire{}
	n, err := virtual.New(virtual.Config{Seed: 3, TCP: ends, Wire: w, MTU: 1452})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	talk(t, n, func(c *sockets.Conn) {
		if _, err := io.ReadFull(c, make([]byte, 100)); err != nil {
			t.Error(err)
		}
		if _, err := c.Write(make([]byte, 7000)); err != nil {
			t.Error(err)
		}
	}, func(c *sockets.Conn) {
		if _, err := c.Write(make([]byte, 100)); err != nil {
			t.Error(err)
		}
		if got, err := io.Copy(io.Discard, c); got != 7000 || err != nil {
			t.Errorf("read %d bytes, %v", got, err)
		}
	})
	if !w.lost {
		t.Error("the wire lost nothing")
	}
	if c := n.Counts(0); c.FastRetransmits+c.Probes+c.Timeouts != 1 {
		t.Errorf("counts %+v, want one retransmission", c)
	}
	if c := n.Stack(0).Stats().TCP.Retransmits.Value(); ends[0].GVisor && c != 1 {
		t.Errorf("the stack counts %d retransmissions, want 1", c)
	}
	return w.log.String()
}

func TestWire(t *testing.T) {
	ours := virtual.TCP{Config: netstack.DefaultConfig()}
	logs := map[bool]string{}
	for _, gvisor := range []bool{false, true} {
		ends := [2]virtual.TCP{ours, ours}
		ends[0].GVisor = gvisor
		a, b := answer(t, ends), answer(t, ends)
		if a != b {
			t.Errorf("two runs differ:\n%s\n%s", a, b)
		}
		logs[gvisor] = a
	}
	// The request leaves after the handshake, at 20 ms. The third segment is retransmitted when the
	// ACKs of later ones arrive.
	want := "20ms 1 [0,100)\n30ms 0 [0,1400)\n30ms 0 [1400,2800)\n30ms 0 [2800,4200)\n30ms 0 [4200,5600)\n30ms 0 [5600,7000)\n"
	if !strings.HasPrefix(logs[false], want) || strings.Count(logs[false], "[2800,4200)") != 2 {
		t.Errorf("the wire saw\n%s\nwant first\n%s", logs[false], want)
	}
	if !strings.HasPrefix(logs[true], "20ms 1 [0,100)\n30ms 0 [0,") {
		t.Errorf("with gVisor the wire saw\n%s", logs[true])
	}
}

// TestStrictClockNeverRepeats reads the clocks twice at one time.
func TestStrictClockNeverRepeats(t *testing.T) {
	ours := virtual.TCP{Config: netstack.DefaultConfig()}
	strict := ours
	strict.StrictClock = true
	coarse := strict
	coarse.ClockTick = time.Millisecond
	for _, test := range []struct {
		end  virtual.TCP
		same bool
	}{{ours, true}, {strict, false}, {coarse, true}} {
		n, err := virtual.New(virtual.Config{TCP: [2]virtual.TCP{test.end, test.end}, Wire: &logWire{}})
		if err != nil {
			t.Fatal(err)
		}
		clock := n.Stack(0).Clock()
		if a, b := clock.NowMonotonic(), clock.NowMonotonic(); (a == b) != test.same || b.Before(a) {
			t.Errorf("readings %v and %v, want equal: %v", a, b, test.same)
		}
		n.Clock.Advance(1700 * time.Microsecond)
		if a, want := clock.NowMonotonic().Sub(tcpip.MonotonicTime{}), max(test.end.ClockTick, 1); a%want != 0 || a < want {
			t.Errorf("reading %v, want whole ticks of %v", a, want)
		}
		n.Close()
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []virtual.Config{{MTU: 100}, {Link: [2]sim.LinkConfig{{Delay: -1}}}, {Wire: &logWire{}, TCP: [2]virtual.TCP{{GVisor: true, Control: "none"}}}} {
		if _, err := virtual.New(cfg); err == nil {
			t.Errorf("New(%+v) returned no error", cfg)
		}
	}
}

// farWire delivers after 50 ms.
type farWire struct{}

func (farWire) Send(wheel.Time, int, *virtual.Packet) (time.Duration, bool) {
	return 50 * time.Millisecond, true
}
func (farWire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

// TestReceiveBufferFollowsWindow: SO_RCVBUF bounds the input of a busy connection, so it must
// follow what the window offers.
func TestReceiveBufferFollowsWindow(t *testing.T) {
	n, err := virtual.New(virtual.Config{Seed: 3, TCP: [2]virtual.TCP{{Config: netstack.DefaultConfig()}, {Config: netstack.DefaultConfig()}}, Wire: farWire{}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	talk(t, n, func(c *sockets.Conn) {
		before := c.Endpoint().SocketOptions().GetReceiveBufferSize()
		if _, err := io.CopyN(io.Discard, c, 20<<20); err != nil {
			t.Error(err)
		}
		info, _ := c.Info()
		if after := c.Endpoint().SocketOptions().GetReceiveBufferSize(); after != int64(info.RcvSpace) || after <= before {
			t.Errorf("SO_RCVBUF grew from %d to %d, the connection's buffer is %d; want growth, and both equal", before, after, info.RcvSpace)
		}
	}, func(c *sockets.Conn) {
		if _, err := c.Write(make([]byte, 20<<20)); err != nil {
			t.Error(err)
		}
	})
}

// relayWire is a logWire with a switch after 4 of its 10 ms. It records arrivals at the switch and
// loses the second data packet.
type relayWire struct {
	logWire
	arrivals []wheel.Time
}

func (w *relayWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	_, ok := w.logWire.Send(now, from, p)
	return 4 * time.Millisecond, ok
}

func (w *relayWire) Forward(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == 0 && p.End > p.Start {
		w.arrivals = append(w.arrivals, now)
	}
	return 6 * time.Millisecond, len(w.arrivals) != 2
}

func (w *relayWire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

func TestRelay(t *testing.T) {
	w := &relayWire{}
	ours := virtual.TCP{Config: netstack.DefaultConfig()}
	n, err := virtual.New(virtual.Config{Seed: 3, TCP: [2]virtual.TCP{ours, ours}, Wire: w})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	got := 0
	n.Tasks.Go(func() {
		l, err := n.Listen(1, 80)
		if err != nil {
			t.Error(err)
			return
		}
		defer l.Close()
		c, err := l.AcceptTCP()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		n, _ := io.Copy(io.Discard, c)
		got = int(n)
	})
	n.Tasks.Go(func() {
		c, err := n.Dial(0, 40000, 80)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		for range 2 {
			if _, err := c.Write(make([]byte, 100)); err != nil {
				t.Error(err)
			}
			n.Tasks.Sleep(100 * time.Millisecond)
		}
	})
	n.Run(time.Minute, func() bool { return n.Tasks.Unfinished() == 0 })
	// The handshake takes 20 ms; the switch is 4 ms away.
	if got != 200 || len(w.arrivals) < 3 || w.arrivals[0] != wheel.Time(24*time.Millisecond) || w.arrivals[1] != wheel.Time(124*time.Millisecond) {
		t.Errorf("read %d bytes, data at the switch at %v; want 200 bytes, at 24 ms, 124 ms and a retransmission", got, w.arrivals)
	}
}

// TestLinkImpairs sends 300 kB through a link that loses, reorders, duplicates, corrupts and marks.
func TestLinkImpairs(t *testing.T) {
	link := sim.LinkConfig{
		Delay: 10 * time.Millisecond, Rate: 20e6, Queue: sim.Limit{Packets: 50}, Mark: sim.Limit{Packets: 5},
		Loss:    sim.Losses{sim.Bernoulli{P: 0.01}, sim.LostRanges{{From: 5000, To: 5001, Attempt: 1}}},
		Reorder: sim.Reorder{Probability: 0.02, Extra: 5 * time.Millisecond}, Duplicate: 0.02, Corrupt: 0.02,
	}
	ours := virtual.TCP{Config: netstack.DefaultConfig()}
	ours.Config.Conn.ECN = true
	n, err := virtual.New(virtual.Config{Seed: 5, TCP: [2]virtual.TCP{ours, ours}, Link: [2]sim.LinkConfig{link, {Delay: 10 * time.Millisecond}}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	sent := make([]byte, 300_000)
	netstack.NewSeededSource(1).Read(sent)
	talk(t, n, func(c *sockets.Conn) {
		if _, err := c.Write(sent); err != nil {
			t.Error(err)
		}
	}, func(c *sockets.Conn) {
		if got, err := io.ReadAll(c); !bytes.Equal(got, sent) || err != nil {
			t.Errorf("read %d bytes, %v; want the %d that were sent", len(got), err, len(sent))
		}
	})
	c, stats := n.LinkCounts(0), n.Stack(1).Stats().TCP
	if c.Lost == 0 || c.Reordered == 0 || c.Duplicated == 0 || c.Corrupted == 0 || c.Marked == 0 {
		t.Errorf("the link counts %+v, want some of each impairment", c)
	}
	if back := n.LinkCounts(1); back.Lost+back.Corrupted != 0 {
		t.Errorf("the link back counts %+v, want no loss", back)
	}
	if bad := stats.ChecksumErrors.Value() + n.Stack(1).Stats().IP.MalformedPacketsReceived.Value(); bad == 0 {
		t.Error("the receiver has counted no corrupted packet")
	}
}
