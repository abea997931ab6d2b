package wheel

import (
	"fmt"
	"math"
)

// lazyHierarchy is Scheme 7 of the paper (§VI-B), re-arming lazily, with few instructions per
// call. It has m levels of M slots, where a slot of one level is as wide as all slots of the next
// finer one. With the default M = 256:
//
//	level       0           1         2          3         …   7
//	slot width  1 tick      256       65,536     16.8 M    …   7.2e16 ticks
//	reaches     255 ticks   65,000    16.7 M     4.3 G     …   all 2^63
//
// A level is a ring that begins at the current tick. A timer goes to the finest level that
// reaches its tick, so that most timers expire where START put them. When a slot of a coarser
// level comes up, its timers move to finer levels, at most m-1 times in the life of a timer.
// Timers beyond the last level wait in one more list, which comes up when that level wraps around
// to the earliest of them.
//
// STOP only writes the record, and so does a START whose tick is not before the one at which the
// timer's place comes up. A timer whose place comes up is due, stopped, or moves on. A record is
// in at most one list, so memory cannot grow.
//
// A record has 32 bytes, no pointer, and the deadline in nanoseconds: a tick is computed only
// where a timer is placed. A slot of the finest level has a circular list for timers that START
// puts there. Its head is a record of the same arena, so that linking does not branch. Timers that
// come from a coarser level, and those of coarser levels, are in chunks of record numbers, as in
// Scheme6: all timers of such a list are looked at together, long after START, and the cache misses
// overlap.
//
// The order within a tick depends on the calls alone. It is not START order: timers that come
// from a coarser level go after timers that were started later for the same tick.
type lazyHierarchy struct {
	nodes []lazyNode // the heads of circular lists, then the timers: timer t is at base+t
	base  uint64

	lazyLevels

	due        uint32 // first timer that came up and was not looked at; see lazyDue
	coarse     chunks // lists of chunks, by number
	free       uint32 // head of the free records, linked by next
	counts     Counts
	name       string
	prefetched uint64 // a meaningless sum that keeps prefetching reads alive
}

// lazyNode is a timer record, or the head of a list: 32 bytes.
type lazyNode struct {
	deadline uint64 // ns after the origin, or idle or freed
	from     uint64 // its list comes up in time for deadlines from here on, in ns after the origin
	next     uint32 // in a circular list; or inCoarse and the number of a list of chunks
	prev     uint32 // in a circular list; or the address of its entry in chunks
	owner    uint64
}

// Values of lazyNode.deadline beyond all deadlines, which are below 2^63.
const (
	idle  = 1 << 63   // not running
	freed = 1<<63 + 1 // released by Free
)

// Values of lazyNode.from beyond all deadlines: START cannot leave the timer where it is.
const (
	inNoList = math.MaxUint64     // in no list
	inLate   = math.MaxUint64 - 1 // in the list late, or freed
)

// inCoarse marks lazyNode.next in a list of chunks. Records are fewer.
const inCoarse = 1 << 31

func newLazyHierarchy(name string, cfg Config) Facility {
	w := &lazyHierarchy{name: name}
	w.init(cfg)
	w.base = uint64(cfg.Slots) + lazyLists
	w.coarse = newChunks(int(w.beyond()) + 1)
	w.Reserve(15)
	w.nodes = w.nodes[:w.base+1]
	for l := range w.nodes {
		w.nodes[l] = lazyNode{next: uint32(l), prev: uint32(l)}
	}
	w.nodes[w.base] = lazyNode{deadline: freed, from: inLate} // number 0 is no timer
	w.due = w.list(lazyDue)
	w.nodes[w.due].deadline = idle // ends the search for due timers
	return w
}

// The circular lists after those of the slots.
const (
	lazyLate  = iota // timers started with a passed deadline: due in the next Advance
	lazyDue          // timers that came up in the current Advance; its first is lazyHierarchy.due
	lazyLists        // number of these
)

// list returns one of the circular lists after those of the slots.
func (w *lazyHierarchy) list(l uint32) uint32 { return uint32(w.base) - lazyLists + l }

func (w *lazyHierarchy) New(owner uint64) Timer {
	i := w.free
	if i != 0 {
		w.free = w.nodes[i].next
	} else {
		n := len(w.nodes) - int(w.base)
		if n > maxRecords {
			panic(fmt.Sprintf("BUG: wheel: more than %d timers", maxRecords))
		}
		if len(w.nodes) == cap(w.nodes) {
			w.Reserve(min(n+n/2, maxRecords))
		}
		i = uint32(len(w.nodes))
		w.nodes = w.nodes[:i+1]
	}
	w.nodes[i] = lazyNode{deadline: idle, from: inNoList, owner: owner}
	return Timer(uint64(i) - w.base)
}

func (w *lazyHierarchy) Reserve(n int) {
	if n > maxRecords {
		panic(fmt.Sprintf("BUG: wheel: reserve %d timers, want at most %d", n, maxRecords))
	}
	if want := int(w.base) + n + 1; want > cap(w.nodes) {
		w.nodes = regrow(w.nodes, want)
		w.coarse.reserve(n)
	}
}

func (w *lazyHierarchy) Free(t Timer) {
	w.Stop(t)
	i := uint32(uint64(t) + w.base)
	if r := &w.nodes[i]; r.from != inNoList {
		w.leave(i, r)
	}
	w.nodes[i] = lazyNode{deadline: freed, from: inLate, next: w.free}
	w.free = i
}

// node returns the record of t. It panics if t is not in use.
func (w *lazyHierarchy) node(t Timer) *lazyNode {
	r := &w.nodes[uint64(t)+w.base]
	if r.deadline == freed {
		panic(fmt.Sprintf("BUG: wheel: timer %d is not in use", t))
	}
	return r
}

func (w *lazyHierarchy) Owner(t Timer) uint64 { return w.nodes[uint64(t)+w.base].owner }
func (w *lazyHierarchy) Counts() Counts       { return w.counts }
func (w *lazyHierarchy) ResetCounts()         { w.counts = Counts{} }
func (w *lazyHierarchy) Scheme() string       { return w.name }

func (w *lazyHierarchy) Deadline(t Timer) (Time, bool) {
	if r := w.node(t); r.deadline != idle {
		return w.time(w.up(r.deadline)), true
	}
	return 0, false
}
