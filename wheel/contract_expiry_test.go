package wheel

import (
	"math"
	"testing"
)

func TestWhatIsTrueWhileATimerExpires(t *testing.T) {
	// "While expire runs, t is not running, and Now is the tick at which t was due, or the tick
	// at which this Advance began if t was started too late."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.onExpiry("a", func() {
			test.wantNotRunning("a")
			test.stop("a", false)
			test.wantNow(5 * ms)
			test.wantLen(1)
			test.wantNextExpiry(math.MaxInt64, 8*ms)
		})
		test.onExpiry("late", func() { test.wantNow(20 * ms) })
		test.start("a", 5*ms-1)
		test.start("b", 8*ms)
		test.advance(20 * ms)
		test.want("a@5ms", "b@8ms")
		test.start("late", 7*ms)
		test.start("c", 21*ms)
		test.advance(30 * ms)
		test.want("late@20ms", "c@21ms")
		test.wantNow(30 * ms)
	})
}

func TestMakingManyTimersFromExpiry(t *testing.T) {
	// The arena may grow during an Advance.
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.onExpiry("a", func() {
			for i := range 1000 {
				test.f.Schedule(test.f.New(0), 6*ms+Time(i%100)*ms)
			}
		})
		advanceClock(test.f, 200*ms)
		n, done := test.f.Advance(200*ms, 0, func(timer Timer) {
			if test.f.Owner(timer) != 0 {
				test.expire(timer)
			}
		})
		if n != 1001 || !done {
			test.Errorf("Advance = %d, %t, want 1001 expiries", n, done)
		}
		test.want("a@5ms")
	})
}

func TestAdvanceFromExpiryPanics(t *testing.T) {
	// "Calling Advance from expire is misuse and panics."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.onExpiry("a", func() {
			wantPanic(test, "BUG: wheel: Advance called while a timer expires", func() { test.f.Advance(6*ms, 0, test.expire) })
		})
		test.advance(10 * ms)
		test.want("a@5ms")
	})
}

func TestAStartInThePastFromExpiryWaitsForTheNextAdvance(t *testing.T) {
	// The same from within the expiry function: otherwise a timer that restarts itself for now
	// would keep Advance from returning.
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.onExpiry("again", func() { test.f.Schedule(test.timer("again"), test.f.Now()) })
		test.start("again", 5*ms)
		test.start("later", 8*ms)
		test.advance(10 * ms)
		test.want("again@5ms", "later@8ms")
		test.wantDeadline("again", 5*ms)
		test.wantNextExpiry(math.MaxInt64, 10*ms)
		test.advance(20 * ms)
		test.want("again@10ms")
	})
}
