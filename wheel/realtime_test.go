package wheel

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func startTest(t testing.TB, cfg RealtimeConfig) *Realtime {
	t.Helper()
	rt, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { rt.Close() })
	return rt
}

// inBubble runs a test for each scheme on the fake clock of synctest, where computation takes no
// time.
func inBubble(t *testing.T, tick time.Duration, test func(t *testing.T, rt *Realtime)) {
	for _, scheme := range Schemes() {
		if scheme == "runtime" {
			continue // Start refuses it
		}
		t.Run("scheme="+scheme, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := RealtimeConfig{Scheme: scheme, Tick: tick}
				test(t, startTest(t, cfg))
			})
		})
	}
}

// TestRealtimeExpiresAtItsTick: on a clock without lateness, each timer expires exactly at its
// rounded-up tick, and each tick with timers costs one wake-up.
func TestRealtimeExpiresAtItsTick(t *testing.T) {
	const tick = 100 * time.Microsecond
	inBubble(t, tick, func(t *testing.T, rt *Realtime) {
		rng := rand.New(rand.NewPCG(3, 4))
		ticks := map[Time]bool{}
		var expired sync.WaitGroup
		for i := range 500 {
			d := time.Duration(rng.IntN(int(50 * time.Millisecond)))
			asked := rt.Now().Add(d)
			var due Time
			f := func() {
				defer expired.Done()
				switch now := rt.Now(); {
				case now != due:
					t.Errorf("timer %d expired at %v, want %v", i, now, due)
				case now < asked:
					t.Errorf("timer %d expired %v before its deadline", i, asked.Sub(now))
				case now.Sub(asked) >= tick && rt.wheel.Scheme() == Default: // others may round
					t.Errorf("timer %d expired %v after its deadline, want less than %v", i, now.Sub(asked), tick)
				}
			}
			expired.Add(1)
			start := rt.AfterFunc
			if i%2 == 0 {
				start = rt.InlineFunc
			}
			due, _ = start(d, f).Deadline()
			ticks[due] = true
		}
		rt.Stats() // its lock orders the writes of ticks before all functions
		expired.Wait()
		synctest.Wait()
		if s := rt.Stats(); s.Wakeups != uint64(len(ticks)) || s.Expiries != 500 || s.Running != 0 {
			t.Errorf("%+v, want %d wake-ups, 500 expiries, 0 running", s, len(ticks))
		}
	})
}

func TestRealtimeOrder(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		rng := rand.New(rand.NewPCG(5, 6))
		var got []Time
		for range 300 {
			d := time.Duration(rng.IntN(int(time.Second)))
			var due Time
			due, _ = rt.InlineFunc(d, func() { got = append(got, due) }).Deadline()
		}
		rt.Stats() // as above
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if len(got) != 300 || !slices.IsSorted(got) {
			t.Errorf("%d functions ran, want 300; their ticks: %v", len(got), got)
		}
	})
}

// TestRealtimeSleepsWhenIdle: with nothing due, nothing wakes up, neither without a timer nor
// with one that is hours away. A stopped timer costs at most one wake-up.
func TestRealtimeSleepsWhenIdle(t *testing.T) {
	inBubble(t, 100*time.Microsecond, func(t *testing.T, rt *Realtime) {
		wantWakeups := func(want uint64) {
			t.Helper()
			synctest.Wait()
			if got := rt.Stats().Wakeups; got != want {
				t.Errorf("%d wake-ups, want %d", got, want)
			}
		}
		time.Sleep(time.Hour)
		wantWakeups(0)
		keepalive := rt.AfterFunc(2*time.Hour, func() {})
		time.Sleep(2*time.Hour - 1)
		wantWakeups(0)
		time.Sleep(time.Hour)
		wantWakeups(1)
		keepalive.Reset(time.Hour)
		keepalive.Stop()
		time.Sleep(24 * time.Hour)
		wantWakeups(2)
	})
}

