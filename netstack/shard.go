package netstack

import (
	"math/rand"
	"sync"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// shard has the timers of some of the connections: a wheel, its lock, and one timer of the clock for the next tick that matters. It also
// has what passes over its connections need and give back.
type shard struct {
	p     *protocol
	ticks granularity

	mu     sync.Mutex
	wheel  *wheel.Scheme6
	owners []*Endpoint // by the upper half of a timer's owner
	free   []uint32    // the places in owners that nobody has, the last one given back first
	clock  tcpip.Timer // nil until it is first needed
	armed  bool        // clock is to go off at at
	at     wheel.Time
	closed bool
	due    []*Endpoint       // those with expired timers, while the wheel is advanced
	spare  []*pass           // that no connection is running
	passes []*pass           // all
	pool   []*endpointTimers // that no connection has: all of their records stand still
	pooled int               // records of segments in pool
}

// timerState is what a timer record is at.
type timerState uint8

const (
	timerIdle    timerState = iota
	timerRunning            // in the wheel
	timerFired              // expired, and the connection was not told yet
)

// timerRef is a timer record of a connection; timer 0 is none.
type timerRef struct {
	timer wheel.Timer
	state timerState
}

// endpointTimers are the timer records of a connection, which are made when they are first started. The shard's lock guards them.
type endpointTimers struct {
	index    uint32 // in shard.owners
	busy     int    // records that run or have fired
	kinds    [tcptimers.Kinds]timerRef
	segments []timerRef
	starts   []timerStart // by slot, with Config.Causes
	fired    []tcp.Slot   // in the order in which they expired; some may have been started or stopped again since
	queued   bool         // among shard.due
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

// newShard makes a shard for connections under policies whose ticks are those of pol.
func newShard(p *protocol, pol *tcptimers.Policy) (*shard, error) {
	w, err := pol.NewWheel(wheel.Default, p.now(), false)
	if err != nil {
		return nil, err
	}
	// The type saves dynamic calls, of which there are two for each segment.
	return &shard{p: p, wheel: w.(*wheel.Scheme6), ticks: granularityOf(pol)}, nil
}

// apply carries out the timer operations of a connection, in their order.
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
			s.adopt(e)
			t = e.timers
		}
		ref := t.ref(op.Slot)
		if op.Start {
			if ref.timer == 0 {
				ref.timer = s.wheel.New(uint64(t.index)<<32 | uint64(op.Slot))
			}
			s.wheel.Schedule(ref.timer, op.At)
			if s.p.causes {
				t.noteStart(op, e.now)
			}
			if ref.state == timerIdle {
				t.busy++
			}
			ref.state = timerRunning
			continue
		}
		if ref.state == timerRunning {
			s.wheel.Stop(ref.timer)
		}
		if ref.state != timerIdle {
			t.busy--
			ref.state = timerIdle
		}
	}
	if t != nil && t.busy == 0 {
		// A connection with no timer at all gives its records back: others will need them before it does.
		s.release(e)
	}
	s.arm()
}

// adopt gives a connection timer records.
func (s *shard) adopt(e *Endpoint) {
	if n := len(s.pool); n > 0 {
		e.timers = s.pool[n-1]
		s.pool = s.pool[:n-1]
		s.pooled -= len(e.timers.segments)
		s.owners[e.timers.index] = e
		return
	}
	e.timers = new(endpointTimers)
	if n := len(s.free); n > 0 {
		e.timers.index = s.free[n-1]
		s.free = s.free[:n-1]
		s.owners[e.timers.index] = e
	} else {
		e.timers.index = uint32(len(s.owners))
		s.owners = append(s.owners, e)
	}
}

const (
	maxSpareTimers   = 64      // sets of records that a shard keeps
	maxSpareSegments = 1 << 13 // records of segments in all of them
)

