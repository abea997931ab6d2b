package wheel

import "fmt"

// tickHeap is a binary heap of running timers, by tick and then in START order. An entry carries
// its tick, so that a sift reads no records: it only writes node.aux, the position in the heap,
// of those it moves.
type tickHeap struct{ entries []heapEntry }

type heapEntry struct {
	tick, seq uint64 // seq is the number of the START
	t         uint32
}

func (e heapEntry) before(f heapEntry) bool {
	return e.tick < f.tick || e.tick == f.tick && e.seq < f.seq
}

// reserve makes room for n entries.
func (h *tickHeap) reserve(n int) {
	h.entries = append(make([]heapEntry, 0, n), h.entries...)
}

// push puts e into the heap. It returns how many entries it compared with e, and how many it
// moved.
func (h *tickHeap) push(a *arena, e heapEntry) (looks, moves int) {
	a.nodes[e.t].where = whereTree
	h.entries = append(h.entries, e)
	_, looks, moves = h.up(a, len(h.entries)-1, e)
	return looks, moves
}

// remove takes t out of the heap. It returns how many entries it compared, and how many it moved.
func (h *tickHeap) remove(a *arena, t uint32) (looks, moves int) {
	i := int(a.nodes[t].aux)
	a.nodes[t].where = whereIdle
	last := len(h.entries) - 1
	e := h.entries[last]
	h.entries = h.entries[:last]
	if i == last {
		return 0, 0
	}
	// The last entry takes the free position and moves up or down from there.
	j, looks, moves := h.up(a, i, e)
	if j == i {
		l, m := h.down(a, i, e)
		looks, moves = looks+l, moves+m
	}
	return looks, moves + 1
}

// up finds the position of e between i and the root, moving later entries down.
func (h *tickHeap) up(a *arena, i int, e heapEntry) (place, looks, moves int) {
	for i > 0 {
		parent := (i - 1) / 2
		looks++
		if !e.before(h.entries[parent]) {
			break
		}
		h.set(a, i, h.entries[parent])
		moves++
		i = parent
	}
	h.set(a, i, e)
	return i, looks, moves
}

// down finds the position of e below i, moving earlier entries up.
func (h *tickHeap) down(a *arena, i int, e heapEntry) (looks, moves int) {
	n := len(h.entries)
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		looks++
		if child+1 < n {
			looks++
			if h.entries[child+1].before(h.entries[child]) {
				child++
			}
		}
		if !h.entries[child].before(e) {
			break
		}
		h.set(a, i, h.entries[child])
		moves++
		i = child
	}
	h.set(a, i, e)
	return looks, moves
}

func (h *tickHeap) set(a *arena, i int, e heapEntry) {
	h.entries[i] = e
	a.nodes[e.t].aux = uint32(i)
}

// check returns the first violated invariant.
func (h *tickHeap) check(a *arena) error {
	for i, e := range h.entries {
		n := &a.nodes[e.t]
		switch {
		case n.where != whereTree:
			return fmt.Errorf("timer %d is in the heap, its record says %d", e.t, n.where)
		case n.aux != uint32(i):
			return fmt.Errorf("timer %d is at %d in the heap, its record says %d", e.t, i, n.aux)
		case n.tick != e.tick:
			return fmt.Errorf("timer %d has tick %d, in the heap %d", e.t, n.tick, e.tick)
		case i > 0 && !h.entries[(i-1)/2].before(e):
			return fmt.Errorf("timer %d is in the heap below %d, which is due later", e.t, h.entries[(i-1)/2].t)
		}
	}
	return nil
}

// scheme3 is Scheme 3 of the paper (§IV-A) as a binary heap: START and STOP are O(log n). PER
// TICK BOOKKEEPING compares the root with the clock, O(1), and takes O(log n) for each expiring
// timer. The heap takes 24 bytes per record of the arena. Timers of one tick expire in START
// order.
//
// StartVisits and StopVisits are the entries that a sift compares, one per Comparison. TickVisits
// are the looks at the root, as in Scheme 2: one per expiry, and one each time the root was not
// due. The sifts after an expiry count as Comparisons only.
type scheme3 struct {
	front
	heap tickHeap
	seq  uint64 // calls of START so far
}

func newScheme3(name string, cfg Config) Facility {
	s := &scheme3{}
	s.init(name, s, cfg, 0)
	return s
}

func (s *scheme3) insert(t uint32) {
	s.seq++
	looks, moves := s.heap.push(&s.arena, heapEntry{tick: s.nodes[t].tick, seq: s.seq, t: t})
	if s.counting {
		s.counts.StartVisits += uint64(looks)
		s.counts.Comparisons += uint64(looks)
		s.counts.Moves += uint64(moves)
	}
}

func (s *scheme3) remove(t uint32) {
	looks, moves := s.heap.remove(&s.arena, t)
	if s.counting {
		s.counts.StopVisits += uint64(looks)
		s.counts.Comparisons += uint64(looks)
		s.counts.Moves += uint64(moves)
	}
}

func (s *scheme3) reserve(n int) { s.heap.reserve(n) }

func (s *scheme3) collect(target uint64) bool {
	if len(s.heap.entries) == 0 || s.heap.entries[0].tick > target {
		if s.counting && len(s.heap.entries) > 0 {
			s.counts.TickVisits++
		}
		s.cur = target
		return false
	}
	s.cur = s.heap.entries[0].tick
	if s.counting {
		s.counts.Wakeups++
	}
	for len(s.heap.entries) > 0 && s.heap.entries[0].tick == s.cur {
		t := s.heap.entries[0].t
		looks, moves := s.heap.remove(&s.arena, t)
		s.pushBack(listDue, t)
		if s.counting {
			s.counts.TickVisits++
			s.counts.Comparisons += uint64(looks)
			s.counts.Moves += uint64(moves)
		}
	}
	return true
}

func (s *scheme3) nextExpiry(limit uint64) uint64 {
	if len(s.heap.entries) > 0 {
		return s.heap.entries[0].tick
	}
	return limit + 1
}

func (s *scheme3) nextWakeup() uint64 { return s.heap.entries[0].tick }

func (s *scheme3) verify() (int, error) {
	if h := s.heap.entries; len(h) > 0 && h[0].tick <= s.cur {
		return 0, fmt.Errorf("timer %d has tick %d, which has passed, now %d", h[0].t, h[0].tick, s.cur)
	}
	return len(s.heap.entries), s.heap.check(&s.arena)
}
