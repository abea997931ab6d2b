package wheel

import (
	"testing"
	"time"
)

// TestTimerfdLearns: the time that the machine takes to wake a goroutine becomes the lead, unless
// NoSpin is set.
func TestTimerfdLearns(t *testing.T) {
	const sleep = 300 * time.Microsecond
	for _, noSpin := range []bool{false, true} {
		a := newTestAlarm(t, AlarmConfig{NoSpin: noSpin})
		lead := time.Duration(0) // the longest seen; some sleeps have none
		for range 50 {
			a.Arm(a.Now().Add(sleep))
			lead = max(lead, time.Duration(a.clock.(*timerfd).lead.Load()))
			a.wait(t)
		}
		if (lead == 0) != noSpin || lead > sleep/4 {
			t.Errorf("NoSpin: %t: the lead is %v after 50 sleeps of %v", noSpin, lead, sleep)
		}
	}
}

// TestTimerfdPark: neither a report of a replaced instant nor an alarm that went off without a
// waiter keeps the alarm from going off at the right instant.
func TestTimerfdPark(t *testing.T) {
	a := newTestAlarm(t, AlarmConfig{})
	for range 200 {
		a.Arm(a.Now())
		for range 3 {
			a.Arm(a.Now().Add(20 * time.Microsecond)) // the kernel may report the previous instant
		}
		at := a.Now().Add(100 * time.Microsecond)
		a.Arm(at)
		for a.Now() < at {
			a.wait(t) // may return early for a replaced instant
		}
	}
	// Nothing is left to wake the goroutine, even if the last alarm went off without a waiter.
	a.Disarm()
	woken := a.waitInBackground()
	select {
	case <-woken:
		t.Error("woken up by an alarm that was not set")
	case <-time.After(20 * time.Millisecond):
	}
}