// release takes all timer records from a connection, which stops them. The next connection finds them as they are: made, in the wheel's
// memory and in the cache.
func (s *shard) release(e *Endpoint) {
	t := e.timers
	if t == nil {
		return
	}
	e.timers = nil
	s.owners[t.index] = nil
	if t.busy > 0 {
		t.each(func(r *timerRef) {
			if r.state == timerRunning {
				s.wheel.Stop(r.timer)
			}
			r.state = timerIdle
		})
	}
	t.busy, t.fired, t.queued = 0, t.fired[:0], false
	if len(s.pool) < maxSpareTimers && s.pooled+len(t.segments) <= maxSpareSegments {
		s.pool = append(s.pool, t)
		s.pooled += len(t.segments)
		return
	}
	t.each(func(r *timerRef) {
		if r.timer != 0 {
			s.wheel.Free(r.timer)
		}
	})
	s.free = append(s.free, t.index)
}

// each calls f with all records, those included that were never made.
func (t *endpointTimers) each(f func(*timerRef)) {
	for i := range t.kinds {
		f(&t.kinds[i])
	}
	for i := range t.segments {
		f(&t.segments[i])
	}
}

// takeFired carries out ops and returns the slot of a timer that has expired and that its connection was not told of.
func (s *shard) takeFired(e *Endpoint, ops []tcp.TimerOp) (tcp.Slot, bool) {
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

// arm sets the clock to the next tick at which a timer may expire, if that is earlier than what it is set to.
func (s *shard) arm() {
	at, ok := s.wheel.NextWakeup()
	if !ok || s.closed || s.armed && s.at <= at {
		return
	}
	wait := max(at.Sub(s.p.now()), 0)
	switch {
	case s.clock == nil:
		s.clock = s.p.stack.Clock().AfterFunc(wait, s.tick)
	default:
		// If it went off at this very moment, tick is on its way, and does no harm.
		s.clock.Stop()
		s.clock.Reset(wait)
	}
	s.armed, s.at = true, at
}

// tick is PER TICK BOOKKEEPING.
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
	due := s.due
	s.due = nil
	for _, e := range due {
		e.timers.queued = false
	}
	s.mu.Unlock()
	for _, e := range due {
		e.expired.Store(true)
		e.kick()
	}
}

// expired is EXPIRY PROCESSING: the connection is to be told.
func (s *shard) expired(t wheel.Timer) {
	owner := s.wheel.Owner(t)
	e, slot := s.owners[owner>>32], tcp.Slot(uint32(owner))
	timers := e.timers
	timers.ref(slot).state = timerFired
	timers.fired = append(timers.fired, slot)
	if !timers.queued {
		timers.queued = true
		s.due = append(s.due, e)
	}
}

// close stops the clock. No timer of the shard expires any more.
func (s *shard) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.clock != nil {
		s.clock.Stop()
	}
}

// pass is what one pass over a connection needs. It has counters and randomness of its own, so that passes over several
// connections do not meet.
type pass struct {
	out     tcp.Output
	packets []packet
	told    tcp.Counters // the counters that the stack's statistics have
	slow    uint64       // segments sent again in slow start, that they have not
	in      []segment    // what is being processed
	causes  []Cause      // of the output's segments, with Config.Causes
}

// borrow returns a pass.
func (s *shard) borrow() *pass {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.spare); n > 0 {
		p := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return p
	}
	p := new(pass)
	p.out.Rand = rand.New(rand.NewSource(s.p.stack.InsecureRNG().Int63()))
	p.out.Challenge = s.p.limit
	s.passes = append(s.passes, p)
	return p
}

// giveBack takes a pass back.
func (s *shard) giveBack(p *pass) {
	s.mu.Lock()
	s.spare = append(s.spare, p)
	s.mu.Unlock()
}

// now is the time of the wheels and connections.
func (p *protocol) now() wheel.Time {
	return wheel.Time(p.stack.Clock().NowMonotonic().Sub(tcpip.MonotonicTime{}))
}
