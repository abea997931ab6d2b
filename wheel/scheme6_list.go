package wheel

// scheme6List is Scheme 6 of the paper (§VI-A) as the paper draws it: a hashed wheel of unsorted,
// doubly linked lists, slot = tick mod M. START and STOP are O(1). PER TICK BOOKKEEPING visits
// every timer of the current slot, and compares the absolute tick instead of decrementing the
// high-order bits. That is O(n/M) on average, O(n) at worst.
//
// Every M ticks, each timer is visited exactly once, whatever the ticks hash to. So a timer of an
// interval of j ticks is visited ⌊(j-1)/M⌋+1 times up to its expiry. A program that advances tick
// by tick pays exactly that. An Advance over a longer gap pays the same for one rotation without
// an expiry. It has then seen all timers, and skips the whole rotations before the earliest.
// Empty slots are skipped in either case. Timers of one tick expire in START order.
type scheme6List struct{ hashed }

func newScheme6List(name string, cfg Config) Facility {
	s := &scheme6List{}
	s.initHashed(name, s, cfg)
	return s
}

func (s *scheme6List) insert(t uint32) {
	s.wheel.insertBefore(&s.arena, s.wheel.slot(s.nodes[t].tick), 0, t)
}

func (s *scheme6List) collect(target uint64) bool {
	start, earliest := s.cur, noTick
	for s.hop(start, earliest, target) {
		if s.counting {
			s.counts.Wakeups++
		}
		for t := s.wheel.head(&s.arena, s.wheel.slot(s.cur)); t != 0; {
			n := &s.nodes[t]
			next := n.next
			if s.counting {
				s.counts.TickVisits++
			}
			if n.tick == s.cur {
				s.wheel.unlink(&s.arena, t)
				s.pushBack(listDue, t)
			} else {
				earliest = min(earliest, n.tick)
			}
			t = next
		}
		if s.lists[listDue].head != 0 {
			return true
		}
	}
	return false
}

func (s *scheme6List) nextExpiry(limit uint64) uint64 {
	first := limit + 1
	tick, ok := s.wheel.next(s.cur)
	for ; ok && tick < first && tick-s.cur <= uint64(s.wheel.mask)+1; tick, ok = s.wheel.next(tick) {
		first = s.earliestIn(s.wheel.first+s.wheel.slot(tick), first)
	}
	return first
}

func (s *scheme6List) verify() (int, error) { return s.checkHashed() }
