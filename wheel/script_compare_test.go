package wheel

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// promisesStartOrder reports whether timers of one tick expire in START order. All schemes but
// the packed Scheme 6 and the lazy Scheme 7 promise it, unless they are lazy. In any case the
// order depends only on the calls made.
func promisesStartOrder(scheme string, cfg Config) bool {
	return !cfg.Lazy && !lazy[scheme] && scheme != "scheme6-eager"
}

// lazy lists the schemes that are always lazy. Their NextExpiry is exact all the same.
var lazy = map[string]bool{"scheme6": true, "scheme7-lazy": true, "of": true, "of-batch": true}

// uncounted lists the schemes that count no operations.
var uncounted = map[string]bool{"of": true, "of-batch": true}

// rounds lists the schemes whose timers expire at a coarser tick than asked for, which Deadline
// reports.
var rounds = map[string]bool{
	"scheme7-nomigration":  true,
	"scheme7-onemigration": true,
}

// onItsClock runs test so that advanceClock works: a scheme on the machine's clock gets a
// synctest bubble.
func onItsClock(t *testing.T, scheme string, test func(t *testing.T)) {
	if scheme == "runtime" {
		synctest.Test(t, test)
		return
	}
	test(t)
}

// advanceClock brings the machine's clock to now, for a facility that runs on it, and lets its
// timers fire.
func advanceClock(f Facility, now Time) {
	if r, ok := f.(interface{ untilTime(at Time) time.Duration }); ok {
		time.Sleep(r.untilTime(max(now, f.Now())))
		synctest.Wait()
	}
}

// compare compares everything that the facility reports with what the twin knows.
func (s *script) compare() {
	if s.err != nil {
		return
	}
	if got, want := s.f.Now(), s.twin.now(); got != want {
		s.failf("Now() = %d, want %d", got, want)
	}
	if got, want := s.f.Len(), len(s.twin.running); got != want {
		s.failf("Len() = %d, want %d", got, want)
	}
	for _, t := range s.live {
		at, runs := s.f.Deadline(t)
		if want, wantRuns := s.twin.deadline(t); at != want || runs != wantRuns {
			s.failf("Deadline(%d) = %d, %t, want %d, %t", t, at, runs, want, wantRuns)
		}
		if got, want := s.f.Owner(t), s.twin.timers[t]; got != want {
			s.failf("Owner(%d) = %d, want %d", t, got, want)
		}
	}
	s.fail(errors.Join(
		s.compareNextExpiry(math.MaxInt64),
		s.compareNextExpiry(s.twin.now()),
		s.compareNextExpiry(s.twin.now().Add(s.ticks(uint64(len(s.bytes))))),
		s.compareNextExpiry(s.twin.now().Add(-1)),
		s.compareNextWakeup(),
		s.compareCounts()))
}

// compareNextExpiry wants the exact instant. A lazy scheme that knows only where its timers are
// may return an earlier one.
func (s *script) compareNextExpiry(limit Time) error {
	at, ok := s.f.NextExpiry(limit)
	want, wantOK := s.twin.nextExpiry(limit)
	exact := ok == wantOK && (!ok || at == want)
	early := ok && s.twin.now() <= at && at <= limit && (!wantOK || at <= want)
	if exact || early && s.cfg.Lazy && !lazy[s.scheme] {
		return nil
	}
	return fmt.Errorf("NextExpiry(%d) = %d, %t, want %d, %t", limit, at, ok, want, wantOK)
}

// compareNextWakeup wants an instant that is not late, and that lets an idle caller make
// progress.
func (s *script) compareNextWakeup() error {
	at, ok := s.f.NextWakeup()
	if ok != (len(s.twin.running) > 0) {
		return fmt.Errorf("NextWakeup() = %d, %t while %d timers run", at, ok, len(s.twin.running))
	}
	if !ok {
		return nil
	}
	now, latest := s.twin.now(), s.twin.now()
	if !s.twin.overdue() {
		latest = s.twin.time(s.twin.running[0].tick)
	}
	if at < now || at > latest || at == now && latest > now && !s.cfg.Lazy && !lazy[s.scheme] {
		return fmt.Errorf("NextWakeup() = %d, want after %d and at most %d", at, now, latest)
	}
	return nil
}

func (s *script) compareCounts() error {
	got, want := s.f.Counts(), s.twin.counts
	if uncounted[s.f.Scheme()] {
		return nil
	}
	if !s.cfg.Count {
		want = Counts{}
		if got != want {
			return fmt.Errorf("Counts() = %+v, want none", got)
		}
	}
	if got.Starts != want.Starts || got.Stops != want.Stops || got.Expiries != want.Expiries {
		return fmt.Errorf("Counts() = %+v, want starts, stops and expiries of %+v", got, want)
	}
	return nil
}

// adopt makes the twin follow where the facility may choose: between ticks lo and hi, and in a
// scheme that rounds further, by up to as much again as the timer has to run.
func (s *script) adopt(t Timer, lo, hi uint64) {
	at, runs := s.f.Deadline(t)
	want, _ := s.twin.deadline(t)
	if !runs || at == want {
		return
	}
	if rounds[s.scheme] && hi > s.twin.cur {
		if hi += hi - s.twin.cur; s.cfg.Rounding != RoundUp {
			lo -= min(lo-s.twin.cur, lo)
		}
	}
	tick := (uint64(at) - uint64(s.cfg.Origin)) / uint64(s.cfg.Tick) // may be a tick that never comes
	if tick < lo || tick > hi || s.twin.time(tick) != at {
		s.failf("timer %d was started for tick %d (%d), want ticks %d to %d", t, tick, at, lo, hi)
		return
	}
	s.log("timer %d chose tick %d", t, tick)
	s.twin.move(t, tick)
}
