package wheel

import (
	"fmt"
	"slices"
)

// scheme is the part that differs between facilities with a front: where a running timer is kept,
// and how the next due one is found. Ticks are absolute. A scheme only holds timers whose tick is
// after front.cur. Timers that are due when they are started wait in front's own lists.
type scheme interface {
	// insert puts t into the structure and sets node.where. node.tick is set and after cur.
	insert(t uint32)

	// remove takes t out of the structure and sets node.where to whereIdle.
	remove(t uint32)

	// collect does PER_TICK_BOOKKEEPING up to the first tick with due timers, at most target. It
	// moves front.cur to that tick and its timers, in order of expiry, to listDue, which is
	// empty. If no tick up to target has due timers, it moves cur to target and returns false.
	collect(target uint64) bool

	// nextExpiry returns the earliest tick of all timers held, if that is not after limit, and
	// otherwise any tick after limit. limit is below 2^64-1.
	nextExpiry(limit uint64) uint64

	// nextWakeup returns a tick after cur and not after the earliest tick of all timers held. It
	// is called only when there are some.
	nextWakeup() uint64

	// verify walks the whole structure. It returns the number of timers held and the first
	// violated invariant.
	verify() (held int, err error)
}

// reserver is a scheme with storage of its own for each record.
type reserver interface {
	// reserve prepares for n records in all, so that insert does not allocate.
	reserve(n int)
}

// ranger is a scheme that prefers some ticks of a range to others.
type ranger interface {
	// choose returns the tick from lo to hi that is cheapest to keep. cur < lo ≤ hi.
	choose(lo, hi uint64) uint64
}

// front is the common part of the facilities: the arena, the clock, the due timers, and the
// contract on top of them. Scheme6, the default, has its own copy of this, inlined.
type front struct {
	arena
	ticker
	scheme scheme
	name   string

	cur        uint64 // the last tick processed, or the one being processed
	end        uint64 // where the current Advance ends
	target     uint64 // latest tick asked for; after end if an unfinished Advance fell behind
	running    int    // running timers
	unfinished bool   // an Advance was cut short by its limit
	expiring   bool   // inside the expiry function
	counting   bool
	counts     Counts

	// expiry is used in lazy mode only, else nil. By record, it is the tick at which the timer
	// expires, or notRunning; node.tick is the tick at which the timer is looked at. STOP leaves
	// a timer in place, and so does START if node.tick is early enough.
	expiry []uint64
}

const notRunning = ^uint64(0)

func (f *front) init(name string, s scheme, cfg Config, lists int) {
	f.name, f.scheme, f.counting = name, s, cfg.Count
	f.ticker = newTicker(cfg.Origin, cfg.Tick)
	f.arena = newArena(lists)
	if cfg.Lazy {
		f.expiry = make([]uint64, 1)
	}
}

func (f *front) New(owner uint64) Timer {
	t, grown := f.alloc(owner)
	if grown {
		f.reserve()
	}
	if f.expiry != nil {
		f.expiry[t] = notRunning
	}
	return Timer(t)
}

func (f *front) Free(t Timer) {
	f.Stop(t)
	if f.nodes[t].where != whereIdle {
		f.detach(uint32(t))
	}
	f.release(uint32(t))
}

func (f *front) Reserve(n int) {
	if n > maxRecords {
		panic(fmt.Sprintf("BUG: wheel: reserve %d timers, want at most %d", n, maxRecords))
	}
	if more := n + 1 - len(f.nodes); more > 0 {
		f.nodes = slices.Grow(f.nodes, more)
	}
	f.reserve()
}

// reserve grows everything with a place per record to the capacity of the arena.
func (f *front) reserve() {
	n := cap(f.nodes) - 1
	if f.expiry != nil {
		f.expiry = append(make([]uint64, 0, n+1), f.expiry...)[:n+1]
	}
	if s, ok := f.scheme.(reserver); ok {
		s.reserve(n)
	}
}

// node returns the record of t. It panics if t is not in use.
func (f *front) node(t Timer) *node {
	if t == 0 || int(t) >= len(f.nodes) || f.nodes[t].where == whereFree {
		panic(fmt.Sprintf("BUG: wheel: timer %d is not in use", t))
	}
	return &f.nodes[t]
}

