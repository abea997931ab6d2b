package netstack

import (
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// Cause is the timer that caused segments of a packet. Times are on the stack's clock: the time
// since NowMonotonic's zero.
type Cause struct {
	Kind       tcptimers.Kind
	SYN        bool // the timer retransmitted a SYN
	PerSegment bool // one of several timers of its kind, one per segment

	Armed    wheel.Time // when the timer was last started or moved
	Deadline wheel.Time // when it was set to expire
	Expired  wheel.Time // when the connection was told

	// The packet has Segments segments; the timer caused those from First to Last, counted from 0. A
	// packet that the link need not segment has one.
	First, Last, Segments int
}

// Causes returns the timers that caused a packet, in the order of its segments. It returns nil if
// anything else caused the packet, or if the stack's TCP was made without Config.Causes. Links call
// it in WritePackets.
func Causes(pkt *stack.PacketBuffer) []Cause {
	if o, ok := pkt.Owner.(*causedOwner); ok {
		return o.causes
	}
	return nil
}

// causedOwner wraps the owner of a packet (nil is root) and carries the packet's causes.
type causedOwner struct {
	owner  tcpip.PacketOwner
	causes []Cause
}

func (o *causedOwner) KUID() uint32 {
	if o.owner == nil {
		return 0
	}
	return o.owner.KUID()
}

func (o *causedOwner) KGID() uint32 {
	if o.owner == nil {
		return 0
	}
	return o.owner.KGID()
}

// timerStart records when a timer was started and its deadline.
type timerStart struct{ armed, deadline wheel.Time }

// recordStart records the start of a timer. The caller holds the shard's lock.
func (t *endpointTimers) recordStart(op *tcp.TimerOp, now wheel.Time) {
	for int(op.Slot) >= len(t.starts) {
		t.starts = append(t.starts, timerStart{})
	}
	t.starts[op.Slot] = timerStart{now, op.At}
}

// recordCause records that a timer caused the segments from index n on. Call it before the timer
// operations of the expiry are applied.
func (st *step) recordCause(slot tcp.Slot, now wheel.Time, n int) {
	if !st.e.p.causes || len(st.out.Segments) == n {
		return
	}
	c := Cause{Kind: slot.Kind(), PerSegment: slot.IsSegment(), Expired: now, First: n, Last: len(st.out.Segments) - 1}
	c.SYN = st.out.Segments[n].Header.Flags.Has(tcp.SYN)
	st.e.shard.mu.Lock()
	if t := st.e.timers; t != nil && int(slot) < len(t.starts) {
		c.Armed, c.Deadline = t.starts[slot].armed, t.starts[slot].deadline
	}
	st.e.shard.mu.Unlock()
	st.causes = append(st.causes, c)
}

// packetOwner returns the owner of the i-th packet: params' owner, wrapped with the packet's causes
// if it has any.
func (s *scratch) packetOwner(i int, params *packetParams) tcpip.PacketOwner {
	if len(s.causes) == 0 {
		return params.owner
	}
	first, end := s.packets[i].first, len(s.out.Segments)
	if i+1 < len(s.packets) {
		end = s.packets[i+1].first
	}
	var o *causedOwner
	for _, c := range s.causes {
		if c.Last < first || c.First >= end {
			continue
		}
		if o == nil {
			o = &causedOwner{owner: params.owner}
		}
		c.First, c.Last, c.Segments = max(c.First-first, 0), min(c.Last, end-1)-first, end-first
		o.causes = append(o.causes, c)
	}
	if o == nil {
		return params.owner
	}
	return o
}