// TestRealtimeSetsClock: only a START for an instant before all others costs a system call. STOP
// costs none.
func TestRealtimeSetsClock(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		nop := func() {}
		steps := []struct {
			name string
			do   func()
			want uint64
		}{
			{"first", func() { rt.AfterFunc(time.Second, nop) }, 1},
			{"later", func() { rt.AfterFunc(2*time.Second, nop) }, 1},
			{"same tick, earlier deadline", func() { rt.AfterFunc(time.Second-time.Microsecond, nop) }, 1},
			{"earlier, and stopped", func() { rt.AfterFunc(time.Minute, nop).Stop() }, 1},
			{"earliest", func() { rt.AfterFunc(time.Millisecond, nop) }, 2},
			{"its expiry sets it for the next", func() { time.Sleep(10 * time.Millisecond) }, 3},
			{"until there is none", func() { time.Sleep(time.Minute) }, 4},
		}
		for _, s := range steps {
			s.do()
			synctest.Wait()
			if got := rt.Stats().Sets; got != s.want {
				t.Errorf("%s: the clock was set %d times, want %d", s.name, got, s.want)
			}
		}
	})
}

// TestRealtimeStopReset checks what package time documents about the results of Stop and Reset.
func TestRealtimeStopReset(t *testing.T) {
	const d, tick = 10 * time.Millisecond, time.Millisecond
	inBubble(t, tick, func(t *testing.T, rt *Realtime) {
		var runs int
		kinds := []struct {
			name  string
			start func() *RealtimeTimer
			fired func(*RealtimeTimer) int // expiries since the last call
		}{
			{"AfterFunc", func() *RealtimeTimer { return rt.AfterFunc(d, func() { runs++ }) }, nil},
			{"InlineFunc", func() *RealtimeTimer { return rt.InlineFunc(d, func() { runs++ }) }, nil},
			{"NewTimer", func() *RealtimeTimer { return rt.NewTimer(d) }, func(tm *RealtimeTimer) int {
				select {
				case <-tm.C:
					return 1
				default:
					return 0
				}
			}},
		}
		for _, k := range kinds {
			if k.fired == nil {
				k.fired = func(*RealtimeTimer) int { n := runs; runs = 0; return n }
			}
			want := func(step string, tm *RealtimeTimer, got, want bool, fired int) {
				t.Helper()
				time.Sleep(d + tick)
				synctest.Wait()
				if n := k.fired(tm); got != want || n != fired {
					t.Errorf("%s: %s: %t and %d expiries, want %t and %d", k.name, step, got, n, want, fired)
				}
			}
			tm := k.start()
			want("started", tm, true, true, 1)
			want("Stop after expiry", tm, tm.Stop(), false, 0)
			want("Reset after expiry", tm, tm.Reset(d), false, 1)
			tm = k.start()
			want("Stop of a running timer", tm, tm.Stop(), true, 0)
			want("Stop of a stopped timer", tm, tm.Stop(), false, 0)
			want("Reset of a stopped timer", tm, tm.Reset(d), false, 1)
			tm.Reset(d)
			want("Reset of a running timer", tm, tm.Reset(d/2), true, 1)
			want("Reset to the past", tm, tm.Reset(-time.Hour), false, 1)
			want("Reset to never", tm, tm.Reset(1<<63-1), false, 0)
			if at, ok := tm.Deadline(); !ok || at < Time(1<<62) {
				t.Errorf("%s: Deadline() = %v, %t, want centuries", k.name, at, ok)
			}
			want("Stop of one that never expires", tm, tm.Stop(), true, 0)
			if at, ok := tm.Deadline(); ok {
				t.Errorf("%s: Deadline() = %v of a stopped timer", k.name, at)
			}
		}
	})
}

// TestRealtimeChannelHasNoStaleTime: as in package time since Go 1.23, Stop and Reset remove a
// time that was not received, and it counts as stopped.
func TestRealtimeChannelHasNoStaleTime(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		for _, wait := range []struct {
			name string
			call func(tm *RealtimeTimer) bool
		}{
			{"Stop", (*RealtimeTimer).Stop},
			{"Reset", func(tm *RealtimeTimer) bool { return tm.Reset(time.Second) }},
		} {
			tm := rt.NewTimer(time.Millisecond)
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
			if !wait.call(tm) {
				t.Errorf("%s() = false for a time that was not received, want true", wait.name)
			}
			select {
			case at := <-tm.C:
				t.Errorf("received %v after %s", at, wait.name)
			default:
			}
			tm.Stop()
		}
	})
}

