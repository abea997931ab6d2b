package wheel

import (
	"fmt"
	"math"
	"math/bits"
)

// nichols is Scheme 7 without full migration (W. Nichols, in §VI-B of the paper). Precision
// decreases with the level, so that timers need not move. With M = Config.Slots slots on each of
// m levels, an interval of at least M^k ticks and less than M^(k+1) belongs to level k, and one
// of M^m or more to the last level.
//
//	scheme7-nomigration   rounds the tick to a multiple of M^k; expires on level k
//	scheme7-onemigration  rounds the tick to a multiple of M^(k-1); moves once, from level k to k-1
//
// START rounds as Config.Rounding says. Deadline reports the rounded tick, which is exact. Up is
// never early. Nearest rounds a half up. All directions give a tick after now, because an
// interval is no shorter than the multiple it is rounded to. Without migration, for a slot width
// of g ticks and intervals of at least g that begin on a slot boundary, the error is at most
//
//	          of the interval requested   of the interval set   with g = 60, say minutes
//	up        (g-1)/(g+1)                 (g-1)/2g              96.7%  49.2%
//	nearest   1/3                         (g/2-1)/g             33.3%  48.3%
//	down      (g-1)/(2g-1)                (g-1)/g               49.6%  98.3%
//
// The paper's "up to 50%", with 1 min 30 s rounded to 1 min as the example, is of the interval
// set. It is also what nearest reaches of the interval requested if that may begin anywhere in a
// slot. The bounds are then
//
//	up        (g-1)/g                     (g-1)/(2g-1)          98.3%  49.6%
//	nearest   1/2                         (g/2-1)/(g/2+1)       50.0%  93.5%
//	down      (g-1)/g                     g-1                   98.3%  5900%
//
// With one migration, g is the slot width of the finer level and the interval is at least M·g, so
// the error is below 1/M of the interval requested.
//
// A slot passes over a tick that lies a rotation or more ahead, after rounding or beyond the last
// level, until its turn, as in Scheme 6. START and STOP are O(1). PER TICK BOOKKEEPING is O(m)
// per busy slot and one or two visits per timer. Timers of one tick expire in START order: of two
// timers for the same tick, the one set later is on the same level or a finer one.
type nichols struct {
	front
	wheels   []ring // finest first
	bits     uint8  // log2 of the slots of a level
	migrates uint8  // 1 if a timer moves to the next finer wheel, else 0
	rounding Rounding
	last     uint64 // last tick that Advance can reach
}

func newNichols(name string, migrates uint8, cfg Config) *nichols {
	s := &nichols{bits: slotBits(cfg), migrates: migrates, rounding: cfg.Rounding}
	for level := range uint32(levels(cfg)) {
		s.wheels = append(s.wheels, newRing(listFirst+level<<s.bits, cfg.Slots))
	}
	s.init(name, s, cfg, len(s.wheels)<<s.bits)
	s.last = s.floor(math.MaxInt64)
	return s
}

// between rounds tick to below or below+step. below ≤ tick < below+step.
func (r Rounding) between(tick, below, step uint64) uint64 {
	over := tick - below
	if over != 0 && (r == RoundUp || r == RoundNearest && over >= step-over) {
		return below + step
	}
	return below
}

// level returns the level that an interval belongs to.
func (s *nichols) level(interval uint64) uint8 {
	return min(uint8(63-bits.LeadingZeros64(interval))/s.bits, uint8(len(s.wheels)-1))
}

// precision returns log2 of the multiple to which an interval is rounded.
func (s *nichols) precision(interval uint64) uint8 {
	return (max(s.level(interval), s.migrates) - s.migrates) * s.bits
}

// round returns the tick at which a timer expires that is started now for tick. If the rounded
// tick is past the last that Advance can reach, and tick is not, it rounds less coarsely.
func (s *nichols) round(tick uint64) uint64 {
	if tick <= s.cur {
		return tick
	}
	for shift := s.precision(tick - s.cur); ; shift -= s.bits {
		r := s.rounding.between(tick, tick>>shift<<shift, 1<<shift)
		if shift == 0 || r <= s.last || tick > s.last {
			return r
		}
	}
}

func (s *nichols) Schedule(t Timer, deadline Time) { s.start(t, s.round(s.ceil(deadline))) }

// choose returns a tick of the range that needs neither rounding nor migration: on the coarsest
// level that has one, the latest. Otherwise, with one migration, it returns the latest tick on
// the level of hi that needs no rounding. Otherwise it rounds lo, which may leave the range.
func (s *nichols) choose(lo, hi uint64) uint64 {
	exact := hi >> s.precision(hi-s.cur) << s.precision(hi-s.cur)
	for hi >= lo {
		shift := s.level(hi-s.cur) * s.bits
		if tick := hi >> shift << shift; tick >= lo {
			return tick
		}
		hi = s.cur + 1<<shift - 1 // the longest interval of the next finer level
	}
	if exact >= lo {
		return exact
	}
	return s.round(lo)
}

