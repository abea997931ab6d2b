package wheel

import (
	"testing"
	"time"
)

// TestTimerfdLearns: what the machine takes to wake a goroutine up makes a lead, except where the alarm is not to spin.
func TestTimerfdLearns(t *testing.T) {
	const sleep = 300 * time.Microsecond
	for _, noSpin := range []bool{false, true} {
		a := newTestAlarm(t, AlarmConfig{NoSpin: noSpin})
		lead := time.Duration(0) // the longest: an instant that has come before the clock was set for it has none
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

// TestTimerfdPark: a report of an instant that was replaced does not keep the alarm from going off at the right one,
// nor does one that went off before anybody waited.
func TestTimerfdPark(t *testing.T) {
	a := newTestAlarm(t, AlarmConfig{})
	for range 200 {
		a.Arm(a.Now())
		for range 3 {
			a.Arm(a.Now().Add(20 * time.Microsecond)) // the kernel has reported the one before, or is about to
		}
		at := a.Now().Add(100 * time.Microsecond)
		a.Arm(at)
		for a.Now() < at {
			a.wait(t) // may return early for one that was replaced
		}
	}
	// Nothing is left that would wake anybody up, be it that the last one went off with nobody waiting.
	a.Disarm()
	woken := a.waitInBackground()
	select {
	case <-woken:
		t.Error("woken up by an alarm that was not set")
	case <-time.After(20 * time.Millisecond):
	}
}