// TestRealtimeInline starts and stops timers from functions that run in the server's goroutine.
func TestRealtimeInline(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		// Two timers of one tick stop each other: the first prevents the second.
		var a, b *RealtimeTimer
		ran, stopped := 0, 0
		stop := func(other **RealtimeTimer) func() {
			return func() {
				ran++
				if (*other).Stop() {
					stopped++
				}
			}
		}
		a, b = rt.InlineFunc(time.Hour, stop(&b)), rt.InlineFunc(time.Hour, stop(&a))
		a.Reset(5 * time.Millisecond)
		b.Reset(5 * time.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		if ran != 1 || stopped != 1 {
			t.Errorf("%d functions ran and %d timers were stopped, want 1 and 1", ran, stopped)
		}

	})
}

// TestRealtimeTicker: a function that starts its own timer again makes a ticker. It drifts unless
// it computes the instants.
func TestRealtimeTicker(t *testing.T) {
	const tick = time.Millisecond
	inBubble(t, tick, func(t *testing.T, rt *Realtime) {
		for _, test := range []struct {
			name     string
			interval time.Duration
			reset    func(tm *RealtimeTimer, last Time)
			want     time.Duration
		}{
			{"Reset", tick / 2, func(tm *RealtimeTimer, _ Time) { tm.Reset(tick / 2) }, tick},
			{"ResetAt", tick, func(tm *RealtimeTimer, last Time) { tm.ResetAt(last.Add(tick)) }, tick},
			{"ResetAt", 0, func(tm *RealtimeTimer, last Time) { tm.ResetAt(last.Add(-tick)) }, 0},
		} {
			var at []Time
			var ticker *RealtimeTimer
			ticker = rt.InlineFunc(time.Hour, func() {
				if at = append(at, rt.Now()); len(at) < 5 {
					test.reset(ticker, at[len(at)-1])
				}
			})
			ticker.Reset(tick)
			time.Sleep(time.Second)
			synctest.Wait()
			for i := range at[1:] {
				if at[i+1].Sub(at[i]) != test.want {
					t.Errorf("%s after %v: expiries at %v, want %v between them", test.name, test.interval, at, test.want)
				}
			}
			if len(at) != 5 {
				t.Errorf("%s after %v: %d expiries, want 5", test.name, test.interval, len(at))
			}
		}
	})
}

// TestRealtimeRecordsAreRecycled: a timer holds a record of the wheel only while it runs.
func TestRealtimeRecordsAreRecycled(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		for i := range 1000 {
			tm := rt.AfterFunc(time.Millisecond, func() {})
			if i%2 == 0 {
				tm.Stop()
			}
			time.Sleep(2 * time.Millisecond)
		}
		if n := len(rt.timers); n > 2 {
			t.Errorf("the table has %d places, want 2: one timer ran at a time", n)
		}
	})
}

// TestRealtimeFunctionsMayBlock: a function of AfterFunc may wait for functions of its own tick
// and of later ticks.
func TestRealtimeFunctionsMayBlock(t *testing.T) {
	inBubble(t, time.Millisecond, testFunctionsMayBlock)
	onClocks(t, func(t *testing.T, alarm AlarmConfig) { testFunctionsMayBlock(t, startOnClock(t, alarm)) })
}

func testFunctionsMayBlock(t *testing.T, rt *Realtime) {
	for round := range 3 {
		const n = 20
		var waiting, ended sync.WaitGroup
		waiting.Add(n)
		ended.Add(n)
		for i := range n {
			rt.AfterFunc(time.Duration(i/4)*time.Millisecond, func() {
				waiting.Done()
				waiting.Wait() // until all of them run
				ended.Done()
			})
		}
		ended.Wait()
		if got := rt.Stats().Expiries; got != uint64(n*(round+1)) {
			t.Errorf("%d expiries, want %d", got, n*(round+1))
		}
	}
	standsBy := func() bool {
		rt.mu.Lock()
		defer rt.mu.Unlock()
		return len(rt.alarms) == maxServers && rt.servers == maxServers && rt.spare != nil && rt.spare != rt.alarm
	}
	if !eventually(standsBy) {
		t.Errorf("%d alarms, %d servers, spare %p, set %p; want one that serves and one on standby",
			len(rt.alarms), rt.servers, rt.spare, rt.alarm)
	}
}