// tickOf returns the tick at which t will expire, and whether t is running.
func (f *front) tickOf(t Timer) (uint64, bool) {
	n := f.node(t)
	switch {
	case n.where == whereIdle:
		return 0, false
	case f.expiry != nil:
		return f.expiry[t], f.expiry[t] != notRunning
	}
	return n.tick, true
}

func (f *front) Owner(t Timer) uint64 { return f.node(t).owner }
func (f *front) Now() Time            { return f.time(f.cur) }
func (f *front) Len() int             { return f.running }
func (f *front) Counts() Counts       { return f.counts }
func (f *front) ResetCounts()         { f.counts = Counts{} }
func (f *front) Scheme() string       { return f.name }

func (f *front) Deadline(t Timer) (Time, bool) {
	tick, running := f.tickOf(t)
	if !running {
		return 0, false
	}
	return f.time(tick), true
}

func (f *front) Schedule(t Timer, deadline Time) { f.start(t, f.ceil(deadline)) }

func (f *front) ScheduleRange(t Timer, earliest, latest Time) {
	if latest < earliest {
		panic(fmt.Sprintf("BUG: wheel: range ends at %v before it begins at %v", latest, earliest))
	}
	lo := f.ceil(earliest)
	hi := max(lo, f.floor(latest))
	if tick, running := f.tickOf(t); running && lo <= tick && tick <= hi {
		return
	}
	if r, ok := f.scheme.(ranger); ok && hi > f.cur {
		hi = r.choose(max(lo, f.cur+1), hi)
	}
	f.start(t, hi)
}

func (f *front) start(t Timer, tick uint64) {
	if _, running := f.tickOf(t); !running {
		f.running++
	}
	if f.counting {
		f.counts.Starts++
	}
	n := &f.nodes[t]
	tick = max(tick, f.cur)
	if f.expiry != nil {
		f.expiry[t] = tick
		if n.where != whereIdle && n.where >= listFirst && n.tick <= tick {
			return // its place comes up in time
		}
	}
	if n.where != whereIdle {
		f.detach(uint32(t))
	}
	f.place(uint32(t), tick)
}

// place inserts a timer, which is in no list, to expire at tick.
func (f *front) place(t uint32, tick uint64) {
	f.nodes[t].tick = tick
	if tick <= f.cur {
		f.pushBack(listPending, t)
		return
	}
	f.scheme.insert(t)
}

func (f *front) Stop(t Timer) bool {
	if _, running := f.tickOf(t); !running {
		return false
	}
	if f.expiry != nil {
		f.expiry[t] = notRunning
	} else {
		f.detach(uint32(t))
	}
	f.running--
	if f.counting {
		f.counts.Stops++
	}
	return true
}

// detach takes a timer out of the list or structure that holds it.
func (f *front) detach(t uint32) {
	if f.nodes[t].where < listFirst {
		f.unlink(t)
	} else {
		f.scheme.remove(t)
	}
}

func (f *front) Advance(now Time, limit int, expire func(t Timer)) (n int, done bool) {
	if f.expiring {
		panic("BUG: wheel: Advance called while a timer expires")
	}
	if tick := f.floor(now); tick > f.target {
		f.target = tick
	}
	if !f.unfinished {
		f.begin()
	}
	for limit <= 0 || n < limit {
		t := f.popFront(listDue)
		if t == 0 {
			if f.scheme.collect(f.end) {
				continue
			}
			if f.end == f.target {
				f.unfinished = false
				return n, true
			}
			f.begin() // the Advance of an earlier call ended here; this call's begins
			continue
		}
		if f.expiry != nil && !f.settle(t) {
			continue
		}
		f.running--
		n++
		if f.counting {
			f.counts.Expiries++
		}
		f.expiring = true
		expire(Timer(t))
		f.expiring = false
	}
	return n, false
}

