package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timerRef is a timer record of a socket, with a bit that says whether it runs; 0 is none.
type timerRef uint32

const timerRuns = 1 << 31

func (r timerRef) timer() wheel.Timer { return wheel.Timer(r &^ timerRuns) }
func (r timerRef) running() bool      { return r&timerRuns != 0 }

// socketTimers has a connection's timer records, one for each kind, created when first started.
// Keepalive and delayed-ACK records are in Socket instead: an idle connection may need only the
// first, and a receiver only the second. Records of segments are in the flight.
type socketTimers struct {
	kinds   [tcptimers.Kinds]timerRef
	records uint32
	runs    uint32 // records that run
}

// sparePool is how many unused socketTimers an engine keeps.
const sparePool = 1024

// timerRef returns the record of a slot.
func (e *Engine) timerRef(s *Socket, slot Slot) *timerRef {
	if id := slot.segment(); id != 0 {
		f := s.conn.snd.fl
		if f == &atRest { // this call returned the flight
			f = e.out.returnedFlights[len(e.out.returnedFlights)-1]
		}
		return &f.sent.arena[id-1].ref
	}
	switch slot {
	case Slot(tcptimers.Keepalive):
		return &s.keepalive
	case Slot(tcptimers.DelAck):
		return &s.delack
	}
	t := s.timers
	if t == nil {
		if n := len(e.timerPool); n > 0 {
			t, e.timerPool = e.timerPool[n-1], e.timerPool[:n-1]
		} else {
			t = new(socketTimers)
		}
		s.timers = t
	}
	return &t.kinds[slot]
}

// eachTimer calls f with each record of s.
func (s *Socket) eachTimer(f func(Slot, timerRef)) {
	if s.keepalive != 0 {
		f(Slot(tcptimers.Keepalive), s.keepalive)
	}
	if s.delack != 0 {
		f(Slot(tcptimers.DelAck), s.delack)
	}
	if s.timers != nil {
		for i, r := range s.timers.kinds {
			if r != 0 {
				f(Slot(i), r)
			}
		}
	}
	q := &s.conn.snd.fl.sent
	for i := range q.arena[:q.used] {
		if r := q.arena[i].ref; r != 0 {
			f(segmentSlot(segmentID(i+1)), r)
		}
	}
}

// freeReturned frees the records in flights that were returned.
func (e *Engine) freeReturned() {
	for _, f := range e.out.returnedFlights {
		q := &f.sent
		for i := range q.arena[:q.used] {
			if r := &q.arena[i].ref; *r != 0 {
				e.wheel.Free(r.timer())
				*r = 0
			}
		}
	}
}

// timerOwner encodes a record's connection and slot.
func timerOwner(index uint32, slot Slot) uint64 { return uint64(index)<<32 | uint64(slot) }

// applyTimers carries out the timer operations in the output.
func (e *Engine) applyTimers(s *Socket) {
	for i := range e.out.Timers {
		op := &e.out.Timers[i]
		var ref *timerRef
		if id := op.Slot.segment(); id != 0 && s.conn.snd.fl != &atRest {
			ref = &s.conn.snd.fl.sent.arena[id-1].ref // the usual case
		} else {
			ref = e.timerRef(s, op.Slot)
		}
		if op.Start {
			if *ref == 0 {
				*ref = timerRef(e.wheel.New(timerOwner(s.index, op.Slot)))
				s.countTimers(op.Slot, 1, 0)
			}
			e.wheel.Schedule(ref.timer(), op.At)
			if !ref.running() {
				*ref |= timerRuns
				s.countTimers(op.Slot, 0, 1)
			}
		} else if ref.running() {
			if ref == &s.delack {
				e.wheel.Free(ref.timer()) // which also stops it
				*ref = 0
				continue
			}
			e.wheel.Stop(ref.timer())
			*ref &^= timerRuns
			s.countTimers(op.Slot, 0, -1)
		}
	}
}

// inSocketTimers reports whether a slot's record is in socketTimers.
func inSocketTimers(slot Slot) bool {
	return slot < Slot(tcptimers.Kinds) && slot != Slot(tcptimers.Keepalive) && slot != Slot(tcptimers.DelAck)
}

// countTimers updates the counts in socketTimers.
func (s *Socket) countTimers(slot Slot, records, runs int) {
	if inSocketTimers(slot) {
		s.timers.records += uint32(records)
		s.timers.runs += uint32(runs)
	}
}

// freeTimers frees the records of s that do not run. Those in socketTimers must not run.
func (e *Engine) freeTimers(s *Socket) {
	for _, ref := range []*timerRef{&s.keepalive, &s.delack} {
		if *ref != 0 && !ref.running() {
			e.wheel.Free(ref.timer())
			*ref = 0
		}
	}
	t := s.timers
	if t == nil {
		return
	}
	for _, ref := range t.kinds {
		if ref != 0 {
			e.wheel.Free(ref.timer())
		}
	}
	s.timers = nil
	if len(e.timerPool) < sparePool {
		*t = socketTimers{}
		e.timerPool = append(e.timerPool, t)
	}
}

// freeAllTimers stops and frees all records of s.
func (e *Engine) freeAllTimers(s *Socket) {
	for _, ref := range []*timerRef{&s.keepalive, &s.delack} {
		if ref.running() {
			e.wheel.Stop(ref.timer())
			*ref &^= timerRuns
		}
	}
	e.freeTimers(s)
}

// Advance expires due timers.
func (e *Engine) Advance(now wheel.Time) { e.wheel.Advance(e.setNow(now), 0, e.expireFunc) }

// expired is EXPIRY PROCESSING (Varghese & Lauck 1987).
func (e *Engine) expired(t wheel.Timer) {
	owner := e.wheel.Owner(t)
	s, slot := e.sockets[owner>>32], Slot(uint32(owner))
	if slot == Slot(tcptimers.DelAck) {
		e.wheel.Free(t)
		s.delack = 0
	} else {
		*e.timerRef(s, slot) &^= timerRuns
		s.countTimers(slot, 0, -1)
	}
	if e.trace != nil {
		e.traceExpired(s, slot)
	}
	s.conn.Expire(e.now, slot, &e.out)
	e.apply(s)
}
