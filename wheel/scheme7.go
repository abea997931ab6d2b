package wheel

import (
	"fmt"
	"math/bits"
)

// scheme7 is Scheme 7 of the paper (§VI-B), the hierarchical wheels: m wheels of M slots, a slot of one as wide as all
// of the next finer one. With the M = 256 that is the default:
//
//	level       0        1         2          3          …   7
//	slot width  1 tick   256       65,536     16.8 M         7.2e16 ticks
//	reaches     256      65,536    16.8 M     4.3 G          all 2^63
//
// A tick is a number with m digits of base M. The paper sets its hour timer by the hour of the absolute time of expiry;
// likewise, a timer stands on the level of the highest digit in which its tick differs from the current tick, in the
// slot of that digit. So its place follows from the two ticks alone, all timers of one tick stand in one list at any
// time, in START order, and move together, in that order: timers of one tick expire in START order.
//
// Each level thus holds later ticks than the one below, and on each level the slots ahead are in the order of time. The
// slots of all levels, numbered through, are therefore a calendar: the first busy one is the next with work to do, over
// any gap, and one bitmap finds it. When its time has come, a slot of level 0 expires. A slot of another level is taken
// apart: what is due at that very tick expires in place, the rest moves to finer wheels, at most m-1 times in the life
// of a timer.
//
// What lies beyond the last level waits in one more list, which comes up when the last wheel wraps around: its farthest
// slot. It is looked at then, and what still lies beyond waits for the next turn. An Advance over a gap of several
// turns without an expiry looks at it once, notes the earliest, and goes to the turn of that.
//
// START is O(1), the level comes from a table; STOP is O(1); PER TICK BOOKKEEPING is O(m) per timer in all. A timer
// that is started again for the slot in which it stands is moved all the same, to the end: that is START order.
type scheme7 struct {
	front
	busy   bitmap
	levels uint8
	bits   uint8 // log2 of the slots of a level
	beyond uint32
	plain  bool // neither lazy nor counting
	places [64]place
}

// place says where a timer goes, by the highest bit in which its tick differs from the current one.
type place struct {
	base  uint32 // the list that is slot 0 of the level
	mask  uint32 // M-1, and 0 beyond the last level
	shift uint8  // log2 of the slot width
}

func newScheme7(name string, cfg Config) Facility {
	s := &scheme7{bits: slotBits(cfg), levels: levels(cfg)}
	s.beyond = uint32(s.levels) << s.bits
	for b := range s.places {
		s.places[b].base = listFirst + s.beyond
		if level := uint8(b) / s.bits; level < s.levels {
			s.places[b] = place{listFirst + uint32(level)<<s.bits, 1<<s.bits - 1, level * s.bits}
		}
	}
	s.busy = newBitmap(int(s.beyond) + 1)
	s.init(name, s, cfg, int(s.beyond)+1)
	s.plain = !cfg.Lazy && !cfg.Count
	return s
}

// slotBits returns log2 of Config.Slots.
func slotBits(cfg Config) uint8 { return uint8(bits.TrailingZeros(uint(cfg.Slots))) }

// levels returns how many wheels a hierarchy has: Config.Levels or 8, but none that no tick of 64 bits would reach.
func levels(cfg Config) uint8 {
	want := uint8(8)
	if cfg.Levels != 0 {
		want = uint8(cfg.Levels)
	}
	return min(want, (63+slotBits(cfg))/slotBits(cfg))
}

// listOf returns the list in which a timer belongs. tick is not s.cur.
func (s *scheme7) listOf(tick uint64) uint32 {
	p := &s.places[(bits.Len64(tick^s.cur)-1)&63]
	return p.base + uint32(tick>>(p.shift&63))&p.mask
}

// Schedule is that of front, with the usual case written out: what stands on the wheels or is idle goes to the wheels.
func (s *scheme7) Schedule(t Timer, deadline Time) {
	tick := s.ceil(deadline)
	if tick <= s.cur || !s.plain || int(t) >= len(s.nodes) {
		s.start(t, tick)
		return
	}
	n := &s.nodes[t]
	switch slot := n.where - listFirst; {
	case n.where == whereIdle:
		s.running++
	case slot <= s.beyond:
		s.remove(uint32(t))
	default: // due, or freed
		s.start(t, tick)
		return
	}
	n.tick = tick
	s.insert(uint32(t))
}

// Stop is that of front, with the usual case written out.
func (s *scheme7) Stop(t Timer) bool {
	if !s.plain || int(t) >= len(s.nodes) || s.nodes[t].where-listFirst > s.beyond {
		return s.front.Stop(t)
	}
	s.remove(uint32(t))
	s.running--
	return true
}

func (s *scheme7) insert(t uint32) {
	n := &s.nodes[t]
	l := s.listOf(n.tick)
	ls := &s.lists[l]
	n.next, n.prev, n.where = 0, ls.tail, l
	if ls.tail != 0 {
		s.nodes[ls.tail].next = t
	} else {
		ls.head = t
		s.busy.set(l - listFirst)
	}
	ls.tail = t
}

