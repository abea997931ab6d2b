package wheel

// scheme2 is Scheme 2 of the paper (§III-B), the ordered list: the timer that expires first stands at the head. START
// searches for the place, O(n); STOP unlinks, O(1); PER TICK BOOKKEEPING compares the head with the clock, O(1).
// The search begins at the head, or, as scheme2-rear, at the rear. It goes past timers of the same tick in such a way
// that timers of one tick expire in START order.
//
// StartVisits are the records that the search passes: those between its start and the new record. The record at which
// the search stops is not passed, and is counted in Comparisons only, which are therefore one more wherever the search
// did not run to the other end of the list. From the head, it passes the timers due no later than the new one; from the
// rear, those due later; both together are all n. What the paper gives as 2 + 2n/3 and 2 + n/2 is that: n times a
// fraction that depends on the distribution of intervals, plus a constant per insertion.
//
// With Poisson arrivals and timers that run to their expiry, that fraction is 1/2 for exponential intervals from either
// end, because what is left of an exponential interval is distributed as a new one is; 2/3 from the head and 1/3 from
// the rear for uniform ones; 1 and 0 for constant ones. The paper has 2/3 for exponential and 1/2 for uniform intervals
// from the head, and 1/3 for exponential ones from the rear: its labels appear interchanged. scheme2_test.go measures
// the fractions.
type scheme2 struct {
	front
	rear bool // search from the rear
}

func newScheme2(name string, rear bool, cfg Config) *scheme2 {
	s := &scheme2{rear: rear}
	s.init(name, s, cfg, 1)
	return s
}

func (s *scheme2) insert(t uint32) {
	tick, passed := s.nodes[t].tick, uint64(0)
	var stop, at uint32 // where the search stops, 0 at the end of the list, and the record that will follow t
	if s.rear {
		for stop = s.lists[listFirst].tail; stop != 0 && s.nodes[stop].tick > tick; stop = s.nodes[stop].prev {
			at = stop
			passed++
		}
	} else {
		for stop = s.lists[listFirst].head; stop != 0 && s.nodes[stop].tick <= tick; stop = s.nodes[stop].next {
			passed++
		}
		at = stop
	}
	if s.counting {
		s.counts.StartVisits += passed
		s.counts.Comparisons += passed
		if stop != 0 {
			s.counts.Comparisons++
		}
	}
	s.insertBefore(listFirst, at, t)
}

func (s *scheme2) remove(t uint32) { s.unlink(t) }

// collect looks at the head until it finds one that is not due, as the paper has it. Each look is a TickVisit; the one
// that ends a tick is the first of the call that follows, and is counted there.
func (s *scheme2) collect(target uint64) bool {
	tick := s.headTick(listFirst, noTick)
	if tick > target {
		if s.counting && tick != noTick {
			s.counts.TickVisits++
		}
		s.cur = target
		return false
	}
	s.cur = tick
	due := s.takeDue(listFirst)
	if s.counting {
		s.counts.Wakeups++
		s.counts.TickVisits += due
	}
	return true
}

func (s *scheme2) nextExpiry(limit uint64) uint64 {
	return s.headTick(listFirst, limit+1)
}

func (s *scheme2) nextWakeup() uint64 { return s.headTick(listFirst, noTick) }

func (s *scheme2) verify() (int, error) {
	return s.checkOrdered(listFirst)
}
