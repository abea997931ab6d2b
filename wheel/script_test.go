package wheel

import (
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"
)

// script plays the operations that a string of bytes encodes on a facility and on its twin, and
// compares the two after each operation, also within the expiry function.
type script struct {
	scheme string
	cfg    Config
	f      Facility
	twin   *twin

	bytes    []byte
	live     []Timer // in use
	expiries []expiry
	made     uint64 // owners given to New
	err      error  // the first difference

	tracing bool
	trace   []string
}

// expiry is one expiry of a run.
type expiry struct {
	timer Timer
	at    Time
}

const (
	mostTimers = 40 // in use at a time; few, so that a script does much with each
	usualBits  = 24 // log2 of the ticks that most deadlines and gaps are below
)

// playTwice plays the bytes on two fresh facilities. It returns the first difference from the
// twin or between the two.
func playTwice(scheme string, cfg Config, bytes []byte) error {
	first, second := newScript(scheme, cfg, bytes), newScript(scheme, cfg, bytes)
	for _, s := range []*script{first, second} {
		if s.play(); s.err != nil {
			again := newScript(scheme, cfg, bytes)
			again.tracing = true
			again.play()
			return fmt.Errorf("%s %+v: %w\nafter\n%s", scheme, cfg, s.err, strings.Join(last(again.trace, 60), "\n"))
		}
	}
	if !slices.Equal(first.expiries, second.expiries) {
		return fmt.Errorf("%s %+v: two runs of the same calls: %v, then %v", scheme, cfg, first.expiries, second.expiries)
	}
	if first.f.Counts() != second.f.Counts() {
		return fmt.Errorf("%s %+v: two runs of the same calls: counts %+v, then %+v", scheme, cfg,
			first.f.Counts(), second.f.Counts())
	}
	return nil
}

func last[T any](s []T, n int) []T { return s[max(0, len(s)-n):] }

func newScript(scheme string, cfg Config, bytes []byte) *script {
	return &script{scheme: scheme, cfg: cfg, bytes: bytes, f: MustNew(scheme, cfg), twin: newTwin(cfg)}
}

func (s *script) fail(err error) {
	if s.err == nil && err != nil {
		s.err = err
		s.bytes = nil
	}
}

func (s *script) failf(format string, args ...any) { s.fail(fmt.Errorf(format, args...)) }

func (s *script) log(format string, args ...any) {
	if s.tracing {
		s.trace = append(s.trace, fmt.Sprintf("  now %d: "+format, append([]any{s.twin.cur}, args...)...))
	}
}

