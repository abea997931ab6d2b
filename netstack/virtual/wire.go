package virtual

import (
	"bytes"
	"time"

	"gvisor.dev/gvisor/pkg/buffer"
	"gvisor.dev/gvisor/pkg/tcpip/header"
	"gvisor.dev/gvisor/pkg/tcpip/link/channel"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/wheel"
)

// Wire carries packets between the ends. Its methods are called one at a time and must not call the
// Net.
type Wire interface {
	// Send decides about a packet that leaves an end: it returns the time to the other end, or
	// false if the packet is lost.
	Send(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
	// Arrive decides about a packet at the other end: false drops it.
	Arrive(now wheel.Time, from int, p *Packet) bool
}

// Relay is a Wire with a switch between the ends. Send then returns the time to the switch.
type Relay interface {
	Wire
	// Forward decides about a packet at the switch: it returns the time from there to the other
	// end, or false if the packet is lost.
	Forward(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
}

// direction is one direction of the wire or link.
type direction struct {
	net      *Net
	index    int
	from, to *channel.Endpoint

	link    *PacketLink // nil with Config.Wire
	streams streams     // with Config.Wire
}

// WriteNotify implements channel.Notification.
func (d *direction) WriteNotify() {
	for pkt := d.from.Read(); pkt != nil; pkt = d.from.Read() {
		view := pkt.ToView()
		p := &Packet{Bytes: bytes.Clone(view.AsSlice()), Causes: netstack.Causes(pkt)}
		view.Release()
		pkt.DecRef()
		if d.link != nil {
			d.sendOverLink(p)
			continue
		}
		d.streams.parse(p)
		if took, ok := d.net.wire.Send(d.net.Now(), d.index, p); ok {
			d.net.Clock.AfterFunc(took, func() { d.forward(p) })
		}
	}
}

// sendOverLink passes a packet through the link's model.
func (d *direction) sendOverLink(p *Packet) {
	now := d.net.Now()
	fate := d.link.Send(now, p)
	if fate.Outcome != sim.Delivered {
		return
	}
	d.net.Clock.AfterFunc(fate.At.Sub(now), func() {
		d.inject(p)
		if fate.Duplicated {
			d.inject(p)
		}
	})
}

// forward passes a packet through the switch, if there is one.
func (d *direction) forward(p *Packet) {
	relay, ok := d.net.wire.(Relay)
	if !ok {
		d.arrive(p)
		return
	}
	if took, ok := relay.Forward(d.net.Now(), d.index, p); ok {
		d.net.Clock.AfterFunc(took, func() { d.arrive(p) })
	}
}

// arrive hands a packet to the stack at the other end, unless the wire drops it.
func (d *direction) arrive(p *Packet) {
	if d.net.wire.Arrive(d.net.Now(), d.index, p) {
		d.inject(p)
	}
}

// inject hands a packet to the stack at the other end.
func (d *direction) inject(p *Packet) {
	in := stack.NewPacketBuffer(stack.PacketBufferOptions{Payload: buffer.MakeWithData(p.Bytes)})
	defer in.DecRef()
	d.to.InjectInbound(header.IPv4ProtocolNumber, in)
}
