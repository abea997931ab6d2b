package wheel

import "errors"

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
	due   *Entry[O]  // first timer that came up and was not looked at
	rest  uint64     // size - 1
	lists []Entry[O] // the heads of the lists by number, then of lazyLate and lazyDue
	lazyLevels
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
	w := new(Of[O])
	w.init(cfg)
	w.rest = uint64(w.size - 1)
	w.lists = make([]Entry[O], w.beyond()+1+lazyLists)
	for i := range w.lists {
		l := &w.lists[i]
		l.next, l.prev = l, l
	}
	w.due = w.list(lazyDue)
	return w, nil
}

// list returns the head of a list without a number.
func (w *Of[O]) list(l uint32) *Entry[O] { return &w.lists[uint32(len(w.lists))-lazyLists+l] }

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
