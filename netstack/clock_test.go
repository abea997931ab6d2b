package netstack

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

func startClock(t testing.TB, cfg ClockConfig) *Clock {
	t.Helper()
	c, err := NewClock(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// inClockBubble runs a test with several configurations on synctest's fake clock, which also finds
// leaked goroutines.
func inClockBubble(t *testing.T, tick time.Duration, test func(t *testing.T, c *Clock)) {
	for _, scheme := range []string{"scheme1", "scheme3", "scheme6", "scheme7"} {
		for _, shards := range []int{1, 4} {
			t.Run(fmt.Sprintf("scheme=%s/shards=%d", scheme, shards), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := ClockConfig{Shards: shards}
					cfg.Scheme, cfg.Tick = scheme, tick
					test(t, startClock(t, cfg))
				})
			})
		}
	}
}

// TestClockExpiresAtTheNextTick: a timer expires at the first tick not before its deadline.
// Readings of the time are not rounded.
func TestClockExpiresAtTheNextTick(t *testing.T) {
	const tick = 10 * time.Millisecond
	inClockBubble(t, tick, func(t *testing.T, c *Clock) {
		start := time.Now()
		time.Sleep(3 * time.Millisecond)
		for _, tc := range []struct{ d, want time.Duration }{
			{-time.Second, tick}, {0, tick}, {1, tick}, {7 * time.Millisecond, tick}, {7*time.Millisecond + 1, 2 * tick},
			{time.Second, time.Second + tick},
		} {
			c.AfterFunc(tc.d, func() {
				if got := c.NowMonotonic().Sub(tcpip.MonotonicTime{}); got != tc.want {
					t.Errorf("a timer of %v, started at 3ms, expired at %v, want %v", tc.d, got, tc.want)
				}
			})
		}
		if got := c.NowMonotonic().Sub(tcpip.MonotonicTime{}); got != 3*time.Millisecond {
			t.Errorf("the monotonic time is %v, want 3ms", got)
		}
		if got := c.Now(); !got.Equal(start.Add(3 * time.Millisecond)) {
			t.Errorf("the time of day is %v, want %v", got, start.Add(3*time.Millisecond))
		}
		time.Sleep(2 * time.Second)
		if got := c.Stats(); got.Expiries != 6 || got.Running != 0 {
			t.Errorf("%d timers expired and %d run, want 6 and 0", got.Expiries, got.Running)
		}
	})
}

// TestClockStopAndReset: Stop reports whether it stopped the timer; Reset starts a timer in any
// state.
func TestClockStopAndReset(t *testing.T) {
	inClockBubble(t, time.Millisecond, func(t *testing.T, c *Clock) {
		var runs atomic.Int32
		timer := c.AfterFunc(5*time.Millisecond, func() { runs.Add(1) })
		if !timer.Stop() {
			t.Error("Stop of a running timer returned false")
		}
		if timer.Stop() {
			t.Error("the second Stop returned true")
		}
		expect := func(want int32, what string) {
			t.Helper()
			synctest.Wait()
			if got := runs.Load(); got != want {
				t.Errorf("%d runs, want %d: %s", got, want, what)
			}
		}
		time.Sleep(10 * time.Millisecond)
		expect(0, "it was stopped")

		timer.Reset(5 * time.Millisecond)
		time.Sleep(4 * time.Millisecond)
		timer.Reset(5 * time.Millisecond)
		time.Sleep(4 * time.Millisecond)
		expect(0, "it was moved")
		time.Sleep(time.Millisecond)
		expect(1, "it is due")
		if timer.Stop() {
			t.Error("Stop of a timer that has expired returned true")
		}
		timer.Reset(5 * time.Millisecond)
		time.Sleep(time.Second)
		expect(2, "it was started again after it had expired")
	})
}

// TestClockFunctionMayBlock: functions that wait for a lock block neither Stop, called with that
// lock held, nor other timers. gVisor's endpoints and tcpip.Job do that.
func TestClockFunctionMayBlock(t *testing.T) {
	inClockBubble(t, time.Millisecond, func(t *testing.T, c *Clock) {
		const blocked = 10
		var mu sync.Mutex
		var timers []tcpip.Timer
		free := make(chan struct{})
		ran := 0
		for range blocked {
			timers = append(timers, c.AfterFunc(time.Millisecond, func() {
				<-free
				mu.Lock()
				defer mu.Unlock()
				ran++
				timers[0].Reset(time.Hour)
				timers[0].Stop()
			}))
		}
		other := make(chan struct{})
		c.AfterFunc(2*time.Millisecond, func() { close(other) })
		time.Sleep(time.Millisecond)
		synctest.Wait()
		mu.Lock()
		for i, timer := range timers {
			if timer.Stop() {
				t.Errorf("Stop of timer %d returned true while its function runs", i)
			}
		}
		<-other
		mu.Unlock()
		close(free)
		synctest.Wait()
		if ran != blocked {
			t.Errorf("%d functions ended, want %d", ran, blocked)
		}
	})
}

