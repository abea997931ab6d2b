package wheel

import "fmt"

// chunks are the lists of a packed wheel: unrolled lists of record numbers, 15 numbers and a link to the chunk filled
// before it, one cache line each. A list is known by the address of its last entry, which is where one is added. One
// that leaves is replaced by the last, so that all chunks of a list but the last are full, and the number of chunks has
// a bound that is known when records are made (see reserve): neither START nor STOP allocates.
type chunks struct {
	top     []uint32 // by list: address of its last entry, 0 when it is empty
	entries []uint32 // all chunks; an address is an index of this
	unused  uint32   // head of the chunks that were used and given back, threaded by their links
	fresh   uint32   // address of the first chunk never used
}

const (
	chunkSize = 16
	chunkMask = chunkSize - 1
	chunkRoom = chunkSize - 1 // entries of a chunk
)

func newChunks(lists int) chunks { return chunks{top: make([]uint32, lists), fresh: chunkSize} }

// reserve makes room for n entries, however they are spread: the last chunk of each of the k lists in use may hold a
// single one, and so may the first and the last of two queues; all others are full.
func (c *chunks) reserve(n int) {
	k := min(n, len(c.top))
	most := (n+(chunkRoom-1)*k)/chunkRoom + 4
	if want := (most + 1) * chunkSize; want > len(c.entries) {
		c.entries = regrow(c.entries, want)[:want]
	}
}

// push adds t to list l, and returns the address of its entry and whether the list was empty.
func (c *chunks) push(l, t uint32) (at uint32, first bool) {
	last := c.top[l]
	a := last + 1
	if a&chunkMask <= 1 { // the last chunk is full, or there is none
		a = c.chunk(last) + 1
	}
	c.entries[a] = t
	c.top[l] = a
	return a, last == 0
}

// chunk returns the address of an empty chunk that is linked to link.
func (c *chunks) chunk(link uint32) uint32 {
	a := c.unused
	if a != 0 {
		c.unused = c.entries[a]
	} else {
		a = c.fresh
		c.fresh += chunkSize
	}
	c.entries[a] = link
	return a
}

// giveBack makes the chunk at address a free for use.
func (c *chunks) giveBack(a uint32) {
	c.entries[a] = c.unused
	c.unused = a
}

// pop removes the last entry of list l, and reports whether the list is empty now.
func (c *chunks) pop(l uint32) (empty bool) {
	a := c.top[l] - 1
	if a&chunkMask == 0 {
		link := c.entries[a]
		c.giveBack(a)
		a = link
	}
	c.top[l] = a
	return a == 0
}

// take removes the entry at address a from list l, of which it may not be known whether it is the last: the last takes
// its place. It returns the number that now stands at a, 0 if none was moved, and whether the list is empty now.
func (c *chunks) take(l, a uint32) (moved uint32, empty bool) {
	if last := c.top[l]; last != a {
		moved = c.entries[last]
		c.entries[a] = moved
	}
	return moved, c.pop(l)
}

// before returns the address of the entry before the one at a in its list, 0 in front of the first.
func (c *chunks) before(a uint32) uint32 {
	if a--; a&chunkMask == 0 {
		return c.entries[a]
	}
	return a
}

// detach empties list l and returns it as a queue: the addresses of its first and its last entry. The links of its
// chunks now lead from the first to the last.
func (c *chunks) detach(l uint32) queue {
	last := c.top[l]
	c.top[l] = 0
	at, next := last&^chunkMask, uint32(0)
	for {
		link := c.entries[at]
		c.entries[at] = next
		if link == 0 {
			return queue{at + 1, last}
		}
		next, at = at, link&^chunkMask
	}
}

// queue is a list that is emptied from its first entry on. Both addresses are 0 when it is empty.
type queue struct{ first, last uint32 }

// popFirst removes the first entry of q, and returns the number that stood there.
func (c *chunks) popFirst(q *queue) uint32 {
	a := q.first
	t := c.entries[a]
	q.first++
	switch at := a &^ chunkMask; {
	case a == q.last:
		*q = queue{}
		c.giveBack(at)
	case q.first&chunkMask == 0:
		q.first = c.entries[at] + 1
		c.giveBack(at)
	}
	return t
}

// append adds t behind the last entry of q and returns its address.
func (c *chunks) append(q *queue, t uint32) uint32 {
	a := q.last + 1
	if a&chunkMask <= 1 {
		fresh := c.chunk(0)
		if q.last != 0 {
			c.entries[q.last&^chunkMask] = fresh
		} else {
			q.first = fresh + 1
		}
		a = fresh + 1
	}
	c.entries[a] = t
	q.last = a
	return a
}

// after returns the address of the entry behind the one at a in q, 0 behind the last.
func (c *chunks) after(q queue, a uint32) uint32 {
	if a == q.last {
		return 0
	}
	if a++; a&chunkMask == 0 {
		return c.entries[a-chunkSize] + 1
	}
	return a
}

// check hands each entry of list l to each, the last first.
func (c *chunks) check(l uint32, each func(t, at uint32) error) error {
	n := 0
	for a := c.top[l]; a != 0; a = c.before(a) {
		if a&chunkMask == 0 || int(a) >= len(c.entries) {
			return fmt.Errorf("list %d: entry at %d, which is no place for one", l, a)
		}
		if n++; n > len(c.entries) {
			return fmt.Errorf("list %d has a loop", l)
		}
		if err := each(c.entries[a], a); err != nil {
			return err
		}
	}
	return nil
}

// regrow returns a copy of s with capacity for n, in huge pages where it is large and the system has them.
func regrow[T any](s []T, n int) []T {
	grown := make([]T, n)
	adviseHuge(grown)
	copy(grown, s)
	return grown[:len(s)]
}
