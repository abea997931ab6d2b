package wheel

import "fmt"

// calendar is R. Brown's calendar queue (CACM 31(10), Oct 1988), which the paper calls an
// extension of timing wheels (§VIII-2). It is a wheel whose slots are days of width ticks, each
// with a sorted list. The number of days and their width follow the load. A tick is on day
// tick/width, and day d of any year is in bucket d modulo the number of days.
//
// PER TICK BOOKKEEPING looks through the days, from the current one on, for a head that is due in
// this year. If a whole year has none, it goes to the earliest of all heads ("direct search").
// The queue starts with Config.Slots days, 2 by default, of one tick. It doubles when there are
// more than two timers per day, and halves when there are fewer than half a timer per day (less
// 2). Each resize sets the width to three times the average distance of the first timers: 5 and a
// tenth of all, at most 25. Distances of twice their average or more are left out.
//
// By experiment, Brown shows that START and PER TICK BOOKKEEPING cost O(1) for the distributions
// he tried. The worst case of both is O(n), and of a resize O(n²), when most timers are on one
// day. That happens when ticks crowd behind some that are far apart, as the width changes only
// with the number of timers. Otherwise a resize is O(n), within a START, STOP or Advance, at most
// once per n/2 of them. Davison used a calendar queue for the timers of VM/XA SP1. By the paper's
// reading, what resizing gains "does not appear to warrant the extra complexity": a clock must
// step through its ticks anyway, and here a bitmap skips the empty days.
//
// The list of a day is searched from its rear. Timers of one tick expire in START order. Moves
// are records placed again by a resize. Only New and Reserve allocate: there is always room for
// the days of as many timers as there are records.
type calendar struct {
	front
	days  ring   // the lists in use; the arena has more
	width uint64 // of a day, in ticks; at most maxWidth
	held  int    // timers on all days
	least int    // initial number of days, for which there is always room
}

const (
	listDesk = listFirst // holds all timers during a resize, else empty
	maxWidth = 1 << 62   // (day+1)·width must not overflow
)

func newCalendar(name string, cfg Config) Facility {
	s := &calendar{days: newRing(listDesk+1, cfg.Slots), width: 1, least: cfg.Slots}
	s.init(name, s, cfg, 1+cfg.Slots)
	return s
}

func (s *calendar) insert(t uint32) {
	passed, compared := s.put(t)
	if s.counting {
		s.counts.StartVisits += passed
		s.counts.Comparisons += compared
	}
	if s.held++; s.held > 2*s.buckets() {
		s.resize(2 * s.buckets())
	}
}

// put places t on its day, after all timers that are not due later. It returns how many records
// it passed and how many it compared.
func (s *calendar) put(t uint32) (passed, compared uint64) {
	tick := s.nodes[t].tick
	day := s.days.slot(tick / s.width)
	at, stop := uint32(0), s.lists[s.days.first+day].tail
	for ; stop != 0 && s.nodes[stop].tick > tick; stop = s.nodes[stop].prev {
		at = stop
		passed++
	}
	compared = passed
	if stop != 0 {
		compared++
	}
	s.days.insertBefore(&s.arena, day, at, t)
	return passed, compared
}

func (s *calendar) remove(t uint32) {
	s.days.unlink(&s.arena, t)
	s.held--
	s.shrink()
}

// shrink halves the number of days as long as there are too few timers for them.
func (s *calendar) shrink() {
	n := s.buckets()
	for s.held < n/2-2 {
		n /= 2
	}
	if n != s.buckets() {
		s.resize(n)
	}
}

func (s *calendar) buckets() int { return int(s.days.mask) + 1 }

// reserve makes room for the largest number of days that n timers lead to.
func (s *calendar) reserve(n int) {
	days := s.least
	for n > 2*days {
		days *= 2
	}
	if more := int(s.days.first) + days - len(s.lists); more > 0 {
		s.lists = append(s.lists, make([]list, more)...)
		busy := newBitmap(days)
		copy(busy.words, s.days.busy.words)
		copy(busy.sums, s.days.busy.sums)
		copy(busy.top, s.days.busy.top)
		s.days.busy = busy
	}
}

