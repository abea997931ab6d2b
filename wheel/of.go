package wheel

import (
	"errors"
	"math"
)

// Of is a timer facility whose records lie inside the values that they time: an Entry is a field
// of its owner, so that START finds it where the program already is. It is Scheme 7 of the paper
// (§VI-B), re-arming lazily, with the levels and lists of scheme7-lazy, and it keeps the contract
// of Facility but for New, Free and Reserve, which it does not need.
//
//	type conn struct {
//		idle wheel.Entry[*conn]
//	}
//
//	w, err := wheel.NewOf[*conn](wheel.Config{Tick: time.Millisecond})
//	c := new(conn)
//	c.idle.Owner = c
//	w.Schedule(&c.idle, now.Add(time.Minute))
//	w.Advance(now, 0, func(e *wheel.Entry[*conn]) { e.Owner.close() })
//
// Nothing allocates after NewOf. What that costs: records are pointers, so the garbage collector
// follows them, and linking one pays a write barrier while the collector runs. A Facility's arena
// has neither. An Of is not safe for concurrent use.
type Of[O any] struct {
	// The short paths of Schedule take deadlines from first on: less than span later if the
	// timer's place comes up in time, less than reach later if it is in no list.
	first Time // 1 ns after the instant of cur
	span  uint64
	reach uint64

	now   uint64    // the instant of cur, in ns after the origin
	rest  uint64    // size - 1
	scale uint64    // ⌊2^64/size⌋+1: multiplying by it divides intervals below reach by size
	next  uint64    // cur+1
	mask  uint64    // slots of a level - 1
	due   *Entry[O] // first timer that came up and was not looked at

	inner [lazySlots / 64]uint64 // a bit per slot of level 0: 1 if it is busy
	lists []Entry[O]             // the heads of all lists: of slots, and lazyLate, lazyDue, ofBeyond

	started uint64 // timers started and ended: two sums, so that neither waits for the other
	ended   uint64

	ticker
	cur        uint64   // the last tick processed, or the one being processed
	coming     uint64   // earliest tick at which a coarser slot or the list beyond may come up
	wrap       uint64   // tick at which the list beyond comes up
	end        uint64   // where the current Advance ends
	target     uint64   // the latest tick asked for; see front.target
	maxReach   uint64   // reach while the end of time is far
	last       Time     // the instant of the last tick
	busy       []uint64 // as inner for the coarser levels, in whole words
	words      uint32   // words of a level
	levels     uint8
	bits       uint8 // log2 of the slots of a level
	expiring   bool  // inside the expiry function
	unfinished bool  // an Advance was cut short by its limit
}

// Entry is a timer record of an Of, to be a field of what it times. Its zero value is a timer that
// is not running. It must not be copied after its first START, and belongs to one Of at a time.
type Entry[O any] struct {
	// Owner is the program's. An Of does not look at it.
	Owner O

	_          noCopy
	next, prev *Entry[O] // neighbours in a circular list, nil if it is in none
	deadline   uint64    // ns after the origin, and 1 more; 0 if it is not running
	from       uint64    // its list comes up in time for deadlines from here on, as ns
}

// ofBeyond is the list of timers beyond the last level.
const (
	ofBeyond = lazyLists
	ofLists  = lazyLists + 1
)

// noCopy makes go vet report copies.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// NewOf makes a facility. Of Config it reads Tick, Origin, Slots (default 256, at most 2^12) and
// Levels. Its errors are those of New, and one if Count is set: an Of counts nothing.
func NewOf[O any](cfg Config) (*Of[O], error) {
	b := builder{name: "Of", slots: 256, most: lazySlots}
	if err := b.complete(&cfg); err != nil {
		return nil, err
	}
	if cfg.Count {
		return nil, errors.New("wheel: Count is set, and Of counts no operations: want false")
	}
	w := &Of[O]{
		ticker: newTicker(cfg.Origin, cfg.Tick),
		levels: levels(cfg),
		bits:   slotBits(cfg),
		mask:   uint64(cfg.Slots - 1),
		coming: noTick,
		wrap:   noTick,
		words:  uint32(cfg.Slots+63) / 64,
	}
	w.rest = uint64(w.size - 1)
	w.busy = make([]uint64, w.words*uint32(w.levels-1))
	w.last = w.time(w.div(math.MaxInt64))
	if size, slots := uint64(w.size), uint64(cfg.Slots); size > 1 && size <= math.MaxUint32/slots {
		w.maxReach, w.scale = w.mask*size, math.MaxUint64/size+1
	}
	w.lists = make([]Entry[O], uint32(w.levels)<<w.bits+ofLists)
	for i := range w.lists {
		l := &w.lists[i]
		l.next, l.prev = l, l
	}
	w.due = w.list(lazyDue)
	w.setCur(0)
	return w, nil
}

// list returns the head of a list after those of the slots.
func (w *Of[O]) list(l uint32) *Entry[O] { return &w.lists[uint32(len(w.lists))-ofLists+l] }

// Now returns the instant of the last tick processed, or of the one being processed.
func (w *Of[O]) Now() Time { return w.origin + Time(w.now) }

// Len returns the number of running timers.
func (w *Of[O]) Len() int { return int(w.started - w.ended) }

// Deadline returns the instant of the tick at which e will expire, and whether e is running.
func (w *Of[O]) Deadline(e *Entry[O]) (at Time, running bool) {
	if e.deadline == 0 {
		return 0, false
	}
	return w.time(w.up(e.deadline - 1)), true
}

// Stop is STOP_TIMER: it stops e and reports whether it was running. It writes the record alone.
// The facility keeps a reference to e until its place comes up; see Remove.
func (w *Of[O]) Stop(e *Entry[O]) bool {
	if e.deadline == 0 {
		return false
	}
	e.deadline = 0
	w.ended++
	return true
}

// Remove stops e as Stop does, and forgets it, so that its owner may be collected, or its memory
// reused. O(1).
func (w *Of[O]) Remove(e *Entry[O]) bool {
	running := w.Stop(e)
	if e.next != nil {
		w.leave(e)
	}
	return running
}
