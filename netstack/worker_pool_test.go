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

// TestWorkerPerCPU: many flows send at once. All data arrives, at most one worker per CPU runs, and
// none is left at the end.
func TestWorkerPerCPU(t *testing.T) {
	n := newPair(t, pairConfig{})
	c := crewOf(n.a.stack)
	if !n.a.stack.TransportProtocolInstance(ProtocolNumber).(*protocol).parallel {
		t.Skip("needs more than one CPU")
	}
	var seen atomic.Int64
	look := func() {
		running, waiting := c.state()
		if running > c.max {
			t.Errorf("%d workers run, want at most %d", running, c.max)
		}
		if running == 0 && waiting > 0 {
			t.Errorf("%d connections wait and no worker runs", waiting)
		}
		if running > 0 {
			seen.Add(1)
		}
	}
	n.a.link.setDrop(func(*stack.PacketBuffer) bool { look(); return false }) // at each packet
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
				t.Errorf("got %d bytes, %v, want %d", got, err, size)
			}
			b.Close()
		})
	}
	wait.Wait()
	if seen.Load() == 0 {
		t.Error("no worker ever ran")
	}
	eventually(t, "no worker runs, no connection waits", func() bool {
		running, waiting := c.state()
		return running == 0 && waiting == 0
	})
}

// TestWorkersServeInOrder: connections are served first come, first served; one that has used its
// time slice goes to the end.
func TestWorkersServeInOrder(t *testing.T) {
	c := workerPool{running: 1}
	ends := make([]*Endpoint, 100)
	for i := range ends {
		ends[i] = new(Endpoint)
		c.enqueue(ends[i])
	}
	e := c.next(nil)
	for turn := range 1000 {
		if want := ends[turn%len(ends)]; e != want {
			t.Fatalf("turn %d went to another connection", turn)
		}
		e = c.next(e)
	}
	for range len(ends) - 1 {
		e = c.next(nil)
	}
	if next := c.next(nil); e == nil || next != nil || c.running != 0 {
		t.Fatalf("after the last connection: %v, then %v with %d workers", e != nil, next, c.running)
	}
	if len(c.waiting) != 0 || c.head != 0 || cap(c.waiting) > 512 {
		t.Errorf("an empty queue has %d places, %d used", cap(c.waiting), len(c.waiting))
	}
}

// TestVirtualTimeHasNoWorkers: on a virtual clock, or a view of one, no goroutine works besides the
// driver.
func TestVirtualTimeHasNoWorkers(t *testing.T) {
	virtual, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		t.Fatal(err)
	}
	wrapped := struct{ *VirtualClock }{virtual}
	for _, c := range []tcpip.Clock{virtual, virtual.Coarse(time.Millisecond), wrapped} {
		s := stack.New(stack.Options{Clock: c, TransportProtocols: []stack.TransportProtocolFactory{NewProtocol}})
		if s.TransportProtocolInstance(ProtocolNumber).(*protocol).parallel {
			t.Errorf("workers run flows on a %T", c)
		}
		s.Destroy()
	}
}
