package wheel

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// TestBubbleHasItsOwnClock: hours of AfterFunc, NewTimer and Alarm take no time in a bubble, where
// Start and NewAlarm have only their defaults.
func TestBubbleHasItsOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		rt := startTest(t, RealtimeConfig{})
		done := make(chan time.Duration)
		rt.AfterFunc(3*time.Hour, func() { done <- time.Since(begin) })
		stopped := rt.NewTimer(2 * time.Hour)
		if at := <-rt.NewTimer(time.Hour).C; at.Sub(begin) != time.Hour {
			t.Errorf("NewTimer of 1 h expired after %v", at.Sub(begin))
		}
		if !stopped.Stop() {
			t.Error("the timer of 2 h does not run after 1 h")
		}
		if after := <-done; after != 3*time.Hour {
			t.Errorf("AfterFunc of 3 h ran after %v", after)
		}
		a, err := NewAlarm(AlarmConfig{Epoch: begin})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		a.Arm(Time(24 * time.Hour))
		if err := a.Wait(); err != nil || time.Since(begin) != 24*time.Hour {
			t.Errorf("an alarm for 24 h went off after %v, %v", time.Since(begin), err)
		}
	})
}

// TestTimerfdOutsideBubbles: the search for a bubble does not mistake the machine's clock.
func TestTimerfdOutsideBubbles(t *testing.T) {
	for range 1000 {
		a, err := NewAlarm(AlarmConfig{})
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := a.clock.(*runtimeClock); ok == (runtime.GOOS == "linux") {
			t.Fatalf("the alarm's clock is a %T", a.clock)
		}
		a.Close()
	}
}
