package netstack

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

func newVirtualClock(t testing.TB, cfg VirtualClockConfig) *VirtualClock {
	t.Helper()
	c, err := NewVirtualClock(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// clockSchemes returns the schemes without a clock of their own.
func clockSchemes() []string {
	return slices.DeleteFunc(wheel.Schemes(), func(s string) bool { return s == "runtime" })
}

// ExampleVirtualClock: time passes when the program calls the clock.
func ExampleVirtualClock() {
	clock, err := NewVirtualClock(VirtualClockConfig{})
	if err != nil {
		panic(err)
	}
	say := func(what string) func() { return func() { fmt.Println(clock.Time(), what) } }
	clock.AfterFunc(3*time.Second, say("third"))
	clock.AfterFunc(2*time.Second, say("first"))
	clock.AfterFunc(2*time.Second, say("second"))
	clock.Advance(time.Minute)
	fmt.Println(clock.Time())
	// Output:
	// 2s first
	// 2s second
	// 3s third
	// 1m0s
}

// TestVirtualClockOrder: functions run in deadline order, then START order, at their exact
// deadlines. Timers that functions start, of 0 and less too, take their place.
func TestVirtualClockOrder(t *testing.T) {
	c := newVirtualClock(t, VirtualClockConfig{})
	var log []string
	say := func(what string) { log = append(log, fmt.Sprint(c.Time(), " ", what)) }
	c.AfterFunc(20, func() { say("late") })
	c.AfterFunc(10, func() {
		say("first")
		c.AfterFunc(0, func() {
			say("started by first, of 0")
			c.AfterFunc(-5, func() { say("started by that, of -5") })
		})
		c.AfterFunc(5, func() { say("started by first, of 5") })
	})
	moved := c.AfterFunc(5, func() { say("moved") })
	c.AfterFunc(10, func() { say("second") })
	moved.Reset(10)
	c.AfterFunc(0, func() { say("of 0") })
	if n := c.Advance(0); n != 1 {
		t.Errorf("Advance(0) ran %d functions, want 1", n)
	}
	if n := c.Advance(15); n != 6 {
		t.Errorf("Advance(15) ran %d functions, want 6", n)
	}
	if at, ok := c.NextExpiry(); at != 20 || !ok || c.Running() != 1 || c.Time() != 15 {
		t.Errorf("at %v, %d timers run and the next expires at %v, want 15ns, 1 and 20ns", c.Time(), c.Running(), at)
	}
	want := []string{
		"0s of 0", "10ns first", "10ns second", "10ns moved", "10ns started by first, of 0",
		"10ns started by that, of -5", "15ns started by first, of 5",
	}
	if !slices.Equal(log, want) {
		t.Errorf("functions ran\n%q, want\n%q", log, want)
	}
}

// TestVirtualClockStopsWhatIsDue: a timer stopped by a function of its own tick does not run.
func TestVirtualClockStopsWhatIsDue(t *testing.T) {
	for _, scheme := range clockSchemes() {
		c := newVirtualClock(t, VirtualClockConfig{Scheme: scheme, Tick: time.Millisecond})
		ran := 0
		var timers [2]tcpip.Timer
		for i := range timers {
			timers[i] = c.AfterFunc(time.Millisecond, func() {
				ran++
				if timers[i].Stop() {
					t.Errorf("%s: a function stopped the timer that it runs for", scheme)
				}
				if ran == 1 && !timers[1-i].Stop() {
					t.Errorf("%s: a function did not stop the timer that is due after it", scheme)
				}
			})
		}
		c.Advance(time.Second)
		if ran != 1 {
			t.Errorf("%s: %d functions ran, want 1", scheme, ran)
		}
		timers[0].Reset(0)
		c.Advance(time.Second)
		if ran != 2 || c.Running() != 0 {
			t.Errorf("%s: a timer did not start again", scheme)
		}
	}
}

// TestVirtualClockCoarse: a view rounds timers up to its ticks and shares the clock's time.
func TestVirtualClockCoarse(t *testing.T) {
	const ms = time.Millisecond
	epoch := time.Date(1988, 8, 8, 0, 0, 0, 0, time.UTC)
	c := newVirtualClock(t, VirtualClockConfig{Epoch: epoch})
	view := c.Coarse(200 * ms)
	c.Advance(150 * ms)
	var log []string
	say := func(what string) func() { return func() { log = append(log, fmt.Sprint(c.Time(), " ", what)) } }
	timer := view.AfterFunc(0, say("coarse 0"))
	view.AfterFunc(50*ms, say("coarse 50"))
	c.AfterFunc(50*ms, say("fine 50"))
	view.AfterFunc(51*ms, say("coarse 51"))
	c.AfterFunc(51*ms, say("fine 51"))
	c.Advance(51 * ms)
	timer.Reset(200 * ms)
	if got, want := view.NowMonotonic(), (tcpip.MonotonicTime{}).Add(201*ms); got != want {
		t.Errorf("the view is at %v, want %v", got, want)
	}
	if got, want := view.Now(), epoch.Add(201*ms); !got.Equal(want) {
		t.Errorf("the time of day is %v, want %v", got, want)
	}
	c.Run(time.Hour)
	want := []string{"200ms coarse 0", "200ms coarse 50", "200ms fine 50", "201ms fine 51", "400ms coarse 51", "600ms coarse 0"}
	if !slices.Equal(log, want) {
		t.Errorf("functions ran\n%q, want\n%q", log, want)
	}
}

// TestVirtualClockRunAndStep: Run stops at the last function within its limit, Step after one.
func TestVirtualClockRunAndStep(t *testing.T) {
	c := newVirtualClock(t, VirtualClockConfig{})
	ran := 0
	var again func()
	again = func() { ran++; c.AfterFunc(time.Second, again) }
	c.AfterFunc(time.Second, again)
	if n := c.Run(3500 * time.Millisecond); n != 3 || ran != 3 || c.Time() != wheel.Time(3*time.Second) {
		t.Errorf("Run ran %d functions to %v, want 3 to 3s", n, c.Time())
	}
	if !c.Step() || ran != 4 || c.Time() != wheel.Time(4*time.Second) {
		t.Errorf("Step ran to %v, want 4s", c.Time())
	}
	c = newVirtualClock(t, VirtualClockConfig{})
	if c.Step() || c.Run(time.Hour) != 0 || c.Advance(-time.Hour) != 0 || c.Time() != 0 {
		t.Errorf("a clock without timers ran to %v, want 0s", c.Time())
	}
}

// TestVirtualClockSettles: timers that other goroutines start during settle exist before time
// passes.
func TestVirtualClockSettles(t *testing.T) {
	c := newVirtualClock(t, VirtualClockConfig{})
	work, idle := make(chan func()), make(chan struct{})
	defer close(work)
	go func() {
		for f := range work {
			f()
			idle <- struct{}{}
		}
	}()
	var todo []func()
	settled := 0
	c.SetSettle(func() {
		settled++
		for ; len(todo) > 0; todo = todo[1:] {
			work <- todo[0]
			<-idle
		}
	})
	var log []string
	say := func(what string) func() { return func() { log = append(log, fmt.Sprint(c.Time(), " ", what)) } }
	todo = append(todo, func() { c.AfterFunc(1, say("given before Advance")) })
	c.AfterFunc(2, func() {
		say("gives")()
		todo = append(todo, func() { c.AfterFunc(1, say("given by a function")) })
	})
	c.AfterFunc(9, say("last"))
	c.Advance(10)
	want := []string{"1ns given before Advance", "2ns gives", "3ns given by a function", "9ns last"}
	if !slices.Equal(log, want) || settled != 5 {
		t.Errorf("settled %d times, functions ran\n%q, want 5 times,\n%q", settled, log, want)
	}
}

// TestVirtualClockMisuse: misuse panics and leaves the clock usable.
func TestVirtualClockMisuse(t *testing.T) {
	c := newVirtualClock(t, VirtualClockConfig{})
	for _, tc := range []struct {
		what string
		f    func()
	}{
		{"Advance in a function", func() { c.AfterFunc(0, func() { c.Advance(1) }); c.Advance(1) }},
		{"Step in settle", func() {
			c.SetSettle(func() { c.SetSettle(nil); c.Step() })
			c.Run(1)
		}},
		{"nil function", func() { c.AfterFunc(1, nil) }},
		{"coarse clock without a tick", func() { c.Coarse(0) }},
	} {
		func() {
			defer func() {
				if msg := fmt.Sprint(recover()); !strings.HasPrefix(msg, "BUG: netstack: ") {
					t.Errorf("%s: panic %q, want one that begins BUG: netstack: ", tc.what, msg)
				}
			}()
			tc.f()
		}()
	}
	ran := false
	c.AfterFunc(1, func() { ran = true })
	if c.Advance(1); !ran {
		t.Error("the clock does not run after a panic")
	}
}

// TestVirtualClockFromGoroutines: other goroutines may start and stop timers while the clock is
// driven.
func TestVirtualClockFromGoroutines(t *testing.T) {
	c := newVirtualClock(t, VirtualClockConfig{Scheme: "scheme6", Tick: time.Microsecond})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 500 {
				timer := c.AfterFunc(time.Duration(i)*time.Microsecond, func() {})
				c.NowMonotonic()
				if i%2 == 0 {
					timer.Stop()
				} else {
					timer.Reset(time.Duration(i))
				}
			}
		})
	}
	for range 1000 {
		c.Advance(time.Microsecond)
	}
	all.Wait()
	c.Advance(time.Second)
	if n := c.Running(); n != 0 {
		t.Errorf("%d timers run, want 0", n)
	}
}

func TestVirtualClockConfigErrors(t *testing.T) {
	for _, tc := range []struct {
		cfg  VirtualClockConfig
		want string
	}{
		{VirtualClockConfig{Tick: -1}, "netstack: virtual clock: wheel: tick"},
		{VirtualClockConfig{Scheme: "scheme8"}, `"scheme8"`},
		{VirtualClockConfig{Scheme: "runtime"}, `"runtime"`},
		{VirtualClockConfig{Scheme: "scheme6", Slots: 3}, "slots must be a power of two: 3"},
	} {
		if _, err := NewVirtualClock(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("error %v, want one with %s", err, tc.want)
		}
	}
}
