package wheel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timer is the handle of a timer record: its index in the arena of the facility that made it. It is small enough to
// embed in every segment, and no pointer, so that the garbage collector never looks at it. Zero is no timer.
type Timer uint32

// Facility is the timer module of Varghese and Lauck, §II, with one record per timer. The package comment has the
// contract that all schemes keep. A Facility is not safe for concurrent use.
//
//	START_TIMER           Schedule, ScheduleRange
//	STOP_TIMER            Stop
//	PER_TICK_BOOKKEEPING  Advance
//	EXPIRY_PROCESSING     the function handed to Advance
//
// Records are made by New and given back by Free; between the two a timer may be started and stopped any number of
// times, and none of that allocates. Passing a Timer that the facility did not make, or that was freed, is misuse: it
// panics with a message that begins "BUG: " wherever that can be noticed at no cost.
type Facility interface {
	// New makes a timer record that is not running and carries owner back to whoever handles its expiry. It is the
	// only call that allocates, and only when the arena has to grow: amortised O(1), and never after Reserve.
	// Records are numbered from 1 up, so that a program may keep what belongs to a timer in a slice of its own. The number
	// of the record that was freed last is given out first.
	New(owner uint64) Timer

	// Free gives the record of t back. A running timer is stopped first. O(1) beyond the cost of Stop.
	Free(t Timer)

	// Reserve grows the arena to room for n records in all, so that the next calls of New do not. It panics when n
	// is beyond the 2^28 records that a facility can hold.
	Reserve(n int)

	// Owner returns what New was given.
	Owner(t Timer) uint64

	// Schedule starts t (START_TIMER): it expires at the first tick not before deadline. A deadline whose tick has
	// passed already expires in the next Advance, never inside Schedule. A running timer is moved.
	Schedule(t Timer, deadline Time)

	// ScheduleRange starts t to expire at a tick of the facility's choice that is not before earliest and, if the
	// range holds a tick at all, not after latest. Its rules are those of Ratas: a timer that runs and expires within
	// the range stays untouched; else a tick is preferred that costs no migration; else the latest one.
	// It panics if latest is before earliest.
	ScheduleRange(t Timer, earliest, latest Time)

	// Stop stops t (STOP_TIMER) and reports whether it was running. A timer stopped before its expiry was processed
	// never expires, also when it was due already.
	Stop(t Timer) bool

	// Deadline returns the instant of the tick at which t will expire, and whether it runs.
	Deadline(t Timer) (at Time, running bool)

	// Advance does PER_TICK_BOOKKEEPING for all ticks up to now, and calls expire for each timer that is due, at most
	// limit of them if limit is above 0. done is false if it left because of the limit. The next call then goes on with
	// the very timer that would have been next, to the end of the Advance that was cut short, and from there to its own
	// now as a new Advance: timers started meanwhile with a deadline that had passed expire in between.
	//
	// While expire runs, t is not running, Now is the tick at which t was due (the one at which this Advance began, if t
	// was started too late), and any timer may be started, stopped, made or freed, t included. A now that is earlier
	// than one seen before counts as no time passing. Calling Advance from expire is misuse, and panics. A facility whose
	// expire has panicked is of no further use.
	Advance(now Time, limit int, expire func(t Timer)) (n int, done bool)

	// Now returns the instant of the last tick that was processed, or is being processed.
	Now() Time

	// NextExpiry returns the exact instant of the next expiry, if that is not after limit. The limit bounds the
	// search, which in a hashed wheel may have to look at all timers beyond it otherwise. A timer whose deadline has
	// passed reports Now.
	NextExpiry(limit Time) (at Time, ok bool)

	// NextWakeup returns the first instant at which Advance may have work to do: never later than the next expiry, but
	// earlier where a slot is busy with timers of later rounds. It costs O(1) in a wheel. It reports false when no
	// timer runs.
	NextWakeup() (at Time, ok bool)

	// Len returns the number of running timers.
	Len() int

	// Counts returns the operation counts, all 0 unless Config.Count was set; ResetCounts starts them anew.
	Counts() Counts
	ResetCounts()

	// Scheme returns the name under which New makes the facility.
	Scheme() string

	// check returns the first violation of the invariants of the data structure, for tests. O(n + slots).
	check() error
}

