package wheel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// twin keeps the contract of Facility in the simplest code: one slice, sorted after every START.
// It shares nothing with the facilities, not even the arithmetic of ticks.
//
// The contract lets a scheme choose the order of timers within a tick, and an expiry may start
// and stop any other timer. So the twin follows: it is given each expiry and checks that this
// timer was among the next.
type twin struct {
	origin Time
	size   uint64 // of a tick, in ns

	cur, end, target uint64 // ticks: last processed, end of the current Advance, latest asked for
	unfinished       bool   // an Advance was cut short by its limit

	timers  map[Timer]uint64 // owners of the timers in use
	running []twinTimer      // sorted by phase, tick, START sequence
	counts  Counts           // of Starts, Stops and Expiries
	starts  uint64
}

// twinTimer is a running timer.
type twinTimer struct {
	phase twinPhase
	tick  uint64
	start uint64 // its number among all STARTs
	timer Timer
}

type twinPhase uint8

const (
	twinDue     twinPhase = iota // overdue when the current Advance began
	twinWaiting                  // for its tick
	twinOverdue                  // started when overdue; waits for the next Advance
)

func newTwin(cfg Config) *twin {
	return &twin{origin: cfg.Origin, size: uint64(cfg.Tick), timers: map[Timer]uint64{}}
}

// since returns the nanoseconds from the origin to at, clamped to 0..2^63-1.
func (w *twin) since(at Time) uint64 {
	if at <= w.origin {
		return 0
	}
	return min(uint64(at)-uint64(w.origin), math.MaxInt64)
}

func (w *twin) floor(at Time) uint64 { return w.since(at) / w.size }

func (w *twin) ceil(at Time) uint64 {
	tick := w.floor(at)
	if w.since(at)%w.size != 0 {
		tick++
	}
	return tick
}

func (w *twin) time(tick uint64) Time {
	if ns := tick * w.size; ns <= uint64(math.MaxInt64)-uint64(w.origin) {
		return w.origin + Time(ns)
	}
	return math.MaxInt64
}

func (w *twin) now() Time { return w.time(w.cur) }

func (w *twin) find(t Timer) int {
	return slices.IndexFunc(w.running, func(r twinTimer) bool { return r.timer == t })
}

func (w *twin) add(t Timer, owner uint64) error {
	if _, ok := w.timers[t]; ok || t == 0 {
		return fmt.Errorf("New made timer %d, which is in use or none", t)
	}
	w.timers[t] = owner
	return nil
}

func (w *twin) free(t Timer) {
	w.stop(t)
	delete(w.timers, t)
}

func (w *twin) stop(t Timer) bool {
	i := w.find(t)
	if i < 0 {
		return false
	}
	w.running = slices.Delete(w.running, i, i+1)
	w.counts.Stops++
	return true
}

func (w *twin) schedule(t Timer, deadline Time) { w.start(t, w.ceil(deadline)) }

// scheduleRange returns the ticks from which the facility may choose. The twin takes the latest.
func (w *twin) scheduleRange(t Timer, earliest, latest Time) (lo, hi uint64) {
	lo = w.ceil(earliest)
	hi = max(lo, w.floor(latest))
	if i := w.find(t); i >= 0 && lo <= w.running[i].tick && w.running[i].tick <= hi {
		return w.running[i].tick, w.running[i].tick // stays untouched
	}
	w.start(t, hi)
	return max(lo, w.cur), max(hi, w.cur)
}

func (w *twin) start(t Timer, tick uint64) {
	if i := w.find(t); i >= 0 {
		w.running = slices.Delete(w.running, i, i+1)
	}
	w.starts++
	w.counts.Starts++
	w.insert(twinTimer{tick: max(tick, w.cur), start: w.starts, timer: t})
}

func (w *twin) insert(r twinTimer) {
	r.phase = twinWaiting
	if r.tick <= w.cur {
		r.phase = twinOverdue
	}
	w.running = append(w.running, r)
	w.sort()
}

func (w *twin) sort() {
	slices.SortFunc(w.running, func(a, b twinTimer) int {
		return cmp.Or(cmp.Compare(a.phase, b.phase), cmp.Compare(a.tick, b.tick), cmp.Compare(a.start, b.start))
	})
}

// move changes the tick of the timer started last to one that the facility was free to choose.
func (w *twin) move(t Timer, tick uint64) {
	i := w.find(t)
	r := w.running[i]
	w.running = slices.Delete(w.running, i, i+1)
	r.tick = tick
	w.insert(r)
}

func (w *twin) deadline(t Timer) (Time, bool) {
	if i := w.find(t); i >= 0 {
		return w.time(w.running[i].tick), true
	}
	return 0, false
}

// enter is the beginning of a call of Advance.
func (w *twin) enter(now Time) {
	w.target = max(w.target, w.floor(now))
	if !w.unfinished {
		w.begin()
	}
}

// begin starts an Advance to target.
func (w *twin) begin() {
	w.cur, w.end, w.unfinished = w.end, w.target, true
	for i := range w.running {
		if w.running[i].phase == twinOverdue {
			w.running[i].phase = twinDue
		}
	}
	w.sort()
}

// next returns the timers that are due next, in START order, or none when the Advance is done.
func (w *twin) next() []twinTimer {
	for {
		if len(w.running) > 0 {
			first := w.running[0]
			if first.phase == twinDue || first.phase == twinWaiting && first.tick <= w.end {
				other := func(r twinTimer) bool {
					return r.phase != first.phase || r.phase == twinWaiting && r.tick != first.tick
				}
				if i := slices.IndexFunc(w.running, other); i >= 0 {
					return w.running[:i]
				}
				return w.running
			}
		}
		if w.end == w.target {
			return nil
		}
		w.begin()
	}
}

// expire checks that t may expire now. ordered asks for START order.
func (w *twin) expire(t Timer, ordered bool) error {
	next := w.next()
	i := slices.IndexFunc(next, func(r twinTimer) bool { return r.timer == t })
	switch {
	case i < 0 && len(next) == 0:
		return fmt.Errorf("timer %d expires, want none", t)
	case i < 0:
		return fmt.Errorf("timer %d expires, want timer %d of tick %d or one of its tick", t, next[0].timer, next[0].tick)
	case i > 0 && ordered:
		return fmt.Errorf("timer %d expires before timer %d of the same tick, which was started before it", t, next[0].timer)
	}
	if r := next[i]; r.phase == twinWaiting {
		w.cur = r.tick
	}
	w.running = slices.Delete(w.running, i, i+1)
	w.counts.Expiries++
	return nil
}

// leave is the end of a call of Advance that is done.
func (w *twin) leave() error {
	if next := w.next(); len(next) > 0 {
		return fmt.Errorf("Advance is done, but timer %d of tick %d is due", next[0].timer, next[0].tick)
	}
	w.cur, w.unfinished = w.end, false
	return nil
}

// nextExpiry compares ticks: all ticks after the end of Time report its last instant.
func (w *twin) nextExpiry(limit Time) (Time, bool) {
	if len(w.running) == 0 {
		return 0, false
	}
	if w.overdue() {
		return w.now(), w.now() <= limit
	}
	first := w.running[0].tick
	return w.time(first), first <= w.floor(limit)
}

// overdue reports whether a timer waits that was overdue when it was started.
func (w *twin) overdue() bool {
	return slices.ContainsFunc(w.running, func(r twinTimer) bool { return r.phase != twinWaiting })
}
