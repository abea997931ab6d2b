package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Cause is the timer that made segments of a packet leave. Times are those of the stack's clock: what its NowMonotonic counts.
type Cause struct {
	Kind       tcptimers.Kind
	SYN        bool // what left is a SYN
	PerSegment bool // the timer is that of one segment, and not the only one of its kind

	Armed    wheel.Time // when it was started, or moved, for the last time
	Deadline wheel.Time // for when
	Expired  wheel.Time // when its connection was told

	// The segments are those from First up to Last in the packet, counted from 0, of Of. A packet that the link does not have to
	// cut is one segment.
	First, Last, Segments int
}

// Causes returns the timers that made a packet leave, in the order of its segments: none if something else did, or if the stack's TCP is
// not made with Config.Causes. It is for links, in WritePackets.
func Causes(pkt *stack.PacketBuffer) []Cause {
	if o, ok := pkt.Owner.(*timedOwner); ok {
		return o.causes
	}
	return nil
}

// timedOwner is the owner of a packet that timers made leave. It stands for the endpoint's owner, root if there is none.
type timedOwner struct {
	of     tcpip.PacketOwner
	causes []Cause
}

func (o *timedOwner) KUID() uint32 {
	if o.of == nil {
		return 0
	}
	return o.of.KUID()
}

func (o *timedOwner) KGID() uint32 {
	if o.of == nil {
		return 0
	}
	return o.of.KGID()
}

// timerStart is when a timer was started, and for when.
type timerStart struct{ armed, deadline wheel.Time }

// noteStart notes the start of a timer. The shard's lock is held.
func (t *endpointTimers) noteStart(op *tcp.TimerOp, now wheel.Time) {
	for int(op.Slot) >= len(t.starts) {
		t.starts = append(t.starts, timerStart{})
	}
	t.starts[op.Slot] = timerStart{now, op.At}
}

// noteCause notes that a timer made the segments from the n-th on leave. It is called before the operations that its expiry has
// caused are carried out.
func (e *Endpoint) noteCause(p *pass, slot tcp.Slot, now wheel.Time, n int) {
	if !e.p.causes || len(p.out.Segments) == n {
		return
	}
	c := Cause{Kind: slot.Kind(), PerSegment: slot.IsSegment(), Expired: now, First: n, Last: len(p.out.Segments) - 1}
	c.SYN = p.out.Segments[n].Header.Flags.Has(tcp.SYN)
	e.shard.mu.Lock()
	if t := e.timers; t != nil && int(slot) < len(t.starts) {
		c.Armed, c.Deadline = t.starts[slot].armed, t.starts[slot].deadline
	}
	e.shard.mu.Unlock()
	p.causes = append(p.causes, c)
}

// owner returns the owner of the i-th packet: w's, with the timers that made it leave, if any did.
func (p *pass) owner(i int, w *way) tcpip.PacketOwner {
	if len(p.causes) == 0 {
		return w.owner
	}
	first, end := p.packets[i].first, len(p.out.Segments)
	if i+1 < len(p.packets) {
		end = p.packets[i+1].first
	}
	var o *timedOwner
	for _, c := range p.causes {
		if c.Last < first || c.First >= end {
			continue
		}
		if o == nil {
			o = &timedOwner{of: w.owner}
		}
		c.First, c.Last, c.Segments = max(c.First-first, 0), min(c.Last, end-1)-first, end-first
		o.causes = append(o.causes, c)
	}
	if o == nil {
		return w.owner
	}
	return o
}
