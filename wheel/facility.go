package wheel

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Timer is the handle of a timer record: its index in the arena of the facility that made it. It
// is small enough to embed in every segment, and not a pointer, so that the garbage collector
// ignores it. Zero is no timer.
type Timer uint32

// Facility is the timer module of Varghese and Lauck, §II, with one record per timer. The package
// comment has the contract that all schemes keep. A Facility is not safe for concurrent use.
//
//	START_TIMER           Schedule, ScheduleRange
//	STOP_TIMER            Stop
//	PER_TICK_BOOKKEEPING  Advance
//	EXPIRY_PROCESSING     the function passed to Advance
//
// New makes a record and Free releases it. In between, its timer may be started and stopped any
// number of times without an allocation. A Timer that the facility did not make, or that was
// freed, is misuse. Where noticing it costs nothing, it panics with a message that begins "BUG:
// ".
type Facility interface {
	// New makes a record whose timer is not running. Owner returns owner. New is the only call
	// that allocates, and only when the arena grows: amortised O(1), and never within the room
	// that Reserve made. Records are numbered from 1 up, so that a program may keep per-timer
	// data in a slice. A freed number is reused, the one freed last first.
	New(owner uint64) Timer

	// Free releases the record of t. It stops a running timer first. O(1) beyond the cost of
	// Stop.
	Free(t Timer)

	// Reserve grows the arena to n records in all, so that the next calls of New do not. It
	// panics if n is above 2^28.
	Reserve(n int)

	// Owner returns the argument of New.
	Owner(t Timer) uint64

	// Schedule starts t (START_TIMER): it expires at the first tick not before deadline. If that
	// tick has passed, t expires in the next Advance, never inside Schedule. A running timer is
	// moved.
	Schedule(t Timer, deadline Time)

	// ScheduleRange starts t to expire at a tick that the facility chooses: not before earliest
	// and, if the range holds a tick at all, not after latest. The rules are those of Ratas: a
	// timer that already expires within the range stays untouched; otherwise a tick is preferred
	// that costs no migration; otherwise the latest one. It panics if latest is before earliest.
	ScheduleRange(t Timer, earliest, latest Time)

	// Stop stops t (STOP_TIMER) and reports whether it was running. A stopped timer never
	// expires, even if it was already due.
	Stop(t Timer) bool

	// Deadline returns the instant of the tick at which t will expire, and whether t is running.
	Deadline(t Timer) (at Time, running bool)

	// Advance does PER_TICK_BOOKKEEPING for all ticks up to now and calls expire for each due
	// timer, at most limit times if limit is above 0. It returns how many expired. done is false
	// if the limit ended it. The next call then continues with the next due timer, to the end of
	// the Advance that was cut short, and from there to its own now as a new Advance. Timers
	// started in between with a passed deadline expire between the two.
	//
	// While expire runs, t is not running, and Now is the tick at which t was due, or the tick at
	// which this Advance began if t was started too late. expire may start, stop, make or free
	// any timer, t included. A now earlier than a previous one counts as no time passing. Calling
	// Advance from expire is misuse and panics. A facility is unusable after its expire panicked.
	Advance(now Time, limit int, expire func(t Timer)) (n int, done bool)

	// Now returns the instant of the last tick processed, or of the one being processed.
	Now() Time

	// NextExpiry returns the exact instant of the next expiry, if that is not after limit. The
	// limit bounds the search: without it, a hashed wheel may have to look at all timers. If a
	// deadline has passed, NextExpiry returns Now.
	NextExpiry(limit Time) (at Time, ok bool)

	// NextWakeup returns the first instant at which Advance may have work to do: never later than
	// the next expiry, but earlier where a busy slot holds timers of later rotations. It costs
	// O(1) in a wheel. ok is false when no timer runs.
	NextWakeup() (at Time, ok bool)

	// Len returns the number of running timers.
	Len() int

	// Counts returns the operation counts, all 0 unless Config.Count was set. ResetCounts sets
	// them to 0.
	Counts() Counts
	ResetCounts()

	// Scheme returns the name by which New made the facility.
	Scheme() string

	// check returns the first violated invariant of the data structure, for tests. O(n + slots).
	check() error
}

