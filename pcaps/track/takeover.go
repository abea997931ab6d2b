package track

import (
	"cmp"
	"maps"
	"slices"
)

// takeOver makes t follow the connections of u, which has seen the same segments.
func (t *Tracker) takeOver(u *Tracker) {
	t.last = nil
	for _, lists := range [][2]*list{{&t.open, &u.open}, {&t.closed, &u.closed}, {&t.halfOpen, &u.halfOpen}} {
		var all []*Conn
		for _, l := range lists {
			for c := l.first; c != nil; c = c.next {
				c.cfg, c.memory, c.captured = &t.cfg, &t.memory, &t.clock
				all = append(all, c)
			}
			*l = list{}
		}
		slices.SortFunc(all, func(a, b *Conn) int { return cmp.Compare(a.segment, b.segment) })
		for _, c := range all {
			lists[0].append(c)
		}
	}
	t.conns.takeOver(&u.conns)
}

// takeOver adds the connections of e. The ends of each differ from those of all in d.
func (d *directory) takeOver(e *directory) {
	for _, s := range e.slots {
		if s.c != nil {
			d.add(s.c)
		}
	}
	maps.Copy(d.others, e.others)
}