// eventually reports whether ok becomes true. It waits as long as any busy machine may take.
func eventually(ok func() bool) bool {
	for range 10_000 {
		if ok() {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// TestRealtimeFunctionNeedsNoGoroutine: once a goroutine is on standby, a function that returns
// before the next expiry needs no new goroutine.
func TestRealtimeFunctionNeedsNoGoroutine(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		var tm *RealtimeTimer
		runs, stacks := 0, map[string]bool{}
		tm = rt.AfterFunc(time.Hour, func() {
			buf := make([]byte, 64)
			id, _, _ := strings.Cut(string(buf[:runtime.Stack(buf, false)]), "[")
			stacks[id] = true
			if runs++; runs < 100 {
				tm.Reset(time.Millisecond)
			}
		})
		tm.Reset(time.Millisecond)
		time.Sleep(time.Second)
		synctest.Wait()
		if runs != 100 || len(stacks) != maxServers+1 {
			t.Errorf("%d runs in %d goroutines, want 100 in %d: the first, and the two that take turns",
				runs, len(stacks), maxServers+1)
		}
	})
}

// TestRealtimeFunctionExits: runtime.Goexit in a function ends only a spare goroutine.
func TestRealtimeFunctionExits(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		var runs atomic.Int64
		for range 10 {
			rt.AfterFunc(time.Millisecond, func() {
				runs.Add(1)
				runtime.Goexit()
			})
			time.Sleep(5 * time.Millisecond)
		}
		if n := runs.Load(); n != 10 {
			t.Errorf("%d functions ran, want 10", n)
		}
		rt.Close()
	})
}

func TestRealtimeClose(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		f := func() { t.Error("a timer expired after Close") }
		timers := []*RealtimeTimer{rt.AfterFunc(time.Second, f), rt.InlineFunc(time.Second, f), rt.NewTimer(time.Second)}
		for range 2 {
			if err := rt.Close(); err != nil {
				t.Errorf("Close() = %v, want nil", err)
			}
		}
		<-rt.Done()
		timers = append(timers, rt.AfterFunc(0, f), rt.InlineFunc(0, f))
		for i, tm := range timers {
			if tm.Stop() || tm.Reset(0) || tm.Stop() {
				t.Errorf("timer %d runs after Close", i)
			}
		}
		time.Sleep(time.Minute)
	})
}

// TestRealtimeCloseFromFunction closes a Realtime in functions that its own timers run.
func TestRealtimeCloseFromFunction(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		rt.InlineFunc(time.Millisecond, func() {
			rt.InlineFunc(0, func() { t.Error("a timer expired after Close") })
			rt.Close()
			rt.Close()
		})
		<-rt.Done()
		for before := range 3 { // expiries that put a server on standby
			rt := startTest(t, RealtimeConfig{Scheme: rt.wheel.Scheme()})
			for range before {
				rt.AfterFunc(time.Millisecond, func() {})
				time.Sleep(5 * time.Millisecond)
			}
			returned := make(chan struct{})
			rt.AfterFunc(time.Millisecond, func() {
				rt.Close()
				close(returned)
			})
			<-returned
			<-rt.Done()
		}
	})
}

// TestRealtimeCloseDuringFunctions: Close waits neither for functions of AfterFunc nor for one of
// InlineFunc.
func TestRealtimeCloseDuringFunctions(t *testing.T) {
	inBubble(t, time.Millisecond, func(t *testing.T, rt *Realtime) {
		for _, start := range []func(*Realtime, func()) *RealtimeTimer{
			func(rt *Realtime, f func()) *RealtimeTimer { return rt.AfterFunc(time.Millisecond, f) },
			func(rt *Realtime, f func()) *RealtimeTimer { return rt.InlineFunc(time.Millisecond, f) },
		} {
			rt := startTest(t, RealtimeConfig{Scheme: rt.wheel.Scheme()})
			rt.AfterFunc(0, func() {})
			time.Sleep(5 * time.Millisecond)
			running, release := make(chan struct{}), make(chan struct{})
			start(rt, func() {
				close(running)
				<-release
			})
			<-running
			rt.Close()
			close(release)
			<-rt.Done()
		}
	})
}

