package wheel

import "fmt"

// logicsim is the timing wheel of logic simulation (TEGAS, DECSIM: §IV-B of the paper): an array
// of N = Config.Slots lists for the ticks of the current cycle, by tick mod N, and one unordered
// overflow list for later ticks.
//
//	logicsim       the array covers N ticks from the last multiple of N; it turns at the next multiple
//	logicsim-half  the array covers N ticks from the last multiple of N/2; it turns twice per N ticks
//
// At each turn, PER TICK BOOKKEEPING examines the whole overflow list and moves into the array
// the timers now in reach. Each look is a TickVisit, each such move a Move. The paper's criticism
// is that a timer started late in a cycle goes to the overflow list, however short it is. Turning
// at half keeps timers of up to N/2 ticks out of it. START and STOP are O(1), a tick is O(1)
// apart from the expiries, and a turn is O(n). Unlike in the simulators, STOP takes the timer out
// at once.
//
// A program that advances tick by tick pays for every turn. If the array is empty, an Advance
// over a longer gap examines the overflow list once, notes the earliest, and goes to the turn
// that brings it in reach. Timers of one tick expire in START order: timers from the overflow
// list were started before the turn, the others after it.
type logicsim struct {
	front
	wheel ring
	turn  uint64 // ticks between turns: N or N/2
}

func newLogicsim(name string, cfg Config, turn int) *logicsim {
	s := &logicsim{wheel: newRing(listOverflow+1, cfg.Slots), turn: uint64(turn)}
	s.init(name, s, cfg, cfg.Slots+1)
	return s
}

// reach returns the first tick beyond the array. turn is a power of two.
func (s *logicsim) reach() uint64 { return s.cur&^(s.turn-1) + uint64(s.wheel.mask) + 1 }

// nextTurn returns the tick of the next turn.
func (s *logicsim) nextTurn() uint64 { return s.cur&^(s.turn-1) + s.turn }

func (s *logicsim) insert(t uint32) {
	if tick := s.nodes[t].tick; tick < s.reach() {
		s.wheel.insertBefore(&s.arena, s.wheel.slot(tick), 0, t)
	} else {
		s.pushBack(listOverflow, t)
	}
}

func (s *logicsim) remove(t uint32) {
	if s.nodes[t].where == listOverflow {
		s.unlink(t)
	} else {
		s.wheel.unlink(&s.arena, t)
	}
}

func (s *logicsim) collect(target uint64) bool {
	for {
		tick, busy := s.wheel.next(s.cur)
		turning := s.lists[listOverflow].head != 0 && (!busy || tick >= s.nextTurn())
		if turning {
			tick = s.nextTurn()
		} else if !busy {
			break
		}
		if tick > target {
			break
		}
		s.cur = tick
		if s.counting {
			s.counts.Wakeups++
		}
		if turning {
			earliest := s.examine()
			if _, busy = s.wheel.next(s.cur); !busy {
				// Go to the first turn at which the array reaches the earliest timer: none before
				// it moves anything.
				turn := earliest&^(s.turn-1) + s.turn - (uint64(s.wheel.mask) + 1)
				s.cur = min(turn-1, target)
				continue
			}
		}
		if n := s.wheel.drain(&s.arena, s.wheel.slot(tick), listDue); n != 0 {
			if s.counting {
				s.counts.TickVisits += n
			}
			return true
		}
	}
	s.cur = target
	return false
}

// examine moves into the array the overflow timers now in reach. It returns the earliest tick of
// the rest.
func (s *logicsim) examine() (earliest uint64) {
	reach := s.reach()
	earliest = noTick
	for t := s.lists[listOverflow].head; t != 0; {
		n := &s.nodes[t]
		next := n.next
		if s.counting {
			s.counts.TickVisits++
		}
		if n.tick < reach {
			s.unlink(t)
			s.wheel.insertBefore(&s.arena, s.wheel.slot(n.tick), 0, t)
			if s.counting {
				s.counts.Moves++
			}
		} else {
			earliest = min(earliest, n.tick)
		}
		t = next
	}
	return earliest
}

// nextExpiry walks the overflow list only if the array is empty and the limit beyond it.
func (s *logicsim) nextExpiry(limit uint64) uint64 {
	if tick, ok := s.wheel.next(s.cur); ok {
		return tick
	}
	if s.reach() > limit {
		return limit + 1
	}
	return s.earliestIn(listOverflow, limit+1)
}

// nextWakeup is the next busy slot, or the next turn if there is an overflow list to examine.
func (s *logicsim) nextWakeup() uint64 {
	tick, ok := s.wheel.next(s.cur)
	if !ok {
		tick = noTick
	}
	if s.lists[listOverflow].head != 0 {
		tick = min(tick, s.nextTurn())
	}
	return tick
}

func (s *logicsim) verify() (int, error) {
	n, err := s.wheel.check(&s.arena, func(slot, t uint32) error {
		tick := s.nodes[t].tick
		if tick <= s.cur || tick >= s.reach() || s.wheel.slot(tick) != slot {
			return fmt.Errorf("timer %d has tick %d, now %d", t, tick, s.cur)
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	k, err := s.checkList(listOverflow, func(t uint32) error {
		if tick := s.nodes[t].tick; tick < s.reach() {
			return fmt.Errorf("timer %d has tick %d and is in the overflow list, now %d", t, tick, s.cur)
		}
		return nil
	})
	return n + k, err
}
