package wheel

// scheme1 is Scheme 1 of the paper (§III-A), "straightforward": one unordered list, which PER
// TICK BOOKKEEPING walks at every tick. START and STOP are O(1), a tick is O(n). It compares
// absolute ticks instead of decrementing.
//
// A program that advances tick by tick pays n visits per tick, as in the paper. Over a longer
// gap, the walk also notes the earliest tick of all, and the clock jumps there: it does not walk
// the list for each tick in between. Timers of one tick expire in START order.
type scheme1 struct{ front }

func newScheme1(name string, cfg Config) Facility {
	s := &scheme1{}
	s.init(name, s, cfg, 1)
	return s
}

func (s *scheme1) insert(t uint32) { s.pushBack(listFirst, t) }
func (s *scheme1) remove(t uint32) { s.unlink(t) }
func (s *scheme1) collect(target uint64) bool {
	for s.cur < target && s.lists[listFirst].head != 0 {
		if s.counting {
			s.counts.Wakeups++
		}
		tick, earliest := s.cur+1, target
		for t := s.lists[listFirst].head; t != 0; {
			next := s.nodes[t].next
			if s.counting {
				s.counts.TickVisits++
			}
			if s.nodes[t].tick == tick {
				s.unlink(t)
				s.pushBack(listDue, t)
			} else {
				earliest = min(earliest, s.nodes[t].tick-1)
			}
			t = next
		}
		if s.lists[listDue].head != 0 {
			s.cur = tick
			return true
		}
		s.cur = earliest
	}
	s.cur = max(s.cur, target)
	return false
}

func (s *scheme1) nextExpiry(limit uint64) uint64 {
	return s.earliestIn(listFirst, limit+1)
}

// nextWakeup is the next tick: every tick visits every timer.
func (s *scheme1) nextWakeup() uint64 { return s.cur + 1 }

func (s *scheme1) verify() (int, error) { return s.checkAfterNow(listFirst) }