// The tests from here on run in real time, on each clock. They set no upper bound on lateness,
// because machines may be busy.

func startOnClock(t testing.TB, alarm AlarmConfig) *Realtime {
	return startTest(t, RealtimeConfig{Tick: 100 * time.Microsecond, Alarm: alarm})
}

func TestRealtimeNeverEarly(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		rt := startOnClock(t, alarm)
		rng := rand.New(rand.NewPCG(7, 8))
		var expired sync.WaitGroup
		const timers = 500
		for i := range timers {
			d := time.Duration(rng.IntN(int(20 * time.Millisecond)))
			expired.Add(1)
			asked := time.Now().Add(d)
			f := func() {
				if early := time.Until(asked); early > 0 {
					t.Errorf("timer %d expired %v before its deadline", i, early)
				}
				expired.Done()
			}
			switch i % 3 {
			case 0:
				rt.AfterFunc(d, f)
			case 1:
				rt.InlineFunc(d, f)
			default:
				tm := rt.NewTimer(d)
				go func() {
					if at := <-tm.C; at.Before(asked) {
						t.Errorf("timer %d received %v, before its deadline %v", i, at, asked)
					}
					f()
				}()
			}
		}
		expired.Wait()
		if s := rt.Stats(); s.Expiries != timers || s.Wakeups > timers {
			t.Errorf("%+v, want %d expiries, and at most as many wake-ups", s, timers)
		}
	})
}

func TestRealtimeIdleNeverWakes(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		rt := startOnClock(t, alarm)
		<-rt.NewTimer(0).C
		rt.AfterFunc(time.Hour, func() {})
		// When the second timer is set, the system may report the instant of the first one again,
		// late. Alarm.Wait passes this on. No further wake-up follows.
		var wakeups [3]uint64
		for i := range wakeups {
			before := rt.Stats().Wakeups
			time.Sleep(50 * time.Millisecond)
			if wakeups[i] = rt.Stats().Wakeups - before; wakeups[i] == 0 {
				return
			}
		}
		t.Errorf("with no timer due, %d wake-ups in spans of 50 ms, want none", wakeups)
	})
}

// TestRealtimeHammer starts, moves and stops timers in several goroutines at once. Each expiry
// and each successful stop must have its start.
func TestRealtimeHammer(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		rt := startOnClock(t, alarm)
		const workers, rounds = 8, 400
		var started, stopped, ran atomic.Int64
		var workersDone sync.WaitGroup
		for w := range workers {
			workersDone.Go(func() {
				rng := rand.New(rand.NewPCG(9, uint64(w)))
				interval := func() time.Duration { return time.Duration(rng.IntN(2_000_000)) }
				var timers [8]*RealtimeTimer
				for i := range timers {
					start := rt.AfterFunc
					if i%2 == 0 {
						start = rt.InlineFunc
					}
					started.Add(1)
					timers[i] = start(interval(), func() { ran.Add(1) })
				}
				for range rounds {
					tm := timers[rng.IntN(len(timers))]
					switch rng.IntN(4) {
					case 0:
						if tm.Stop() {
							stopped.Add(1)
						}
					case 1:
						rt.NewTimer(interval()).Stop()
					default:
						if !tm.Reset(interval()) {
							started.Add(1)
						}
					}
				}
			})
		}
		workersDone.Wait()
		want := started.Load() - stopped.Load()
		if !eventually(func() bool { return rt.Stats().Running == 0 && ran.Load() >= want }) || ran.Load() != want {
			t.Errorf("%d started, %d stopped, %d ran, %+v", started.Load(), stopped.Load(), ran.Load(), rt.Stats())
		}
		rt.mu.Lock()
		defer rt.mu.Unlock()
		if err := rt.wheel.check(); err != nil {
			t.Error(err)
		}
	})
}