// play plays the whole script, then lets the remaining timers expire.
func (s *script) play() {
	defer func() {
		if r := recover(); r != nil {
			s.failf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	for range s.byte() % 16 {
		s.schedule(s.make(), s.instant())
	}
	s.compare()
	for len(s.bytes) > 0 {
		if op := s.byte() % 24; op < 15 {
			s.operate(op)
		} else {
			s.advanceSomehow(op)
		}
		s.compare()
		s.fail(s.f.check())
	}
	s.advance(s.farthest(), 0)
	s.compare()
	s.fail(s.f.check())
	for _, t := range slices.Clone(s.live) {
		s.free(t)
	}
	s.compare()
	s.fail(s.f.check())
}

// operate does one operation, which may be inside or outside the expiry function.
func (s *script) operate(op byte) {
	if len(s.live) == 0 || op < 4 && len(s.live) < mostTimers {
		s.schedule(s.make(), s.instant())
		return
	}
	t := s.live[int(s.byte())%len(s.live)]
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7, 8: // the first four when there are enough timers
		s.schedule(t, s.instant())
	case 9, 10:
		from := s.instant()
		s.scheduleRange(t, from, from.Add(s.span()))
	case 11, 12:
		s.stop(t)
	case 13:
		s.free(t)
	default: // a burst for one tick
		at := s.instant()
		for range s.byte() % 8 {
			s.schedule(s.live[int(s.byte())%len(s.live)], at)
		}
	}
}

func (s *script) make() Timer {
	s.made++
	t := s.f.New(s.made)
	s.log("New(%d) = %d", s.made, t)
	s.fail(s.twin.add(t, s.made))
	s.live = append(s.live, t)
	return t
}

func (s *script) free(t Timer) {
	s.log("Free(%d)", t)
	s.f.Free(t)
	s.twin.free(t)
	s.live = slices.DeleteFunc(s.live, func(l Timer) bool { return l == t })
}

func (s *script) stop(t Timer) {
	got, want := s.f.Stop(t), s.twin.stop(t)
	s.log("Stop(%d) = %t", t, got)
	if got != want {
		s.failf("Stop(%d) = %t, want %t", t, got, want)
	}
}

func (s *script) schedule(t Timer, deadline Time) {
	s.f.Schedule(t, deadline)
	s.twin.schedule(t, deadline)
	s.log("Schedule(%d, %d) to tick %d", t, deadline, s.twin.ceil(deadline))
	tick := max(s.twin.ceil(deadline), s.twin.cur)
	s.adopt(t, tick, tick)
}

func (s *script) scheduleRange(t Timer, earliest, latest Time) {
	before, ran := s.twin.deadline(t)
	if ran && before == math.MaxInt64 && rounds[s.scheme] {
		return // past the end of Time the rounded tick is unknown, and so whether the range holds it
	}
	s.f.ScheduleRange(t, earliest, latest)
	lo, hi := s.twin.scheduleRange(t, earliest, latest)
	s.log("ScheduleRange(%d, %d, %d) to ticks %d to %d", t, earliest, latest, lo, hi)
	after, runs := s.f.Deadline(t)
	if untouched := ran && lo == hi && before == s.twin.time(lo); untouched && (!runs || after != before) {
		s.failf("timer %d would expire at %d, within the range, and now at %d", t, before, after)
	}
	if _, prefers := s.f.(ranger); !prefers {
		lo = hi // the latest tick of the range
	}
	s.adopt(t, lo, hi)
}

func (s *script) advanceSomehow(op byte) {
	limit := 0
	if op%3 == 0 {
		limit = 1 + int(s.byte()%5)
	}
	switch {
	case op < 19:
		at := s.instant()
		if soon := s.twin.now().Add(s.ticks(1 << usualBits)); at > soon && s.byte()%8 != 0 {
			at = soon // most of a script should not be at the end of time
		}
		s.advance(at, limit)
	case op < 21:
		s.advance(s.twin.now().Add(s.ticks(uint64(s.byte()%16))), limit)
	case op == 21:
		if at, ok := s.f.NextWakeup(); ok {
			s.advance(at, limit)
		}
	case op == 22:
		if at, ok := s.f.NextExpiry(math.MaxInt64); ok {
			s.advance(at, limit)
		}
	default: // the clock steps back, or an unfinished Advance continues
		s.advance(s.twin.now().Add(-s.ticks(uint64(s.byte()))), limit)
	}
}

func (s *script) advance(now Time, limit int) {
	now = min(now, s.farthest())
	s.log("Advance(%d, %d) to tick %d", now, limit, s.twin.floor(now))
	advanceClock(s.f, now)
	before := len(s.expiries)
	s.twin.enter(now)
	n, done := s.f.Advance(now, limit, s.expire)
	s.log("Advance = %d, %t", n, done)
	switch {
	case n != len(s.expiries)-before:
		s.failf("Advance = %d expiries, made %d", n, len(s.expiries)-before)
	case limit > 0 && n > limit:
		s.failf("Advance = %d expiries, limit %d", n, limit)
	case done:
		s.fail(s.twin.leave())
	case limit <= 0 || n < limit:
		s.failf("Advance = %d expiries with limit %d and is not done", n, limit)
	}
}

// expire is the EXPIRY_PROCESSING of all timers.
func (s *script) expire(t Timer) {
	if s.err != nil {
		return
	}
	s.log("timer %d expires", t)
	s.expiries = append(s.expiries, expiry{t, s.f.Now()})
	s.fail(s.twin.expire(t, promisesStartOrder(s.scheme, s.cfg)))
	s.compare()
	for range s.byte() % 4 {
		if s.err != nil {
			return
		}
		switch op := s.byte() % 24; {
		case op < 15:
			s.operate(op)
		case op < 19 && s.twin.timers[t] != 0: // restart itself
			s.schedule(t, s.instant())
		case op < 21 && len(s.twin.running) > 0: // stop the next one
			s.stop(s.twin.running[0].timer)
		case op == 21 && s.twin.timers[t] != 0:
			s.free(t)
		case op == 22 && len(s.twin.running) > 0: // extend the next one
			s.schedule(s.twin.running[0].timer, s.instant())
		}
		s.compare()
		s.fail(s.f.check())
	}
}

// farthest is the last instant that a script reaches.
func (s *script) farthest() Time {
	if s.scheme == "runtime" {
		// The clock of a bubble ends 262 years after it began: enough for seven scripts.
		return s.cfg.Origin.Add(1 << 60)
	}
	return math.MaxInt64
}
