package wheel

import (
	"math"
	"math/bits"
)

// Advance does PER_TICK_BOOKKEEPING for all ticks up to now, and calls expire for each due timer,
// at most limit times if limit is above 0. See Facility. While expire runs, its timer is not
// running and in no list.
func (w *Of[O]) Advance(now Time, limit int, expire func(e *Entry[O])) (n int, done bool) {
	w.advanceTo(now)
	if limit <= 0 {
		limit = math.MaxInt
	}
	w.expiring = true
	for n < limit {
		e := w.due
		if e.deadline-1 > w.now { // extended, stopped, or the end of the list
			if !w.pass(e) && !w.collect() {
				w.unfinished, w.expiring = false, false
				return n, true
			}
			continue
		}
		w.due = e.next
		e.next, e.prev, e.deadline = nil, nil, 0
		w.ended++
		n++
		expire(e)
	}
	w.expiring = false
	return n, false
}

// AdvanceBatch does what Advance does with len(due) as its limit, without a call for each timer: it
// puts due timers of one tick into due and returns their number. It returns 0 when nothing up to
// now is left, so a program calls it until then:
//
//	for n := w.AdvanceBatch(now, due); n > 0; n = w.AdvanceBatch(now, due) {
//		for _, e := range due[:n] {
//			e.Owner.close()
//		}
//	}
//
// Until the next call, Now is the tick at which they were due. All of them have stopped when it
// returns. So Stop of a timer that waits in due returns false and does not take it back, and START
// starts it again, besides the expiry that is waiting: this alone differs from Advance.
func (w *Of[O]) AdvanceBatch(now Time, due []*Entry[O]) (n int) {
	if len(due) == 0 {
		panic("BUG: wheel: AdvanceBatch without room for a timer")
	}
	w.advanceTo(now)
	for {
		e := w.due
		for n < len(due) && e.deadline-1 <= w.now {
			due[n] = e
			n++
			next := e.next
			e.next, e.prev, e.deadline = nil, nil, 0
			e = next
		}
		w.due = e
		if n == len(due) || !w.pass(e) && (n > 0 || !w.collect()) {
			w.ended += uint64(n)
			w.unfinished = n > 0
			return n
		}
	}
}

// advanceTo begins an Advance to now, unless one is unfinished.
func (w *Of[O]) advanceTo(now Time) {
	if w.expiring {
		panic("BUG: wheel: Advance called while a timer expires")
	}
	w.target = max(w.target, w.floor(now))
	if !w.unfinished {
		w.begin()
	}
}

// pass places the first timer that came up, which is extended or stopped, and reports whether there
// was one.
func (w *Of[O]) pass(e *Entry[O]) bool {
	if !w.anyDue() {
		return false
	}
	w.due = e.next
	w.requeue(e)
	return true
}

// requeue places a timer that came up before its deadline. A stopped one has left the wheel.
func (w *Of[O]) requeue(e *Entry[O]) {
	if e.deadline == 0 {
		e.next, e.prev = nil, nil
		return
	}
	w.place(e)
}

// begin starts an Advance to target and makes the late timers due: see front.begin.
func (w *Of[O]) begin() {
	w.end, w.unfinished = w.target, true
	if late := w.list(lazyLate); late.next != late {
		w.queue(late)
	}
}

// queue appends all timers of a list, at least one, to the timers that came up.
func (w *Of[O]) queue(list *Entry[O]) {
	first, last := list.next, list.prev
	list.next, list.prev = list, list
	w.queueChain(first, last)
}

func (w *Of[O]) queueChain(first, last *Entry[O]) {
	end := w.list(lazyDue)
	if w.due == end {
		w.due = first
	} else {
		end.prev.next, first.prev = first, end.prev
	}
	last.next, end.prev = end, last
}

func (w *Of[O]) anyDue() bool { return w.due != w.list(lazyDue) }

// collect is PER_TICK_BOOKKEEPING up to the first tick at which timers come up, or to target. It
// moves cur there and the timers to the due ones. It reports whether there are any.
func (w *Of[O]) collect() bool {
	for !w.collectTo(w.end) {
		if w.end == w.target {
			return false
		}
		w.begin() // the Advance of an earlier call ended here; this call's begins
		if w.anyDue() {
			break
		}
	}
	return true
}

func (w *Of[O]) collectTo(end uint64) bool {
	for w.cur < end {
		tick := w.coming
		if m := w.inner[w.next&w.mask>>6] >> (w.next & w.mask & 63); m != 0 {
			tick = min(tick, w.next+uint64(bits.TrailingZeros64(m)))
		} else {
			tick = min(tick, w.nextSlot(0))
		}
		if tick > end {
			break
		}
		w.setCur(tick)
		if tick == w.coming {
			w.cascade()
		}
		if s := uint32(tick & w.mask); w.inner[s>>6]>>(s&63)&1 != 0 {
			w.inner[s>>6] &^= 1 << (s & 63)
			w.queue(&w.lists[s])
		}
		if w.anyDue() {
			return true
		}
	}
	w.setCur(max(w.cur, end))
	return false
}

