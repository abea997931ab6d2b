package up

import (
	"sync/atomic"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/internal/pcapng"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp/events"
	"tcpwheel/tun"
	"tcpwheel/wheel"
)

// lossTap reports the segments that an emulated link drops. It implements tun.Tap.
type lossTap struct{ to atomic.Pointer[observer] }

// Sent implements tun.Tap.
func (t *lossTap) Sent(_ wheel.Time, p *tun.LinkPacket, pkt *stack.PacketBuffer) {
	o := t.to.Load()
	if o == nil || !o.stream.active.Load() || !p.TooBig && p.Fate.Outcome == sim.Delivered {
		return
	}
	d := pcapng.Outbound
	if p.Direction == tun.Back {
		d = pcapng.Inbound
	}
	if s, ok := parseSegment(pkt, d); ok {
		o.stream.add(Event{Time: o.now(), Name: events.SegmentLost, Segment: s})
	}
}

// Arrived implements tun.Tap.
func (t *lossTap) Arrived(wheel.Time, *tun.LinkPacket, *stack.PacketBuffer) {}
