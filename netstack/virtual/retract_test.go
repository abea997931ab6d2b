package virtual_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
)

// TestGVisorRetractsItsWindow shows a fault of gVisor's receiver (docs/findings.md). Its scale
// rounds the window down to zero while a last small segment is in flight; it then drops that
// segment and every ACK beyond its edge. If its application waits for its own data to be
// acknowledged, the connection stops for good. gVisor's TCP as the sender stops so; ours does not.
func TestGVisorRetractsItsWindow(t *testing.T) {
	for _, sender := range []virtual.TCP{{GVisor: true}, {}} {
		const size = 4 << 20
		got := fillWindow(t, sender, size)
		t.Logf("sender is gVisor's TCP %v: %d of %d bytes came back", sender.GVisor, got, size)
		if (got < size) != sender.GVisor {
			t.Errorf("sender is gVisor's TCP %v: want a stall with gVisor's alone", sender.GVisor)
		}
	}
}

// fillWindow lets the sender fill the window of gVisor's TCP with small segments. Then gVisor's
// application writes size bytes, reading nothing. It returns how many arrive within 30 s.
func fillWindow(t *testing.T, sender virtual.TCP, size int) (got int) {
	t.Helper()
	link := sim.LinkConfig{Delay: 20 * time.Microsecond, Rate: 1e9}
	n, err := virtual.New(virtual.Config{TCP: [2]virtual.TCP{{GVisor: true}, sender}, Link: [2]sim.LinkConfig{link, link}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	var conns []*sockets.Conn
	n.Tasks.Go(func() {
		l, err := n.Listen(0, 80)
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
		conns = append(conns, c)
		n.Tasks.Sleep(3 * time.Second)
		c.Write(make([]byte, size))
	})
	n.Tasks.Go(func() {
		c, err := n.Dial(1, 0, 80)
		if err != nil {
			t.Error(err)
			return
		}
		conns = append(conns, c)
		n.Tasks.Go(func() { sendSmall(n, c) })
		buf := make([]byte, 64<<10)
		for got < size {
			m, err := c.Read(buf)
			if err != nil {
				return
			}
			got += m
		}
	})
	n.Run(33*time.Second, func() bool { return got == size })
	for _, c := range conns {
		c.SetLinger(0)
		c.Close()
	}
	n.Run(time.Minute, func() bool { return n.Tasks.Unfinished() == 0 })
	return got
}

// sendSmall writes until the connection ends: most of the window at once, then small segments, one
// per round trip.
func sendSmall(n *virtual.Net, c *sockets.Conn) {
	rng := rand.New(rand.NewPCG(3, 1)) // this seed ends in a segment smaller than the scale's unit
	for total := 0; ; {
		k := 1400
		if total > 500_000 {
			k = 1 + rng.IntN(300)
			n.Tasks.Sleep(30 * time.Microsecond)
		}
		m, err := c.Write(make([]byte, k))
		total += m
		if err != nil {
			return
		}
	}
}
