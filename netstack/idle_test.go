package netstack

import (
	"runtime"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// idlers are idle connections of a stack with itself, as bare endpoints. Each has carried a byte in
// each direction.
type idlers struct {
	t        testing.TB
	stack    *stack.Stack
	listener tcpip.Endpoint
	accepted chan struct{}
	ends     []tcpip.Endpoint
}

func newIdlers(t testing.TB, f stack.TransportProtocolFactory) *idlers {
	s := &idlers{t: t, stack: newLoop(t, f, nil, false)}
	s.listener, s.accepted = s.endpoint()
	if err := s.listener.Bind(loopAddr); err != nil {
		t.Fatal(err)
	}
	if err := s.listener.Listen(16); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.listener.Close()
		for _, e := range s.ends {
			e.Abort()
		}
	})
	return s
}

// endpoint makes an endpoint, and a channel that is notified when it becomes readable, writable or
// closed.
func (s *idlers) endpoint() (tcpip.Endpoint, chan struct{}) {
	wq := new(waiter.Queue)
	entry, ch := waiter.NewChannelEntry(waiter.ReadableEvents | waiter.WritableEvents | waiter.EventHUp)
	wq.EventRegister(&entry)
	ep, err := s.stack.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, wq)
	if err != nil {
		s.t.Fatal(err)
	}
	return ep, ch
}

// try calls f until it no longer returns ErrWouldBlock.
func (s *idlers) try(f func() tcpip.Error) {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Microsecond) {
		err := f()
		if err == nil {
			return
		}
		switch err.(type) {
		case *tcpip.ErrWouldBlock, *tcpip.ErrConnectStarted, *tcpip.ErrAlreadyConnecting, *tcpip.ErrNotConnected:
		default:
			s.t.Fatal(err)
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("still blocked after a minute: %v", err)
		}
	}
}

// connect adds n connections.
func (s *idlers) connect(n int) {
	one := []byte{1}
	for range n {
		wq := new(waiter.Queue)
		a, err := s.stack.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, wq)
		if err != nil {
			s.t.Fatal(err)
		}
		a.Connect(loopAddr)
		s.try(func() tcpip.Error { return a.Connect(loopAddr) })
		var b tcpip.Endpoint
		s.try(func() (err tcpip.Error) {
			b, _, err = s.listener.Accept(nil)
			return err
		})
		for _, e := range [2][2]tcpip.Endpoint{{a, b}, {b, a}} {
			s.try(func() tcpip.Error {
				_, err := e[0].Write(&payload{one}, tcpip.WriteOptions{})
				return err
			})
			s.try(func() tcpip.Error {
				_, err := e[1].Read(discard{}, tcpip.ReadOptions{})
				return err
			})
		}
		s.ends = append(s.ends, a, b)
	}
}

// payload is a tcpip.Payloader over a slice.
type payload struct{ left []byte }

func (p *payload) Len() int { return len(p.left) }

func (p *payload) Read(b []byte) (int, error) {
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// discard is a writer that discards everything.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// heapAndStacks returns the memory of heap and stacks after a collection, in bytes.
func heapAndStacks() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// perEndpoint returns the bytes per idle endpoint, with everything it owns, and the goroutines of n
// connections.
func (s *idlers) perEndpoint(n int) (size, goroutines int) {
	s.connect(32)
	time.Sleep(50 * time.Millisecond) // for delayed ACKs and unneeded timers to expire
	before, had := heapAndStacks(), runtime.NumGoroutine()
	s.connect(n)
	time.Sleep(50 * time.Millisecond)
	return (heapAndStacks() - before) / (2 * n), runtime.NumGoroutine() - had
}

// TestIdle: an idle connection is small and has no goroutine and no running timer.
func TestIdle(t *testing.T) {
	const conns = 1000
	s := newIdlers(t, NewProtocol)
	size, goroutines := s.perEndpoint(conns)
	for range 3 {
		// Allows for maps that have just doubled, filled pools, and goroutines that are just ending.
		if size > 3200 || goroutines > 2 {
			again, more := s.perEndpoint(conns)
			size, goroutines = min(size, again), min(goroutines, more)
		}
	}
	t.Logf("an idle endpoint takes %d bytes", size)
	if size > 3200 {
		t.Errorf("an idle endpoint takes %d bytes, want at most 3200", size)
	}
	if goroutines > 2 {
		t.Errorf("%d more goroutines for %d connections, want none", goroutines, conns)
	}
	eventually(t, "no timer runs", func() bool {
		for _, sh := range s.stack.TransportProtocolInstance(ProtocolNumber).(*protocol).shards {
			sh.mu.Lock()
			n, armed := sh.wheel.Len(), sh.armed
			sh.mu.Unlock()
			if n > 0 || armed {
				return false
			}
		}
		return true
	})
}

// BenchmarkIdle measures the memory of an idle endpoint with everything it owns, gVisor's parts
// included, for either TCP.
func BenchmarkIdle(b *testing.B) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				size, goroutines := newIdlers(b, impl.f).perEndpoint(2000)
				b.ReportMetric(float64(size), "B/endpoint")
				b.ReportMetric(float64(goroutines), "goroutines")
			}
		})
	}
}
