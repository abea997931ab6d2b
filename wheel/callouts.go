package wheel

import (
	"fmt"
	"math/bits"
	"slices"
)

// Callouts is the older of the two interfaces of Costello's BSD timers (the paper's §VII):
// timeout(func, arg, time) and untimeout(func, arg). The caller keeps no handle, so a timer has
// to be found by func and arg. The newer interface, with handles, is Facility. Both may be used
// on one facility.
//
// On the BSD callout list, untimeout searches that list from the head, O(n), as 4.4BSD did. On
// any other facility, and on a lazy list, which is unordered, it uses a hash table over func and
// arg, O(1) on average, as Costello's did.
//
// A func is a number that the caller chooses, because functions of Go cannot be compared; arg is
// its argument. Several callouts may have the same func and arg.
//
// Timeout and Untimeout do not allocate while there are no more timers than Reserve was given.
// Callouts is no more safe for concurrent use than its facility.
type Callouts struct {
	f    Facility
	list *callout // where untimeout searches, or nil for the hash table

	// table has a record per callout, at the index of its timer: owner is arg, aux is func. Its
	// lists are the chains of the hash table, in START order. With the BSD list the chains are
	// unused.
	table arena
	n     int // callouts in the table

	searched uint64 // records looked at by Untimeout
}

// NewCallouts returns the older interface to f.
func NewCallouts(f Facility) *Callouts {
	c := &Callouts{f: f, table: newArena(8)}
	if list, ok := f.(*callout); ok && list.expiry == nil {
		c.list = list
	}
	return c
}

// Reserve prepares c and its facility for n timers in all, those started by handle included.
func (c *Callouts) Reserve(n int) {
	c.f.Reserve(n)
	c.grow(n)
	c.rehash(n)
}

// Timeout registers a call of fn with arg at the first tick not before deadline. It costs a START
// of the facility.
func (c *Callouts) Timeout(fn uint32, arg uint64, deadline Time) {
	t := c.f.New(arg)
	c.grow(int(t))
	n := &c.table.nodes[t]
	n.owner, n.aux, n.where = arg, fn, whereIdle
	if c.n++; c.list == nil {
		c.rehash(c.n)
		c.table.pushBack(c.chain(fn, arg), uint32(t))
	}
	c.f.Schedule(t, deadline)
}

// Untimeout cancels the callout of fn and arg, and reports whether there was one. If there are
// several, it cancels the one that would expire first, and of those of one tick the one
// registered first.
func (c *Callouts) Untimeout(fn uint32, arg uint64) bool {
	t := c.find(fn, arg)
	if t == 0 {
		return false
	}
	c.forget(t)
	c.f.Free(Timer(t))
	return true
}

// Expired returns what to call for an expiring timer, fn with arg, and releases its record. Call
// it from the function passed to Advance. ok is false if t was not registered by Timeout.
func (c *Callouts) Expired(t Timer) (fn uint32, arg uint64, ok bool) {
	if !c.has(uint32(t)) {
		return 0, 0, false
	}
	n := c.table.nodes[t]
	c.forget(uint32(t))
	c.f.Free(t)
	return n.aux, n.owner, true
}

// Counts returns the counts of the facility. The records that Untimeout looked at, apart from the
// one it found, are added to StopVisits, even if the facility does not count.
func (c *Callouts) Counts() Counts {
	counts := c.f.Counts()
	counts.StopVisits += c.searched
	return counts
}

// ResetCounts sets the counts of c and of its facility to 0.
func (c *Callouts) ResetCounts() {
	c.searched = 0
	c.f.ResetCounts()
}

// has reports whether t was registered by Timeout.
func (c *Callouts) has(t uint32) bool {
	return int(t) < len(c.table.nodes) && c.table.nodes[t].where != whereFree
}

// find returns the timer that Untimeout must cancel, or 0.
func (c *Callouts) find(fn uint32, arg uint64) uint32 {
	if c.list != nil {
		return c.findInList(fn, arg)
	}
	found, first := uint32(0), Time(0)
	for t := c.table.lists[c.chain(fn, arg)].head; t != 0; t = c.table.nodes[t].next {
		c.searched++
		if n := &c.table.nodes[t]; n.owner != arg || n.aux != fn {
			continue
		}
		if at, running := c.f.Deadline(Timer(t)); running && (found == 0 || at < first) {
			found, first = t, at
		}
	}
	if found != 0 {
		c.searched--
	}
	return found
}

// findInList is the search of 4.4BSD's untimeout. The due callouts come first.
func (c *Callouts) findInList(fn uint32, arg uint64) uint32 {
	for _, l := range [...]uint32{listDue, listPending, listFirst} {
		for t := c.list.lists[l].head; t != 0; t = c.list.nodes[t].next {
			if c.has(t) && c.table.nodes[t].owner == arg && c.table.nodes[t].aux == fn {
				return t
			}
			c.searched++
		}
	}
	return 0
}

// forget removes the callout of t from the table.
func (c *Callouts) forget(t uint32) {
	if c.list == nil {
		c.table.unlink(t)
	}
	c.table.nodes[t] = node{where: whereFree}
	c.n--
}

// chain returns the list of the hash table for fn and arg: the upper bits of a multiplicative
// hash. Its factors are that of Fibonacci hashing (2^64 over the golden ratio; Knuth, vol. 3,
// §6.4) and one of MurmurHash3's finaliser.
func (c *Callouts) chain(fn uint32, arg uint64) uint32 {
	const golden, mix = 0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD
	h := (arg*golden ^ uint64(fn)) * mix
	h ^= h >> 32
	return listFirst + uint32(h*golden>>(64-uint(bits.Len(uint(c.chains()-1)))))
}

// chains returns the number of chains, a power of two.
func (c *Callouts) chains() int { return len(c.table.lists) - listFirst }

// grow makes room in the table for timers up to number n.
func (c *Callouts) grow(n int) {
	a := &c.table
	if n < len(a.nodes) {
		return
	}
	a.nodes = slices.Grow(a.nodes, n+1-len(a.nodes))
	for len(a.nodes) < cap(a.nodes) {
		a.nodes = append(a.nodes, node{where: whereFree})
	}
}

// rehash gives the hash table at least n chains. It never removes any.
func (c *Callouts) rehash(n int) {
	if n <= c.chains() || c.list != nil {
		return
	}
	old := c.table.lists[listFirst:]
	c.table.lists = make([]list, listFirst+1<<bits.Len(uint(n-1)))
	for _, l := range old {
		for t := l.head; t != 0; {
			n := c.table.nodes[t]
			c.table.pushBack(c.chain(n.aux, n.owner), t)
			t = n.next
		}
	}
}

// check returns the first violated invariant of the table, for tests.
func (c *Callouts) check() error {
	chained, registered := 0, 0
	for l := uint32(listFirst); int(l) < len(c.table.lists); l++ {
		n, err := c.table.checkList(l, func(t uint32) error {
			if n := c.table.nodes[t]; c.chain(n.aux, n.owner) != l {
				return fmt.Errorf("callout %d of func %d, arg %d is not in chain %d", t, n.aux, n.owner, l)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("callouts: %w", err)
		}
		chained += n
	}
	for t := range c.table.nodes[1:] {
		if c.has(uint32(t + 1)) {
			registered++
		}
	}
	if registered != c.n || c.list == nil && chained != c.n || c.list != nil && chained != 0 {
		return fmt.Errorf("callouts: %d registered, %d in chains, want %d", registered, chained, c.n)
	}
	return nil
}
