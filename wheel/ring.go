package wheel

import "fmt"

// noTick is after every tick.
const noTick = ^uint64(0)

// ring is a circular array of lists of an arena, with a bit for each busy one: the timing wheel
// proper. Schemes 4 to 7 are made of rings. A number has slot number mod M. In a wheel that turns
// every tick, the number is the tick.
type ring struct {
	busy  bitmap
	first uint32 // the list of slot 0
	mask  uint32 // slots-1; slots is a power of two
}

func newRing(first uint32, slots int) ring {
	return ring{busy: newBitmap(slots), first: first, mask: uint32(slots - 1)}
}

func (r *ring) slot(number uint64) uint32 { return uint32(number) & r.mask }

// head returns the first record of a slot, or 0.
func (r *ring) head(a *arena, slot uint32) uint32 { return a.lists[r.first+slot].head }

// insertBefore puts t into a slot before at, or at its end if at is 0.
func (r *ring) insertBefore(a *arena, slot, at, t uint32) {
	if a.lists[r.first+slot].head == 0 {
		r.busy.set(slot)
	}
	a.insertBefore(r.first+slot, at, t)
}

// unlink takes t out of its slot.
func (r *ring) unlink(a *arena, t uint32) {
	l := a.nodes[t].where
	a.unlink(t)
	if a.lists[l].head == 0 {
		r.busy.clear(l - r.first)
	}
}

// drain appends all records of a slot to list to, and returns how many there were.
func (r *ring) drain(a *arena, slot, to uint32) (n uint64) {
	from := a.lists[r.first+slot]
	if from.head == 0 {
		return 0
	}
	for t := from.head; t != 0; t = a.nodes[t].next {
		a.nodes[t].where = to
		n++
	}
	ls := &a.lists[to]
	if ls.tail != 0 {
		a.nodes[ls.tail].next = from.head
		a.nodes[from.head].prev = ls.tail
	} else {
		ls.head = from.head
	}
	ls.tail = from.tail
	a.lists[r.first+slot] = list{}
	r.busy.clear(slot)
	return n
}

// takeDueSlot is takeDue for a slot of a ring.
func (f *front) takeDueSlot(r *ring, slot uint32) (n uint64) {
	l := r.first + slot
	if n = f.takeDue(l); n != 0 && f.lists[l].head == 0 {
		r.busy.clear(slot)
	}
	return n
}

// idle reports whether no slot is busy.
func (r *ring) idle() bool {
	for _, w := range r.busy.top {
		if w != 0 {
			return false
		}
	}
	return true
}

// next returns the first number after n whose slot is busy, at most one rotation later. It
// returns false if no slot is busy.
func (r *ring) next(n uint64) (uint64, bool) {
	d := r.busy.after(r.slot(n), r.mask+1)
	return n + uint64(d), d != 0
}

// skip adds to n as many whole rotations as fit before last, which is not before n.
func (r *ring) skip(n, last uint64) uint64 { return n + (last-n)&^uint64(r.mask) }

// check walks all slots, passes each record to each, and returns the number of records.
func (r *ring) check(a *arena, each func(slot, t uint32) error) (n int, err error) {
	found, ok := r.busy.next(0)
	for slot := range r.mask + 1 {
		if busy := r.head(a, slot) != 0; busy != r.busy.has(slot) || busy != (ok && found == slot) {
			return n, fmt.Errorf("slot %d is busy: %v, its bit: %v, the search for it: %v, %d",
				slot, busy, r.busy.has(slot), ok, found)
		} else if busy {
			found, ok = r.busy.next(slot + 1)
		}
		k, err := a.checkList(r.first+slot, func(t uint32) error { return each(slot, t) })
		if err != nil {
			return n, fmt.Errorf("slot %d: %w", slot, err)
		}
		n += k
	}
	if ok {
		return n, fmt.Errorf("slot %d is marked busy, beyond the last", found)
	}
	return n, nil
}

// placeOrdered finds the place of t in list l, which is ordered by tick. It searches from the
// head, as Scheme 2 does, past all timers that are not due later, so that timers of one tick are
// in START order. It returns the record that follows t, or 0 at the end. The records it passes
// are StartVisits.
func (f *front) placeOrdered(l, t uint32) (at uint32) {
	tick, passed := f.nodes[t].tick, uint64(0)
	for at = f.lists[l].head; at != 0 && f.nodes[at].tick <= tick; at = f.nodes[at].next {
		passed++
	}
	if f.counting {
		f.counts.StartVisits += passed
		f.counts.Comparisons += passed
		if at != 0 {
			f.counts.Comparisons++
		}
	}
	return at
}