func (s *scheme7) remove(t uint32) {
	l := s.nodes[t].where
	s.unlink(t)
	if s.lists[l].head == 0 {
		s.busy.clear(l - listFirst)
	}
}

// startOf returns the tick at which a busy slot comes up.
func (s *scheme7) startOf(slot uint32) uint64 {
	if slot == s.beyond {
		all := s.levels * s.bits
		return (s.cur>>all + 1) << all
	}
	shift := uint8(slot>>s.bits) * s.bits
	return s.cur>>(shift+s.bits)<<(shift+s.bits) | uint64(slot&(1<<s.bits-1))<<shift
}

func (s *scheme7) collect(target uint64) bool {
	far := uint64(0) // of those beyond the last level, the earliest, once they have been looked at
	for {
		slot, ok := s.busy.next(0)
		if !ok {
			break
		}
		start := s.startOf(slot)
		if slot == s.beyond {
			all := s.levels * s.bits
			start = max(start, far>>all<<all)
		}
		if start > target {
			break
		}
		s.cur = start
		if s.counting {
			s.counts.Wakeups++
		}
		head := s.lists[listFirst+slot].head
		s.lists[listFirst+slot] = list{}
		s.busy.clear(slot)
		if slot>>s.bits == 0 {
			s.expire(head)
			return true
		}
		if earliest := s.migrate(head, slot); slot == s.beyond {
			far = earliest
		}
		if s.lists[listDue].head != 0 {
			return true
		}
	}
	s.cur = target
	return false
}

// expire makes the whole chain that begins with head due.
func (s *scheme7) expire(head uint32) {
	last, visits := uint32(0), uint64(0)
	for t := head; t != 0; t = s.nodes[t].next {
		s.nodes[t].where = listDue
		last = t
		visits++
	}
	s.lists[listDue] = list{head: head, tail: last}
	if s.counting {
		s.counts.TickVisits += visits
	}
}

// migrate gives each record of the chain that begins with head, and has left slot, its place as of now. It returns the
// earliest tick that lies beyond the last level.
func (s *scheme7) migrate(head, slot uint32) (far uint64) {
	far = noTick
	for t := head; t != 0; {
		n := &s.nodes[t]
		next := n.next
		if s.counting {
			s.counts.TickVisits++
		}
		if n.tick == s.cur {
			s.pushBack(listDue, t)
		} else {
			s.insert(t)
			to := n.where - listFirst
			if to == s.beyond {
				far = min(far, n.tick)
			}
			if s.counting {
				s.counts.Moves++
				if to>>s.bits < min(slot>>s.bits, uint32(s.levels-1)) {
					s.counts.Migrations++
				}
			}
		}
		t = next
	}
	return far
}

// choose follows Ratas: the latest tick on a slot boundary of the coarsest level that has one in the range. A timer
// migrates once for each digit that is not zero below its highest, so no other tick of the range costs less: all have
// the same digits above that level, and those on its boundaries have zeros below it.
func (s *scheme7) choose(lo, hi uint64) uint64 {
	for level := s.levels; level > 0; level-- {
		shift := level * s.bits
		if tick := hi >> shift << shift; tick >= lo {
			return tick
		}
	}
	return hi
}

// nextExpiry need not look further than the first busy slot: all other timers are later. O(1), and in a slot of a
// coarse level O(timers there).
func (s *scheme7) nextExpiry(limit uint64) uint64 {
	slot, ok := s.busy.next(0)
	if !ok {
		return limit + 1
	}
	start := s.startOf(slot)
	if start > limit || slot>>s.bits == 0 {
		return start
	}
	return s.earliestIn(listFirst+slot, limit+1)
}

// nextWakeup is the tick at which the next busy slot comes up, on whichever level.
func (s *scheme7) nextWakeup() uint64 {
	slot, _ := s.busy.next(0)
	return s.startOf(slot)
}

func (s *scheme7) verify() (held int, err error) {
	found, ok := s.busy.next(0)
	for slot := range s.beyond + 1 {
		n, err := s.checkList(listFirst+slot, func(t uint32) error {
			if tick := s.nodes[t].tick; tick <= s.cur || s.listOf(tick) != listFirst+slot {
				return fmt.Errorf("timer %d has tick %d, now %d", t, tick, s.cur)
			}
			return nil
		})
		if err != nil {
			return held, fmt.Errorf("level %d, slot %d: %w", slot>>s.bits, slot&(1<<s.bits-1), err)
		}
		if busy := n != 0; busy != s.busy.has(slot) || busy != (ok && found == slot) {
			return held, fmt.Errorf("level %d, slot %d: busy %v, its bit %v, the search for it: %v, %d",
				slot>>s.bits, slot&(1<<s.bits-1), busy, s.busy.has(slot), ok, found)
		} else if busy {
			found, ok = s.busy.next(slot + 1)
		}
		held += n
	}
	return held, nil
}
