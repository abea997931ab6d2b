package wheel

import (
	"fmt"
)

// Schedule is START_TIMER: see Facility. Two common cases are inlined. A timer whose place comes
// up in time costs a comparison and a write to its record. A timer in no list goes to a near
// list.
func (w *Scheme6) Schedule(t Timer, deadline Time) {
	r, n := &w.recs[t], uint64(deadline)-uint64(w.origin)
	if deadline <= w.origin || int64(n) < 0 {
		w.start(t, w.since(deadline))
		return
	}
	if r.list < w.lazyLists {
		// List l comes up until(l)+1 ticks from now: in time for deadlines after until(l) ticks.
		if int64(n-w.now) > int64(w.until(r.list))*int64(w.size) {
			if r.deadline == never {
				w.started++
			}
			r.deadline = n
			return
		}
	} else if r.list == recIdle && !w.counting {
		if tick := w.div(n-1) + 1; tick-w.cur-1 < uint64(w.mask) {
			w.started++
			l := uint32(tick) & w.mask
			last := w.top[l]
			at := last + 1
			if at&chunkMask <= 1 {
				at = w.chunk(last) + 1
				if last == 0 {
					w.busy.set(l)
				}
			}
			w.entries[at] = uint32(t)
			w.top[l] = at
			*r = rec{n, l, at}
			return
		}
	}
	w.start(t, n)
}

// start is START_TIMER in all cases.
func (w *Scheme6) start(t Timer, deadline uint64) {
	r := w.rec(t)
	if r.deadline == never {
		w.started++
	}
	if w.counting {
		w.counts.Starts++
	}
	r.deadline = deadline
	w.place(uint32(t), r)
}

// until returns how many ticks after the next one list l comes up, 0 to slots-1.
func (w *Scheme6) until(l uint32) uint64 { return uint64((l - uint32(w.cur) - 1) & w.mask) }

// place puts a running timer into a list that comes up in time.
func (w *Scheme6) place(t uint32, r *rec) {
	tick := w.up(r.deadline)
	l := uint32(tick) & w.mask
	if gap := tick - w.cur; tick <= w.cur {
		l, r.deadline = w.pending(), w.now
	} else {
		if w.lazy && r.list <= 2*w.mask+1 && gap > w.until(r.list) {
			return
		}
		if gap > uint64(w.mask) {
			l += w.mask + 1
		}
	}
	if r.list == l && !w.isDue(r) {
		return
	}
	w.leave(r)
	at, first := w.push(l, t)
	if r.list, r.at = l, at; first && l < w.pending() {
		w.busy.set(l & w.mask)
	}
}

// isDue reports whether r is in the queue of due timers. A near list becomes that queue as a
// whole when its slot comes up, without a write to its records. No timer enters that list before
// the next tick.
func (w *Scheme6) isDue(r *rec) bool { return r.list == recQueued || r.list == uint32(w.cur)&w.mask }

// leave takes a record out of its list or queue, if any.
func (w *Scheme6) leave(r *rec) {
	switch l := r.list; {
	case l == recIdle:
	case w.isDue(r):
		// The first of the queue replaces it.
		at := r.at
		if first := w.due.first; first != at {
			t := w.entries[first]
			w.entries[at], w.recs[t].at = t, at
		}
		w.popFirst(&w.due)
	default:
		moved, empty := w.take(l, r.at)
		if moved != 0 {
			w.recs[moved].at = r.at
		}
		if empty {
			w.clearBusy(l)
		}
	}
	r.list = recIdle
}

// clearBusy clears the busy bit of the slot of list l, which is empty, unless its other list is
// not.
func (w *Scheme6) clearBusy(l uint32) {
	if l == w.pending() {
		return
	}
	if s := l & w.mask; w.top[s]|w.top[s+w.mask+1] == 0 {
		w.busy.clear(s)
	}
}

// ScheduleRange starts t to expire between earliest and latest: at latest, unless it already
// does.
func (w *Scheme6) ScheduleRange(t Timer, earliest, latest Time) {
	// Nothing to do if the deadline is in the range, also after rounding up by less than a tick.
	lo, hi := uint64(earliest)-uint64(w.origin), uint64(latest)-uint64(w.origin)
	if n := w.recs[t].deadline; n < lo || n >= hi || hi-n < uint64(w.size) || int64(hi) < 0 || earliest < w.origin {
		w.startRange(t, earliest, latest)
	}
}

func (w *Scheme6) startRange(t Timer, earliest, latest Time) {
	if latest < earliest {
		panic(fmt.Sprintf("BUG: wheel: range ends at %v before it begins at %v", latest, earliest))
	}
	r := w.rec(t)
	lo := w.ceil(earliest)
	hi := max(lo, w.floor(latest))
	if tick := w.up(r.deadline); r.deadline != never && lo <= tick && tick <= hi {
		return
	}
	w.Schedule(t, w.time(hi))
}

// Stop is STOP_TIMER: see Facility.
func (w *Scheme6) Stop(t Timer) bool {
	r := &w.recs[t]
	if r.deadline == never {
		w.rec(t)
		return false
	}
	r.deadline = never
	w.ended++
	if w.lazyLists == 0 {
		w.stopSlow(r)
	}
	return true
}

func (w *Scheme6) stopSlow(r *rec) {
	if w.counting {
		w.counts.Stops++
	}
	if !w.lazy {
		w.leave(r)
	}
}
