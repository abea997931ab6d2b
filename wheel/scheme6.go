package wheel

import (
	"fmt"
	"math"
)

// Scheme6 is Scheme 6 of the paper (§VI-A), a hashed wheel with unsorted lists, in the layout
// that was found fastest. It is the default facility. A program may hold this type instead of the
// interface to save the dynamic call. Its contract is that of Facility.
//
// The lists are chunks of record numbers, a record has 16 bytes, and nothing is a pointer. A look
// at a slot reads the numbers in sequence and the records independently of each other, so that
// their cache misses overlap. A linked list would wait for each record before it knows the next.
//
// A slot has two lists: near, for timers that are due when the slot next comes up, and far, for
// timers of later rotations (whose high-order bits are not 0, in the paper's terms). The near
// list goes to EXPIRY PROCESSING as it is. The far list is looked at in place.
//
// It re-arms lazily unless it is made as scheme6-eager. STOP only writes the record, and so does
// a START whose tick is not before the one at which the timer's place comes up. A timer whose
// place comes up is due, gone, or moved to another place. A record is in at most one list, so
// memory cannot grow. Growth was the paper's objection (§IV-B) to marking notices as cancelled.
//
// The order within a tick depends on the calls alone. It is START order as long as no timer of
// the slot was stopped, moved or extended: the last of a list replaces one that leaves, and an
// extended one counts as started when its place comes up.
type Scheme6 struct {
	recs   []rec
	chunks // the lists: near by slot, far by slot, pending
	owners []uint64

	now  uint64 // the instant of cur, in ns after the origin
	cur  uint64 // the last tick processed, or the one being processed
	mask uint32 // slots - 1

	// The short paths of Schedule and Stop may leave a timer in place in lists below lazyLists:
	// all of the wheel's when lazy, none when eager or counting.
	lazyLists uint32

	started uint64 // timers started and ended: two sums, so that neither waits for the other
	ended   uint64

	due    queue  // came up at cur, not looked at yet
	end    uint64 // where the current Advance ends
	target uint64 // the latest tick asked for; see front.target
	free   uint32 // head of the free records, linked by rec.at
	ticker
	busy       bitmap // slots with a non-empty list
	name       string
	lazy       bool
	counting   bool
	unfinished bool // an Advance was cut short by its limit
	expiring   bool // inside the expiry function
	counts     Counts
	prefetched uint64 // a meaningless sum that keeps prefetching reads alive
}

// rec is a timer record: 16 bytes.
type rec struct {
	deadline uint64 // ns after the origin; never if it is not running
	list     uint32 // the list that holds it, or recIdle, recQueued, recFree
	at       uint32 // address of its entry, or number of the next free record
}

// Values of rec.list past the lists of the wheel and the pending list.
const (
	recFree   = math.MaxUint32     // released by Free
	recIdle   = math.MaxUint32 - 1 // in no list
	recQueued = math.MaxUint32 - 2 // in the queue of due timers
)

const never = math.MaxUint64

// NewScheme6 is New("scheme6", cfg) with a concrete type.
func NewScheme6(cfg Config) (*Scheme6, error) {
	f, err := New(Default, cfg)
	if err != nil {
		return nil, err
	}
	return f.(*Scheme6), nil
}

func newScheme6(name string, cfg Config, lazy bool) *Scheme6 {
	w := &Scheme6{
		name:     name,
		ticker:   newTicker(cfg.Origin, cfg.Tick),
		chunks:   newChunks(2*cfg.Slots + 1),
		busy:     newBitmap(cfg.Slots),
		mask:     uint32(cfg.Slots - 1),
		lazy:     lazy,
		counting: cfg.Count,
	}
	if lazy && !cfg.Count {
		w.lazyLists = 2 * uint32(cfg.Slots)
	}
	w.Reserve(15)
	w.recs = append(w.recs, rec{deadline: never, list: recFree}) // number 0 is no timer
	return w
}

// pending is the list of the timers started with a passed deadline. It follows the near and far
// lists.
func (w *Scheme6) pending() uint32 { return 2*w.mask + 2 }

// New makes a timer: see Facility.
func (w *Scheme6) New(owner uint64) Timer {
	t := w.free
	if t != 0 {
		w.free = w.recs[t].at
	} else {
		if len(w.recs) > maxRecords {
			panic(fmt.Sprintf("BUG: wheel: more than %d timers", maxRecords))
		}
		if len(w.recs) == cap(w.recs) {
			w.Reserve(min(len(w.recs)+len(w.recs)/2, maxRecords))
		}
		t = uint32(len(w.recs))
		w.recs = w.recs[:t+1]
	}
	w.recs[t] = rec{deadline: never, list: recIdle}
	w.owners[t] = owner
	return Timer(t)
}

// Reserve makes room for n timers in all: see Facility.
func (w *Scheme6) Reserve(n int) {
	if n > maxRecords {
		panic(fmt.Sprintf("BUG: wheel: reserve %d timers, want at most %d", n, maxRecords))
	}
	if n < cap(w.recs) {
		return
	}
	w.recs = regrow(w.recs, n+1)
	w.owners = regrow(w.owners, n+1)[:n+1]
	w.reserve(n)
}

// Free releases the record of t: see Facility.
func (w *Scheme6) Free(t Timer) {
	w.Stop(t)
	r := w.rec(t)
	w.leave(r)
	*r = rec{deadline: never, list: recFree, at: w.free}
	w.free = uint32(t)
}

// rec returns the record of t. It panics if t is not in use.
func (w *Scheme6) rec(t Timer) *rec {
	r := &w.recs[t]
	if r.list == recFree {
		panic(fmt.Sprintf("BUG: wheel: timer %d is not in use", t))
	}
	return r
}

// Owner returns the argument of New.
func (w *Scheme6) Owner(t Timer) uint64 { return w.owners[t] }

// Now returns the instant of the last tick processed, or of the one being processed.
func (w *Scheme6) Now() Time { return w.origin + Time(w.now) }

// Len returns the number of running timers.
func (w *Scheme6) Len() int { return int(w.started - w.ended) }

// Counts returns the operation counts, all 0 unless Config.Count was set.
func (w *Scheme6) Counts() Counts { return w.counts }

// ResetCounts sets the counts to 0.
func (w *Scheme6) ResetCounts() { w.counts = Counts{} }

// Scheme returns the name by which New made the facility.
func (w *Scheme6) Scheme() string { return w.name }

// Deadline returns the instant of the tick at which t will expire, and whether t is running.
func (w *Scheme6) Deadline(t Timer) (Time, bool) {
	if r := w.rec(t); r.deadline != never {
		return w.time(w.up(r.deadline)), true
	}
	return 0, false
}
