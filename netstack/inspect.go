package netstack

import (
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/stack"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// TimerChange is what happened to a timer.
type TimerChange uint8

// The changes of a timer.
const (
	TimerStarted TimerChange = iota
	TimerMoved               // started while it ran
	TimerStopped
	TimerExpired
)

// String returns "start", "move", "stop" or "expire".
func (c TimerChange) String() string { return [...]string{"start", "move", "stop", "expire"}[c] }

// TimerEvent is a change of a connection's timer.
type TimerEvent struct {
	Time     wheel.Time // on the stack's clock
	Change   TimerChange
	Endpoint *Endpoint // identifies the connection; see Config.TimerEvents
	Kind     tcptimers.Kind
	Segment  int        // 1, 2, … for a segment's retransmission timer, 0 for the connection's
	Deadline wheel.Time // when it was set to expire; not rounded to the tick

	// The addresses and ports. They are valid only in TIME-WAIT, after the application has closed the
	// connection. Endpoint is nil there if no program has it any more.
	Local, Remote netip.AddrPort
}

// segmentNumber numbers the retransmission timers of a connection's segments from 1. Segments reuse
// the numbers of segments that were acknowledged.
func segmentNumber(slot tcp.Slot) int {
	if !slot.IsSegment() {
		return 0
	}
	return int(slot) - tcptimers.Kinds + 1
}

// observe reports a change. The caller holds the shard's lock.
func (s *shard) observe(change TimerChange, e *Endpoint, slot tcp.Slot, at wheel.Time) {
	if s.p.timerEvents == nil {
		return
	}
	s.p.timerEvents(TimerEvent{
		Time: s.p.now(), Change: change, Endpoint: e, Kind: slot.Kind(), Segment: segmentNumber(slot), Deadline: at,
	})
}

// WheelSnapshot is the state of one of a stack's timing wheels.
type WheelSnapshot struct {
	Now    wheel.Time // the last tick processed
	Tick   time.Duration
	Slots  int
	Hand   int // the slot of Now
	Timers []TimerSnapshot
}

// TimerSnapshot is a timer record in a slot's list.
type TimerSnapshot struct {
	Endpoint *Endpoint // nil in TIME-WAIT, after the application has closed the connection
	Kind     tcptimers.Kind
	Segment  int // as in TimerEvent
	Slot     int
	Running  bool       // false: it was stopped and its record is still in the list
	Deadline wheel.Time // the tick at which it expires, if it runs
}

// Wheels returns the timing wheels of a stack, those with the ticks of single sockets last. ok is
// false if the stack's TCP is not this package's. It locks one wheel at a time and costs O(timers).
func Wheels(s *stack.Stack) (all []WheelSnapshot, ok bool) {
	p, ok := s.TransportProtocolInstance(ProtocolNumber).(*protocol)
	if !ok {
		return nil, false
	}
	p.mu.RLock()
	shards := append([]*shard(nil), p.shards...)
	for _, more := range p.policyShards {
		shards = append(shards, more...)
	}
	p.mu.RUnlock()
	for _, sh := range shards {
		all = append(all, sh.snapshot())
	}
	return all, true
}

func (s *shard) snapshot() WheelSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := WheelSnapshot{Now: s.wheel.Now(), Tick: s.wheel.Tick(), Slots: s.wheel.Slots(), Hand: s.wheel.Hand()}
	s.wheel.Walk(func(p wheel.Place) {
		owner := s.wheel.Owner(p.Timer)
		slot, e := tcp.Slot(uint32(owner)), (*Endpoint)(nil)
		if owner&timeWaitOwner != 0 {
			slot = tcp.Slot(tcptimers.TimeWait)
		} else {
			e = s.owners[owner>>32]
		}
		w.Timers = append(w.Timers, TimerSnapshot{
			Endpoint: e, Kind: slot.Kind(), Segment: segmentNumber(slot),
			Slot: p.Slot, Running: p.Running, Deadline: p.Deadline,
		})
	})
	return w
}
