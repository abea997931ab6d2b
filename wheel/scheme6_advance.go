package wheel

import "math"

// Advance does PER_TICK_BOOKKEEPING for all ticks up to now: see Facility.
func (w *Scheme6) Advance(now Time, limit int, expire func(t Timer)) (n int, done bool) {
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
		if w.due.first == 0 {
			if !w.collect() {
				w.unfinished, w.expiring = false, false
				return n, true
			}
			w.prefetch()
		}
		a := w.due.first
		t := w.entries[a]
		if a == w.due.last || (a+1)&chunkMask == 0 {
			w.popFirst(&w.due)
			w.prefetch()
		} else {
			w.due.first = a + 1
		}
		r := &w.recs[t]
		r.list = recIdle
		if w.counting {
			if !w.settle(t, r) {
				continue
			}
		} else if r.deadline > w.now {
			w.requeue(t, r)
			continue
		}
		r.deadline = never
		w.ended++
		n++
		expire(Timer(t))
	}
	w.expiring = false
	return n, false
}

// prefetch reads the records of the first chunk of the queue, and the owners of the due ones. These
// reads do not wait for each other, so their cache misses overlap. Later, with an expiry between
// two of them, they would not.
func (w *Scheme6) prefetch() {
	first := w.due.first
	if first == 0 {
		return
	}
	end := first | chunkMask
	if w.due.last&^chunkMask == first&^chunkMask {
		end = w.due.last
	}
	recs, owners, now, sum := w.recs, w.owners, w.now, w.prefetched
	for _, t := range w.entries[first : end+1] {
		if recs[t].deadline <= now {
			sum += owners[t]
		}
	}
	w.prefetched = sum
}

// settle looks at a timer that left its list because its place came up, and reports whether it is
// due. An extended timer goes to its new place.
func (w *Scheme6) settle(t uint32, r *rec) bool {
	due := r.deadline <= w.now
	if w.counting {
		w.counts.TickVisits++
		if due {
			w.counts.Expiries++
		}
	}
	if !due {
		w.requeue(t, r)
	}
	return due
}

// requeue places a timer whose place came up before its deadline, if it is running.
func (w *Scheme6) requeue(t uint32, r *rec) {
	if r.deadline == never {
		return
	}
	if w.counting {
		w.counts.Moves++
	}
	tick := w.div(r.deadline-1) + 1
	if tick-w.cur-1 >= uint64(w.mask) {
		w.place(t, r)
		return
	}
	l := uint32(tick) & w.mask // a near list: the usual case
	at, first := w.push(l, t)
	if r.list, r.at = l, at; first {
		w.busy.set(l)
	}
}

// begin starts an Advance to target and makes the pending timers due: see front.begin.
func (w *Scheme6) begin() {
	w.end, w.unfinished = w.target, true
	if w.top[w.pending()] == 0 {
		return
	}
	if w.counting {
		w.counts.Wakeups++
	}
	w.due = w.detach(w.pending())
	for a := w.due.first; a != 0; a = w.after(w.due, a) {
		w.recs[w.entries[a]].list = recQueued
	}
}

// collect is PER_TICK_BOOKKEEPING up to the first tick at which timers come up, or to target. It
// moves cur there and the timers to the queue. It reports whether there are any.
func (w *Scheme6) collect() bool {
	for !w.collectTo(w.end) {
		if w.end == w.target {
			return false
		}
		w.begin() // the Advance of an earlier call ended here; this call's begins
		if w.due.first != 0 {
			break
		}
	}
	return true
}

func (w *Scheme6) collectTo(end uint64) bool {
	if w.cur < end && w.busy.idle(uint32(w.cur)&w.mask, w.mask+1, end-w.cur) {
		w.setCur(end) // an empty tick: the usual case in real time
		return false
	}
	rotation, earliest := w.cur, uint64(never)
	for w.cur < end {
		gap := uint64(w.busy.after(uint32(w.cur)&w.mask, w.mask+1))
		if gap == 0 || gap > end-w.cur {
			break
		}
		w.setCur(w.cur + gap)
		if w.counting {
			w.counts.Wakeups++
		}
		s := uint32(w.cur) & w.mask
		if far := s + w.mask + 1; w.top[far] != 0 {
			earliest = min(earliest, w.scanFar(far))
		}
		if w.top[s] != 0 {
			w.queueNear(s)
		}
		w.clearBusy(s)
		if w.due.first != 0 {
			return true
		}
		if w.cur-rotation > uint64(w.mask) {
			// A whole rotation found nothing due: it saw all timers, and they are far ones.
			// Nothing is due before the earliest of them, so the clock jumps to the tick before
			// it.
			w.setCur(min(max(w.cur, w.up(earliest)-1), end))
			rotation, earliest = w.cur, never
		}
	}
	w.setCur(max(w.cur, end))
	return false
}

