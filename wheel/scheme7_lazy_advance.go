package wheel

import (
	"math"
	"math/bits"
)

// Advance does PER_TICK_BOOKKEEPING for all ticks up to now: see Facility.
func (w *lazyHierarchy) Advance(now Time, limit int, expire func(t Timer)) (n int, done bool) {
	if w.expiring {
		panic("BUG: wheel: Advance called while a timer expires")
	}
	w.target = max(w.target, w.floor(now))
	if !w.unfinished {
		w.begin()
	}
	if limit <= 0 {
		limit = math.MaxInt
	}
	w.expiring = true
	for n < limit {
		i := w.due
		r := &w.nodes[i]
		if r.deadline >= w.dueBy && !w.settle(i, r) {
			if !w.anyDue() && !w.collect() {
				w.unfinished, w.expiring = false, false
				return n, true
			}
			continue
		}
		w.due = r.next
		r.deadline, r.from = idle, inNoList
		w.ended++
		n++
		expire(Timer(uint64(i) - w.base))
	}
	w.expiring = false
	return n, false
}

// settle looks at the first timer that came up, if any, and reports whether it is due. An extended
// timer goes to its new place.
func (w *lazyHierarchy) settle(i uint32, r *lazyNode) bool {
	if !w.anyDue() {
		return false
	}
	if w.counting {
		w.counts.TickVisits++
	}
	if r.deadline > w.now {
		w.due = r.next
		w.requeue(i, r, w.levels, false)
		return false
	}
	if w.counting {
		w.counts.Expiries++
	}
	return true
}

// requeue places a timer that came up, on a given level, before its deadline. A stopped one has
// left the wheel.
func (w *lazyHierarchy) requeue(i uint32, r *lazyNode, from uint8, fromCoarser bool) {
	if r.deadline == idle {
		r.from = inNoList
		return
	}
	to := w.place(i, r, fromCoarser)
	if w.counting {
		w.counts.Moves++
		if to < from {
			w.counts.Migrations++
		}
	}
}

// begin starts an Advance to target and makes the late timers due: see front.begin.
func (w *lazyHierarchy) begin() {
	w.end, w.unfinished = w.target, true
	if late := w.list(lazyLate); w.nodes[late].next != late {
		if w.counting {
			w.counts.Wakeups++
		}
		w.queue(late)
	}
}

// queue appends all timers of a list, at least one, to the timers that came up.
func (w *lazyHierarchy) queue(list uint32) {
	head := &w.nodes[list]
	first, last := head.next, head.prev
	head.next, head.prev = list, list
	w.queueChain(first, last)
}

func (w *lazyHierarchy) queueChain(first, last uint32) {
	due := w.list(lazyDue)
	end := &w.nodes[due]
	if w.due == due {
		w.due = first
	} else {
		w.nodes[end.prev].next, w.nodes[first].prev = first, end.prev
	}
	w.nodes[last].next, end.prev = due, last
}

// collect is PER_TICK_BOOKKEEPING up to the first tick at which timers come up, or to target. It
// moves cur there and the timers to the due ones. It reports whether there are any.
func (w *lazyHierarchy) collect() bool {
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

func (w *lazyHierarchy) anyDue() bool { return w.due != w.list(lazyDue) }

func (w *lazyHierarchy) collectTo(end uint64) bool {
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
		if w.counting {
			w.counts.Wakeups++
		}
		if tick == w.coming {
			w.cascade()
		}
		if s := uint32(tick & w.mask); w.inner[s>>6]>>(s&63)&1 != 0 {
			w.inner[s>>6] &^= 1 << (s & 63)
			if w.nodes[s].next != s {
				w.queue(s)
			}
			w.takeApart(s, w.levels)
		}
		if w.anyDue() {
			return true
		}
	}
	w.setCur(max(w.cur, end))
	return false
}

// setCur moves the clock to a tick, and lets the short paths be taken if the facility does not
// count and the end of time is not reached.
func (w *lazyHierarchy) setCur(tick uint64) {
	w.cur, w.next, w.now = tick, tick+1, tick*uint64(w.size)
	w.first, w.dueBy, w.span = w.origin+Time(w.now)+1, 0, 0
	if w.first > w.origin && w.first <= w.last && !w.counting {
		w.dueBy = w.now + 1
		w.span = uint64(w.last) - uint64(w.first) + 1
	}
	w.reach = min(w.maxReach, w.span)
}

// nextSlot returns the tick at which the next busy slot of a level comes up, or noTick.
func (w *lazyHierarchy) nextSlot(level uint8) uint64 {
	shift := level * w.bits
	n := w.cur >> shift
	if ahead := w.gap(level, n); ahead != 0 {
		return (n + ahead) << shift
	}
	return noTick
}

// gap is nextBusy on a level.
func (w *lazyHierarchy) gap(level uint8, n uint64) uint64 {
	return nextBusy(w.bitsOf(level), n, w.mask)
}

