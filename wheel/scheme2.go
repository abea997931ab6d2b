package wheel

// scheme2 is Scheme 2 of the paper (§III-B), the ordered list, earliest timer first. START
// searches for the place, O(n). STOP unlinks, O(1). PER TICK BOOKKEEPING compares the head with
// the clock, O(1). The search begins at the head, or at the rear in scheme2-rear. Timers of one
// tick expire in START order.
//
// StartVisits are the records that the search passes: those between its start and the new record.
// The record where the search stops is not passed. It counts only as a Comparison, so there is
// one more Comparison than visits, unless the search reaches the other end of the list. From the
// head, the search passes the timers due no later than the new one; from the rear, those due
// later; together, all n. The paper's 2 + 2n/3 and 2 + n/2 are such counts: n times a fraction
// that depends on the distribution of intervals, plus a constant per insertion.
//
// With Poisson arrivals and timers that run to their expiry, the fraction is 1/2 for exponential
// intervals from either end, because the rest of an exponential interval is distributed as a new
// one. It is 2/3 from the head and 1/3 from the rear for uniform intervals, 1 and 0 for constant
// ones. The paper has 2/3 for exponential and 1/2 for uniform intervals from the head, and 1/3
// for exponential ones from the rear: its labels appear interchanged. scheme2_test.go measures
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
	var stop, at uint32 // the record where the search stops, or 0; the record that follows t, or 0
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

// collect looks at the head until one is not due, as in the paper. Each look is a TickVisit. The
// look that ends a tick is the first of the next call and is counted there.
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
