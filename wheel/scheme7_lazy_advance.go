package wheel

import "math"

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
	for {
		for w.step() {
			if w.counting {
				w.counts.Wakeups++
			}
			if w.cur == w.coming {
				w.cascade(w.takeApart)
			}
			if s := uint32(w.cur & w.mask); w.inner[s>>6]>>(s&63)&1 != 0 {
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
		if w.end == w.target {
			return false
		}
		w.begin() // the Advance of an earlier call ended here; this call's begins
		if w.anyDue() {
			return true
		}
	}
}

func (w *lazyHierarchy) anyDue() bool { return w.due != w.list(lazyDue) }

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
	if w.Len() == 0 || limit < w.Now() {
		return 0, false
	}
	if w.earliestIn(w.list(lazyLate), idle) < idle {
		return w.Now(), true
	}
	return w.nextExpiry(limit, w.earliestFrom(w.due, w.list(lazyDue), idle), w.earliestOf)
}

// earliestOf returns the earliest deadline in a list, or first if that is earlier.
func (w *lazyHierarchy) earliestOf(list uint32, first uint64) uint64 {
	if uint64(list) <= w.mask {
		first = w.earliestIn(list, first)
	}
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
	return w.nextWakeup(w.anyDue() || w.nodes[late].next != late)
}