// Config are the parameters of a facility. The zero value of each field stands for its default.
type Config struct {
	// Tick is the granularity T: 1 ns to 1 h, 1 ms by default.
	Tick time.Duration

	// Origin is the instant of tick 0, and thereby the phase of all ticks. The facility begins there.
	Origin Time

	// Slots is the number of slots M of a wheel: a power of two from 2 to 2^24, by default 4096, and 16384 for scheme6
	// and scheme6-eager. Scheme 4 keeps timers of up to M ticks in the wheel. In a hierarchy it is the number of slots of
	// each level (256 by default, up to 2^16); in a calendar queue the number to begin with (2 by default).
	Slots int

	// Levels is the number m of wheels in a hierarchy: 1 to 8. By default as many as cover 2^63 ticks, at most 8.
	// What lies beyond the last level waits in its farthest slot, and is looked at again when that comes up.
	Levels int

	// Lazy leaves a timer where it is when it is stopped or put off, and looks again when its place comes up, as
	// gVisor's TCP does with its timers. Every record is in the structure at most once, so that memory cannot grow.
	// NextExpiry may then report an earlier instant, at which a timer is only looked at.
	// scheme6 is lazy by itself, with an exact NextExpiry; scheme6-eager is not.
	Lazy bool

	// Rounding is the direction in which the hierarchies without full migration round (Nichols): up by default.
	Rounding Rounding

	// Count makes the facility count its elementary operations.
	Count bool
}

// Rounding is a direction of rounding a timer to the granularity of a coarser wheel.
type Rounding uint8

const (
	RoundUp      Rounding = iota // never early, up to a slot late: the only one that RFC 6298 §5 allows
	RoundNearest                 // up to half a slot early or late
	RoundDown                    // up to a slot early
)

// String returns "up", "nearest" or "down".
func (r Rounding) String() string {
	if int(r) >= len(roundings) {
		return fmt.Sprintf("Rounding(%d)", uint8(r))
	}
	return roundings[r]
}

var roundings = [...]string{"up", "nearest", "down"}

const (
	maxTick  = time.Hour
	maxSlots = 1 << 24
)

// maxRecords is how many records an arena may hold: 2^28, 8 GiB of nodes.
const maxRecords = 1 << 28

// Default is the name of the scheme that programs get who do not choose: Scheme 6 of the paper, re-arming lazily.
const Default = "scheme6"

// Schemes returns the names of all schemes that New makes, in the order of the paper.
func Schemes() []string {
	names := make([]string, len(builders))
	for i, b := range builders {
		names[i] = b.name
	}
	return names
}

// About returns one line on what the scheme of that name is.
func About(scheme string) string {
	if b := find(scheme); b != nil {
		return b.about
	}
	return ""
}

func find(scheme string) *builder {
	i := slices.IndexFunc(builders, func(b builder) bool { return b.name == scheme })
	if i < 0 {
		return nil
	}
	return &builders[i]
}

// New makes a facility of the named scheme. Its error names the field, the value and the bound that it breaks.
func New(scheme string, cfg Config) (Facility, error) {
	b := find(scheme)
	if b == nil {
		return nil, fmt.Errorf("wheel: unknown scheme %q, want one of %s", scheme, strings.Join(Schemes(), ", "))
	}
	if cfg.Tick == 0 {
		cfg.Tick = time.Millisecond
	}
	if cfg.Tick < 0 || cfg.Tick > maxTick {
		return nil, fmt.Errorf("wheel: tick %v, want 1ns to %v", cfg.Tick, maxTick)
	}
	if cfg.Slots == 0 {
		cfg.Slots = max(b.slots, 2)
	}
	most := b.most
	if most == 0 {
		most = maxSlots
	}
	if cfg.Slots < 2 || cfg.Slots > most {
		return nil, fmt.Errorf("wheel: slots %d, want 2 to %d for %s", cfg.Slots, most, scheme)
	}
	if cfg.Slots&(cfg.Slots-1) != 0 {
		return nil, fmt.Errorf("wheel: slots must be a power of two: %d", cfg.Slots)
	}
	if cfg.Levels < 0 || cfg.Levels > 8 {
		return nil, fmt.Errorf("wheel: levels %d, want 1 to 8, or 0 for as many as are needed", cfg.Levels)
	}
	if int(cfg.Rounding) >= len(roundings) {
		return nil, fmt.Errorf("wheel: rounding %d, want RoundUp, RoundNearest or RoundDown", cfg.Rounding)
	}
	return b.build(scheme, cfg), nil
}

// MustNew is New for configurations that the program itself fixes: it panics on an error.
func MustNew(scheme string, cfg Config) Facility {
	f, err := New(scheme, cfg)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return f
}
