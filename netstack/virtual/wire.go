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
	// Send decides about a packet that leaves an end: it returns the time to the other end, or false
	// if the packet is lost.
	Send(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
	// Arrive decides about a packet at the other end: false drops it.
	Arrive(now wheel.Time, from int, p *Packet) bool
}

// Relay is a Wire with a switch between the ends. Send then returns the time to the switch.
type Relay interface {
	Wire
	// Forward decides about a packet at the switch: it returns the time from there to the other end,
	// or false if the packet is lost.
	Forward(now wheel.Time, from int, p *Packet) (took time.Duration, ok bool)
}

// direction is one direction of the wire or link.
type direction struct {
	net      *Net
	index    int
	from, to *channel.Endpoint
	streams  map[flowKey]*stream

	link     *sim.Link // nil with Config.Wire
	attempts map[attemptKey]uint32
}

// attemptKey identifies data by its flow and its first byte.
type attemptKey struct {
	flow  flowKey
	start uint64
}

// setLink gives the direction a link.
func (d *direction) setLink(cfg sim.LinkConfig, seed uint64) (err error) {
	d.link, err = sim.NewLink(cfg, sim.LinkKey(seed, [2]string{"0>1", "1>0"}[d.index]))
	for _, l := range cfg.Loss {
		if _, ok := l.(sim.Ranges); ok { // the only model that asks for attempts
			d.attempts = map[attemptKey]uint32{}
		}
	}
	return err
}

// WriteNotify implements channel.Notification.
func (d *direction) WriteNotify() {
	for pkt := d.from.Read(); pkt != nil; pkt = d.from.Read() {
		view := pkt.ToView()
		p := &Packet{Bytes: bytes.Clone(view.AsSlice()), Causes: netstack.Causes(pkt)}
		view.Release()
		pkt.DecRef()
		d.parse(p)
		if d.link != nil {
			d.sendOverLink(p)
			continue
		}
		if took, ok := d.net.wire.Send(d.net.Now(), d.index, p); ok {
			d.net.Clock.AfterFunc(took, func() { d.forward(p) })
		}
	}
}

// sendOverLink passes a packet through the link's model.
func (d *direction) sendOverLink(p *Packet) {
	now := d.net.Now()
	ip := header.IPv4(p.Bytes)
	tos, _ := ip.TOS()
	fate := d.link.Send(now, &sim.Packet{
		Start: p.Start, End: p.End, Attempt: d.attempt(p), Size: p.Size, ECN: sim.ECN(tos & 3),
	})
	if fate.Outcome != sim.Delivered {
		return
	}
	if fate.Marked {
		ip.SetTOS(tos|uint8(sim.CE), 0)
		ip.SetChecksum(0)
		ip.SetChecksum(^ip.CalculateChecksum())
	}
	if fate.Corrupt {
		p.Bytes[fate.Bit/8] ^= 1 << (7 - fate.Bit%8)
	}
	d.net.Clock.AfterFunc(fate.At.Sub(now), func() {
		d.inject(p)
		if fate.Duplicated {
			d.inject(p)
		}
	})
}

// attempt returns the number of transmissions of the packet's data, this one included.
func (d *direction) attempt(p *Packet) uint32 {
	if d.attempts == nil || p.Start == p.End {
		return 1
	}
	k := attemptKey{flowKey{p.Header.SrcPort, p.Header.DstPort}, p.Start}
	d.attempts[k]++
	return d.attempts[k]
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
