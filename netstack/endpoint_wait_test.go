package netstack

import (
	"testing"
	"testing/synctest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/waiter"
)

// blockingWrites is a channel link whose notification blocks: its sender stays in a step.
type blockingWrites struct{ begun, release chan struct{} }

// WriteNotify implements channel.Notification.
func (b blockingWrites) WriteNotify() {
	b.begun <- struct{}{}
	<-b.release
}

// startConnect connects an endpoint to a host that does not answer.
func startConnect(t *testing.T, s *stack.Stack) (e *Endpoint, connect func()) {
	t.Helper()
	ep, err := s.NewEndpoint(ProtocolNumber, ipv4.ProtocolNumber, &waiter.Queue{})
	if err != nil {
		t.Fatal(err)
	}
	return ep.(*Endpoint), func() {
		if _, ok := ep.Connect(tcpip.FullAddress{Addr: rigThere, Port: 80}).(*tcpip.ErrConnectStarted); !ok {
			t.Error("Connect did not start")
		}
	}
}

// TestWaitUntilIdle: Wait returns as soon as no goroutine runs the connection.
func TestWaitUntilIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := channel.New(16, 1500, "")
		s := newSideOn(t, NewProtocol, link, 1).stack
		block := blockingWrites{make(chan struct{}), make(chan struct{})}
		handle := link.AddNotify(block)
		e, connect := startConnect(t, s)
		go connect()
		<-block.begun // the SYN is being sent
		returned := false
		go func() { e.Wait(); returned = true }()
		synctest.Wait()
		if returned {
			t.Error("Wait returned while the connection ran")
		}
		start := time.Now()
		close(block.release)
		synctest.Wait()
		if took := time.Since(start); !returned || took != 0 {
			t.Errorf("Wait returned: %v, %v after the connection became idle; want at once", returned, took)
		}
		link.RemoveNotify(handle)
		s.Destroy()
		link.Drain()
	})
}

// TestWaitForOneself: from an event of the connection itself, Wait returns after a second of the
// stack's clock, and at once on a virtual clock.
func TestWaitForOneself(t *testing.T) {
	waitInEvent := func(s *stack.Stack) (returned bool) {
		e, connect := startConnect(t, s)
		connect()
		entry := waiter.NewFunctionEntry(waiter.EventHUp, func(waiter.EventMask) {
			if e.work.Load() > 0 {
				e.Wait()
				returned = true
			}
		})
		e.wq.EventRegister(&entry)
		e.Shutdown(tcpip.ShutdownWrite) // the connection fails within its step
		return returned
	}
	synctest.Test(t, func(t *testing.T) {
		link := channel.New(16, 1500, "")
		s := newSideOn(t, NewProtocol, link, 1).stack
		start := time.Now()
		if returned := waitInEvent(s); !returned || time.Since(start) != maxWait {
			t.Errorf("Wait returned: %v, after %v, want %v", returned, time.Since(start), maxWait)
		}
		s.Destroy()
		link.Drain()
	})
	r := newRig(t, NewProtocol, true)
	if !waitInEvent(r.s) {
		t.Error("Wait did not return on a virtual clock")
	}
}
