package wheel

// scheme6List is Scheme 6 of the paper (§VI-A) as the paper draws it: a hashed wheel of unsorted, doubly linked lists,
// slot = tick mod M. START and STOP are O(1). PER TICK BOOKKEEPING visits every timer of the current slot: it compares
// the absolute tick instead of decrementing the high-order bits. O(n/M) on average, O(n) at worst.
//
// Every M ticks, each timer that lives is visited exactly once, whatever the ticks hash to; so a timer of an interval
// of j ticks is visited ⌊(j-1)/M⌋+1 times up to its expiry. A program that advances tick by tick pays exactly that. An
// Advance over a longer gap pays the same for one rotation without an expiry; as all timers have been seen then, and
// the earliest noted, it leaves out the whole rotations up to that one. Empty slots are skipped in either case. Timers
// of one tick expire in START order.
type scheme6List struct {
	front
	wheel ring
}

var scheme6ListBuilder = builder{
	name:  "scheme6-list",
	about: "Scheme 6: hashed wheel, unsorted doubly linked lists, as the paper draws it",
	slots: 4096,
	build: func(cfg Config) Facility {
		s := &scheme6List{wheel: newRing(listFirst, cfg.Slots)}
		s.init("scheme6-list", s, cfg, cfg.Slots)
		return s
	},
}

func (s *scheme6List) insert(t uint32) {
	s.wheel.insertBefore(&s.arena, s.wheel.slot(s.nodes[t].tick), 0, t)
}

func (s *scheme6List) remove(t uint32) { s.wheel.unlink(&s.arena, t) }
func (s *scheme6List) reserve(int)     {}

func (s *scheme6List) collect(target uint64) bool {
	start, earliest := s.cur, noTick
	for s.hop(&s.wheel, start, earliest, target) {
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
		for t := s.wheel.head(&s.arena, s.wheel.slot(tick)); t != 0; t = s.nodes[t].next {
			first = min(first, s.nodes[t].tick)
		}
	}
	return first
}

// nextWakeup is the next tick whose slot is busy, with timers of whichever rotation.
func (s *scheme6List) nextWakeup() uint64 {
	tick, _ := s.wheel.next(s.cur)
	return tick
}

func (s *scheme6List) verify() (int, error) { return s.checkHashed(&s.wheel) }
