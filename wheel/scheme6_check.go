package wheel

import "fmt"

func (w *Scheme6) check() error {
	if err := w.verify(); err != nil {
		return fmt.Errorf("%s: %w", w.Scheme(), err)
	}
	return nil
}

func (w *Scheme6) verify() error {
	held := 0
	for l := range uint32(len(w.top)) {
		err := w.chunks.check(l, func(t, at uint32) error {
			held++
			return w.verifyEntry(l, t, at)
		})
		if err != nil {
			return err
		}
		if l > w.mask {
			continue
		}
		if busy := w.top[l]|w.top[l+w.mask+1] != 0; busy != w.busy.has(l) {
			return fmt.Errorf("slot %d: busy bit %t, want %t", l, w.busy.has(l), busy)
		}
	}
	for a := w.due.first; a != 0; a = w.after(w.due, a) {
		t := w.entries[a]
		held++
		if r := &w.recs[t]; !w.isDue(r) || r.at != a {
			return fmt.Errorf("timer %d is queued at %d, its record says list %d, %d", t, a, r.list, r.at)
		}
	}
	running, placed := 0, 0
	for i := range w.recs[1:] {
		r := &w.recs[i+1]
		if r.deadline != never {
			running++
		}
		if r.list < recIdle {
			placed++
		} else if r.deadline != never {
			return fmt.Errorf("timer %d runs and is in no list", i+1)
		}
	}
	if running != w.Len() || placed != held {
		return fmt.Errorf("%d running, want %d; %d placed, %d held", running, w.Len(), placed, held)
	}
	return nil
}

// verifyEntry checks timer t, at address at of list l.
func (w *Scheme6) verifyEntry(l, t, at uint32) error {
	r := &w.recs[t]
	tick := w.up(r.deadline)
	switch {
	case r.list != l || r.at != at:
		return fmt.Errorf("timer %d is at %d of list %d, its record says %d of %d", t, at, l, r.at, r.list)
	case r.deadline == never && !w.lazy:
		return fmt.Errorf("timer %d is not running and is in list %d", t, l)
	case l == w.pending() || r.deadline == never:
		return nil
	case tick <= w.cur+w.until(l):
		return fmt.Errorf("timer %d expires at tick %d, before its list %d comes up, now %d", t, tick, l, w.cur)
	case !w.lazy && uint32(tick)&w.mask != l&w.mask:
		return fmt.Errorf("timer %d expires at tick %d and is in list %d", t, tick, l)
	}
	return nil
}