// insert puts a timer on the coarsest level that its interval belongs to and that hits its tick
// exactly. For a given tick, a later insert never gets a coarser level.
func (s *nichols) insert(t uint32) {
	tick := s.nodes[t].tick
	exact := uint8(bits.TrailingZeros64(tick))/s.bits + s.migrates
	level := min(s.level(tick-s.cur), exact)
	w := &s.wheels[level]
	w.insertBefore(&s.arena, w.slot(tick>>(level*s.bits)), 0, t)
}

func (s *nichols) remove(t uint32) {
	s.wheels[(s.nodes[t].where-listFirst)>>s.bits].unlink(&s.arena, t)
}

// collect passes over timers of later rotations. After passing over as many as there are records,
// it looks at all timers once for the earliest slot with work to do, and goes there.
func (s *nichols) collect(target uint64) bool {
	passed := 0
	for {
		next := s.nextSlot()
		if next > target {
			break
		}
		s.cur = next
		if s.counting {
			s.counts.Wakeups++
		}
		worked := 0
		for level := range s.wheels { // finest first; each goes before the timers already due
			shift := uint8(level) * s.bits
			if next>>shift<<shift != next {
				break // not a slot boundary of this level or a coarser one
			}
			if slot := s.wheels[level].slot(next >> shift); s.wheels[level].busy.has(slot) {
				p, w := s.visit(level, slot)
				passed, worked = passed+p, worked+w
			}
		}
		if s.lists[listDue].head != 0 {
			return true
		}
		if worked != 0 {
			passed = 0
		} else if passed >= len(s.nodes) {
			passed = 0
			if s.cur = min(s.earliestWork()-1, target); s.cur == target {
				break
			}
		}
	}
	s.cur = target
	return false
}

// visit looks at the timers of a slot that came up. Timers of this tick become due. Timers whose
// tick lies in the slot go to the next finer wheel. Timers of later rotations stay. It returns
// how many stay (passed) and how many do not (worked). It goes from the rear and inserts at the
// front, which keeps START order: timers from a coarser wheel were started earlier and go first.
func (s *nichols) visit(level int, slot uint32) (passed, worked int) {
	w, shift := &s.wheels[level], uint8(level)*s.bits
	for t := s.lists[w.first+slot].tail; t != 0; {
		n := &s.nodes[t]
		prev := n.prev
		if s.counting {
			s.counts.TickVisits++
		}
		switch {
		case n.tick>>shift != s.cur>>shift:
			passed++
		case n.tick == s.cur:
			w.unlink(&s.arena, t)
			s.insertBefore(listDue, s.lists[listDue].head, t)
			worked++
		default:
			w.unlink(&s.arena, t)
			f := &s.wheels[level-1]
			to := f.slot(n.tick >> (shift - s.bits))
			f.insertBefore(&s.arena, to, f.head(&s.arena, to), t)
			if s.counting {
				s.counts.Moves++
				s.counts.Migrations++
			}
			worked++
		}
		t = prev
	}
	return passed, worked
}

// earliestWork returns the earliest tick at which a slot has a timer to expire or migrate, or
// noTick.
func (s *nichols) earliestWork() uint64 {
	work := noTick
	for level := range s.wheels {
		w, shift := &s.wheels[level], uint8(level)*s.bits
		for slot, ok := w.busy.next(0); ok; slot, ok = w.busy.next(slot + 1) {
			for t := w.head(&s.arena, slot); t != 0; t = s.nodes[t].next {
				work = min(work, s.nodes[t].tick>>shift<<shift)
				if s.counting {
					s.counts.TickVisits++
				}
			}
		}
	}
	return work
}

// nextSlot returns the tick at which the next busy slot of any level comes up, or noTick.
func (s *nichols) nextSlot() uint64 {
	next := noTick
	for level := range s.wheels {
		shift := uint8(level) * s.bits
		if s.wheels[level].idle() {
			continue
		}
		if n, ok := s.wheels[level].next(s.cur >> shift); ok {
			next = min(next, n<<shift)
		}
	}
	return next
}

func (s *nichols) nextExpiry(limit uint64) uint64 {
	first := limit + 1
	for level := range s.wheels {
		w, shift := &s.wheels[level], uint8(level)*s.bits
		now := s.cur >> shift
		n, ok := w.next(now)
		for ; ok && n-now <= uint64(w.mask)+1 && n<<shift < first; n, ok = w.next(n) {
			first = s.earliestIn(w.first+w.slot(n), first)
		}
	}
	return first
}

func (s *nichols) nextWakeup() uint64 { return s.nextSlot() }

func (s *nichols) verify() (held int, err error) {
	for level := range s.wheels {
		w, shift := &s.wheels[level], uint8(level)*s.bits
		exact := shift - min(shift, s.migrates*s.bits) // ticks on this level are multiples of 1<<exact
		n, err := w.check(&s.arena, func(slot, t uint32) error {
			tick := s.nodes[t].tick
			if tick>>shift <= s.cur>>shift || w.slot(tick>>shift) != slot || tick>>exact<<exact != tick {
				return fmt.Errorf("timer %d has tick %d, now %d", t, tick, s.cur)
			}
			return nil
		})
		if err != nil {
			return held, fmt.Errorf("level %d, %w", level, err)
		}
		held += n
	}
	return held, nil
}