// setCur moves the clock to a tick. Short paths are taken if the end of time is not reached.
func (w *Of[O]) setCur(tick uint64) {
	w.cur, w.next, w.now = tick, tick+1, tick*uint64(w.size)
	w.first, w.span = w.origin+Time(w.now)+1, 0
	if w.first > w.origin && w.first <= w.last {
		w.span = uint64(w.last) - uint64(w.first) + 1
	}
	w.reach = min(w.maxReach, w.span)
}

// nextSlot returns the tick at which the next busy slot of a level comes up, or noTick.
func (w *Of[O]) nextSlot(level uint8) uint64 {
	shift := level * w.bits
	n := w.cur >> shift
	if ahead := nextBusy(w.bitsOf(level), n, w.mask); ahead != 0 {
		return (n + ahead) << shift
	}
	return noTick
}

// cascade takes apart the coarser slots that come up at cur, and the list beyond if its time has
// come. Due timers are queued, coarse levels first; the others move on.
func (w *Of[O]) cascade() {
	w.coming = noTick
	if w.cur == w.wrap {
		w.wrap = noTick
		w.takeApart(w.list(ofBeyond))
	}
	for level := w.levels - 1; level > 0; level-- {
		shift := level * w.bits
		slot := uint32(w.cur >> shift & w.mask)
		if word := &w.bitsOf(level)[slot>>6]; w.cur>>shift<<shift == w.cur && *word>>(slot&63)&1 != 0 {
			*word &^= 1 << (slot & 63)
			w.takeApart(&w.lists[uint32(level)<<w.bits|slot])
		}
	}
	w.coming = w.wrap
	for level := uint8(1); level < w.levels; level++ {
		w.coming = min(w.coming, w.nextSlot(level))
	}
}

// takeApart queues the due timers of a list that came up, and places the others.
func (w *Of[O]) takeApart(list *Entry[O]) {
	e := list.next
	list.next, list.prev = list, list
	for e != list {
		next := e.next
		if e.deadline-1 <= w.now {
			w.queueChain(e, e)
		} else {
			w.requeue(e)
		}
		e = next
	}
}

// NextWakeup returns the first instant at which Advance may have work to do: see Facility.
func (w *Of[O]) NextWakeup() (at Time, ok bool) {
	late := w.list(lazyLate)
	switch {
	case w.Len() == 0:
		return 0, false
	case w.anyDue() || late.next != late:
		return w.Now(), true
	}
	return w.time(min(w.nextSlot(0), w.coming)), true
}

// NextExpiry returns the exact instant of the next expiry, if that is not after limit: see
// Facility.
func (w *Of[O]) NextExpiry(limit Time) (at Time, ok bool) {
	last := w.floor(limit)
	if w.Len() == 0 || limit < w.Now() {
		return 0, false
	}
	late, due := w.list(lazyLate), w.list(lazyDue)
	if earliest(late.next, late, idle) < idle {
		return w.Now(), true
	}
	first := earliest(w.due, due, idle)
	for level := range w.levels {
		first = w.earliestOn(level, first, last)
	}
	if w.wrap <= last && w.wrap*uint64(w.size) <= first {
		beyond := w.list(ofBeyond)
		first = earliest(beyond.next, beyond, first)
	}
	if tick := max(w.cur, w.up(first)); first < idle && tick <= last {
		return w.time(tick), true
	}
	return 0, false
}

// earliestOn returns the earliest deadline on a level, or first if that is earlier, in ns after the
// origin. It looks at slots that come up by tick last.
func (w *Of[O]) earliestOn(level uint8, first, last uint64) uint64 {
	shift := level * w.bits
	n := w.cur >> shift
	end := n + w.mask
	for {
		ahead := nextBusy(w.bitsOf(level), n, w.mask)
		n += ahead
		// A slot that comes up at tick v holds no timer that is due before v.
		if v := n << shift; ahead == 0 || n > end || v > last || v*uint64(w.size) > first {
			return first
		}
		slot := &w.lists[uint64(level)<<w.bits|n&w.mask]
		first = earliest(slot.next, slot, first)
	}
}

// earliest returns the earliest deadline from e to the end of its list, or first if that is
// earlier.
func earliest[O any](e, list *Entry[O], first uint64) uint64 {
	for ; e != list; e = e.next {
		first = min(first, e.deadline-1)
	}
	return first
}