// TestRealtimeCloseRace closes a Realtime while timers expire and others are started.
func TestRealtimeCloseRace(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		for range 50 {
			rt := startOnClock(t, alarm)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for range 50 {
						rt.AfterFunc(50*time.Microsecond, func() {})
						rt.InlineFunc(time.Millisecond, func() {}).Reset(0)
					}
				})
			}
			wg.Go(func() { rt.Close() })
			wg.Wait()
			<-rt.Done()
			if s := rt.Stats(); s.Running != 0 {
				t.Fatalf("%d timers run after Close", s.Running)
			}
		}
	})
}

func TestRealtimeManyTimers(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		rt := startOnClock(t, alarm)
		const n = 100_000
		timers := make([]*RealtimeTimer, n)
		var ran atomic.Int64
		for i := range timers {
			timers[i] = rt.InlineFunc(time.Duration(i)*time.Microsecond/2, func() { ran.Add(1) })
		}
		stopped := 0
		for _, tm := range timers[:n/2] {
			if tm.Stop() {
				stopped++
			}
		}
		if !eventually(func() bool { return rt.Stats().Running == 0 }) {
			t.Fatalf("%d timers still run", rt.Stats().Running)
		}
		rt.Close()
		if got, want := ran.Load(), int64(n-stopped); got != want {
			t.Errorf("%d timers of %d expired, want %d", got, n, want)
		}
	})
}

// TestRealtimeParksInNetpoller: the server of a system clock waits for I/O, which holds no
// thread, and Close ends it.
func TestRealtimeParksInNetpoller(t *testing.T) {
	onClocks(t, func(t *testing.T, alarm AlarmConfig) {
		rt := startOnClock(t, alarm)
		<-rt.NewTimer(time.Millisecond).C
		want := "[IO wait"
		if _, ok := rt.alarm.clock.(*runtimeClock); ok {
			want = "[select"
		}
		if !eventually(func() bool { return strings.Contains(serverState(), want) }) {
			t.Errorf("the server is in state %q, want %q", serverState(), want)
		}
		rt.Close()
		if !eventually(func() bool { return serverState() == "" }) {
			t.Errorf("a server is left after Close: %s", serverState())
		}
	})
}

// serverState returns the first line of the stack of a goroutine that serves a Realtime, or "".
func serverState() string {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "wheel.(*Realtime).serve(") {
			line, _, _ := strings.Cut(g, "\n")
			return line
		}
	}
	return ""
}

func TestRealtimeDoesNotAllocate(t *testing.T) {
	rt := startOnClock(t, AlarmConfig{})
	tm := rt.AfterFunc(time.Hour, func() {})
	if n := testing.AllocsPerRun(1000, func() {
		tm.Stop()
		tm.Reset(time.Hour)
		tm.Reset(2 * time.Hour)
	}); n != 0 {
		t.Errorf("Stop and Reset: %v allocations, want 0", n)
	}
}

func TestRealtimeConfig(t *testing.T) {
	for _, test := range []struct {
		cfg  RealtimeConfig
		want string
	}{
		{RealtimeConfig{Scheme: "scheme0"}, `unknown scheme "scheme0"`},
		{RealtimeConfig{Scheme: "runtime"}, `scheme "runtime", want one without a clock`},
		{RealtimeConfig{Tick: -1}, "tick -1ns"},
		{RealtimeConfig{Slots: 1000}, "1000"},
		{RealtimeConfig{Reserve: -1}, "reserve -1, want 0 to 268435456"},
	} {
		rt, err := Start(test.cfg)
		if err == nil {
			rt.Close()
		}
		if err == nil || !strings.HasPrefix(err.Error(), "wheel: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Start(%+v) = %v, want an error with %q", test.cfg, err, test.want)
		}
	}
	for _, f := range []func(){
		func() { new(RealtimeTimer).Stop() },
		func() { startOnClock(t, AlarmConfig{}).AfterFunc(0, nil) },
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.HasPrefix(p, "BUG: ") {
					t.Errorf("misuse panics with %q, want BUG: …", p)
				}
			}()
			f()
		}()
	}
}
