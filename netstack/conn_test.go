package netstack

import (
	"bytes"
	"io"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// eventually waits until f returns true.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for range 12_000 {
		if f() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not after a minute", what)
}

func forAll(t *testing.T, f func(t *testing.T, n *pairNet)) {
	for _, p := range protocols {
		t.Run(p.name, func(t *testing.T) { f(t, newPair(t, pairConfig{a: p.a, b: p.b})) })
	}
}

// TestManyConnections echoes over many connections at once.
func TestManyConnections(t *testing.T) {
	forAll(t, func(t *testing.T, n *pairNet) {
		l := n.listen(false)
		var servers sync.WaitGroup
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				servers.Add(1)
				go func() {
					defer servers.Done()
					io.Copy(c, c)
					c.Close()
				}()
			}
		}()
		const conns = 100
		var wg sync.WaitGroup
		for i := range conns {
			wg.Add(1)
			go func() {
				defer wg.Done()
				c, err := n.tryDial(false, time.Minute)
				if err != nil {
					t.Errorf("dial %d: %v", i, err)
					return
				}
				defer c.Close()
				c.SetDeadline(time.Now().Add(time.Minute))
				msg := bytes.Repeat([]byte{byte(i)}, 1000+100*i)
				go func() {
					c.Write(msg)
					c.CloseWrite()
				}()
				if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, msg) {
					t.Errorf("connection %d: %d of %d bytes were echoed, %v", i, len(got), len(msg), err)
				}
			}()
		}
		wg.Wait()
		servers.Wait()
	})
}

// TestDualStack connects over IPv4 to an IPv6 listener, and from an IPv6 socket to an IPv4 address.
func TestDualStack(t *testing.T) {
	n := newPair(t, pairConfig{})
	l, err := gonet.ListenTCP(n.b.stack, tcpip.FullAddress{Port: pairPort}, 0x86dd)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, v6 := range []bool{false, true} {
		a := n.dial(v6)
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		exchange(t, a, b.(*gonet.TCPConn), 10_000)
		b.Close()
	}
	mapped := tcpip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2})
	c, err := gonet.DialTCP(n.a.stack, tcpip.FullAddress{NIC: 1, Addr: mapped, Port: pairPort}, 0x86dd)
	if err != nil {
		t.Fatalf("dial of a mapped address: %v", err)
	}
	c.Close()
}

// TestTimeWaitReuse reconnects from a port whose connection is in TIME-WAIT.
func TestTimeWaitReuse(t *testing.T) {
	n := newPair(t, pairConfig{})
	l := n.listen(false)
	at, proto := n.b.at(false)
	local := tcpip.FullAddress{NIC: 1, Addr: n.a.addr4, Port: 4000}
	for i := range 3 {
		a, err := gonet.DialTCPWithBind(t.Context(), n.a.stack, local, at, proto)
		if err != nil {
			t.Fatalf("dial %d: %v", i, err)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		// The listener's side closes first and enters TIME-WAIT.
		b.Close()
		if _, err := a.Read(make([]byte, 1)); err != io.EOF {
			t.Fatalf("read: %v, want the end", err)
		}
		a.Close()
		eventually(t, "a is gone", func() bool { return len(n.a.stack.RegisteredEndpoints()) == 0 })
		time.Sleep(2 * time.Millisecond) // so that the next incarnation's timestamps differ
	}
}

// TestStates follows a connection through State's numbers, which are gVisor's.
func TestStates(t *testing.T) {
	n := newPair(t, pairConfig{})
	n.listen(false)
	var wq waiter.Queue
	ep, err := n.a.stack.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		t.Fatal(err)
	}
	fast := ep.(*Endpoint).SocketConfig() // the SYN is retransmitted after 50 ms
	fast.Policy.Bounds.Initial = 50 * time.Millisecond
	if err := ep.(*Endpoint).SetSocketConfig(fast); err != nil {
		t.Fatal(err)
	}
	want := func(s gtcp.EndpointState) {
		t.Helper()
		eventually(t, s.String(), func() bool { return gtcp.EndpointState(ep.State()) == s })
	}
	want(gtcp.StateInitial)
	if got := ep.Readiness(waiter.EventIn); got != waiter.EventHUp {
		t.Errorf("readiness of a new endpoint = %b, want EventHUp", got)
	}
	if err := ep.Bind(tcpip.FullAddress{}); err != nil {
		t.Fatal(err)
	}
	want(gtcp.StateBound)
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { return true })
	at, _ := n.b.at(false)
	if _, ok := ep.Connect(at).(*tcpip.ErrConnectStarted); !ok {
		t.Fatal("Connect did not start")
	}
	want(gtcp.StateSynSent)
	if _, ok := ep.Connect(at).(*tcpip.ErrAlreadyConnecting); !ok {
		t.Error("a second Connect, want ErrAlreadyConnecting")
	}
	n.a.link.setDrop(nil)
	want(gtcp.StateEstablished) // the SYN was retransmitted
	ep.Shutdown(tcpip.ShutdownWrite)
	want(gtcp.StateFinWait2)
	ep.Close()
}

// TestStats checks a connection's counters against gVisor's meaning.
func TestStats(t *testing.T) {
	n := newPair(t, pairConfig{})
	a, b := n.connect(false)
	as, bs := n.a.stack.Stats().TCP, n.b.stack.Stats().TCP
	eventually(t, "both ends are counted", func() bool {
		return as.CurrentEstablished.Value() == 1 && bs.CurrentEstablished.Value() == 1
	})
	exchange(t, a, b, 100_000)
	a.Close()
	b.Close()
	// The sender counts a segment after the link has delivered it.
	eventually(t, "every segment sent has arrived", func() bool {
		return as.SegmentsSent.Value() == bs.ValidSegmentsReceived.Value()
	})
	for _, c := range []struct {
		name string
		got  uint64
		want uint64
	}{
		{"ActiveConnectionOpenings", as.ActiveConnectionOpenings.Value(), 1},
		{"PassiveConnectionOpenings", bs.PassiveConnectionOpenings.Value(), 1},
		{"a's CurrentEstablished", as.CurrentEstablished.Value(), 0},
		{"b's CurrentEstablished", bs.CurrentEstablished.Value(), 0},
		{"ResetsSent", as.ResetsSent.Value() + bs.ResetsSent.Value(), 0},
		{"ChecksumErrors", as.ChecksumErrors.Value() + bs.ChecksumErrors.Value(), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s = %d, want %d", c.name, c.got, c.want)
		}
	}
}
