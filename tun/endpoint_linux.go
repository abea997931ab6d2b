package tun

import (
	"sync"
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

// Endpoint is the stack's end of a Device: a stack.LinkEndpoint and stack.GSOEndpoint. While its
// device is open, a detached Endpoint may be attached again, to the same or another stack. Multiple
// goroutines may invoke methods on it.
type Endpoint struct {
	dev *Device
	mtu atomic.Uint32

	mu      sync.Mutex
	reader  *reader // of the attached stack; nil if there is none
	last    *reader // the most recent one
	closed  bool
	onClose func()
}

// reader is the goroutine that reads for one attachment.
type reader struct {
	stop atomic.Bool
	done chan struct{} // closed when it has ended, and those of earlier attachments
}

var (
	_ stack.LinkEndpoint = (*Endpoint)(nil)
	_ stack.GSOEndpoint  = (*Endpoint)(nil)
)

func newEndpoint(d *Device, mtu uint32) *Endpoint {
	e := &Endpoint{dev: d}
	e.mtu.Store(mtu)
	return e
}

// Attach implements stack.LinkEndpoint. With a dispatcher it starts a goroutine. With nil it
// stops it without waiting, because the stack calls it with locks held that a packet being
// delivered may need. Packets are delivered without a lock. One may still arrive after Attach(nil),
// none after Wait.
func (e *Endpoint) Attach(to stack.NetworkDispatcher) {
	if to == nil {
		e.detach(false)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.reader != nil || e.closed {
		return
	}
	before := e.last
	r := &reader{done: make(chan struct{})}
	e.reader, e.last = r, r
	go func() {
		defer close(r.done)
		if before != nil {
			<-before.done
		}
		if err := e.dev.queue.serve(&r.stop, to); err != nil {
			e.dev.end(&Error{"read from " + e.dev.name, err, ""})
		}
	}()
}

// detach stops the goroutine of the attached stack. With forever, no other can start.
func (e *Endpoint) detach(forever bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = e.closed || forever
	if r := e.reader; r != nil {
		e.reader = nil
		r.stop.Store(true)
		e.dev.queue.interrupt()
	}
}

// IsAttached implements stack.LinkEndpoint.
func (e *Endpoint) IsAttached() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reader != nil
}

// Wait implements stack.LinkEndpoint: it returns when the goroutines of all attachments have ended.
// So it waits until the last stack is detached, and returns at once if none was ever attached.
//
// stack.Stack.Wait calls it with the stack's lock held. That deadlocks if the delivery of a packet
// needs the lock at that moment. Close the device before the stack: Device.Close holds no such
// lock.
func (e *Endpoint) Wait() {
	e.mu.Lock()
	last := e.last
	e.mu.Unlock()
	if last != nil {
		<-last.done
	}
}

// Close implements stack.LinkEndpoint: it detaches the stack and calls the action of
// SetOnCloseAction. The device stays open: its opener closes it, and may attach it to another stack
// first.
func (e *Endpoint) Close() {
	e.detach(false)
	e.mu.Lock()
	action := e.onClose
	e.onClose = nil
	e.mu.Unlock()
	if action != nil {
		action()
	}
}

// SetOnCloseAction implements stack.LinkEndpoint.
func (e *Endpoint) SetOnCloseAction(action func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.onClose = action
}

// WritePackets implements stack.LinkWriter. Each packet takes one system call in the caller's
// goroutine, which does not block. It stops at the first packet that the kernel refuses.
func (e *Endpoint) WritePackets(pkts stack.PacketBufferList) (n int, err tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		if err := e.dev.queue.write(pkt); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// MTU implements stack.LinkEndpoint.
func (e *Endpoint) MTU() uint32 { return e.mtu.Load() }

// SetMTU implements stack.LinkEndpoint. It sets the stack's side only; Device.SetMTU sets both.
func (e *Endpoint) SetMTU(mtu uint32) { e.mtu.Store(mtu) }

// Capabilities implements stack.LinkEndpoint: see the package comment, Offload.
func (e *Endpoint) Capabilities() stack.LinkEndpointCapabilities {
	return stack.CapabilityRXChecksumOffload
}

// GSOMaxSize implements stack.GSOEndpoint: the largest super-segment in bytes, headers included.
func (e *Endpoint) GSOMaxSize() uint32 { return maxGSO }

// SupportedGSO implements stack.GSOEndpoint.
func (e *Endpoint) SupportedGSO() stack.SupportedGSO {
	if !e.dev.offload {
		return stack.GSONotSupported
	}
	return stack.HostGSOSupported
}

// MaxHeaderLength implements stack.LinkEndpoint: there is no link header.
func (*Endpoint) MaxHeaderLength() uint16 { return 0 }

// LinkAddress implements stack.LinkEndpoint: there is none.
func (*Endpoint) LinkAddress() tcpip.LinkAddress { return "" }

// SetLinkAddress implements stack.LinkEndpoint. It does nothing.
func (*Endpoint) SetLinkAddress(tcpip.LinkAddress) {}

// ARPHardwareType implements stack.LinkEndpoint.
func (*Endpoint) ARPHardwareType() header.ARPHardwareType { return header.ARPHardwareNone }

// AddHeader implements stack.LinkEndpoint. It does nothing.
func (*Endpoint) AddHeader(*stack.PacketBuffer) {}

// ParseHeader implements stack.LinkEndpoint.
func (*Endpoint) ParseHeader(*stack.PacketBuffer) bool { return true }
