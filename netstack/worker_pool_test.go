package netstack

import (
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

func (c *workerPool) state() (running, waiting int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running, len(c.waiting) - c.head
}

func crewOf(s *stack.Stack) *workerPool {
	return &s.TransportProtocolInstance(ProtocolNumber).(*protocol).workers
}

// TestCrewHasAGoroutineForEachProcessor has many flows send at once: all arrive, no more goroutines run them than there are processors,
// and none is left when nothing is to be done.
func TestCrewHasAGoroutineForEachProcessor(t *testing.T) {
	n := newPair(t, pairConfig{})
	c := crewOf(n.a.stack)
	if !n.a.stack.TransportProtocolInstance(ProtocolNumber).(*protocol).parallel {
		t.Skip("there is one processor")
	}
	var seen atomic.Int64
	look := func() {
		running, waiting := c.state()
		if running > c.max {
			t.Errorf("%d goroutines run connections, want %d at most", running, c.max)
		}
		if running == 0 && waiting > 0 {
			t.Errorf("%d connections wait and nobody runs them", waiting)
		}
		if running > 0 {
			seen.Add(1)
		}
	}
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { look(); return false }) // at each packet that leaves, of the crew's too
	const flows, size = 24, 1 << 20
	var wait sync.WaitGroup
	l := n.listen(false)
	for range flows {
		a, err := n.tryDial(false, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			if _, err := a.Write(make([]byte, size)); err != nil {
				t.Error(err)
			}
			a.Close()
		})
		wait.Go(func() {
			if got, err := io.Copy(io.Discard, b); got != size || err != nil {
				t.Errorf("got %d octets, %v, want %d", got, err, size)
			}
			b.Close()
		})
	}
	wait.Wait()
	if seen.Load() == 0 {
		t.Error("the crew never ran")
	}
	eventually(t, "nobody runs or waits", func() bool {
		running, waiting := c.state()
		return running == 0 && waiting == 0
	})
}

// TestCrewIsFirstComeFirstServed takes connections out of the queue in the order in which they came; one whose turn is over goes behind the
// others.
func TestCrewIsFirstComeFirstServed(t *testing.T) {
	c := workerPool{running: 1}
	ends := make([]*Endpoint, 100)
	for i := range ends {
		ends[i] = new(Endpoint)
		c.enqueue(ends[i])
	}
	e := c.next(nil)
	for turn := range 1000 {
		if want := ends[turn%len(ends)]; e != want {
			t.Fatalf("turn %d is another connection's", turn)
		}
		e = c.next(e)
	}
	for range len(ends) - 1 {
		e = c.next(nil)
	}
	if next := c.next(nil); e == nil || next != nil || c.running != 0 {
		t.Fatalf("the last connections: %v, then %v with %d goroutines", e != nil, next, c.running)
	}
	if len(c.waiting) != 0 || c.head != 0 || cap(c.waiting) > 512 {
		t.Errorf("an empty queue has %d places, %d used", cap(c.waiting), len(c.waiting))
	}
}

// TestVirtualTimeHasNoCrew: on a clock that a driver moves, whatever view of it a stack is given, no goroutine works beside the driver.
func TestVirtualTimeHasNoCrew(t *testing.T) {
	virtual, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := struct{ *VirtualClock }{virtual}
	for _, c := range []tcpip.Clock{virtual, virtual.Coarse(time.Millisecond), wrapped} {
		s := stack.New(stack.Options{Clock: c, TransportProtocols: []stack.TransportProtocolFactory{NewProtocol}})
		if s.TransportProtocolInstance(ProtocolNumber).(*protocol).parallel {
			t.Errorf("on a %T flows are run by a crew", c)
		}
		s.Destroy()
	}
}
