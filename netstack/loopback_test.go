package netstack

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/faketime"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/loopback"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	gtcp "gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// newLoop makes a stack with a loopback link.
func newLoop(t testing.TB, f stack.TransportProtocolFactory, clock tcpip.Clock, local bool) *stack.Stack {
	s := stack.New(stack.Options{
		NetworkProtocols:   []stack.NetworkProtocolFactory{ipv4.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{f},
		Clock:              clock,
		HandleLocal:        local,
	})
	if err := s.CreateNIC(1, loopback.New()); err != nil {
		t.Fatal(err)
	}
	addr := tcpip.ProtocolAddress{Protocol: ipv4.ProtocolNumber, AddressWithPrefix: header.IPv4Loopback.WithPrefix()}
	if err := s.AddProtocolAddress(1, addr, stack.AddressProperties{}); err != nil {
		t.Fatal(err)
	}
	s.SetRouteTable([]tcpip.Route{{Destination: header.IPv4EmptySubnet, NIC: 1}})
	t.Cleanup(s.Destroy)
	return s
}

var loopAddr = tcpip.FullAddress{NIC: 1, Addr: header.IPv4Loopback, Port: pairPort}

// connectLoop returns both ends of a connection of a stack with itself.
func connectLoop(t testing.TB, s *stack.Stack, l *gonet.TCPListener) (a, b *gonet.TCPConn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	a, err := gonet.DialContextTCP(ctx, s, loopAddr, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatalf("accept: %v", err)
	}
	return a, c.(*gonet.TCPConn)
}

func listenLoop(t testing.TB, s *stack.Stack) *gonet.TCPListener {
	l, err := gonet.ListenTCP(s, loopAddr, ipv4.ProtocolNumber)
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// TestLoopback: both ends are in one stack, over links that deliver in the sender's goroutine.
func TestLoopback(t *testing.T) {
	for _, local := range []bool{false, true} {
		s := newLoop(t, verified, nil, local)
		a, b := connectLoop(t, s, listenLoop(t, s))
		exchange(t, a, b, 2<<20)
		a.Close()
		b.Close()
	}
}

// TestManualClock: on a clock that stands still until it is advanced, a lost SYN is retransmitted
// when a second has passed.
func TestManualClock(t *testing.T) {
	clock := faketime.NewManualClock()
	s := newLoop(t, verified, clock, false)
	var lost bool
	s.SetTransportProtocolHandler(ProtocolNumber, func(stack.TransportEndpointID, *stack.PacketBuffer) bool {
		lost = true // before the listener exists
		return true
	})
	var wq waiter.Queue
	ep, err := s.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, &wq)
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	if _, ok := ep.Connect(loopAddr).(*tcpip.ErrConnectStarted); !ok || !lost {
		t.Fatal("no SYN was sent")
	}
	listenLoop(t, s)
	clock.Advance(999 * time.Millisecond)
	if got := gtcp.EndpointState(ep.State()); got != gtcp.StateSynSent {
		t.Fatalf("state before the timeout = %v, want SYN-SENT", got)
	}
	clock.Advance(2 * time.Millisecond)
	eventually(t, "established", func() bool { return gtcp.EndpointState(ep.State()) == gtcp.StateEstablished })
}

// TestWheelClock uses the wheel as the clock of a whole stack.
func TestWheelClock(t *testing.T) {
	clock, err := NewClock(ClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	s := newLoop(t, verified, clock, false)
	defer s.Destroy()
	a, b := connectLoop(t, s, listenLoop(t, s))
	exchange(t, a, b, 1<<20)
	a.Close()
	b.Close()
}

// TestEndpointSize limits the size of an idle endpoint.
func TestEndpointSize(t *testing.T) {
	s := newLoop(t, NewProtocol, nil, false)
	l := listenLoop(t, s)
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	// The allocator has one size class up to 1280 bytes, 8 of them its own. The next one is 1408.
	if size := unsafe.Sizeof(Endpoint{}); unsafe.Sizeof(uintptr(0)) == 8 && size > 1272 {
		t.Errorf("an Endpoint is %d bytes, want at most 1272", size)
	}
	connectLoop(t, s, l)
	before := heap()
	const conns = 500
	var keep [][2]*gonet.TCPConn
	for range conns {
		a, b := connectLoop(t, s, l)
		keep = append(keep, [2]*gonet.TCPConn{a, b})
	}
	per := (int(heap()) - int(before)) / (2 * conns)
	t.Logf("an Endpoint is %d bytes, %d with everything it owns and gonet's part", unsafe.Sizeof(Endpoint{}), per)
	for _, c := range keep {
		c[0].Close()
		c[1].Close()
	}
}

// BenchmarkTransfer sends one way: over loopback with an MTU of 64 KiB, and over a pipe with
// Ethernet's MTU between two stacks.
func BenchmarkTransfer(b *testing.B) {
	transfer := func(b *testing.B, a, c *gonet.TCPConn) {
		const size = 1 << 20
		done := make(chan struct{})
		go func() {
			io.Copy(io.Discard, c)
			close(done)
		}()
		buf := make([]byte, size)
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := a.Write(buf); err != nil {
				b.Fatal(err)
			}
		}
		a.Close()
		<-done
		c.Close()
	}
	for _, p := range []struct {
		name string
		f    stack.TransportProtocolFactory
	}{{"ours", NewProtocol}, {"gvisor", gtcp.NewProtocol}} {
		b.Run("mtu=65536/impl="+p.name, func(b *testing.B) {
			s := newLoop(b, p.f, nil, false)
			a, c := connectLoop(b, s, listenLoop(b, s))
			transfer(b, a, c)
		})
		b.Run("mtu=1500/impl="+p.name, func(b *testing.B) {
			n := newPair(b, pairConfig{a: p.f, b: p.f})
			a, c := n.connect(false)
			transfer(b, a, c)
		})
	}
}

// BenchmarkConnect opens and closes connections.
func BenchmarkConnect(b *testing.B) {
	for _, p := range []struct {
		name string
		f    stack.TransportProtocolFactory
	}{{"ours", NewProtocol}, {"gvisor", gtcp.NewProtocol}} {
		b.Run("impl="+p.name, func(b *testing.B) {
			s := newLoop(b, p.f, nil, false)
			tw := tcpip.TCPTimeWaitTimeoutOption(time.Millisecond)
			s.SetTransportProtocolOption(ProtocolNumber, &tw)
			l := listenLoop(b, s)
			b.ReportAllocs()
			for b.Loop() {
				x, y := connectLoop(b, s, l)
				x.Close()
				y.Close()
			}
		})
	}
}
