package wheel

import (
	"fmt"
	"math"
)

// Scheme6 is Scheme 6 of the paper (§VI-A), a hashed wheel with unsorted lists, in the layout that was found fastest.
// It is the default facility; programs that know that they want it may hold this type instead of the interface, and
// save the dynamic call. The contract is that of Facility.
//
// The lists are chunks of record numbers, a record is 16 bytes, and nothing is a pointer. A look at a slot therefore reads
// the numbers in sequence and the records independently of each other, so that their cache misses overlap, where a
// linked list waits for each record before it knows the next.
//
// A slot has two lists: near, for timers that are due when the slot comes up next, and far, for those of later rounds
// (whose high-order bits are not 0, in the paper's terms). The near list is handed to EXPIRY PROCESSING as it is.
// The far list is looked at in place.
//
// It re-arms lazily unless it is made as scheme6-eager: STOP, and a START that asks for no earlier tick than the one at
// which the timer will be looked at anyway, only write the record. What comes up is then sorted out: due, gone, or to be
// put elsewhere. A record stands in one list at most, so memory cannot grow, which was the paper's objection (§IV-B) to
// marking notices as cancelled.
//
// The order within a tick depends on the calls alone. It is START order as long as no timer of the slot was stopped,
// moved or put off: the last of a list takes the place of one that left, and one that was put off is as if started when
// it comes up.
type Scheme6 struct {
	recs   []rec
	chunks // lists: near by slot, far by slot, pending
	owners []uint64

	now  uint64 // the instant of cur, in ns after the origin
	cur  uint64 // the tick that was processed last, or is being processed
	mask uint32 // slots - 1

	// stay is the number of lists in which a timer may be left where it is by the short paths of Schedule and Stop:
	// all of the wheel's when lazy, none when eager or counting.
	stay uint32

	started uint64 // timers that began to run, and that ceased to: two sums, so that neither waits for the other
	ended   uint64

	due    queue  // what came up at cur and was not sorted out yet
	end    uint64 // where the Advance that goes on will end
	target uint64 // the latest tick that was asked for: after end if time passed while an Advance was unfinished
	free   uint32 // head of the free records, threaded by rec.at
	ticker
	busy       bitmap // slots with a list that is not empty
	name       string
	lazy       bool
	counting   bool
	unfinished bool // an Advance was left because of its limit
	expiring   bool // the expiry function runs
	counts     Counts
	touched    uint64 // of no meaning: what was read early, for the cache
}

// rec is a timer record: 16 bytes.
type rec struct {
	deadline uint64 // ns after the origin, never when it does not run
	list     uint32 // that holds it, or packedNone, packedQueue or packedFree
	at       uint32 // address of its entry; number of the next free record
}

// Values of rec.list past the lists of the wheel and the pending one.
const (
	packedFree  = math.MaxUint32     // given back by Free
	packedNone  = math.MaxUint32 - 1 // in no list
	packedQueue = math.MaxUint32 - 2 // in the queue of what came up
)

const never = math.MaxUint64

// NewScheme6 is New("scheme6", cfg), as its own type.
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
		w.stay = 2 * uint32(cfg.Slots)
	}
	w.Reserve(15)
	w.recs = append(w.recs, rec{deadline: never, list: packedFree}) // number 0 is no timer
	return w
}

// pending is the list of the timers that were due when they were started, behind the near and far lists of all slots.
func (w *Scheme6) pending() uint32 { return 2*w.mask + 2 }

// New makes a timer, as Facility has it.
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
	w.recs[t] = rec{deadline: never, list: packedNone}
	w.owners[t] = owner
	return Timer(t)
}

// Reserve makes room for n timers in all, as Facility has it.
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

// Free gives the record of t back, as Facility has it.
func (w *Scheme6) Free(t Timer) {
	w.Stop(t)
	r := w.rec(t)
	w.leave(r)
	*r = rec{deadline: never, list: packedFree, at: w.free}
	w.free = uint32(t)
}

// rec returns the record of t, and panics if there is none.
func (w *Scheme6) rec(t Timer) *rec {
	r := &w.recs[t]
	if r.list == packedFree {
		panic(fmt.Sprintf("BUG: wheel: timer %d is not in use", t))
	}
	return r
}

// Owner returns what New was given.
func (w *Scheme6) Owner(t Timer) uint64 { return w.owners[t] }

// Now returns the instant of the last tick that was processed, or is being processed.
func (w *Scheme6) Now() Time { return w.origin + Time(w.now) }

// Len returns the number of running timers.
func (w *Scheme6) Len() int { return int(w.started - w.ended) }

// Counts returns the operation counts, all 0 unless Config.Count was set.
func (w *Scheme6) Counts() Counts { return w.counts }

// ResetCounts starts the counts anew.
func (w *Scheme6) ResetCounts() { w.counts = Counts{} }

// Scheme returns the name under which New makes the facility.
func (w *Scheme6) Scheme() string { return w.name }

// Deadline returns the instant of the tick at which t will expire, and whether it runs.
func (w *Scheme6) Deadline(t Timer) (Time, bool) {
	if r := w.rec(t); r.deadline != never {
		return w.time(w.up(r.deadline)), true
	}
	return 0, false
}
