package wheel

import (
	"fmt"
	"math"
	"testing"
)

func TestScheduleRangeLeavesATimerWithinTheRangeAlone(t *testing.T) {
	// "The rules are those of Ratas: a timer that already expires within the range stays
	// untouched; [...]"
	eachFacility(t, Config{Count: true}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.start("b", 5*ms)
		starts := test.f.Counts().Starts
		for _, r := range [][2]Time{{5 * ms, 5 * ms}, {4 * ms, 6 * ms}, {math.MinInt64, math.MaxInt64}, {4*ms + 1, 5 * ms}} {
			test.startRange("a", r[0], r[1])
			test.wantDeadline("a", 5*ms)
		}
		if got := test.f.Counts().Starts; got != starts {
			test.Errorf("%d STARTs, want none of a timer that stays untouched", got-starts)
		}
		test.advance(5 * ms)
		test.want("a@5ms", "b@5ms")

		test.step("# a timer that is not running is started")
		test.startRange("a", 6*ms, 7*ms)
		test.wantLen(1)
		test.advance(7 * ms)
		test.unclaimed = test.unclaimed[1:]
		test.step("# so is a timer that expires outside the range")
		test.start("a", 9*ms)
		test.startRange("a", 20*ms, 20*ms)
		test.wantDeadline("a", 20*ms)
		test.startRange("a", 12*ms, 12*ms)
		test.wantDeadline("a", 12*ms)
	})
}

func TestScheduleRangePrefersNoMigrationThenTheLatestTick(t *testing.T) {
	// "[...] otherwise a tick is preferred that costs no migration; otherwise the latest one."
	eachFacility(t, Config{Slots: 16, Count: true}, func(test *facilityTest) {
		_, prefers := test.f.(ranger)
		test.step("# ticks 20 to 40 hold tick 32, at which a hierarchy of 16 slots has nothing to migrate")
		test.startRange("a", 20*ms, 40*ms)
		at, _ := test.f.Deadline(test.timer("a"))
		if !prefers && !test.rounds() && at != 40*ms {
			test.Errorf("range 20ms to 40ms: %v, want the latest", at)
		}
		test.advance(100 * ms)
		test.want(fmt.Sprintf("a@%v", at))
		if got := test.f.Counts().Migrations; got != 0 {
			test.Errorf("%d migrations to %v, want 0: the range has a tick without a migration", got, at)
		}
		test.step("# within the first wheel no tick costs a migration")
		test.startRange("b", 103*ms, 110*ms)
		test.wantDeadline("b", 110*ms)
		test.advance(110 * ms)
		test.want("b@110ms")
	})
}

func TestScheduleRangeWithoutATick(t *testing.T) {
	// A range between two ticks gives the first tick after it, as Schedule does. A range in the
	// past expires in the next Advance. A range that ends before it begins is misuse.
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.startRange("between", 5*ms+1, 5*ms+2)
		test.wantDeadline("between", 6*ms)
		test.advance(6 * ms)
		test.want("between@6ms")
		test.startRange("past", 2*ms, 3*ms)
		test.wantDeadline("past", 6*ms)
		test.advance(6 * ms)
		test.want("past@6ms")
		// "It panics if latest is before earliest."
		wantPanic(test, "BUG: wheel: range ends at 4ms before it begins at 5ms",
			func() { test.f.ScheduleRange(test.timer("past"), 5*ms, 4*ms) })
		test.wantNotRunning("past")
	})
}
