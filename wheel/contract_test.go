package wheel

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"
	"time"
)

// The tests of this file and of contract_*_test.go hold every scheme to the contract. Each quotes
// its sentence of facility.go.

func TestNewMakesATimerThatDoesNotRun(t *testing.T) {
	// "New makes a record whose timer is not running. Owner returns owner."
	eachFacility(t, Config{}, func(test *facilityTest) {
		a := test.f.New(math.MaxUint64)
		b := test.f.New(0)
		if a == 0 || b == 0 || a == b {
			test.Fatalf("New = %d, then %d, want two timers; 0 is none", a, b)
		}
		if got := test.f.Owner(a); got != math.MaxUint64 {
			test.Errorf("Owner = %d, want 2^64-1", got)
		}
		if got := test.f.Owner(b); got != 0 {
			test.Errorf("Owner = %d, want 0", got)
		}
		for _, timer := range []Timer{a, b} {
			if at, runs := test.f.Deadline(timer); runs {
				test.Errorf("new timer %d runs, until %v", timer, at)
			}
			if test.f.Stop(timer) {
				test.Errorf("Stop(%d) = true, new", timer)
			}
		}
		test.wantLen(0)
	})
}

func TestFreeReleasesTheRecord(t *testing.T) {
	// "Free releases the record of t. It stops a running timer first."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("running", 5*ms)
		test.start("overdue", 0)
		test.make("idle")
		test.start("stopped", 7*ms)
		test.stop("stopped", true)
		for i, name := range []string{"running", "overdue", "idle", "stopped"} {
			test.free(name)
			test.wantLen(max(0, 1-i))
		}
		test.advance(10 * ms)
		test.want()

		test.step("# at most ten are in use at a time, so there are at most ten records")
		used := map[Timer]bool{}
		for range 100 {
			var timers []Timer
			for i := range 10 {
				timer := test.f.New(uint64(i))
				test.f.Schedule(timer, Time(i)*ms)
				used[timer] = true
				timers = append(timers, timer)
			}
			for _, timer := range timers {
				test.f.Free(timer)
			}
		}
		if len(used) > 10 {
			test.Errorf("%d records, want 10", len(used))
		}
	})
}

func TestARecordIsNewAgainAfterFree(t *testing.T) {
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.free("a")
		test.make("b")
		test.wantNotRunning("b")
		test.start("b", 6*ms)
		test.advance(10 * ms)
		test.want("b@6ms")
	})
}

func TestMisuseOfAFreedTimerPanics(t *testing.T) {
	// "A Timer that the facility did not make, or that was freed, is misuse. Where noticing it
	// costs nothing, it panics with a message that begins "BUG: "."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.make("a")
		freed := test.timer("a")
		test.free("a")
		for _, timer := range []Timer{0, freed} {
			wantPanic(test, "BUG: ", func() { test.f.Schedule(timer, 5*ms) })
			wantPanic(test, "BUG: ", func() { test.f.ScheduleRange(timer, 5*ms, 6*ms) })
			wantPanic(test, "BUG: ", func() { test.f.Stop(timer) })
			wantPanic(test, "BUG: ", func() { test.f.Deadline(timer) })
			wantPanic(test, "BUG: ", func() { test.f.Free(timer) })
		}
		test.step("# a handle past the end of the arena cannot be a timer of this facility")
		for _, timer := range []Timer{1 << 20, math.MaxUint32} {
			wantPanic(test, "", func() { test.f.Schedule(timer, 5*ms) })
			wantPanic(test, "", func() { test.f.Stop(timer) })
			wantPanic(test, "", func() { test.f.Free(timer) })
		}
		test.wantLen(0)
	})
}

func TestReserveIsBounded(t *testing.T) {
	// "[Reserve] panics if n is above 2^28."
	eachFacility(t, Config{}, func(test *facilityTest) {
		wantPanic(test, "BUG: wheel: reserve 268435457 timers, want at most 268435456",
			func() { test.f.Reserve(1<<28 + 1) })
	})
}

func TestDeadlinesRoundUpToATick(t *testing.T) {
	// "Schedule starts t (START_TIMER): it expires at the first tick not before deadline."
	eachFacility(t, Config{Origin: 300 * us}, func(test *facilityTest) {
		test.start("on", 5*ms+300*us)
		test.start("past", 5*ms+300*us+1)
		test.start("short", 6*ms+300*us-1)
		test.wantDeadline("on", 5*ms+300*us)
		test.wantDeadline("past", 6*ms+300*us)
		test.wantDeadline("short", 6*ms+300*us)
		test.advance(5*ms + 300*us - 1)
		test.want()
		test.advance(5*ms + 300*us)
		test.want("on@5.3ms")
		test.advance(6*ms + 300*us - 1)
		test.want()
		test.wantNow(5*ms + 300*us)
		test.advance(6*ms + 300*us)
		test.want("past@6.3ms", "short@6.3ms")
	})
}

