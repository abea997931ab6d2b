package wheel

import "fmt"

func (w *lazyHierarchy) check() error {
	if err := w.verify(); err != nil {
		return fmt.Errorf("%s: %w", w.name, err)
	}
	return nil
}

func (w *lazyHierarchy) verify() error {
	held := 0
	for l := range uint32(w.base) {
		n, err := w.verifyList(l)
		if err != nil {
			return err
		}
		held += n
	}
	for l := range uint32(len(w.coarse.top)) {
		n, err := w.verifyChunks(l)
		if err != nil {
			return err
		}
		held += n
	}
	running, placed := 0, 0
	for i := range w.nodes[w.base+1:] {
		r := &w.nodes[int(w.base)+1+i]
		if r.deadline < idle {
			running++
		}
		if r.deadline != freed && r.from != inNoList {
			placed++
		} else if r.deadline < idle {
			return fmt.Errorf("timer %d runs and is in no list", i+1)
		}
	}
	if running != w.Len() || placed != held {
		return fmt.Errorf("%d running, want %d; %d placed, %d held", running, w.Len(), placed, held)
	}
	return nil
}

// verifyList walks circular list l and returns the number of its timers.
func (w *lazyHierarchy) verifyList(l uint32) (n int, err error) {
	comes := w.cur // the tick at which the list comes up
	if l < w.list(0) {
		if comes, err = w.verifySlot(0, l, w.isEmpty(l)); err != nil {
			return 0, err
		}
	}
	first := w.nodes[l].next
	if l == w.list(lazyDue) {
		first = w.due
	}
	prev := l
	for i := first; i != l; prev, i = i, w.nodes[i].next {
		r := &w.nodes[i]
		switch {
		case uint64(i) <= w.base || n > len(w.nodes):
			return n, fmt.Errorf("list %d: head or loop at %d", l, i)
		case r.prev != prev && i != w.due:
			return n, fmt.Errorf("timer %d of list %d: prev %d, want %d", uint64(i)-w.base, l, r.prev, prev)
		}
		if err := w.verifyTimer(i, comes, l < w.list(0)); err != nil {
			return n, fmt.Errorf("list %d: %w", l, err)
		}
		n++
	}
	if w.nodes[l].prev != prev && first != l {
		return n, fmt.Errorf("list %d: last %d, want %d", l, w.nodes[l].prev, prev)
	}
	return n, nil
}

// verifyChunks walks list l of chunks.
func (w *lazyHierarchy) verifyChunks(l uint32) (n int, err error) {
	comes := w.wrap
	if l < w.beyond() {
		if comes, err = w.verifySlot(uint8(l>>w.bits), l&uint32(w.mask), w.isEmpty(l)); err != nil {
			return 0, err
		}
	}
	err = w.coarse.check(l, func(i, at uint32) error {
		n++
		if r := &w.nodes[i]; r.next != inCoarse|l || r.prev != at {
			return fmt.Errorf("timer %d of coarse list %d says list %d, address %d, want %d", uint64(i)-w.base, l, r.next&^inCoarse, r.prev, at)
		}
		return w.verifyTimer(i, comes, l < w.beyond())
	})
	return n, err
}

// isEmpty reports whether the list of a slot of any level is empty.
func (w *lazyHierarchy) isEmpty(l uint32) bool {
	return w.coarse.top[l] == 0 && (uint64(l) > w.mask || w.nodes[l].next == l)
}

// verifySlot returns the tick at which a slot comes up.
func (w *lazyHierarchy) verifySlot(level uint8, slot uint32, empty bool) (comes uint64, err error) {
	shift := level * w.bits
	comes = (w.cur>>shift + (uint64(slot)-w.cur>>shift)&w.mask) << shift
	busy := w.bitsOf(level)[slot>>6]>>(slot&63)&1 != 0
	if busy == empty {
		return 0, fmt.Errorf("level %d, slot %d: busy bit %t, empty %t", level, slot, busy, empty)
	}
	if busy && (comes <= w.cur || level > 0 && comes < w.coming) {
		return 0, fmt.Errorf("level %d, slot %d comes up at %d, now %d, coming %d", level, slot, comes, w.cur, w.coming)
	}
	return comes, nil
}

// verifyTimer checks a timer in a list that comes up at a tick, in a slot or not.
func (w *lazyHierarchy) verifyTimer(i uint32, comes uint64, slotted bool) error {
	r, t := &w.nodes[i], uint64(i)-w.base
	switch {
	case r.deadline == freed || r.from == inNoList:
		return fmt.Errorf("timer %d is freed or says that it is in no list", t)
	case slotted && r.deadline < idle && w.up(r.deadline) < max(comes, w.cur+1):
		return fmt.Errorf("timer %d expires at tick %d, before its list comes up at %d, now %d", t, w.up(r.deadline), comes, w.cur)
	case slotted && r.from != (comes-1)*uint64(w.size)+1:
		return fmt.Errorf("timer %d: from %d, comes up at tick %d", t, r.from, comes)
	}
	return nil
}