// TestClockSleepsWhenIdle: without timers the clock never wakes up. With timers each shard wakes up
// for their ticks, and at most one more time for stopped timers.
func TestClockSleepsWhenIdle(t *testing.T) {
	inClockBubble(t, time.Millisecond, func(t *testing.T, c *Clock) {
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := c.Stats().Wakeups; got != 0 {
			t.Errorf("%d wake-ups in an hour without timers, want 0", got)
		}
		c.AfterFunc(time.Hour, func() {})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := c.Stats().Wakeups; got != 1 {
			t.Errorf("%d wake-ups in a day with one timer of an hour, want 1", got)
		}
		for range 100 {
			c.AfterFunc(2*time.Hour, func() {}).Stop()
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got, want := c.Stats().Wakeups-1, uint64(len(c.shards)); got > want {
			t.Errorf("%d wake-ups in a day after all timers were stopped, want at most %d", got, want)
		}
	})
}

// TestClockClose: a closed clock has stopped its timers, starts none, and can be read. A second
// Close does nothing; a function may call Close. synctest proves that no goroutine is left.
func TestClockClose(t *testing.T) {
	inClockBubble(t, time.Millisecond, func(t *testing.T, c *Clock) {
		late := c.AfterFunc(time.Hour, func() { t.Error("a timer expired after Close") })
		var closed atomic.Bool
		c.AfterFunc(time.Minute, func() { closed.Store(c.Close() == nil) })
		time.Sleep(time.Minute)
		synctest.Wait()
		if !closed.Load() {
			t.Fatal("a function did not close its clock")
		}
		if err := c.Close(); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		if late.Stop() {
			t.Error("Stop returned true on a closed clock")
		}
		late.Reset(time.Millisecond)
		c.AfterFunc(0, func() { t.Error("a timer expired that was started after Close") })
		time.Sleep(24 * time.Hour)
		if got, want := c.Time(), wheel.Time(24*time.Hour+time.Minute); got != want {
			t.Errorf("the time of a closed clock is %v, want %v", got, want)
		}
		if got := c.Stats().Running; got != 0 {
			t.Errorf("%d timers run on a closed clock", got)
		}
	})
}

// TestClockOnTheMachine runs timers on the machine's clock from several goroutines: each expires
// once, none early.
func TestClockOnTheMachine(t *testing.T) {
	cfg := ClockConfig{Shards: 2}
	cfg.Tick = 100 * time.Microsecond
	c := startClock(t, cfg)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 100 {
				d := time.Duration(i) * 20 * time.Microsecond
				due := c.NowMonotonic().Add(d)
				all.Add(1)
				c.AfterFunc(d, func() {
					defer all.Done()
					if now := c.NowMonotonic(); now.Before(due) {
						t.Errorf("a timer expired %v early", due.Sub(now))
					}
				})
				c.AfterFunc(time.Hour, func() { t.Error("a stopped timer expired") }).Stop()
			}
		})
	}
	all.Wait()
}

func TestClockConfigErrors(t *testing.T) {
	for _, tc := range []struct {
		cfg  func(*ClockConfig)
		want string
	}{
		{func(c *ClockConfig) { c.Shards = -1 }, "shards -1, want 1 to 256"},
		{func(c *ClockConfig) { c.Shards = 257 }, "shards 257, want 1 to 256"},
		{func(c *ClockConfig) { c.Tick = -1 }, "netstack: clock: wheel: tick"},
		{func(c *ClockConfig) { c.Scheme = "scheme8" }, `"scheme8"`},
		{func(c *ClockConfig) { c.Scheme = "runtime" }, `"runtime"`},
	} {
		var cfg ClockConfig
		tc.cfg(&cfg)
		if _, err := NewClock(cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want one with %s", err, tc.want)
		}
	}
}