func TestNoTimerIsEverEarly(t *testing.T) {
	// RFC 6298 §5, "a segment is never retransmitted too early": whatever the deadline and the
	// calls of Advance, and even where a scheme rounds, a timer expires at the tick that Deadline
	// returned, and that is not before the deadline.
	for _, tick := range []time.Duration{1, 999, time.Millisecond} {
		eachFacility(t, Config{Tick: tick, Slots: 16}, func(test *facilityTest) {
			rng := rand.New(rand.NewSource(7))
			deadlines, ticks := map[Timer]Time{}, map[Timer]Time{}
			now := Time(0)
			for range 300 {
				timer := test.f.New(0)
				at := now + Time(rng.Int63n(1000*int64(tick)))
				test.f.Schedule(timer, at)
				deadlines[timer] = at
				ticks[timer], _ = test.f.Deadline(timer)
				if late := ticks[timer].Sub(max(at, test.f.Now())); late < 0 || late >= tick && !test.rounds() {
					test.Fatalf("deadline %d becomes %d, %v late", at, ticks[timer], late)
				}
				now += Time(rng.Int63n(10 * int64(tick)))
				advanceClock(test.f, now)
				test.f.Advance(now, 0, func(timer Timer) {
					if now < deadlines[timer] || test.f.Now() < ticks[timer] {
						test.Errorf("deadline %d, tick %d expires at tick %d, clock %d", deadlines[timer], ticks[timer],
							test.f.Now(), now)
					}
					delete(deadlines, timer)
				})
				for timer, at := range ticks {
					if _, runs := deadlines[timer]; runs && at <= now.Add(-tick) {
						test.Fatalf("timer of tick %d did not expire, clock %d", at, now)
					}
				}
			}
		})
	}
}

func TestExactInstants(t *testing.T) {
	// Whatever the interval, over all wheels of a hierarchy and all rotations of one wheel, a
	// timer expires at its exact tick.
	eachFacility(t, Config{Tick: time.Nanosecond, Slots: 8}, func(test *facilityTest) {
		if test.rounds() {
			test.Skip("rounds to the granularity of a wheel, see TestNoTimerIsEverEarly")
		}
		var want []string
		for shift := range 20 {
			for d := Time(-1); d <= 1; d++ {
				if at := Time(1)<<shift + d; at > 0 && !slices.Contains(want, fmt.Sprintf("%d@%v", at, at)) {
					test.start(fmt.Sprint(int64(at)), at)
					want = append(want, fmt.Sprintf("%d@%v", at, at))
				}
			}
		}
		test.advance(1 << 20)
		test.want(want...)
	})
}

func TestTheFacilityBeginsAtItsOrigin(t *testing.T) {
	// "Origin is the instant of tick 0, and so the phase of all ticks. The facility's clock
	// begins there."
	for _, origin := range []Time{0, 123, -5 * ms, math.MinInt64, math.MaxInt64 - 100*ms} {
		eachFacility(t, Config{Origin: origin}, func(test *facilityTest) {
			test.wantNow(origin)
			test.start("a", origin+7*ms+1)
			test.wantDeadline("a", origin+8*ms)
			if origin > math.MinInt64 {
				test.start("before", origin-1)
				test.wantDeadline("before", origin)
				test.advance(origin - 1)
				test.want(fmt.Sprintf("before@%v", origin))
			}
			test.advance(origin + 8*ms)
			test.want(fmt.Sprintf("a@%v", origin+8*ms))
		})
	}
}

func TestADeadlineInThePastExpiresInTheNextAdvance(t *testing.T) {
	// "If that tick has passed, t expires in the next Advance, never inside Schedule."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.advance(10 * ms)
		test.start("past", 3*ms)
		test.start("now", 10*ms)
		test.start("first instant", math.MinInt64)
		test.start("next", 11*ms)
		test.wantLen(4)
		test.wantDeadline("past", 10*ms)
		test.wantNextExpiry(math.MaxInt64, 10*ms)

		test.step("# an Advance without time passing")
		test.advance(10 * ms)
		test.want("past@10ms", "now@10ms", "first instant@10ms")
		test.advance(11 * ms)
		test.want("next@11ms")
	})
}

func TestStartOfARunningTimerMovesIt(t *testing.T) {
	// "A running timer is moved."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.start("b", 5*ms)
		for _, at := range []Time{9 * ms, 3 * ms, 0, 200 * ms, 7 * ms} {
			test.start("a", at)
			test.wantDeadline("a", at)
			test.wantLen(2)
		}
		test.advance(6 * ms)
		test.want("b@5ms")
		test.advance(7 * ms)
		test.want("a@7ms")
		test.advance(250 * ms)
		test.want()
	})
}

func TestStopReportsWhetherTheTimerRan(t *testing.T) {
	// "Stop stops t (STOP_TIMER) and reports whether it was running."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.make("a")
		test.stop("a", false)
		test.start("a", 5*ms)
		test.stop("a", true)
		test.stop("a", false)
		test.wantNotRunning("a")
		test.wantLen(0)
		test.wantNoExpiry(math.MaxInt64)
		test.advance(10 * ms)
		test.want()

		test.step("# a stopped timer can be started again, for the same tick or an earlier one")
		test.start("a", 20*ms)
		test.stop("a", true)
		test.start("a", 20*ms)
		test.stop("a", true)
		test.start("a", 15*ms)
		test.advance(30 * ms)
		test.want("a@15ms")
		test.stop("a", false)
	})
}
