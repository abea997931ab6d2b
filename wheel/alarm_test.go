package wheel

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// onClocks runs a test on each kind of alarm clock of the system.
func onClocks(t *testing.T, test func(t *testing.T, cfg AlarmConfig)) {
	t.Run("clock=system", func(t *testing.T) { test(t, AlarmConfig{}) })
	t.Run("clock=system/spin=no", func(t *testing.T) { test(t, AlarmConfig{NoSpin: true}) })
	t.Run("clock=runtime", func(t *testing.T) { test(t, AlarmConfig{RuntimeTimers: true}) })
}

func newTestAlarm(t *testing.T, cfg AlarmConfig) *Alarm {
	t.Helper()
	a, err := NewAlarm(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// wait waits for the alarm. It fails the test if Wait returns an error.
func (a *Alarm) wait(t *testing.T) {
	t.Helper()
	if err := a.Wait(); err != nil {
		t.Fatalf("Wait() = %v, want nil", err)
	}
}

// waitInBackground returns a channel that receives what Wait returns.
func (a *Alarm) waitInBackground() <-chan error {
	c := make(chan error, 1)
	go func() { c <- a.Wait() }()
	return c
}

// TestAlarmNeverEarly: Wait may return early for a replaced instant, which the system reports
// late. That is rare, and happens at most once per instant.
func TestAlarmNeverEarly(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		rng := rand.New(rand.NewPCG(1, 2))
		const instants = 300
		early := 0
		for range instants {
			at := a.Now().Add(time.Duration(rng.IntN(1 << rng.IntN(19)))) // many come before Wait has begun
			a.Arm(at)
			a.wait(t)
			if now := a.Now(); now < at {
				early++
				a.wait(t)
			}
			if now := a.Now(); now < at {
				t.Fatalf("went off twice before %v, at %v", at, now)
			}
		}
		if early > instants/10 || cfg.RuntimeTimers && early > 0 {
			t.Errorf("went off early %d times of %d", early, instants)
		}
	})
}

func TestAlarmInThePast(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		for _, at := range []Time{math.MinInt64, -1, 0, 1, a.Now()} {
			a.Arm(at)
			a.wait(t)
		}
	})
}

// TestAlarmWakesWaiter sets an alarm to later and earlier instants while a goroutine sleeps on
// it.
func TestAlarmWakesWaiter(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		for _, far := range []Time{Time(time.Hour), farFuture, math.MaxInt64 - 1} {
			a.Arm(far)
			woken := a.waitInBackground()
			time.Sleep(time.Millisecond)
			a.ArmEarlier(a.Now().Add(time.Millisecond))
			if err := <-woken; err != nil {
				t.Fatalf("Wait() = %v, want nil", err)
			}
			if now := a.Now(); now >= far {
				t.Fatalf("woken at %v, want before %v", now, far)
			}
		}
	})
}

// farFuture is beyond the last instant to which a timerfd of a 32-bit architecture is set.
const farFuture = Time(200 * 365 * 24 * time.Hour)

func TestAlarmArmEarlier(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		steps := []struct {
			name string
			do   func()
			want uint64
		}{
			{"nothing is armed", func() { a.ArmEarlier(Time(3 * time.Hour)) }, 1},
			{"later", func() { a.ArmEarlier(Time(4 * time.Hour)) }, 1},
			{"equal", func() { a.ArmEarlier(Time(3 * time.Hour)) }, 1},
			{"earlier", func() { a.ArmEarlier(Time(2 * time.Hour)) }, 2},
			{"never", func() { a.ArmEarlier(math.MaxInt64) }, 2},
			{"Arm later", func() { a.Arm(Time(3 * time.Hour)) }, 3},
			{"earlier than that", func() { a.ArmEarlier(Time(2 * time.Hour)) }, 4},
			{"disarm", func() { a.Disarm() }, 5},
			{"disarm again", func() { a.Disarm() }, 5},
			{"go off", func() { a.Arm(0); a.wait(t) }, 6},
			{"it has gone off and was not armed again", func() { a.ArmEarlier(Time(time.Hour)) }, 6},
			{"disarm what has gone off", func() { a.Disarm() }, 6},
			{"nothing is armed again", func() { a.ArmEarlier(Time(time.Hour)) }, 7},
			{"closed", func() { a.Close(); a.Arm(0); a.ArmEarlier(0); a.Disarm() }, 7},
		}
		for _, s := range steps {
			s.do()
			if got := a.Sets(); got != s.want {
				t.Errorf("%s: the clock was set %d times, want %d", s.name, got, s.want)
			}
		}
	})
}

func TestAlarmDisarm(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		a.Arm(0)
		a.Disarm() // went off without a waiter
		var woken <-chan error
		for disarmed := false; !disarmed; { // again if it may have gone off before Disarm
			woken = a.waitInBackground()
			at := a.Now().Add(50 * time.Millisecond)
			a.Arm(at)
			a.Disarm()
			if disarmed = a.Now() < at; !disarmed {
				a.Arm(0)
				<-woken
				a.Disarm() // if it woke before Disarm
			}
		}
		select {
		case err := <-woken:
			t.Fatalf("Wait() = %v after Disarm, want it to sleep", err)
		case <-time.After(70 * time.Millisecond):
		}
		a.Arm(0)
		if err := <-woken; err != nil {
			t.Fatalf("Wait() = %v, want nil", err)
		}
	})
}

func TestAlarmClose(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		woken := a.waitInBackground()
		time.Sleep(time.Millisecond)
		for range 2 {
			if err := a.Close(); err != nil {
				t.Errorf("Close() = %v, want nil", err)
			}
		}
		if err := <-woken; !errors.Is(err, os.ErrClosed) {
			t.Errorf("Wait() = %v after Close, want %v", err, os.ErrClosed)
		}
		if err := a.Wait(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Wait() = %v when closed, want %v", err, os.ErrClosed)
		}
	})
}

func TestAlarmEpoch(t *testing.T) {
	epoch := time.Now()
	a := newTestAlarm(t, AlarmConfig{Epoch: epoch})
	b := newTestAlarm(t, AlarmConfig{Epoch: epoch, RuntimeTimers: true})
	for range 1000 {
		x, y, z := a.Now(), b.Now(), a.Now()
		if x > y || y > z || x < 0 {
			t.Fatalf("alarms of one epoch read %v, %v, %v", x, y, z)
		}
	}
	// An epoch without a monotonic reading is converted once.
	c := newTestAlarm(t, AlarmConfig{Epoch: time.Unix(0, 0)})
	if now := c.Now(); now < Time(50*365*24*time.Hour) {
		t.Fatalf("now is %v after 1970", now)
	}
	c.Arm(c.Now().Add(time.Millisecond))
	c.wait(t)
}

func TestAlarmDoesNotAllocate(t *testing.T) {
	onClocks(t, func(t *testing.T, cfg AlarmConfig) {
		a := newTestAlarm(t, cfg)
		at := Time(time.Hour)
		if n := testing.AllocsPerRun(100, func() {
			a.ArmEarlier(at)
			a.Arm(at - 1)
			a.Disarm()
		}); n != 0 {
			t.Errorf("%v allocations, want 0", n)
		}
	})
}
