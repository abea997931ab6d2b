package wheel

import (
	"fmt"
	"math/bits"
)

// Schedule is START_TIMER: see Facility. Two common cases are inlined. A timer whose place comes up
// in time costs two comparisons and a write to its record. A timer in no list goes to level 0.
func (w *lazyHierarchy) Schedule(t Timer, deadline Time) {
	nodes, i := w.nodes, uint64(t)+w.base
	r := &nodes[i]
	d := uint64(deadline) - uint64(w.first)
	if d < w.reach && r.from == inNoList {
		k, _ := bits.Mul64(d, w.scale) // ticks after the next one
		r.deadline, r.from = w.dueBy+d, w.dueBy+k*uint64(w.size)
		w.started++
		l := (w.next + k) & w.mask
		w.inner[l>>6&(lazySlots/64-1)] |= 1 << (l & 63)
		head := &nodes[l]
		last := head.prev
		head.prev, r.next, r.prev = uint32(i), uint32(l), last
		nodes[last].next = uint32(i)
		return
	}
	if n := w.dueBy + d; d < w.span && n >= r.from {
		if r.deadline == idle {
			w.started++
		}
		r.deadline = n
		return
	}
	w.start(t, w.since(deadline))
}

// start is START_TIMER in all cases, with a deadline in ns after the origin.
func (w *lazyHierarchy) start(t Timer, deadline uint64) {
	r, i := w.node(t), uint32(uint64(t)+w.base)
	if r.deadline == idle {
		w.started++
	}
	if w.counting {
		w.counts.Starts++
	}
	if deadline >= r.from && deadline > w.now {
		r.deadline = deadline
		return
	}
	if r.from != inNoList {
		w.leave(i, r)
	}
	if deadline <= w.now {
		r.deadline, r.from = w.now, inLate
		w.append(w.list(lazyLate), i, r)
		return
	}
	r.deadline = deadline
	w.place(i, r, false)
}

// place puts a running timer, which is in no list and due after now, into a list that comes up in
// time. It returns the level. A timer from a coarser level is in chunks on level 0 too.
func (w *lazyHierarchy) place(i uint32, r *lazyNode, fromCoarser bool) (level uint8) {
	list, level, from := w.listFor(r.deadline)
	if r.from = from; level == 0 && !fromCoarser {
		w.append(list, i, r)
	} else {
		w.push(list, i, r)
	}
	return level
}

// push appends record i to a list of chunks.
func (w *lazyHierarchy) push(list, i uint32, r *lazyNode) {
	r.next = inCoarse | list
	r.prev, _ = w.coarse.push(list, i)
}

func (w *lazyHierarchy) append(list, i uint32, r *lazyNode) {
	last := w.nodes[list].prev
	r.next, r.prev = list, last
	w.nodes[list].prev = i
	w.nodes[last].next = i
}

// leave takes record i out of its list.
func (w *lazyHierarchy) leave(i uint32, r *lazyNode) {
	prev, next := r.prev, r.next
	r.from = inNoList
	if next&inCoarse != 0 {
		list := next &^ inCoarse
		moved, empty := w.coarse.take(list, prev)
		if moved != 0 {
			w.nodes[moved].prev = prev
		}
		if slot := list & uint32(w.mask); empty && list < w.beyond() && (list != slot || w.nodes[slot].next == slot) {
			w.bitsOf(uint8(list >> w.bits))[slot>>6] &^= 1 << (slot & 63)
		}
		return
	}
	w.nodes[next].prev = prev
	if i == w.due {
		w.due = next // prev may be anywhere by now
		return
	}
	w.nodes[prev].next = next
	if prev == next && prev < w.list(0) && w.coarse.top[prev] == 0 {
		w.inner[prev>>6] &^= 1 << (prev & 63)
	}
}

// ScheduleRange is START_TIMER with a choice: see Facility. A timer that is a tick or more before
// the end of the range, and not before its beginning, is left alone at once.
func (w *lazyHierarchy) ScheduleRange(t Timer, earliest, latest Time) {
	n := w.nodes[uint64(t)+w.base].deadline
	lo, hi := uint64(earliest)-uint64(w.origin), uint64(latest)-uint64(w.origin)
	if n < lo || n+uint64(w.size) > hi || int64(hi) < 0 || earliest < w.origin {
		w.startRange(t, earliest, latest)
	}
}

func (w *lazyHierarchy) startRange(t Timer, earliest, latest Time) {
	r := w.node(t)
	if latest < earliest {
		panic(fmt.Sprintf("BUG: wheel: range ends at %v before it begins at %v", latest, earliest))
	}
	lo := w.ceil(earliest)
	hi := max(lo, w.floor(latest))
	if tick := w.up(r.deadline); r.deadline != idle && lo <= tick && tick <= hi {
		return
	}
	w.Schedule(t, w.time(w.choose(lo, hi)))
}

// Stop is STOP_TIMER: see Facility.
func (w *lazyHierarchy) Stop(t Timer) bool {
	r := &w.nodes[uint64(t)+w.base]
	if r.deadline >= idle {
		w.node(t)
		return false
	}
	r.deadline = idle
	w.ended++
	if w.counting {
		w.counts.Stops++
	}
	return true
}
