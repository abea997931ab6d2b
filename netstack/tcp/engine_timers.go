package tcp

import (
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// timerRef is a timer record of a socket, and whether it runs; 0 is none.
type timerRef uint32

const timerRuns = 1 << 31

func (r timerRef) timer() wheel.Timer { return wheel.Timer(r &^ timerRuns) }
func (r timerRef) running() bool      { return r&timerRuns != 0 }

// socketTimers are the timer records of one connection, which are made when they are first started.
type socketTimers struct {
	kinds    [tcptimers.Kinds]timerRef
	segments []timerRef // from SegmentSlot(1) on
	records  uint32     // of both
	runs     uint32     // of these
}

// spareTimers is how many records a connection keeps that do not run while at most one does: those that a request and its
// response use again and again. The rest is given back then.
const spareTimers = 2

// ref returns where the record of a slot is named.
func (t *socketTimers) ref(slot Slot) *timerRef {
	if slot < Slot(tcptimers.Kinds) {
		return &t.kinds[slot]
	}
	i := int(slot) - tcptimers.Kinds
	for i >= len(t.segments) {
		t.segments = append(t.segments, 0)
	}
	return &t.segments[i]
}

// each calls f with each record.
func (t *socketTimers) each(f func(Slot, timerRef)) {
	for i, r := range t.kinds {
		if r != 0 {
			f(Slot(i), r)
		}
	}
	for i, r := range t.segments {
		if r != 0 {
			f(Slot(tcptimers.Kinds+i), r)
		}
	}
}

// timerOwner is how a timer record names its connection and slot.
func timerOwner(index uint32, slot Slot) uint64 { return uint64(index)<<32 | uint64(slot) }

// applyTimers carries out the timer operations in the output.
func (e *Engine) applyTimers(s *Socket) {
	t := &s.timers
	for i := range e.out.Timers {
		op := &e.out.Timers[i]
		ref := t.ref(op.Slot)
		switch {
		case op.Start:
			if *ref == 0 {
				*ref = timerRef(e.wheel.New(timerOwner(s.index, op.Slot)))
				t.records++
			}
			e.wheel.Schedule(ref.timer(), op.At)
			if !ref.running() {
				*ref |= timerRuns
				t.runs++
			}
		case ref.running():
			e.wheel.Stop(ref.timer())
			*ref &^= timerRuns
			t.runs--
		}
	}
	if t.runs <= 1 && t.records-t.runs > spareTimers {
		e.freeTimers(s, false)
	}
}

// freeTimers gives back the records of s: those that do not run, or all.
func (e *Engine) freeTimers(s *Socket, all bool) {
	t := &s.timers
	for i := range t.kinds {
		e.freeTimer(t, &t.kinds[i], all)
	}
	left := 0
	for i := range t.segments {
		if e.freeTimer(t, &t.segments[i], all); t.segments[i] != 0 {
			left = i + 1
		}
	}
	if left == 0 {
		t.segments = nil
	}
}

func (e *Engine) freeTimer(t *socketTimers, ref *timerRef, all bool) {
	if *ref == 0 || ref.running() && !all {
		return
	}
	e.wheel.Free(ref.timer())
	t.records--
	if ref.running() {
		t.runs--
	}
	*ref = 0
}

// Advance lets the timers expire that are due.
func (e *Engine) Advance(now wheel.Time) { e.wheel.Advance(e.at(now), 0, e.expire) }

// expired is EXPIRY PROCESSING.
func (e *Engine) expired(t wheel.Timer) {
	owner := e.wheel.Owner(t)
	s, slot := e.sockets[owner>>32], Slot(uint32(owner))
	ref := s.timers.ref(slot)
	*ref &^= timerRuns
	s.timers.runs--
	if e.trace != nil {
		e.traceExpired(s, slot)
	}
	s.conn.Expire(e.now, slot, &e.out)
	e.apply(s)
}
