package wheel

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
)

func TestNextExpiryUnderALimit(t *testing.T) {
	// "NextExpiry returns the exact instant of the next expiry, if that is not after limit. [...]
	// If a deadline has passed, NextExpiry returns Now."
	eachFacility(t, Config{Slots: 16}, func(test *facilityTest) {
		test.wantNoExpiry(math.MaxInt64)
		test.start("a", 10*ms-1)
		test.start("b", 90*ms)
		test.wantNextExpiry(math.MaxInt64, 10*ms)
		test.wantNextExpiry(10*ms, 10*ms)
		test.wantNoExpiry(10*ms - 1)
		test.wantNoExpiry(0)
		test.wantNoExpiry(-1)
		test.stop("a", true)
		test.wantNoExpiry(30 * ms)
		at, _ := test.f.Deadline(test.timer("b"))
		test.wantNextExpiry(math.MaxInt64, at)
		test.wantNextExpiry(at, at)
		test.wantNoExpiry(at - 1)
		test.advance(20 * ms)
		test.start("late", 3*ms)
		test.wantNextExpiry(math.MaxInt64, 20*ms)
		test.wantNextExpiry(20*ms, 20*ms)
		test.wantNoExpiry(20*ms - 1)
		test.advance(20 * ms)
		test.want("late@20ms")
	})
}

func TestNextWakeupAloneDrivesAFacility(t *testing.T) {
	// "NextWakeup returns the first instant at which Advance may have work to do: never later
	// than the next expiry, but earlier where a busy slot holds timers of later rotations. [...]
	// ok is false when no timer runs."
	eachFacility(t, Config{Slots: 16}, func(test *facilityTest) {
		if at, ok := test.f.NextWakeup(); ok {
			test.Fatalf("NextWakeup() = %v, want none", at)
		}
		var want []string
		for i, at := range []Time{3, 5, 5, 17, 40, 41, 100, 255, 256, 300} {
			name := fmt.Sprint(i)
			test.start(name, at*ms)
			tick, _ := test.f.Deadline(test.timer(name))
			want = append(want, expired{name, tick}.String())
		}
		var got []string
		for wakeups := 0; ; wakeups++ {
			at, ok := test.f.NextWakeup()
			if !ok {
				break
			}
			if next, _ := test.f.NextExpiry(math.MaxInt64); wakeups > 1000 || at > next || at <= test.f.Now() {
				test.Fatalf("wake-up %d at %v, now %v, next expiry %v", wakeups, at, test.f.Now(), next)
			}
			advanceClock(test.f, at)
			test.f.Advance(at, 0, test.expire)
			if len(test.unclaimed) > 0 && test.f.Now() != at {
				test.Errorf("woke at %v, now %v", at, test.f.Now())
			}
			for _, e := range test.unclaimed {
				got = append(got, e.String())
			}
			test.unclaimed = nil
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			test.Errorf("expired %v, want %v", got, want)
		}
		test.start("late", 0)
		if at, ok := test.f.NextWakeup(); !ok || at != test.f.Now() {
			test.Errorf("with an overdue timer NextWakeup() = %v, %t, want now", at, ok)
		}
	})
}

func TestAnIdleFacilityCostsNothing(t *testing.T) {
	// With no timer, an Advance over any gap visits nothing and wakes up for nothing.
	eachFacility(t, Config{Tick: time.Nanosecond, Count: true}, func(test *facilityTest) {
		test.start("a", 5)
		test.advance(10)
		test.want("a@5ns")
		before := test.f.Counts()
		for _, gap := range []Time{1, 1000, 1 << 30, 1 << 61} {
			test.advance(test.f.Now() + gap)
		}
		if cost := test.f.Counts().Sub(before); cost != (Counts{}) {
			test.Errorf("an idle facility counts %+v, want nothing", cost)
		}
	})
}

func TestLen(t *testing.T) {
	// "Len returns the number of running timers."
	eachFacility(t, Config{}, func(test *facilityTest) {
		for i := range 20 {
			test.wantLen(i)
			test.start(fmt.Sprint(i), Time(i)*ms) // the first is overdue
		}
		test.start("7", 3*ms)
		test.wantLen(20)
		test.stop("8", true)
		test.wantLen(19)
		test.advanceLimit(30*ms, 4, false)
		test.wantLen(15)
		test.unclaimed = nil
		test.advance(30 * ms)
		test.wantLen(0)
		test.unclaimed = nil
	})
}

func TestCounts(t *testing.T) {
	// "Counts returns the operation counts, all 0 unless Config.Count was set. ResetCounts sets
	// them to 0."
	for _, count := range []bool{false, true} {
		eachFacility(t, Config{Count: count}, func(test *facilityTest) {
			if count && uncounted[test.scheme] {
				test.Skip("counts nothing")
			}
			for i := range 10 {
				test.start(fmt.Sprint(i), Time(i)*ms)
			}
			test.start("3", 5*ms)
			test.stop("4", true)
			test.stop("4", false)
			test.advance(20 * ms)
			test.unclaimed = nil
			got := test.f.Counts()
			if !count {
				if got != (Counts{}) {
					test.Errorf("Counts() = %+v, want all 0", got)
				}
				return
			}
			if got.Starts != 11 || got.Stops != 1 || got.Expiries != 9 || got.TickVisits < 9 || got.Wakeups < 8 {
				test.Errorf("Counts() = %+v, want 11 starts, 1 stop, 9 expiries, visits, and wake-ups for 8 ticks", got)
			}
			if v := got.Visits(); v != got.StartVisits+got.StopVisits+got.TickVisits {
				test.Errorf("Visits() = %d of %+v", v, got)
			}
			test.start("a", 25*ms)
			if diff := test.f.Counts().Sub(got); diff.Starts != 1 || diff.Expiries != 0 || diff.TickVisits != 0 {
				test.Errorf("one START counts %+v", diff)
			}
			test.f.ResetCounts()
			if got := test.f.Counts(); got != (Counts{}) {
				test.Errorf("after ResetCounts: %+v", got)
			}
		})
	}
}
