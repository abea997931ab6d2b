package wheel

import "fmt"

// scheme4 is Scheme 4 of the paper (§V), the simple timing wheel, for intervals of 1 to
// MaxInterval = Config.Slots ticks: a timer j ticks from now is in slot (now+j) mod MaxInterval.
// An interval of MaxInterval ticks falls into the current slot, whose own timers have left it by
// then. START, STOP and PER TICK BOOKKEEPING are O(1), apart from the expiries.
//
// Longer intervals wait in one ordered list, as the paper suggests ("Timers greater than this
// value are implemented using, say, Scheme 2"): START is O(n) for them, where n counts the list
// only. They expire from the list and never move into the wheel.
//
// Timers of one tick expire in START order over both structures: a timer in the list was started
// more than MaxInterval ticks before its tick, a timer in the wheel later than that.
type scheme4 struct {
	front
	wheel ring
}

const listOverflow = listFirst // timers beyond the wheel; ordered by tick in scheme4

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

// earliest returns the first tick with due timers, or noTick.
func (s *scheme4) earliest() uint64 {
	tick, ok := s.wheel.next(s.cur)
	if !ok {
		tick = noTick
	}
	return min(tick, s.headTick(listOverflow, noTick))
}

// collect looks at the head of the ordered list until one is not due, as in scheme2. Each look is
// a TickVisit. The look that ends a tick is the first of the next call and is counted there. In
// the wheel it visits only timers that expire.
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
	// The slot holds timers of this tick only: none is in it for a later rotation.
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

// checkOrdered walks list l: all its timers are due after now, in order.
func (f *front) checkOrdered(l uint32) (int, error) {
	last := f.cur + 1
	return f.checkList(l, func(t uint32) error {
		tick := f.nodes[t].tick
		if tick < last {
			return fmt.Errorf("timer %d has tick %d, want %d or later", t, tick, last)
		}
		last = tick
		return nil
	})
}