// first returns the bucket with the earliest timer, if that is not after limit, and how many
// heads it looked at.
func (s *calendar) first(limit uint64) (bucket uint32, looks uint64, ok bool) {
	today, best := s.cur/s.width, noTick
	day, ok := s.days.next(today - 1)
	for ; ok && day-today <= uint64(s.days.mask); day, ok = s.days.next(day) {
		if day*s.width > limit {
			return 0, looks, false
		}
		looks++
		tick := s.nodes[s.days.head(&s.arena, s.days.slot(day))].tick
		if tick < best {
			best, bucket = tick, s.days.slot(day)
		}
		if tick < (day+1)*s.width { // due this year; no earlier day has a timer of this year
			break
		}
	}
	return bucket, looks, best <= limit
}

func (s *calendar) collect(target uint64) bool {
	day, looks, ok := s.first(target)
	if s.counting {
		s.counts.Wakeups += looks
		s.counts.TickVisits += looks
	}
	if !ok {
		s.cur = target
		return false
	}
	s.cur = s.nodes[s.days.head(&s.arena, day)].tick
	due := s.takeDueSlot(&s.days, day)
	s.held -= int(due)
	if s.counting {
		s.counts.TickVisits += due - 1 // the first is among the looks
	}
	s.shrink()
	return true
}

// resize gives the calendar n days, of a width that suits the next timers, and places all timers
// again.
func (s *calendar) resize(n int) {
	width := s.takeSample()
	today := s.cur / s.width
	for day, ok := s.days.next(today - 1); ok; day, ok = s.days.next(day) {
		s.days.drain(&s.arena, s.days.slot(day), listDesk)
	}
	s.width, s.days.mask = width, uint32(n-1)
	t := s.lists[listDesk].head
	s.lists[listDesk] = list{}
	for t != 0 {
		next := s.nodes[t].next
		_, compared := s.put(t)
		if s.counting {
			s.counts.Moves++
			s.counts.Comparisons += compared
		}
		t = next
	}
}

// takeSample moves the first timers to the desk, and returns the width of a day that Brown
// derives from them.
func (s *calendar) takeSample() (width uint64) {
	n := s.held
	if n > 5 {
		n = min(5+n/10, 25)
	}
	var ticks [25]uint64
	for i := range n {
		day, _, _ := s.first(noTick)
		t := s.days.head(&s.arena, day)
		ticks[i] = s.nodes[t].tick
		s.days.unlink(&s.arena, t)
		s.pushBack(listDesk, t)
	}
	return dayWidth(ticks[:n])
}

// dayWidth returns three times the average distance between ticks, which are in order. Distances
// of twice the average of all or more are left out.
func dayWidth(ticks []uint64) uint64 {
	if len(ticks) < 2 {
		return 1
	}
	gaps := uint64(len(ticks) - 1)
	span := ticks[gaps] - ticks[0]
	sum, counted := uint64(0), uint64(0)
	for i := range gaps {
		// gap < 2·span/gaps, where span is below 2^63.
		if gap := ticks[i+1] - ticks[i]; gap <= (2*span-min(2*span, 1))/gaps {
			sum += gap
			counted++
		}
	}
	return max(1, min(3*min(sum, maxWidth)/counted, maxWidth))
}

func (s *calendar) nextExpiry(limit uint64) uint64 {
	if day, _, ok := s.first(limit); ok {
		return s.nodes[s.days.head(&s.arena, day)].tick
	}
	return limit + 1
}

// nextWakeup is exact if the next busy day has a timer due this year, and the end of that day
// otherwise.
func (s *calendar) nextWakeup() uint64 {
	day, _ := s.days.next(s.cur/s.width - 1)
	return min(s.nodes[s.days.head(&s.arena, s.days.slot(day))].tick, (day+1)*s.width)
}

func (s *calendar) verify() (int, error) {
	n, err := s.days.check(&s.arena, func(slot, t uint32) error {
		if tick := s.nodes[t].tick; s.days.slot(tick/s.width) != slot {
			return fmt.Errorf("timer %d has tick %d, days are of %d", t, tick, s.width)
		}
		return nil
	})
	for slot := uint32(0); err == nil && slot <= s.days.mask; slot++ {
		_, err = s.checkOrdered(s.days.first + slot)
	}
	switch {
	case err != nil:
		return n, err
	case s.lists[listDesk].head != 0:
		return n, fmt.Errorf("timer %d is on the desk", s.lists[listDesk].head)
	case n != s.held || n > 2*s.buckets() || s.width < 1 || s.width > maxWidth:
		return n, fmt.Errorf("%d timers, count is %d, on %d days of %d", n, s.held, s.buckets(), s.width)
	}
	return n, nil
}
