package netstack

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// TestForwarder accepts connections to a port without a listener, and resets others.
func TestForwarder(t *testing.T) {
	forAll(t, func(t *testing.T, n *pairNet) {
		if _, ok := Counters(n.b.stack); !ok {
			t.Skip("b is gVisor's TCP")
		}
		conns := make(chan net.Conn, 1)
		refuse := atomic.Bool{}
		f := NewForwarder(n.b.stack, 0, 10, func(r *ForwarderRequest) {
			if refuse.Load() {
				r.Complete(true)
				return
			}
			if id := r.ID(); id.LocalPort != pairPort || id.RemoteAddress != n.a.addr4 {
				t.Errorf("request %+v, want one to port %d from a", id, pairPort)
			}
			var wq waiter.Queue
			ep, err := r.CreateEndpoint(&wq)
			r.Complete(false)
			if err != nil {
				t.Errorf("endpoint: %v", err)
				conns <- nil
				return
			}
			conns <- gonet.NewTCPConn(&wq, ep)
		})
		n.b.stack.SetTransportProtocolHandler(ProtocolNumber, f.HandlePacket)
		a := n.dial(false)
		b := <-conns
		if b == nil {
			t.FailNow()
		}
		exchange(t, a, b.(*gonet.TCPConn), 100_000)
		b.Close()

		refuse.Store(true)
		if _, err := n.tryDial(false, time.Minute); err == nil {
			t.Error("dial to a forwarder that resets returned no error")
		}
	})
}

// TestForwarderDestinationLimit: while handlers of one destination wait, another is still served.
func TestForwarderDestinationLimit(t *testing.T) {
	n := newPair(t, pairConfig{})
	release := make(chan struct{})
	var blackHoled atomic.Int32
	f := NewForwarder(n.b.stack, 0, 4, func(r *ForwarderRequest) {
		if r.ID().LocalPort == pairPort {
			blackHoled.Add(1)
			<-release
		}
		r.Complete(true)
	})
	f.SetDestinationLimit(2)
	n.b.stack.SetTransportProtocolHandler(ProtocolNumber, f.HandlePacket)
	// On a busy machine a dial may time out before its SYN, or its retransmission, leaves. That one
	// does not count.
	var mu sync.Mutex
	ports := map[uint16]bool{}
	n.a.link.setDrop(func(pkt *stack.PacketBuffer) bool {
		h := header.TCP(pkt.TransportHeader().Slice())
		mu.Lock()
		defer mu.Unlock()
		again := ports[h.SourcePort()]
		ports[h.SourcePort()] = true
		return again && h.Flags() == header.TCPFlagSyn
	})
	dialled := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(ports)
	}
	for dialled() < 4 {
		n.tryDial(false, 20*time.Millisecond)
	}
	eventually(t, "two requests to the black hole, the limit", func() bool { return blackHoled.Load() == 2 })
	if got := n.b.stack.Stats().TCP.ForwardMaxInFlightDrop.Value(); got != 2 {
		t.Errorf("%d SYNs dropped, want 2", got)
	}
	at, proto := n.b.at(false)
	at.Port++
	if _, err := gonet.DialContextTCP(t.Context(), n.a.stack, at, proto); err == nil {
		t.Error("dial of the other destination succeeded, want a reset")
	}
	close(release)
	eventually(t, "requests are completed", func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.inFlight) == 0 && len(f.destinations) == 0
	})
}
