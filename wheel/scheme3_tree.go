package wheel

import "fmt"

// scheme3Tree is the other Scheme 3 of the paper (§IV-A), an unbalanced binary search tree by
// tick. START searches from the root: O(log n) on average for intervals in random order. For
// equal intervals the tree degenerates into a list, O(n), as the paper warns; retransmission
// timers are of that kind. STOP unlinks without a search, and PER TICK BOOKKEEPING compares the
// leftmost record with the clock, O(1). Finding the next leftmost, or the successor that replaces
// a stopped timer, is O(1) on average and O(n) at worst.
//
// A record's next is its left child, prev the right one, aux the parent; 0 is none. A timer goes
// to the right of those of the same tick, so that they expire in START order. Nothing recurses,
// whatever the depth.
//
// StartVisits are the records on the path of the search, one Comparison each. StopVisits are
// those looked at in search of a successor. TickVisits are the looks at the leftmost, as in
// Scheme 2, and those in search of the next leftmost. Moves are successors that replaced another
// record; subtrees that move up do not count.
type scheme3Tree struct {
	front
	root  uint32
	first uint32 // the leftmost
}

func newScheme3Tree(name string, cfg Config) Facility {
	s := &scheme3Tree{}
	s.init(name, s, cfg, 0)
	return s
}

func (s *scheme3Tree) insert(t uint32) {
	n := &s.nodes[t]
	n.next, n.prev, n.aux, n.where = 0, 0, 0, whereTree
	if s.root == 0 {
		s.root, s.first = t, t
		return
	}
	at, leftmost, visits := s.root, true, uint64(0)
	for {
		visits++
		m := &s.nodes[at]
		child := &m.next
		if n.tick >= m.tick {
			child, leftmost = &m.prev, false
		}
		if *child == 0 {
			*child = t
			break
		}
		at = *child
	}
	n.aux = at
	if leftmost {
		s.first = t
	}
	if s.counting {
		s.counts.StartVisits += visits
		s.counts.Comparisons += visits
	}
}

func (s *scheme3Tree) remove(t uint32) {
	looks := s.cut(t)
	if s.counting {
		s.counts.StopVisits += looks
	}
}

// cut takes t out of the tree. It returns how many records it looked at in search of a successor.
func (s *scheme3Tree) cut(t uint32) (looks uint64) {
	n := s.nodes[t]
	s.nodes[t].where = whereIdle
	if n.next != 0 && n.prev != 0 {
		// Two children: the successor, which has no left child, replaces t.
		var y uint32
		y, looks = s.leftmost(n.prev)
		if y != n.prev {
			s.replace(y, s.nodes[y].prev)
			s.nodes[y].prev = n.prev
			s.nodes[n.prev].aux = y
		}
		s.nodes[y].next = n.next
		s.nodes[n.next].aux = y
		s.replace(t, y)
		if s.counting {
			s.counts.Moves++
		}
		return looks
	}
	if t == s.first {
		s.first = n.aux
		if n.prev != 0 {
			s.first, looks = s.leftmost(n.prev)
		}
	}
	s.replace(t, n.next|n.prev) // one of them is 0
	return looks
}

// leftmost returns the leftmost record of the subtree of t, and how many it looked at.
func (s *scheme3Tree) leftmost(t uint32) (first uint32, looks uint64) {
	for looks = 1; s.nodes[t].next != 0; looks++ {
		t = s.nodes[t].next
	}
	return t, looks
}

// replace attaches u, or nothing if 0, to the parent of t in the place of t.
func (s *scheme3Tree) replace(t, u uint32) {
	parent := s.nodes[t].aux
	switch {
	case parent == 0:
		s.root = u
	case s.nodes[parent].next == t:
		s.nodes[parent].next = u
	default:
		s.nodes[parent].prev = u
	}
	if u != 0 {
		s.nodes[u].aux = parent
	}
}

func (s *scheme3Tree) collect(target uint64) bool {
	if s.first == 0 || s.nodes[s.first].tick > target {
		if s.counting && s.first != 0 {
			s.counts.TickVisits++
		}
		s.cur = target
		return false
	}
	s.cur = s.nodes[s.first].tick
	if s.counting {
		s.counts.Wakeups++
	}
	for t := s.first; t != 0 && s.nodes[t].tick == s.cur; t = s.first {
		looks := s.cut(t)
		s.pushBack(listDue, t)
		if s.counting {
			s.counts.TickVisits += 1 + looks
		}
	}
	return true
}

func (s *scheme3Tree) nextExpiry(limit uint64) uint64 {
	if s.first != 0 {
		return s.nodes[s.first].tick
	}
	return limit + 1
}

func (s *scheme3Tree) nextWakeup() uint64 { return s.nodes[s.first].tick }

// verify walks the tree in order, along the parents and without a stack.
func (s *scheme3Tree) verify() (int, error) {
	if s.root == 0 {
		if s.first != 0 {
			return 0, fmt.Errorf("empty tree has leftmost timer %d", s.first)
		}
		return 0, nil
	}
	if p := s.nodes[s.root].aux; p != 0 {
		return 0, fmt.Errorf("root %d has parent %d", s.root, p)
	}
	held, last := 0, s.cur+1
	from, t := uint32(0), s.root // the walk came from from and is at t
	for steps := 0; t != 0; steps++ {
		if steps > 3*len(s.nodes) {
			return held, fmt.Errorf("tree has a loop at timer %d", t)
		}
		n := &s.nodes[t]
		if n.where != whereTree {
			return held, fmt.Errorf("timer %d is in the tree, its record says %d", t, n.where)
		}
		for _, child := range []uint32{n.next, n.prev} {
			if child != 0 && s.nodes[child].aux != t {
				return held, fmt.Errorf("timer %d is a child of %d and says %d", child, t, s.nodes[child].aux)
			}
		}
		if from == n.aux && n.next != 0 {
			from, t = t, n.next
			continue
		}
		if from == n.aux || from == n.next { // the left subtree of t is done
			if held == 0 && t != s.first {
				return held, fmt.Errorf("leftmost timer is %d, want %d", s.first, t)
			}
			if n.tick < last {
				return held, fmt.Errorf("timer %d has tick %d, want %d or later", t, n.tick, last)
			}
			held, last = held+1, n.tick
			if n.prev != 0 {
				from, t = t, n.prev
				continue
			}
		}
		from, t = t, n.aux
	}
	return held, nil
}