// nextBusy returns how many slots after slot n of a ring the next busy one lies, up to a rotation,
// or 0 if none is busy. The ring has mask+1 slots, and a bit for each in whole words.
func nextBusy(busy []uint64, n, mask uint64) uint64 {
	words := uint64(len(busy))
	from := (n + 1) & mask
	// The word of slot from comes first with the slots from there on, and last with those before.
	for k := range words + 1 {
		i := (from>>6 + k) & (words - 1)
		m := busy[i]
		switch k {
		case 0:
			m = m >> (from & 63) << (from & 63)
		case words:
			m &= 1<<(from&63) - 1
		}
		if m != 0 {
			slot := i<<6 + uint64(bits.TrailingZeros64(m))
			return 1 + (slot-from)&mask
		}
	}
	return 0
}

// cascade takes apart the coarser slots that come up at cur, and the list beyond if its time has
// come. Due timers are queued, coarse levels first; the others move on.
func (w *lazyHierarchy) cascade() {
	w.coming = noTick
	if w.cur == w.wrap {
		w.wrap = noTick
		w.takeApart(w.beyond(), w.levels)
	}
	for level := w.levels - 1; level > 0; level-- {
		shift := level * w.bits
		slot := uint32(w.cur >> shift & w.mask)
		if word := &w.bitsOf(level)[slot>>6]; w.cur>>shift<<shift == w.cur && *word>>(slot&63)&1 != 0 {
			*word &^= 1 << (slot & 63)
			w.takeApart(uint32(level)<<w.bits|slot, level)
		}
	}
	w.coming = w.wrap
	for level := uint8(1); level < w.levels; level++ {
		w.coming = min(w.coming, w.nextSlot(level))
	}
}

// takeApart queues the due timers of a list that came up, and places the others.
func (w *lazyHierarchy) takeApart(list uint32, level uint8) {
	if w.coarse.top[list] == 0 {
		return
	}
	for q := w.coarse.detach(list); q.first != 0; {
		if q.first&chunkMask == 1 {
			w.prefetch(q)
		}
		i := w.coarse.popFirst(&q)
		r := &w.nodes[i]
		if r.deadline <= w.now {
			w.queueChain(i, i)
			continue
		}
		if w.counting {
			w.counts.TickVisits++
		}
		w.requeue(i, r, level, true)
	}
}

// prefetch reads the records of the first chunk of q: see Scheme6.prefetch.
func (w *lazyHierarchy) prefetch(q queue) {
	end := q.first | chunkMask
	if q.last&^chunkMask == q.first&^chunkMask {
		end = q.last
	}
	nodes, sum := w.nodes, w.prefetched
	for _, i := range w.coarse.entries[q.first : end+1] {
		sum += nodes[i].deadline
	}
	w.prefetched = sum
}

// NextExpiry returns the exact instant of the next expiry, if that is not after limit: see
// Facility.
func (w *lazyHierarchy) NextExpiry(limit Time) (Time, bool) {
	last := w.floor(limit)
	if w.Len() == 0 || limit < w.Now() {
		return 0, false
	}
	if w.earliestIn(w.list(lazyLate), idle) < idle {
		return w.Now(), true
	}
	first := w.earliestFrom(w.due, w.list(lazyDue), idle)
	for level := range w.levels {
		first = w.earliestOn(level, first, last)
	}
	if w.wrap <= last && w.wrap*uint64(w.size) <= first {
		first = w.earliestOf(w.beyond(), first)
	}
	if tick := max(w.cur, w.up(first)); first < idle && tick <= last {
		return w.time(tick), true
	}
	return 0, false
}

// earliestOn returns the earliest deadline on a level, or first if that is earlier. It looks at
// slots that come up by tick last.
func (w *lazyHierarchy) earliestOn(level uint8, first, last uint64) uint64 {
	shift := level * w.bits
	n := w.cur >> shift
	end := n + w.mask
	for ahead := w.gap(level, n); ahead != 0 && n+ahead <= end; ahead = w.gap(level, n) {
		n += ahead
		// A slot that comes up at tick v holds no timer that is due before v.
		if v := n << shift; v > last || v*uint64(w.size) > first {
			break
		}
		slot := uint32(n & w.mask)
		if level == 0 {
			first = w.earliestIn(slot, first)
		}
		first = w.earliestOf(uint32(level)<<w.bits|slot, first)
	}
	return first
}

// earliestOf is earliestIn for a list of chunks.
func (w *lazyHierarchy) earliestOf(list uint32, first uint64) uint64 {
	for a := w.coarse.top[list]; a != 0; a = w.coarse.before(a) {
		first = min(first, w.nodes[w.coarse.entries[a]].deadline)
	}
	return first
}

// earliestIn returns the earliest deadline in a circular list, or first if that is earlier.
func (w *lazyHierarchy) earliestIn(list uint32, first uint64) uint64 {
	return w.earliestFrom(w.nodes[list].next, list, first)
}

// earliestFrom returns the earliest deadline from record i to the end of its list, or first if that
// is earlier.
func (w *lazyHierarchy) earliestFrom(i, list uint32, first uint64) uint64 {
	for ; i != list; i = w.nodes[i].next {
		first = min(first, w.nodes[i].deadline)
	}
	return first
}

// NextWakeup returns the first instant at which Advance may have work to do: see Facility.
func (w *lazyHierarchy) NextWakeup() (Time, bool) {
	late := w.list(lazyLate)
	switch {
	case w.Len() == 0:
		return 0, false
	case w.anyDue() || w.nodes[late].next != late:
		return w.Now(), true
	}
	return w.time(min(w.nextSlot(0), w.coming)), true
}
