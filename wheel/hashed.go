package wheel

import "fmt"

// hashed is the common part of the hashed wheels, Schemes 5 and 6: a ring that turns every tick,
// where slot = tick mod M.
type hashed struct {
	front
	wheel ring
}

func (s *hashed) initHashed(name string, self scheme, cfg Config) {
	s.wheel = newRing(listFirst, cfg.Slots)
	s.init(name, self, cfg, cfg.Slots)
}

func (s *hashed) remove(t uint32) { s.wheel.unlink(&s.arena, t) }

// hop moves cur to the next tick, at most target, whose slot is busy, and reports whether there is
// one. The search began at start. earliest is the earliest tick it saw that is not due yet: once a
// whole rotation has seen all timers, hop skips the rotations before earliest.
func (s *hashed) hop(start, earliest, target uint64) bool {
	r := &s.wheel
	tick, ok := r.next(s.cur)
	if ok && tick-start > uint64(r.mask)+1 {
		s.cur = r.skip(s.cur, min(earliest-1, target))
		tick, _ = r.next(s.cur)
	}
	if !ok || tick > target {
		s.cur = target
		return false
	}
	s.cur = tick
	return true
}

// nextWakeup is the next tick with a busy slot, whichever rotation its timers belong to.
func (s *hashed) nextWakeup() uint64 {
	tick, _ := s.wheel.next(s.cur)
	return tick
}

// checkHashed walks all slots: each timer is due after now, and hashes to its slot.
func (s *hashed) checkHashed() (int, error) {
	return s.wheel.check(&s.arena, func(slot, t uint32) error {
		if tick := s.nodes[t].tick; tick <= s.cur || s.wheel.slot(tick) != slot {
			return fmt.Errorf("timer %d has tick %d, now %d", t, tick, s.cur)
		}
		return nil
	})
}
