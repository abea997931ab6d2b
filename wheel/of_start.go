package wheel

import (
	"fmt"
	"math/bits"
)

// Schedule is START_TIMER: e expires at the first tick not before deadline. See Facility.
func (w *Of[O]) Schedule(e *Entry[O], deadline Time) {
	d := uint64(deadline) - uint64(w.first)
	if e.next == nil {
		if d < w.reach {
			k, _ := bits.Mul64(d, w.scale) // ticks after the next one
			e.deadline, e.from = w.now+2+d, w.now+1+k*uint64(w.size)
			w.started++
			l := (w.next + k) & w.mask
			w.inner[l>>6&(lazySlots/64-1)] |= 1 << (l & 63)
			w.append(&w.lists[l], e)
			return
		}
	} else if n := w.now + 1 + d; d < w.span && n >= e.from {
		if e.deadline == 0 {
			w.started++
		}
		e.deadline = n + 1
		return
	}
	w.start(e, w.since(deadline))
}

// start is START_TIMER in all cases, with a deadline in ns after the origin.
func (w *Of[O]) start(e *Entry[O], deadline uint64) {
	if e.deadline == 0 {
		w.started++
	}
	e.deadline = deadline + 1
	switch {
	case e.next != nil && deadline >= e.from && deadline > w.now:
		return
	case e.next != nil:
		w.leave(e)
	}
	if deadline <= w.now {
		e.deadline, e.from = w.now+1, inLate
		w.append(w.list(lazyLate), e)
		return
	}
	w.place(e)
}

// place puts a running timer, which is in no list and due after now, into a list that comes up in
// time.
func (w *Of[O]) place(e *Entry[O]) {
	list, _, from := w.listFor(e.deadline - 1)
	e.from = from
	w.append(&w.lists[list], e)
}

func (*Of[O]) append(list, e *Entry[O]) {
	last := list.prev
	next := &last.next // taken here, so that one check of the write barrier serves all four
	e.next, e.prev = list, last
	list.prev, *next = e, e
}

// leave takes e out of its list.
func (w *Of[O]) leave(e *Entry[O]) {
	prev, next := e.prev, e.next
	e.next, e.prev = nil, nil
	next.prev = prev
	if e == w.due {
		w.due = next // prev may be anywhere by now
		return
	}
	prev.next = next
	if prev != next {
		return
	}
	// The list is empty. Level and slot follow from the tick at which it comes up.
	tick := w.div(e.from-1) + 1
	for level := range w.levels {
		slot := tick >> (level * w.bits) & w.mask
		if prev == &w.lists[uint64(level)<<w.bits|slot] {
			w.bitsOf(level)[slot>>6] &^= 1 << (slot & 63)
			return
		}
	}
}

// Within reports whether e is running and expires between earliest and latest, at least a tick
// before latest. ScheduleRange does nothing then. A program that extends a timer often asks first,
// because Within is inlined and ScheduleRange is a call.
func (w *Of[O]) Within(e *Entry[O], earliest, latest Time) bool {
	lo, hi := uint64(earliest-w.origin), uint64(latest-w.origin)
	return e.deadline > lo && e.deadline+w.rest <= hi && int64(hi) >= 0 && earliest >= w.origin
}

// ScheduleRange is START_TIMER with a choice between earliest and latest: see Facility.
func (w *Of[O]) ScheduleRange(e *Entry[O], earliest, latest Time) {
	if w.Within(e, earliest, latest) {
		return
	}
	if latest < earliest {
		panic(fmt.Sprintf("BUG: wheel: range ends at %v before it begins at %v", latest, earliest))
	}
	lo := w.ceil(earliest)
	hi := max(lo, w.floor(latest))
	if tick := w.up(e.deadline - 1); e.deadline != 0 && lo <= tick && tick <= hi {
		return
	}
	w.Schedule(e, w.time(w.choose(lo, hi)))
}
