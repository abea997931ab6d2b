package netstack

import (
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// shard has the timers of some of the connections: a wheel, its lock, and one timer of the stack's
// clock for the wheel's next wake-up. It also keeps scratch space for their steps.
type shard struct {
	p     *protocol
	ticks granularity

	mu             sync.Mutex
	wheel          *wheel.Scheme6
	config         wheel.Config // of wheel
	timeWaits      int          // records of timeWaits with a timer here
	mostTimeWaits  int          // the most since the wheel was made
	owners         []*Endpoint  // indexed by the upper half of a timer's owner
	freeOwners     []uint32     // unused indices of owners; the last one freed is reused first
	clock          tcpip.Timer  // nil until it is first needed
	armed          bool         // clock expires at wakeAt
	wakeAt         wheel.Time
	closed         bool
	due            []*Endpoint       // connections with expired timers, during Advance
	dueWaits       []dueTimeWait     // records with expired timers, during Advance
	freeScratch    []*scratch        // not in use
	timerPool      []*endpointTimers // sets of idle timer records without a connection
	pooledSegments int               // records of segments in timerPool
}

// timerState is the state of a timer record.
type timerState uint8

const (
	timerIdle    timerState = iota
	timerRunning            // in the wheel
	timerFired              // expired; the connection does not know yet
)

// timerRef is a timer record of a connection. It is unused if timer is 0.
type timerRef struct {
	timer wheel.Timer
	state timerState
}

// endpointTimers holds the timer records of a connection. A record is made when its timer first
// starts. The shard's lock guards them.
type endpointTimers struct {
	index    uint32 // in shard.owners
	busy     int    // records that run or have fired
	kinds    [tcptimers.Kinds]timerRef
	segments []timerRef
	starts   []timerStart // by slot, with Config.Causes
	fired    []tcp.Slot   // in order of expiry; some may have been started or stopped since
	queued   bool         // in shard.due
}

func (t *endpointTimers) ref(slot tcp.Slot) *timerRef {
	if slot < tcp.Slot(tcptimers.Kinds) {
		return &t.kinds[slot]
	}
	i := int(slot) - tcptimers.Kinds
	for i >= len(t.segments) {
		t.segments = append(t.segments, timerRef{})
	}
	return &t.segments[i]
}

// newShard makes a shard for policies with pol's ticks.
func newShard(p *protocol, pol *tcptimers.Policy) (*shard, error) {
	if err := pol.Check(); err != nil {
		return nil, err
	}
	cfg := pol.WheelConfig(p.now())
	cfg.Slots = p.slots
	w, err := wheel.New(wheel.Default, cfg)
	if err != nil {
		return nil, err
	}
	// The concrete type saves two dynamic calls per segment.
	return &shard{p: p, wheel: w.(*wheel.Scheme6), config: cfg, ticks: granularityOf(pol)}, nil
}

// manyTimeWaits is from how many records on the wheel's memory is worth returning.
const manyTimeWaits = 1 << 12

// shrink returns the memory of a wheel that held many more timers than now: it moves the timers to
// a new one. The caller holds the lock, and no timer record belongs to a connection in TIME-WAIT.
func (s *shard) shrink() {
	s.config.Origin = s.wheel.Now() // the ticks stay where they are
	f, err := wheel.New(wheel.Default, s.config)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	w := f.(*wheel.Scheme6)
	for _, t := range s.timerPool {
		s.freeOwners = append(s.freeOwners, t.index)
	}
	s.timerPool, s.pooledSegments, s.mostTimeWaits = nil, 0, 0
	for _, e := range s.owners {
		if e == nil {
			continue
		}
		e.timers.each(func(_ tcp.Slot, r *timerRef) {
			if r.timer == 0 {
				return
			}
			at, runs := s.wheel.Deadline(r.timer)
			r.timer = w.New(s.wheel.Owner(r.timer))
			if runs {
				w.Schedule(r.timer, at)
			}
		})
	}
	s.wheel = w
}

// apply carries out the timer operations of a connection, in order.
func (s *shard) apply(e *Endpoint, ops []tcp.TimerOp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyLocked(e, ops)
}

func (s *shard) applyLocked(e *Endpoint, ops []tcp.TimerOp) {
	t := e.timers
	for i := range ops {
		op := &ops[i]
		if t == nil {
			if !op.Start || s.closed {
				continue
			}
			s.attachTimers(e)
			t = e.timers
		}
		ref := t.ref(op.Slot)
		if op.Start {
			if ref.timer == 0 {
				ref.timer = s.wheel.New(uint64(t.index)<<32 | uint64(op.Slot))
			}
			s.wheel.Schedule(ref.timer, op.At)
			if s.p.causes {
				t.recordStart(op, e.now)
			}
			change := TimerMoved
			if ref.state != timerRunning {
				change = TimerStarted
			}
			s.observe(change, e, op.Slot, op.At)
			if ref.state == timerIdle {
				t.busy++
			}
			ref.state = timerRunning
			continue
		}
		if ref.state == timerRunning {
			s.wheel.Stop(ref.timer)
			s.observe(TimerStopped, e, op.Slot, 0)
		}
		if ref.state != timerIdle {
			t.busy--
			ref.state = timerIdle
		}
	}
	if t != nil && t.busy == 0 {
		// A connection without a running timer returns its records: others need them sooner.
		s.detachTimers(e)
	}
	s.arm()
}

// attachTimers gives a connection timer records.
func (s *shard) attachTimers(e *Endpoint) {
	if n := len(s.timerPool); n > 0 {
		e.timers = s.timerPool[n-1]
		s.timerPool = s.timerPool[:n-1]
		s.pooledSegments -= len(e.timers.segments)
		s.owners[e.timers.index] = e
		return
	}
	e.timers = new(endpointTimers)
	if n := len(s.freeOwners); n > 0 {
		e.timers.index = s.freeOwners[n-1]
		s.freeOwners = s.freeOwners[:n-1]
		s.owners[e.timers.index] = e
	} else {
		e.timers.index = uint32(len(s.owners))
		s.owners = append(s.owners, e)
	}
}

const (
	maxPooledTimers   = 64      // sets of records in a shard's timerPool
	maxPooledSegments = 1 << 13 // records of segments in all of them
)

// detachTimers stops the connection's timers and takes its records. A pooled set keeps its records:
// the next connection finds them in the cache.
func (s *shard) detachTimers(e *Endpoint) {
	t := e.timers
	if t == nil {
		return
	}
	e.timers = nil
	s.owners[t.index] = nil
	if t.busy > 0 {
		t.each(func(slot tcp.Slot, r *timerRef) {
			if r.state == timerRunning {
				s.wheel.Stop(r.timer)
				s.observe(TimerStopped, e, slot, 0)
			}
			r.state = timerIdle
		})
	}
	t.busy, t.fired, t.queued = 0, t.fired[:0], false
	if len(s.timerPool) < maxPooledTimers && s.pooledSegments+len(t.segments) <= maxPooledSegments {
		s.timerPool = append(s.timerPool, t)
		s.pooledSegments += len(t.segments)
		return
	}
	t.each(func(_ tcp.Slot, r *timerRef) {
		if r.timer != 0 {
			s.wheel.Free(r.timer)
		}
	})
	s.freeOwners = append(s.freeOwners, t.index)
}

// each calls f with every record, made or not.
func (t *endpointTimers) each(f func(tcp.Slot, *timerRef)) {
	for i := range t.kinds {
		f(tcp.Slot(i), &t.kinds[i])
	}
	for i := range t.segments {
		f(tcp.Slot(tcptimers.Kinds+i), &t.segments[i])
	}
}

// nextFired carries out ops, and returns the slot of an expired timer that the connection does not
// know of.
func (s *shard) nextFired(e *Endpoint, ops []tcp.TimerOp) (tcp.Slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.applyLocked(e, ops)
	t := e.timers
	if t == nil {
		return 0, false
	}
	for len(t.fired) > 0 {
		slot := t.fired[0]
		t.fired = t.fired[1:]
		if ref := t.ref(slot); ref.state == timerFired {
			ref.state = timerIdle
			t.busy--
			return slot, true
		}
	}
	t.fired = nil
	return 0, false
}

// arm sets the clock to the wheel's next wake-up, if that is earlier than the current setting.
func (s *shard) arm() {
	at, ok := s.wheel.NextWakeup()
	if !ok || s.closed || s.armed && s.wakeAt <= at {
		return
	}
	wait := max(at.Sub(s.p.now()), 0)
	switch {
	case s.clock == nil:
		s.clock = s.p.stack.Clock().AfterFunc(wait, s.tick)
	default:
		// If the clock expires at this moment, tick runs a second time, which does no harm.
		s.clock.Stop()
		s.clock.Reset(wait)
	}
	s.armed, s.wakeAt = true, at
}

// tick is the paper's PER_TICK_BOOKKEEPING.
func (s *shard) tick() {
	now := s.p.now()
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.armed = false
	s.wheel.Advance(now, 0, s.expired)
	s.arm()
	due, waits := s.due, s.dueWaits
	s.due, s.dueWaits = nil, nil
	for _, e := range due {
		e.timers.queued = false
	}
	s.mu.Unlock()
	for _, e := range due {
		e.expired.Store(true)
		e.kick()
	}
	s.p.timeWaits.expire(s, waits)
}

// expired is the paper's EXPIRY_PROCESSING: it queues the timer's connection.
func (s *shard) expired(t wheel.Timer) {
	owner := s.wheel.Owner(t)
	if owner&timeWaitOwner != 0 {
		s.dueWaits = append(s.dueWaits, dueTimeWait{owner, t})
		return
	}
	e, slot := s.owners[owner>>32], tcp.Slot(uint32(owner))
	timers := e.timers
	s.observe(TimerExpired, e, slot, s.wheel.Now())
	timers.ref(slot).state = timerFired
	timers.fired = append(timers.fired, slot)
	if !timers.queued {
		timers.queued = true
		s.due = append(s.due, e)
	}
}

// close stops the clock. No timer of the shard expires after it.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.clock != nil {
		s.clock.Stop()
	}
}

// now returns the time of the stack's clock, which wheels and connections use.
func (p *protocol) now() wheel.Time {
	return wheel.Time(p.stack.Clock().NowMonotonic().Sub(tcpip.MonotonicTime{}))
}
