package virtual_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"tcpwheel/netstack"
	"tcpwheel/netstack/leaktest"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Main(m, "tcpwheel/")) }

// logWire takes 10 ms, loses what has octet 3000 of end 0 once, and notes what passes.
type logWire struct {
	log  strings.Builder
	lost bool
}

func (w *logWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if p.End > p.Start {
		fmt.Fprintf(&w.log, "%v %d [%d,%d)\n", time.Duration(now), from, p.Start, p.End)
	}
	if len(p.Bytes) != int(p.Size) || p.Bytes[0]>>4 != 4 {
		panic("the octets are not those of the packet")
	}
	p.Tag = int64(p.Start)
	return 10 * time.Millisecond, true
}

func (w *logWire) Arrive(_ wheel.Time, from int, p *virtual.Packet) bool {
	if p.Tag != int64(p.Start) {
		panic("the mark is another")
	}
	if from == 0 && p.Start <= 3000 && 3000 < p.End && !w.lost {
		w.lost = true
		return false
	}
	return true
}

// talk has end 1 connect to end 0, and each do its part, until both are done.
func talk(t *testing.T, n *virtual.Net, server, client func(*sockets.Conn)) {
	t.Helper()
	part := func(do func(*sockets.Conn), connect func() (*sockets.Conn, error)) {
		n.Tasks.Go(func() {
			c, err := connect()
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			do(c)
		})
	}
	part(server, func() (*sockets.Conn, error) {
		l, err := n.Listen(0, 80)
		if err != nil {
			return nil, err
		}
		defer l.Close()
		return l.AcceptTCP()
	})
	part(client, func() (*sockets.Conn, error) { return n.Dial(1, 40000, 80) })
	n.Run(time.Minute, func() bool { return n.Tasks.Unfinished() == 0 })
	if n.Tasks.Unfinished() != 0 {
		t.Errorf("%d tasks wait", n.Tasks.Unfinished())
	}
}

// answer has end 1 ask and end 0 answer with 7000 octets, and returns the log of the wire.
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
			t.Errorf("got %d octets, %v", got, err)
		}
	})
	if !w.lost {
		t.Error("nothing was lost")
	}
	if c := n.Counts(0); c.FastRetransmits+c.Probes+c.Timeouts != 1 {
		t.Errorf("counts %+v, want one segment sent again", c)
	}
	if c := n.Stack(0).Stats().TCP.Retransmits.Value(); ends[0].GVisor && c != 1 {
		t.Errorf("the stack has sent %d segments again, want 1", c)
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
	// The request arrives after two ways and one more; the third segment is sent again when the ACKs of those behind it
	// are there.
	want := "20ms 1 [0,100)\n30ms 0 [0,1400)\n30ms 0 [1400,2800)\n30ms 0 [2800,4200)\n30ms 0 [4200,5600)\n30ms 0 [5600,7000)\n"
	if !strings.HasPrefix(logs[false], want) || strings.Count(logs[false], "[2800,4200)") != 2 {
		t.Errorf("the wire was told\n%s\nwant, at first,\n%s", logs[false], want)
	}
	if !strings.HasPrefix(logs[true], "20ms 1 [0,100)\n30ms 0 [0,") {
		t.Errorf("the wire was told of gVisor\n%s", logs[true])
	}
}

// TestStrict reads the clocks twice at one instant.
func TestStrict(t *testing.T) {
	ours := virtual.TCP{Config: netstack.DefaultConfig()}
	strict := ours
	strict.StrictClock = true
	for _, test := range []struct {
		end  virtual.TCP
		same bool
	}{{ours, true}, {strict, false}} {
		n, err := virtual.New(virtual.Config{TCP: [2]virtual.TCP{test.end, test.end}, Wire: &logWire{}})
		if err != nil {
			t.Fatal(err)
		}
		clock := n.Stack(0).Clock()
		if a, b := clock.NowMonotonic(), clock.NowMonotonic(); (a == b) != test.same || b.Before(a) {
			t.Errorf("readings %v and %v, want the same: %v", a, b, test.same)
		}
		n.Close()
	}
}

func TestConfig(t *testing.T) {
	for _, cfg := range []virtual.Config{{MTU: 100, Wire: &logWire{}}, {}, {Wire: &logWire{}, TCP: [2]virtual.TCP{{GVisor: true, Control: "none"}}}} {
		if _, err := virtual.New(cfg); err == nil {
			t.Errorf("New(%+v) made a net", cfg)
		}
	}
}

// farWire takes 50 ms and loses nothing.
type farWire struct{}

func (farWire) Send(wheel.Time, int, *virtual.Packet) (time.Duration, bool) {
	return 50 * time.Millisecond, true
}
func (farWire) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }

// TestReceiveBufferTellsHowFarItHasGrown: what waits for a connection that is busy is bounded by SO_RCVBUF, so that must not stay behind
// what the window offers.
func TestReceiveBufferTellsHowFarItHasGrown(t *testing.T) {
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
			t.Errorf("SO_RCVBUF was %d and is %d, and the connection's buffer %d, want these as much and more than before", before, after, info.RcvSpace)
		}
	}, func(c *sockets.Conn) {
		if _, err := c.Write(make([]byte, 20<<20)); err != nil {
			t.Error(err)
		}
	})
}

// relayWire is a logWire with a switch after 4 of its 10 ms, which notes when a packet comes, and loses the second one with data once.
type relayWire struct {
	logWire
	come []wheel.Time
}

func (w *relayWire) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	_, ok := w.logWire.Send(now, from, p)
	return 4 * time.Millisecond, ok
}

func (w *relayWire) Forward(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == 0 && p.End > p.Start {
		w.come = append(w.come, now)
	}
	return 6 * time.Millisecond, len(w.come) != 2
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
		octets, _ := io.Copy(io.Discard, c)
		got = int(octets)
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
	if got != 200 || len(w.come) < 3 || w.come[0] != wheel.Time(24*time.Millisecond) || w.come[1] != wheel.Time(124*time.Millisecond) {
		t.Errorf("%d octets, at the switch at %v; want 200, the first at 24 ms, the second at 124 ms and again", got, w.come)
	}
}
