package tun

import (
	"fmt"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/nested"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/sim"
)

// Impaired is a link endpoint behind an emulated link: a stack.LinkEndpoint and stack.GSOEndpoint.
// Multiple goroutines may invoke methods on it. A write that reaches the wire returns no error,
// whatever becomes of the packet.
type Impaired struct {
	nested.Endpoint
	wires   [2]*wire
	corrupt bool
}

var (
	_ stack.LinkEndpoint = (*Impaired)(nil)
	_ stack.GSOEndpoint  = (*Impaired)(nil)
)

// Impair puts an emulated link between a link endpoint and a stack, which the caller then attaches
// to the result. The link must carry plain IP packets without a link header, as a Device does.
func Impair(link stack.LinkEndpoint, o LinkOptions) (*Impaired, error) {
	if n := link.MaxHeaderLength(); n != 0 {
		return nil, fmt.Errorf("tun: link header of %d bytes, want a link of plain IP packets", n)
	}
	e := &Impaired{corrupt: o.Back.Corrupt > 0}
	var err error
	e.wires, err = o.wires([2]func(*stack.PacketBuffer){
		There: func(pkt *stack.PacketBuffer) { writeOne(link, pkt) },
		Back: func(pkt *stack.PacketBuffer) {
			in := pkt.CloneToInbound()
			in.NetworkProtocolNumber = pkt.NetworkProtocolNumber
			e.Endpoint.DeliverNetworkPacket(pkt.NetworkProtocolNumber, in)
			in.DecRef()
		},
	})
	if err != nil {
		return nil, err
	}
	e.Endpoint.Init(link, e)
	return e, nil
}

// writeOne writes one packet to a link. A packet that the link refuses is lost.
func writeOne(link stack.LinkEndpoint, pkt *stack.PacketBuffer) {
	var list stack.PacketBufferList
	list.PushBack(pkt)
	_, _ = link.WritePackets(list)
}

// Counts returns what each direction did with its packets, indexed by Direction.
func (e *Impaired) Counts() [2]sim.LinkCounts {
	return [2]sim.LinkCounts{e.wires[There].counts(), e.wires[Back].counts()}
}

// WritePackets implements stack.LinkWriter.
func (e *Impaired) WritePackets(pkts stack.PacketBufferList) (int, tcpip.Error) {
	for _, pkt := range pkts.AsSlice() {
		e.wires[There].send(pkt)
	}
	return pkts.Len(), nil
}

// DeliverNetworkPacket implements stack.NetworkDispatcher, for the link below.
func (e *Impaired) DeliverNetworkPacket(_ tcpip.NetworkProtocolNumber, pkt *stack.PacketBuffer) {
	e.wires[Back].send(pkt)
}

// Attach implements stack.LinkEndpoint. Detaching the stack loses the packets on the wire.
func (e *Impaired) Attach(to stack.NetworkDispatcher) {
	for _, w := range e.wires {
		if to != nil {
			w.open()
		} else {
			w.stop()
		}
	}
	e.Endpoint.Attach(to)
}

// Wait implements stack.LinkEndpoint.
func (e *Impaired) Wait() {
	e.Endpoint.Wait()
	for _, w := range e.wires {
		w.wait()
	}
}

// Capabilities implements stack.LinkEndpoint. Packets on the wire always have checksums, and the
// stack verifies them if the link flips bits.
func (e *Impaired) Capabilities() stack.LinkEndpointCapabilities {
	c := e.Endpoint.Capabilities() &^ stack.CapabilityTXChecksumOffload
	if e.corrupt {
		c &^= stack.CapabilityRXChecksumOffload
	}
	return c
}

// GSOMaxSize implements stack.GSOEndpoint.
func (e *Impaired) GSOMaxSize() uint32 { return maxGSO }

// SupportedGSO implements stack.GSOEndpoint. The emulated link cuts super-segments, so the link
// below need not support them.
func (e *Impaired) SupportedGSO() stack.SupportedGSO { return stack.HostGSOSupported }
