package wheel

import "math"

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
	for {
		for w.step() {
			if w.cur == w.coming {
				w.cascade(w.takeApart)
			}
			if s := w.cur & w.mask; w.inner[s>>6]>>(s&63)&1 != 0 {
				w.inner[s>>6] &^= 1 << (s & 63)
				w.queue(&w.lists[s])
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

// takeApart queues the due timers of a list that came up, and places the others.
func (w *Of[O]) takeApart(number uint32, _ uint8) {
	list := &w.lists[number]
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
	return w.nextWakeup(w.anyDue() || late.next != late)
}

// NextExpiry returns the exact instant of the next expiry, if that is not after limit: see
// Facility.
func (w *Of[O]) NextExpiry(limit Time) (at Time, ok bool) {
	if w.Len() == 0 || limit < w.Now() {
		return 0, false
	}
	late, due := w.list(lazyLate), w.list(lazyDue)
	if earliest(late.next, late, idle) < idle {
		return w.Now(), true
	}
	return w.nextExpiry(limit, earliest(w.due, due, idle), func(number uint32, first uint64) uint64 {
		list := &w.lists[number]
		return earliest(list.next, list, first)
	})
}

// earliest returns the earliest deadline from e to the end of its list, or first if that is
// earlier.
func earliest[O any](e, list *Entry[O], first uint64) uint64 {
	for ; e != list; e = e.next {
		first = min(first, e.deadline-1)
	}
	return first
}
