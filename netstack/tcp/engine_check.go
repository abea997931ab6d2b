package tcp

import (
	"fmt"
	"math"
)

// Check returns an error if an invariant of the engine does not hold. It checks each connection,
// that exactly the started timers run, and that no timer of a closed connection is left. It is for
// tests.
func (e *Engine) Check() error {
	running, timeWait := 0, 0
	for i, s := range e.sockets {
		if s == nil {
			continue
		}
		if s.index != uint32(i) || e.find(s.Local(), s.Remote()) != s {
			return fmt.Errorf("tcp: connection %d, %v to %v, is not where it can be found", s.id, s.Local(), s.Remote())
		}
		if err := s.conn.Check(); err != nil {
			return fmt.Errorf("tcp: connection %d, %v to %v: %w", s.id, s.Local(), s.Remote(), err)
		}
		n, err := e.checkTimers(s)
		if err != nil {
			return fmt.Errorf("tcp: connection %d, %v to %v: %w", s.id, s.Local(), s.Remote(), err)
		}
		running += n
		if s.conn.State() == StateClosed {
			return fmt.Errorf("tcp: connection %d, %v to %v, is closed and was not removed", s.id, s.Local(), s.Remote())
		}
		if is := s.conn.State() == StateTimeWait; is != s.conn.inTimeWait {
			return fmt.Errorf("tcp: connection %d in %v, counted in TIME-WAIT: %v", s.id, s.conn.State(), s.conn.inTimeWait)
		} else if is {
			timeWait++
		}
	}
	if n := e.wheel.Len(); n != running {
		return fmt.Errorf("tcp: %d timers run, the connections have %d", n, running)
	}
	if timeWait != e.timeWait {
		return fmt.Errorf("tcp: %d connections counted in TIME-WAIT, want %d", e.timeWait, timeWait)
	}
	if len(e.byEnds) != e.socketCount() {
		return fmt.Errorf("tcp: %d pairs of ends, want %d", len(e.byEnds), e.socketCount())
	}
	return e.checkListeners()
}

// checkListeners compares the listeners' counts with the sockets.
func (e *Engine) checkListeners() error {
	halfOpen := map[*Listener]int{}
	for _, s := range e.sockets {
		if s == nil || s.pending == nil {
			continue
		}
		if _, ok := s.pending.backlog.Since(s); ok {
			halfOpen[s.pending]++
		}
	}
	for local, l := range e.listeners {
		if l.backlog.HalfOpen != halfOpen[l] {
			return fmt.Errorf("tcp: listener %v counts %d half-open connections, want %d", local, l.backlog.HalfOpen, halfOpen[l])
		}
		if n := l.backlog.Queued; n > l.backlog.Max {
			return fmt.Errorf("tcp: listener %v has %d connections in its queue, want at most %d", local, n, l.backlog.Max)
		}
		delete(halfOpen, l)
	}
	if len(halfOpen) > 0 {
		return fmt.Errorf("tcp: %d listeners that are closed have half-open connections", len(halfOpen))
	}
	return nil
}

// checkTimers compares the running timers of s with the timers that its connection started, and
// returns their number.
func (e *Engine) checkTimers(s *Socket) (n int, err error) {
	want := map[Slot]bool{}
	s.conn.life.all(&s.conn).each(&s.conn.snd.fl.sent, func(slot Slot) { want[slot] = true })
	records, runs := 0, 0 // records in socketTimers
	s.eachTimer(func(slot Slot, ref timerRef) {
		_, running := e.wheel.Deadline(ref.timer())
		if inSocketTimers(slot) {
			records++
			if running {
				runs++
			}
		}
		switch {
		case err != nil:
		case e.wheel.Owner(ref.timer()) != timerOwner(s.index, slot):
			err = fmt.Errorf("timer %v of slot %d has the owner %#x", slot.Kind(), slot, e.wheel.Owner(ref.timer()))
		case running != ref.running():
			err = fmt.Errorf("timer %v of slot %d runs: %v, taken to: %v", slot.Kind(), slot, running, ref.running())
		case running && !want[slot]:
			err = fmt.Errorf("timer %v of slot %d runs and was not started", slot.Kind(), slot)
		}
		if running {
			n++
			delete(want, slot)
		}
	})
	switch {
	case err != nil:
	case len(want) > 0:
		for slot := range Slot(math.MaxUint32) { // the lowest slot, for a reproducible text
			if want[slot] {
				return n, fmt.Errorf("timer %v of slot %d was started and does not run", slot.Kind(), slot)
			}
		}
	case s.timers != nil && (uint32(records) != s.timers.records || uint32(runs) != s.timers.runs):
		err = fmt.Errorf("%d timer records, %d running; counted %d and %d", records, runs, s.timers.records, s.timers.runs)
	}
	return n, err
}
