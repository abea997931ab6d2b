package wheel

import "fmt"

// node is the timer record of the schemes made of linked lists and trees. It has 32 bytes and no
// pointer: the collector does not scan an arena of nodes, and linking pays no write barrier.
type node struct {
	tick  uint64 // when it expires
	owner uint64
	next  uint32 // neighbours in a list or children in a tree; next also links the free records
	prev  uint32
	where uint32 // the list that holds it, or one of the where constants
	aux   uint32 // scheme-specific: position in a heap, parent in a tree
}

// Values of node.where that all schemes share. Lists are numbered from 0: see arena.lists.
const (
	whereFree = ^uint32(0)     // released by Free
	whereIdle = ^uint32(0) - 1 // made by New, not running
	whereTree = ^uint32(0) - 2 // in a structure of the scheme that is not a list
)

// The first lists of every arena.
const (
	listPending = iota // started with a passed deadline: due in the next Advance
	listDue            // due in the current Advance
	listFirst          // the first list of the scheme
)

// list is a doubly linked list of records: the indices of its ends, 0 when empty.
type list struct{ head, tail uint32 }

// arena holds the records of one facility, addressed by index. Index 0 is no record.
type arena struct {
	nodes []node
	lists []list
	free  uint32 // head of the free records, linked by next
}

func newArena(lists int) arena {
	return arena{nodes: make([]node, 1), lists: make([]list, listFirst+lists)}
}

// alloc takes a free record or makes one. It reports whether the capacity of the arena grew.
func (a *arena) alloc(owner uint64) (t uint32, grown bool) {
	if t = a.free; t != 0 {
		a.free = a.nodes[t].next
	} else {
		if len(a.nodes) > maxRecords {
			panic(fmt.Sprintf("BUG: wheel: more than %d timers", maxRecords))
		}
		before := cap(a.nodes)
		a.nodes = append(a.nodes, node{})
		grown = cap(a.nodes) != before
		t = uint32(len(a.nodes) - 1)
	}
	a.nodes[t] = node{owner: owner, where: whereIdle}
	return t, grown
}

func (a *arena) release(t uint32) {
	a.nodes[t] = node{where: whereFree, next: a.free}
	a.free = t
}

// pushBack appends t to list l.
func (a *arena) pushBack(l, t uint32) {
	ls, n := &a.lists[l], &a.nodes[t]
	n.where, n.next, n.prev = l, 0, ls.tail
	if ls.tail != 0 {
		a.nodes[ls.tail].next = t
	} else {
		ls.head = t
	}
	ls.tail = t
}

// insertBefore puts t into list l before at, or at its end if at is 0.
func (a *arena) insertBefore(l, at, t uint32) {
	if at == 0 {
		a.pushBack(l, t)
		return
	}
	n, m := &a.nodes[t], &a.nodes[at]
	n.where, n.next, n.prev = l, at, m.prev
	if m.prev != 0 {
		a.nodes[m.prev].next = t
	} else {
		a.lists[l].head = t
	}
	m.prev = t
}

// unlink takes t out of the list that holds it.
func (a *arena) unlink(t uint32) {
	n := &a.nodes[t]
	ls := &a.lists[n.where]
	if n.prev != 0 {
		a.nodes[n.prev].next = n.next
	} else {
		ls.head = n.next
	}
	if n.next != 0 {
		a.nodes[n.next].prev = n.prev
	} else {
		ls.tail = n.prev
	}
	n.where = whereIdle
}

// popFront takes the first record out of list l. It returns 0 if l is empty.
func (a *arena) popFront(l uint32) uint32 {
	t := a.lists[l].head
	if t != 0 {
		a.unlink(t)
	}
	return t
}

// checkList walks list l, passes each record to each, and returns the number of records.
func (a *arena) checkList(l uint32, each func(t uint32) error) (n int, err error) {
	prev := uint32(0)
	for t := a.lists[l].head; t != 0; t = a.nodes[t].next {
		nd := &a.nodes[t]
		switch {
		case nd.where != l:
			return n, fmt.Errorf("timer %d is in list %d, its record says %d", t, l, nd.where)
		case nd.prev != prev:
			return n, fmt.Errorf("timer %d of list %d: prev %d, want %d", t, l, nd.prev, prev)
		}
		if each != nil {
			if err := each(t); err != nil {
				return n, err
			}
		}
		prev = t
		if n++; n >= len(a.nodes) {
			return n, fmt.Errorf("list %d has a loop", l)
		}
	}
	if a.lists[l].tail != prev {
		return n, fmt.Errorf("list %d: tail %d, want %d", l, a.lists[l].tail, prev)
	}
	return n, nil
}
