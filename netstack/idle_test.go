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

// idlers are connections of a stack with itself, as endpoints without anything on top, that have exchanged an octet in each direction and
// are at rest.
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

// endpoint makes an endpoint, and a channel that is told when it has become readable, writable or closed.
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

// try calls f until it does not say that it would block.
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
			s.t.Fatalf("still after a minute: %v", err)
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

// payload is a tcpip.Payloader of octets.
type payload struct{ left []byte }

func (p *payload) Len() int { return len(p.left) }

func (p *payload) Read(b []byte) (int, error) {
	n := copy(b, p.left)
	p.left = p.left[n:]
	return n, nil
}

// discard is a writer that takes all.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// heapAndStacks returns what the heap and the stacks of goroutines take after a collection.
func heapAndStacks() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}

// perEndpoint returns the octets that an idle endpoint takes with all that hangs on it, and the goroutines that n connections have.
func (s *idlers) perEndpoint(n int) (octets, goroutines int) {
	s.connect(32)
	time.Sleep(50 * time.Millisecond) // for delayed ACKs, and timers that notice that they are not needed
	before, had := heapAndStacks(), runtime.NumGoroutine()
	s.connect(n)
	time.Sleep(50 * time.Millisecond)
	return (heapAndStacks() - before) / (2 * n), runtime.NumGoroutine() - had
}

// TestIdle keeps an idle connection small, without a goroutine and without a timer that wakes anybody up.
func TestIdle(t *testing.T) {
	const conns = 1000
	s := newIdlers(t, NewProtocol)
	octets, goroutines := s.perEndpoint(conns)
	for range 3 {
		// Maps that have just doubled, or pools that were just filled, are no endpoint's, nor is a goroutine that a busy machine has
		// not let end.
		if octets > 3200 || goroutines > 2 {
			again, more := s.perEndpoint(conns)
			octets, goroutines = min(octets, again), min(goroutines, more)
		}
	}
	t.Logf("an idle endpoint takes %d octets", octets)
	if octets > 3200 {
		t.Errorf("an idle endpoint takes %d octets, want 3200 at most", octets)
	}
	if goroutines > 2 {
		t.Errorf("%d goroutines more for %d connections, want none", goroutines, conns)
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

// BenchmarkIdle is the memory of an idle endpoint with all that hangs on it, gVisor's parts below it included, by either TCP.
func BenchmarkIdle(b *testing.B) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			for b.Loop() {
				octets, goroutines := newIdlers(b, impl.f).perEndpoint(2000)
				b.ReportMetric(float64(octets), "B/endpoint")
				b.ReportMetric(float64(goroutines), "goroutines")
			}
		})
	}
}
