package wheel

import "fmt"

// scheme4 is Scheme 4 of the paper (§V), the simple timing wheel, for intervals of 1 to MaxInterval ticks, both
// included, where MaxInterval is Config.Slots: a timer j ticks from now stands in slot (now+j) mod MaxInterval. An
// interval of MaxInterval ticks lands in the current slot, whose own timers have been taken out by then. START, STOP
// and PER TICK BOOKKEEPING are O(1), the expiries apart.
//
// Longer intervals wait in one ordered list beside the wheel, as the paper suggests ("Timers greater than this value
// are implemented using, say, Scheme 2"): O(n) for START, where n counts those in the list only. They expire from
// there, and never move into the wheel.
//
// Timers of one tick expire in START order, over both structures: those in the list were started more than MaxInterval
// ticks before their tick, those in the wheel later than that.
type scheme4 struct {
	front
	wheel ring
}

const listOverflow = listFirst // of scheme4: what lies beyond the wheel, ordered by tick

func newScheme4(name string, cfg Config) Facility {
	s := &scheme4{wheel: newRing(listOverflow+1, cfg.Slots)}
	s.init(name, s, cfg, cfg.Slots+1)
	return s
}

func (s *scheme4) insert(t uint32) {
	if tick := s.nodes[t].tick; tick-s.cur <= uint64(s.wheel.mask)+1 {
		s.wheel.insertBefore(&s.arena, s.wheel.slot(tick), 0, t)
	} else {
		s.insertBefore(listOverflow, s.placeOrdered(listOverflow, t), t)
	}
}

func (s *scheme4) remove(t uint32) {
	if s.nodes[t].where == listOverflow {
		s.unlink(t)
	} else {
		s.wheel.unlink(&s.arena, t)
	}
}

// earliest returns the first tick on which a timer is due, and noTick if there is none.
func (s *scheme4) earliest() uint64 {
	tick, ok := s.wheel.next(s.cur)
	if !ok {
		tick = noTick
	}
	return min(tick, s.headTick(listOverflow, noTick))
}

// collect looks at the head of the ordered list until it finds one that is not due, each look a TickVisit, as in
// scheme2; the look that ends a tick is the first of the call that follows, and is counted there. In the wheel, only
// timers that expire are visited.
func (s *scheme4) collect(target uint64) bool {
	tick := s.earliest()
	if head := s.headTick(listOverflow, noTick); s.counting && head != noTick && head > min(tick, target) {
		s.counts.TickVisits++
	}
	if tick > target {
		s.cur = target
		return false
	}
	s.cur = tick
	visits := s.takeDue(listOverflow)
	// The slot of this tick also holds the timers of this tick only: none stands in it for a rotation to come.
	visits += s.wheel.drain(&s.arena, s.wheel.slot(tick), listDue)
	if s.counting {
		s.counts.TickVisits += visits
		s.counts.Wakeups++
	}
	return true
}

func (s *scheme4) nextExpiry(uint64) uint64 { return s.earliest() }
func (s *scheme4) nextWakeup() uint64       { return s.earliest() }

func (s *scheme4) verify() (int, error) {
	n, err := s.wheel.check(&s.arena, func(slot, t uint32) error {
		tick := s.nodes[t].tick
		if tick <= s.cur || tick-s.cur > uint64(s.wheel.mask)+1 || s.wheel.slot(tick) != slot {
			return fmt.Errorf("timer %d has tick %d, now %d", t, tick, s.cur)
		}
		return nil
	})
	if err != nil {
		return n, err
	}
	k, err := s.checkOrdered(listOverflow)
	return n + k, err
}

// checkOrdered walks list l, all of whose timers must be due after now, and none before the one ahead of it.
func (f *front) checkOrdered(l uint32) (int, error) {
	last := f.cur + 1
	return f.checkList(l, func(t uint32) error {
		tick := f.nodes[t].tick
		if tick < last {
			return fmt.Errorf("timer %d has tick %d, before %d that precedes it or comes next", t, tick, last)
		}
		last = tick
		return nil
	})
}
