package wheel

import "fmt"

// chunks are the lists of Scheme6: unrolled lists of record numbers. A chunk is one cache line:
// 15 numbers and a link to the chunk filled before it. A list is known by the address of its last
// entry, where entries are added. The last entry replaces one that leaves, so all chunks of a
// list but its last are full. The number of chunks is therefore bounded when records are made
// (see reserve), and neither START nor STOP allocates.
type chunks struct {
	top     []uint32 // by list: address of its last entry, 0 when it is empty
	entries []uint32 // all chunks; an address is an index here
	unused  uint32   // head of the released chunks, linked by their links
	fresh   uint32   // address of the first chunk never used
}

const (
	chunkSize = 16
	chunkMask = chunkSize - 1
	chunkRoom = chunkSize - 1 // entries of a chunk
)

func newChunks(lists int) chunks { return chunks{top: make([]uint32, lists), fresh: chunkSize} }

// reserve makes room for n entries, however they are spread. Each of k used lists may hold a
// single entry in its last chunk, and so may the first and last chunks of two queues. All other
// chunks are full.
func (c *chunks) reserve(n int) {
	k := min(n, len(c.top))
	most := (n+(chunkRoom-1)*k)/chunkRoom + 4
	if want := (most + 1) * chunkSize; want > len(c.entries) {
		c.entries = regrow(c.entries, want)[:want]
	}
}

// push adds t to list l. It returns the address of the entry, and whether the list was empty.
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

// release releases the chunk at address a.
func (c *chunks) release(a uint32) {
	c.entries[a] = c.unused
	c.unused = a
}

// pop removes the last entry of list l, and reports whether the list is now empty.
func (c *chunks) pop(l uint32) (empty bool) {
	a := c.top[l] - 1
	if a&chunkMask == 0 {
		link := c.entries[a]
		c.release(a)
		a = link
	}
	c.top[l] = a
	return a == 0
}

// take removes the entry at address a from list l; the last entry replaces it. It returns the
// number now at a, or 0 if none moved, and whether the list is now empty.
func (c *chunks) take(l, a uint32) (moved uint32, empty bool) {
	if last := c.top[l]; last != a {
		moved = c.entries[last]
		c.entries[a] = moved
	}
	return moved, c.pop(l)
}

// before returns the address of the entry before address a in its list, or 0 before the first.
func (c *chunks) before(a uint32) uint32 {
	if a--; a&chunkMask == 0 {
		return c.entries[a]
	}
	return a
}

// detach empties list l and returns it as a queue. The links of its chunks then lead from the
// first to the last.
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

// popFirst removes the first entry of q and returns its number.
func (c *chunks) popFirst(q *queue) uint32 {
	a := q.first
	t := c.entries[a]
	q.first++
	switch at := a &^ chunkMask; {
	case a == q.last:
		*q = queue{}
		c.release(at)
	case q.first&chunkMask == 0:
		q.first = c.entries[at] + 1
		c.release(at)
	}
	return t
}

// append adds t after the last entry of q and returns its address.
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

// after returns the address of the entry after address a in q, or 0 after the last.
func (c *chunks) after(q queue, a uint32) uint32 {
	if a == q.last {
		return 0
	}
	if a++; a&chunkMask == 0 {
		return c.entries[a-chunkSize] + 1
	}
	return a
}

// check passes each entry of list l to each, the last first.
func (c *chunks) check(l uint32, each func(t, at uint32) error) error {
	n := 0
	for a := c.top[l]; a != 0; a = c.before(a) {
		if a&chunkMask == 0 || int(a) >= len(c.entries) {
			return fmt.Errorf("list %d: no entry can be at address %d", l, a)
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

// regrow returns a copy of s with capacity n, in huge pages where it is large and the system has
// them.
func regrow[T any](s []T, n int) []T {
	grown := make([]T, n)
	adviseHuge(grown)
	copy(grown, s)
	return grown[:len(s)]
}
