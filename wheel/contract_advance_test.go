package wheel

import (
	"fmt"
	"math"
	"testing"
)

func TestAClockThatStepsBackIsNoTimePassing(t *testing.T) {
	// "A now earlier than a previous one counts as no time passing."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.advance(50 * ms)
		for _, back := range []Time{49 * ms, 0, -ms, math.MinInt64} {
			test.start("a", 60*ms)
			test.advance(back)
			test.want()
			test.wantNow(50 * ms)
			test.wantDeadline("a", 60*ms)
		}
		test.start("b", 40*ms)
		test.advance(30 * ms)
		test.want("b@50ms")
		test.advance(59 * ms)
		test.want()
		test.advance(60 * ms)
		test.want("a@60ms")
	})
}

func TestAdvanceCallsAtMostLimit(t *testing.T) {
	// "[...] at most limit times if limit is above 0. It returns how many expired. done is false
	// if the limit ended it. The next call then continues with the next due timer, [...]"
	eachFacility(t, Config{}, func(test *facilityTest) {
		for i := range 10 {
			test.start(fmt.Sprint(i), Time(1+i)*ms)
		}
		test.advanceLimit(20*ms, 3, false)
		test.want("0@1ms", "1@2ms", "2@3ms")
		test.wantNow(3 * ms)
		test.wantLen(7)
		test.wantNextExpiry(math.MaxInt64, 4*ms)
		test.step("# the same instant again, or an earlier one, continues the Advance")
		test.advanceLimit(0, 5, false)
		test.want("3@4ms", "4@5ms", "5@6ms", "6@7ms", "7@8ms")
		test.step("# a timer started in between for an earlier tick expires in order")
		test.start("early", 9*ms)
		test.start("9", 9*ms+1)
		test.advanceLimit(20*ms, 2, false)
		test.want("8@9ms", "early@9ms")
		test.advanceLimit(20*ms, 2, true)
		test.want("9@10ms")
		test.wantNow(20 * ms)
	})
}

func TestAnAdvanceCutShortEndsBeforeTheNextBegins(t *testing.T) {
	// "[...] to the end of the Advance that was cut short, and from there to its own now as a new
	// Advance. Timers started in between with a passed deadline expire between the two."
	eachFacility(t, Config{}, func(test *facilityTest) {
		test.start("a", 5*ms)
		test.start("b", 6*ms)
		test.start("c", 15*ms)
		test.advanceLimit(10*ms, 1, false)
		test.want("a@5ms")
		test.start("late", 2*ms)
		test.step("# even if calls never catch up with their now, it expires")
		test.advanceLimit(20*ms, 2, false)
		test.want("b@6ms", "late@10ms")
		test.advance(20 * ms)
		test.want("c@15ms")
	})
}
