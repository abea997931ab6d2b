package netstack

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// heapInUse returns the reachable heap in bytes.
func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// wantNoTimers fails if a timer runs, or memory is counted, for a connection that has ended.
func wantNoTimers(t *testing.T, s *stack.Stack) {
	t.Helper()
	if u, _ := Buffers(s); u.Used != 0 {
		t.Errorf("%d bytes of buffers are counted for ended connections", u.Used)
	}
	for _, sh := range s.TransportProtocolInstance(ProtocolNumber).(*protocol).shards {
		sh.mu.Lock()
		if n := sh.wheel.Len(); n != 0 {
			t.Errorf("%d timers run for ended connections", n)
		}
		sh.mu.Unlock()
	}
}

// TestConnectsLeaveNothing connects and closes thousands of times, ending connections in every way.
// The heap returns to where it was, and no goroutine or timer is left. TestMain finds packet
// buffers.
func TestConnectsLeaveNothing(t *testing.T) {
	conns := scaled(3000, 10_000)
	s := newLoop(t, verified, nil, false)
	tw := tcpip.TCPTimeWaitTimeoutOption(2 * time.Millisecond)
	if err := s.SetTransportProtocolOption(ProtocolNumber, &tw); err != nil {
		t.Fatal(err)
	}
	l := listenLoop(t, s)
	buf := make([]byte, 1)
	ends := []func(a, b *gonet.TCPConn){
		func(a, b *gonet.TCPConn) { a.Close(); b.Read(buf); b.Close() },
		func(a, b *gonet.TCPConn) { b.Close(); a.Read(buf); a.Close() },
		func(a, b *gonet.TCPConn) { a.Write([]byte("unread")); b.Close(); a.Close() }, // a RST
		func(a, b *gonet.TCPConn) {
			a.CloseWrite()
			b.Read(buf)
			b.Write(buf)
			b.Close()
			io.Copy(io.Discard, a)
			a.Close()
		},
	}
	some := func(n int) {
		for i := range n {
			a, b := connectLoop(t, s, l)
			a.Write([]byte("x"))
			b.Read(buf)
			ends[i%len(ends)](a, b)
		}
		eventually(t, "all connections end", func() bool { return len(s.RegisteredEndpoints()) == 1 && len(TimeWaits(s)) == 0 })
	}
	some(1000)
	heap, goroutines := heapInUse(), runtime.NumGoroutine()
	some(conns)
	if after := heapInUse(); after > heap+256<<10 {
		t.Errorf("%d connects and closes left %d bytes of heap", conns, after-heap)
	}
	eventually(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= goroutines })
	wantNoTimers(t, s)
}

// TestLossLeavesNothing: many connections lose packets, keep data in both queues, and are aborted.
// None stays registered and no timer runs; TestMain finds packet buffers. The heap is not measured,
// as the engine pools flights.
func TestLossLeavesNothing(t *testing.T) {
	n := newPair(t, pairConfig{})
	l := n.listen(false)
	lose := func(p float64) {
		for _, link := range []*lossy{n.a.link, n.b.link} {
			link.mu.Lock()
			link.loss = p
			link.mu.Unlock()
		}
	}
	some := func(conns int) {
		var wait sync.WaitGroup
		var ends []net.Conn
		for range conns {
			a, err := n.tryDial(false, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			b, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, a, b)
		}
		lose(0.05)
		for i := 0; i < len(ends); i += 2 {
			a, b := ends[i], ends[i+1]
			wait.Go(func() {
				a.SetDeadline(time.Now().Add(5 * time.Millisecond))
				a.Write(make([]byte, 1<<17))
			})
			wait.Go(func() {
				b.SetDeadline(time.Now().Add(5 * time.Millisecond))
				io.CopyN(io.Discard, b, 10_000)
			})
		}
		wait.Wait()
		lose(0)
		for _, c := range ends {
			c.Close()
		}
		for _, side := range []side{n.a, n.b} {
			for _, te := range side.stack.RegisteredEndpoints() {
				if e := te.(*Endpoint); e.listening() == nil {
					e.Abort()
				}
			}
		}
		eventually(t, "all connections end", func() bool {
			for _, side := range []side{n.a, n.b} {
				side.stack.TransportProtocolInstance(ProtocolNumber).(*protocol).timeWaits.close()
			}
			return len(n.a.stack.RegisteredEndpoints())+len(n.b.stack.RegisteredEndpoints()) == 1
		})
	}
	for range 10 {
		some(30)
	}
	wantNoTimers(t, n.a.stack)
	wantNoTimers(t, n.b.stack)
}