// settle looks at a timer of the lazy mode whose place came up, and reports whether it is due. An
// extended timer goes to its new place. A stopped one has now left the structure.
func (f *front) settle(t uint32) bool {
	tick := f.expiry[t]
	if tick == notRunning {
		return false
	}
	if tick > f.cur {
		f.place(t, tick)
		if f.counting {
			f.counts.Moves++
		}
		return false
	}
	f.expiry[t] = notRunning
	return true
}

// begin starts an Advance to target and makes the waiting timers due. An Advance that was cut
// short ends at its own end before the next one begins, however late that is. Otherwise calls
// that never catch up with their now would delay for ever the timers that wait here.
func (f *front) begin() {
	f.end, f.unfinished = f.target, true
	if f.counting && f.lists[listPending].head != 0 {
		f.counts.Wakeups++
	}
	for t := f.lists[listPending].head; t != 0; t = f.nodes[t].next {
		f.nodes[t].where = listDue
		if f.counting {
			f.counts.TickVisits++
		}
	}
	f.lists[listDue], f.lists[listPending] = f.lists[listPending], list{}
}

func (f *front) NextExpiry(limit Time) (Time, bool) {
	last := f.floor(limit)
	switch {
	case f.running == 0 || limit < f.Now():
		return 0, false
	case f.overdue():
		return f.Now(), true
	case last == f.cur:
		return 0, false
	}
	if tick := f.scheme.nextExpiry(last); tick <= last {
		return f.time(tick), true
	}
	return 0, false
}

func (f *front) NextWakeup() (Time, bool) {
	switch {
	case f.running == 0:
		return 0, false
	case f.overdue():
		return f.Now(), true
	}
	return f.time(f.scheme.nextWakeup()), true
}

// takeDue moves the timers of tick cur from the head of list l, which is ordered, to listDue. It
// returns how many it moved.
func (f *front) takeDue(l uint32) (n uint64) {
	for t := f.lists[l].head; t != 0 && f.nodes[t].tick == f.cur; t = f.lists[l].head {
		f.unlink(t)
		f.pushBack(listDue, t)
		n++
	}
	return n
}

// earliestIn returns the earliest tick in list l, or limit if that is earlier.
func (f *front) earliestIn(l uint32, limit uint64) uint64 {
	for t := f.lists[l].head; t != 0; t = f.nodes[t].next {
		limit = min(limit, f.nodes[t].tick)
	}
	return limit
}

// headTick returns the tick of the first timer in list l, or none if l is empty.
func (f *front) headTick(l uint32, none uint64) uint64 {
	if head := f.lists[l].head; head != 0 {
		return f.nodes[head].tick
	}
	return none
}

// overdue reports whether a timer waits that was due when it was started, or that an unfinished
// Advance left.
func (f *front) overdue() bool {
	return f.lists[listPending].head != 0 || f.lists[listDue].head != 0
}

func (f *front) check() error {
	held, err := f.scheme.verify()
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	for _, l := range []uint32{listPending, listDue} {
		n, err := f.checkList(l, func(t uint32) error {
			if f.nodes[t].tick > f.cur {
				return fmt.Errorf("timer %d waits as due and has tick %d, now %d", t, f.nodes[t].tick, f.cur)
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		held += n
	}
	placed, running := 0, 0
	for i := range f.nodes[1:] {
		if w := f.nodes[i+1].where; w == whereIdle || w == whereFree {
			continue
		}
		placed++
		if tick, ok := f.tickOf(Timer(i + 1)); ok {
			running++
			if tick < f.nodes[i+1].tick {
				return fmt.Errorf("%s: timer %d expires at tick %d, its place comes up at %d", f.name, i+1, tick, f.nodes[i+1].tick)
			}
		}
	}
	if held != placed || running != f.running {
		return fmt.Errorf("%s: %d held, %d placed, %d running, want %d running", f.name, held, placed, running, f.running)
	}
	return nil
}

// checkAfterNow walks list l of a scheme: all its timers are due after now.
func (f *front) checkAfterNow(l uint32) (int, error) {
	return f.checkList(l, func(t uint32) error {
		if f.nodes[t].tick <= f.cur {
			return fmt.Errorf("timer %d has tick %d, which has passed, now %d", t, f.nodes[t].tick, f.cur)
		}
		return nil
	})
}
