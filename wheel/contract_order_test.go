package wheel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

func TestTimersOfOneTickExpireInStartOrder(t *testing.T) {
	// "Timers of one tick expire in START order", for the schemes that promise it. A START of a
	// running timer, or after a STOP, takes a new position. Expiries in between do not matter.
	eachFacility(t, Config{Slots: 8}, func(test *facilityTest) {
		test.start("a", 40*ms)
		test.start("b", 40*ms)
		test.start("c", 40*ms)
		test.advance(10 * ms)
		test.start("d", 40*ms)
		test.start("a", 40*ms)
		test.stop("b", true)
		test.advance(35 * ms)
		test.start("e", 40*ms)
		test.start("b", 40*ms)
		if at, _ := test.f.Deadline(test.timer("c")); at != 40*ms {
			test.Skip("rounds: the timers are not of one tick")
		}
		test.advance(45 * ms)
		test.want("c@40ms", "d@40ms", "a@40ms", "e@40ms", "b@40ms")
		test.step("# also timers that were overdue when they were started")
		test.start("b", 3*ms)
		test.start("c", 45*ms)
		test.start("a", 9*ms)
		test.start("b", 44*ms)
		test.advance(45 * ms)
		test.want("c@45ms", "a@45ms", "b@45ms")
	})
}

func TestALongGapVisitsEveryTimerInOrder(t *testing.T) {
	// One Advance over ten years expires timers of any interval at their instants and in order.
	eachFacility(t, Config{}, func(test *facilityTest) {
		second := Time(time.Second)
		var want []string
		for shift := 28; shift >= 0; shift-- {
			name := fmt.Sprint(shift)
			test.start(name, second<<shift)
			at, _ := test.f.Deadline(test.timer(name))
			want = append(want, expired{name, at}.String())
		}
		slices.Reverse(want)
		test.advance(second << 30)
		test.want(want...)
		test.wantNow(second << 30)
	})
}

func TestTicksOf290Years(t *testing.T) {
	// Time and the number of ticks of 1 ns reach to 2^63: 292 years.
	eachFacility(t, Config{Tick: time.Nanosecond}, func(test *facilityTest) {
		year := Time(365 * 24 * time.Hour)
		if test.last() < 290*year {
			test.Skip("the virtual clock that this scheme is tested on ends before")
		}
		for _, y := range []Time{1, 10, 100, 200, 290} {
			test.start(fmt.Sprint(int64(y)), y*year)
		}
		test.start("end", math.MaxInt64)
		if test.rounds() {
			test.advance(math.MaxInt64)
			test.unclaimed = nil
			test.wantNow(math.MaxInt64)
			return
		}
		test.advance(200*year - 1)
		test.want(fmt.Sprintf("1@%v", year), fmt.Sprintf("10@%v", 10*year), fmt.Sprintf("100@%v", 100*year))
		test.wantNextExpiry(math.MaxInt64, 200*year)
		test.advance(290 * year)
		test.want(fmt.Sprintf("200@%v", 200*year), fmt.Sprintf("290@%v", 290*year))
		test.advance(math.MaxInt64 - 1)
		test.want()
		test.advance(math.MaxInt64)
		test.want(fmt.Sprintf("end@%v", Time(math.MaxInt64)))
		test.step("# at the end of time, every deadline has passed")
		test.start("after", math.MaxInt64)
		test.advance(math.MaxInt64)
		test.want(fmt.Sprintf("after@%v", Time(math.MaxInt64)))
	})
}
