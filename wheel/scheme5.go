package wheel

// scheme5 is Scheme 5 of the paper (§VI-A), the hashed wheel with sorted lists: slot = tick mod
// M, the earliest timer of a slot first. It compares absolute ticks, where the paper keeps the
// high-order bits of the interval and decrements those of the head.
//
// START searches the list of its slot from the head: O(n) at worst, O(1) on average if n < M and
// the ticks spread over the slots. STOP is O(1). PER TICK BOOKKEEPING looks only at the head of
// the current slot, O(1) apart from the expiries. With a single slot it would be Scheme 2 (the
// paper's "pleasing observation"), but a wheel has at least two.
//
// A program that advances tick by tick pays one visit at each busy slot, as in the paper. An
// Advance over a longer gap pays the same for one rotation without an expiry. It has then seen
// all heads, and skips the whole rotations before the earliest. Timers of one tick expire in
// START order.
type scheme5 struct{ hashed }

func newScheme5(name string, cfg Config) Facility {
	s := &scheme5{}
	s.initHashed(name, s, cfg)
	return s
}

func (s *scheme5) insert(t uint32) {
	slot := s.wheel.slot(s.nodes[t].tick)
	s.wheel.insertBefore(&s.arena, slot, s.placeOrdered(s.wheel.first+slot, t), t)
}

func (s *scheme5) collect(target uint64) bool {
	start, earliest := s.cur, noTick
	for s.hop(start, earliest, target) {
		slot := s.wheel.slot(s.cur)
		due := s.takeDueSlot(&s.wheel, slot)
		if s.counting {
			// A look at a head that is not due counts where it is the only one: the paper's O(1).
			s.counts.TickVisits += max(due, 1)
			s.counts.Wakeups++
		}
		if due != 0 {
			return true
		}
		earliest = min(earliest, s.headTick(s.wheel.first+slot, noTick))
	}
	return false
}

func (s *scheme5) nextExpiry(limit uint64) uint64 {
	first := limit + 1
	tick, ok := s.wheel.next(s.cur)
	for ; ok && tick < first && tick-s.cur <= uint64(s.wheel.mask)+1; tick, ok = s.wheel.next(tick) {
		first = min(first, s.headTick(s.wheel.first+s.wheel.slot(tick), noTick))
	}
	return first
}

func (s *scheme5) verify() (int, error) {
	n, err := s.checkHashed()
	for slot := uint32(0); err == nil && slot <= s.wheel.mask; slot++ {
		_, err = s.checkOrdered(s.wheel.first + slot)
	}
	return n, err
}
