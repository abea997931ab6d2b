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

// verifyList walks list l and returns the number of its timers.
func (w *lazyHierarchy) verifyList(l uint32) (n int, err error) {
	comes := w.cur // the tick at which the list comes up
	switch slots := uint32(w.base) - lazyLists; {
	case l < slots:
		level, slot := uint8(l>>w.bits), l&uint32(w.mask)
		shift := level * w.bits
		comes = (w.cur>>shift + (uint64(slot)-w.cur>>shift)&w.mask) << shift
		busy := w.bitsOf(level)[slot>>6]>>(slot&63)&1 != 0
		if empty := w.nodes[l].next == l; busy == empty {
			return 0, fmt.Errorf("level %d, slot %d: busy bit %t, empty %t", level, slot, busy, empty)
		}
		if busy && (comes <= w.cur || level > 0 && comes < w.coming) {
			return 0, fmt.Errorf("level %d, slot %d comes up at %d, now %d, coming %d", level, slot, comes, w.cur, w.coming)
		}
	case l == w.list(lazyBeyond):
		comes = 0
	}
	first := w.nodes[l].next
	if l == w.list(lazyDue) {
		first = w.due
	}
	prev := l
	for i := first; i != l; prev, i = i, w.nodes[i].next {
		r := &w.nodes[i]
		t := uint64(i) - w.base
		switch tick := w.up(r.deadline); {
		case uint64(i) <= w.base || n > len(w.nodes):
			return n, fmt.Errorf("list %d: head or loop at %d", l, i)
		case r.prev != prev && i != w.due:
			return n, fmt.Errorf("timer %d of list %d: prev %d, want %d", t, l, r.prev, prev)
		case r.deadline == freed || r.from == inNoList:
			return n, fmt.Errorf("timer %d of list %d is freed or says that it is in none", t, l)
		case r.deadline < idle && l != w.list(lazyDue) && l != w.list(lazyLate) && tick < max(comes, w.cur+1):
			return n, fmt.Errorf("timer %d expires at tick %d, before its list %d comes up, now %d", t, tick, l, w.cur)
		case l < uint32(w.base)-lazyLists && r.from != (comes-1)*uint64(w.size)+1:
			return n, fmt.Errorf("timer %d of list %d: from %d, comes up at tick %d", t, l, r.from, comes)
		}
		n++
	}
	if w.nodes[l].prev != prev && first != l {
		return n, fmt.Errorf("list %d: last %d, want %d", l, w.nodes[l].prev, prev)
	}
	return n, nil
}