// Config are the parameters of a facility. A zero field means its default.
type Config struct {
	// Tick is the granularity T of expiry: 1 ns to 1 h. Default: 1 ms.
	Tick time.Duration

	// Origin is the instant of tick 0, and so the phase of all ticks. The facility's clock begins
	// there. Default: 0.
	Origin Time

	// Slots is the number of slots M of a wheel, a power of two from 2 to 2^24. Default: 4096,
	// and 16384 for scheme6 and scheme6-eager. Scheme 4 keeps timers of up to M ticks in the
	// wheel. In a hierarchy, Slots is per level: default 256, at most 2^16, and 2^12 for
	// scheme7-lazy. In a calendar queue it is the initial number of days: default 2.
	Slots int

	// Levels is the number m of wheels in a hierarchy, 1 to 8. Default: as many as cover 2^63
	// ticks, at most 8. Timers beyond the last level wait in its farthest slot, which is looked
	// at again when it comes up.
	Levels int

	// Lazy leaves a timer in place when it is stopped or extended, and looks at it again when its
	// place comes up, as gVisor's TCP does with its timers. A record is in the structure at most
	// once, so memory cannot grow. NextExpiry may then report an earlier instant, when a timer is
	// only looked at. scheme6 and scheme7-lazy are always lazy, with an exact NextExpiry;
	// scheme6-eager is lazy only if Lazy is set. Default: false.
	Lazy bool

	// Rounding is how the hierarchies without full migration (Nichols) round. Default: RoundUp.
	Rounding Rounding

	// Count makes the facility count its elementary operations. Default: false.
	Count bool
}

// Rounding is how a timer is rounded to the granularity of a coarser wheel.
type Rounding uint8

const (
	RoundUp      Rounding = iota // never early, up to a slot late; RFC 6298 §5 allows only this
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

// maxRecords is the largest number of records in an arena: 2^28, 8 GiB of nodes.
const maxRecords = 1 << 28

// Default is the scheme of programs that choose none: Scheme 6 of the paper, re-arming lazily.
const Default = "scheme6"

// Schemes returns the names that New accepts, in the order of the paper.
func Schemes() []string {
	names := make([]string, len(builders))
	for i, b := range builders {
		names[i] = b.name
	}
	return names
}

// About describes the named scheme in one line.
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

// New makes a facility of the named scheme. Its error names the field, its value and the bound it
// breaks.
func New(scheme string, cfg Config) (Facility, error) {
	b := find(scheme)
	if b == nil {
		return nil, fmt.Errorf("wheel: unknown scheme %q, want one of %s", scheme, strings.Join(Schemes(), ", "))
	}
	if err := b.complete(&cfg); err != nil {
		return nil, err
	}
	return b.build(scheme, cfg), nil
}

// complete sets defaults. Its error names the field, its value and the bound it breaks.
func (b *builder) complete(cfg *Config) error {
	if cfg.Tick == 0 {
		cfg.Tick = time.Millisecond
	}
	if cfg.Tick < 0 || cfg.Tick > maxTick {
		return fmt.Errorf("wheel: tick %v, want 1ns to %v", cfg.Tick, maxTick)
	}
	if cfg.Slots == 0 {
		cfg.Slots = max(b.slots, 2)
	}
	most := b.most
	if most == 0 {
		most = maxSlots
	}
	if cfg.Slots < 2 || cfg.Slots > most {
		return fmt.Errorf("wheel: slots %d, want 2 to %d for %s", cfg.Slots, most, b.name)
	}
	if cfg.Slots&(cfg.Slots-1) != 0 {
		return fmt.Errorf("wheel: slots must be a power of two: %d", cfg.Slots)
	}
	if cfg.Levels < 0 || cfg.Levels > 8 {
		return fmt.Errorf("wheel: levels %d, want 1 to 8, or 0 for as many as are needed", cfg.Levels)
	}
	if int(cfg.Rounding) >= len(roundings) {
		return fmt.Errorf("wheel: rounding %d, want RoundUp, RoundNearest or RoundDown", cfg.Rounding)
	}
	return nil
}

// MustNew is New for constant configurations. It panics on an error.
func MustNew(scheme string, cfg Config) Facility {
	f, err := New(scheme, cfg)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return f
}
