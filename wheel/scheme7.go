package wheel

import (
	"fmt"
	"math/bits"
)

// scheme7 is Scheme 7 of the paper (§VI-B), the hierarchical wheels: m wheels of M slots, where a
// slot of one level is as wide as all slots of the next finer level. With the default M = 256:
//
//	level       0        1         2          3          …   7
//	slot width  1 tick   256       65,536     16.8 M         7.2e16 ticks
//	reaches     256      65,536    16.8 M     4.3 G          all 2^63
//
// A tick is a number of m digits in base M. The paper sets its hour timer by the hour of the
// absolute time of expiry. Likewise, a timer is on the level of the highest digit that differs
// between its tick and the current tick, in the slot of that digit. So its place follows from the
// two ticks alone. All timers of one tick are in one list at any time, in START order, and move
// together in that order: they expire in START order.
//
// Each level thus holds later ticks than the level below, and on each level the slots ahead are
// in the order of time. So the slots of all levels, numbered through, are a calendar. The first
// busy slot is the next with work to do, over any gap, and one bitmap finds it. When its time
// comes, a slot of level 0 expires. A slot of another level is taken apart: timers due at that
// very tick expire in place, the others move to finer wheels, at most m-1 times in the life of a
// timer.
//
// Timers beyond the last level wait in one more list, its farthest slot, which comes up when the
// last wheel wraps around. A timer that is still beyond then waits for the next turn. An Advance
// over a gap of several turns without an expiry looks at the list once, notes the earliest, and
// goes to its turn.
//
// START is O(1), since the level comes from a table. STOP is O(1). PER TICK BOOKKEEPING is O(m)
// per timer in all. A timer that is started again for the slot it is in moves to the end: START
// order.
type scheme7 struct {
	front
	busy   bitmap
	levels uint8
	bits   uint8 // log2 of the slots of a level
	beyond uint32
	plain  bool // neither lazy nor counting
	places [64]place
}

// place says where a timer goes. It is found by the highest bit that differs between its tick and
// the current one.
type place struct {
	base  uint32 // the list of slot 0 of the level
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

// levels returns the number of wheels in a hierarchy: Config.Levels or 8, but no more than 64-bit
// ticks can reach.
func levels(cfg Config) uint8 {
	want := uint8(8)
	if cfg.Levels != 0 {
		want = uint8(cfg.Levels)
	}
	return min(want, (63+slotBits(cfg))/slotBits(cfg))
}

// listOf returns the list where a timer of tick belongs. tick is not s.cur.
func (s *scheme7) listOf(tick uint64) uint32 {
	p := &s.places[(bits.Len64(tick^s.cur)-1)&63]
	return p.base + uint32(tick>>(p.shift&63))&p.mask
}

// Schedule is front.Schedule with the usual case inlined: an idle timer, or one on the wheels,
// goes to the wheels.
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

// Stop is front.Stop with the usual case inlined.
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
	far := uint64(0) // the earliest tick beyond the last level, once known
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

// expire makes the whole chain from head on due.
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

// migrate places each record of the chain from head on, which has left slot, as of now. It
// returns the earliest tick beyond the last level.
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

// choose follows Ratas: the latest tick on a slot boundary of the coarsest level that has one in
// the range. A timer migrates once for each non-zero digit below its highest. No other tick of
// the range costs less: all ticks of the range have the same digits above that level, and the
// boundary has zeros below it.
func (s *scheme7) choose(lo, hi uint64) uint64 {
	for level := s.levels; level > 0; level-- {
		shift := level * s.bits
		if tick := hi >> shift << shift; tick >= lo {
			return tick
		}
	}
	return hi
}

// nextExpiry looks only at the first busy slot: all other timers are later. It is O(1), and
// O(timers there) in a slot of a coarse level.
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