func (w *Scheme6) setCur(tick uint64) { w.cur, w.now = tick, tick*uint64(w.size) }

// queueNear appends the near list of slot s to the queue.
func (w *Scheme6) queueNear(s uint32) {
	if w.due.first == 0 {
		w.due = w.detach(s)
		return
	}
	// Far timers are due as well. They were started a rotation earlier and go first.
	q := w.detach(s)
	for q.first != 0 {
		t := w.popFirst(&q)
		w.recs[t].at = w.append(&w.due, t)
	}
}

// scanFar looks at all timers of a far list that came up, from the last to the first. It takes
// out the due, the stopped, and those extended to another slot. It returns the earliest deadline
// of the rest.
func (w *Scheme6) scanFar(l uint32) (earliest uint64) {
	earliest = never
	recs, now, owners := w.recs, w.now, w.prefetched
	found := w.pending() // empty during an Advance; it reverses the order
	held := w.top[found]
	w.top[found] = 0
	for a := w.top[l]; a != 0; {
		t, prev := w.entries[a], w.before(a)
		r := &recs[t]
		switch {
		case r.deadline <= now:
			// Read the owner here, where nothing waits for it: it is in the cache when expire
			// asks for it.
			owners += w.owners[t]
			w.leave(r)
			r.list = recQueued
			r.at, _ = w.push(found, t)
		case r.deadline == never:
			w.leave(r)
			if w.counting {
				w.counts.TickVisits++
			}
		default:
			earliest = min(earliest, r.deadline)
			if w.counting {
				w.counts.TickVisits++
			}
			if w.lazy && uint32(w.up(r.deadline))&w.mask != l&w.mask {
				w.leave(r)
				w.requeue(t, r)
			}
		}
		a = prev
	}
	for a := w.top[found]; a != 0; a = w.top[found] {
		t := w.entries[a]
		w.pop(found)
		recs[t].at = w.append(&w.due, t)
	}
	w.top[found] = held
	w.prefetched = owners
	return earliest
}

// NextExpiry returns the exact instant of the next expiry, if that is not after limit: see
// Facility.
func (w *Scheme6) NextExpiry(limit Time) (Time, bool) {
	last := w.floor(limit)
	if w.Len() == 0 || limit < w.Now() {
		return 0, false
	}
	if w.top[w.pending()] != 0 && w.anyRuns(w.pending()) {
		return w.Now(), true
	}
	first := uint64(never)
	for a := w.due.first; a != 0; a = w.after(w.due, a) {
		first = min(first, w.recs[w.entries[a]].deadline)
	}
	// A list that comes up at tick v holds no timer that is due before v. So look at slots in
	// order, until the earliest deadline seen is not after the next slot.
	for v, end := w.cur, w.cur+uint64(w.mask)+1; v < end; {
		gap := uint64(w.busy.after(uint32(v)&w.mask, w.mask+1))
		if v += gap; gap == 0 || v > min(end, last) || v*uint64(w.size) > first {
			break
		}
		for l := uint32(v) & w.mask; l <= 2*w.mask+1; l += w.mask + 1 {
			for a := w.top[l]; a != 0; a = w.before(a) {
				first = min(first, w.recs[w.entries[a]].deadline)
			}
		}
	}
	if tick := max(w.cur, w.up(first)); tick <= last && first != never {
		return w.time(tick), true
	}
	return 0, false
}

// anyRuns reports whether list l holds a running timer.
func (w *Scheme6) anyRuns(l uint32) bool {
	for a := w.top[l]; a != 0; a = w.before(a) {
		if w.recs[w.entries[a]].deadline != never {
			return true
		}
	}
	return false
}

// NextWakeup returns the first instant at which Advance may have work to do: see Facility.
func (w *Scheme6) NextWakeup() (Time, bool) {
	switch {
	case w.Len() == 0:
		return 0, false
	case w.due.first != 0 || w.top[w.pending()] != 0:
		return w.Now(), true
	}
	return w.time(w.cur + uint64(w.busy.after(uint32(w.cur)&w.mask, w.mask+1))), true
}
