package netstack

import (
	"fmt"
	"math"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

// VirtualClock is a tcpip.Clock whose time passes only in calls of its driver: Advance, Run and
// Step. The driver is one goroutine. The calls run the functions of due timers in it, one after the
// other: earlier ticks first, and within a tick in START order. A function sees the time of its
// tick. Equal calls give equal runs.
//
// The timers behave like Clock's, except that they share the driver's goroutine. A function runs
// without a lock of the clock and may start, stop and move all timers. A timer that it stops does
// not expire, even if it was due. A timer of 0 or less expires at the next tick, within the current
// Advance if there is one, and never inside AfterFunc or Reset. A function must not wait for
// another one. A function that drives the clock panics.
//
// Other goroutines may start, stop and move timers and read the time, in no particular order.
// Stacks with goroutines of their own, such as gVisor's TCP, stay deterministic if the driver waits
// for them after each event: see SetSettle and Settle.
//
// A VirtualClock needs no Close.
type VirtualClock struct {
	epoch time.Time

	mu       sync.Mutex
	now      wheel.Time
	wheel    wheel.Facility
	timers   []*virtualTimer // running timers, by handle
	onExpiry func(wheel.Timer)
	due      *virtualTimer // the timer that expired last
	settle   func()
	driven   bool
}

// VirtualClockConfig configures a VirtualClock. The zero value of each field is its default.
type VirtualClockConfig struct {
	// Scheme names the scheme that keeps the timers. The default is scheme3, a heap: it is the fastest
	// with the few timers and long silences of a simulation. Under scheme6 and its relatives the order
	// within a tick is deterministic, but not always START order: see package wheel. "runtime" is an
	// error: it has a clock of its own.
	Scheme string

	// Tick is the granularity of the timers. The default is 1 ns, which rounds nothing.
	Tick time.Duration

	// Slots and Levels are wheel.Config's. The default 0 is the scheme's.
	Slots, Levels int

	// Epoch is the time of day at which the clock starts. The default is 1 January 1970 UTC.
	// NowMonotonic starts at 0.
	Epoch time.Time
}

var _ tcpip.Clock = (*VirtualClock)(nil)

// NewVirtualClock makes a VirtualClock. The error names the parameter, its value and the bound.
func NewVirtualClock(cfg VirtualClockConfig) (*VirtualClock, error) {
	if cfg.Scheme == "" {
		cfg.Scheme = "scheme3"
	}
	if cfg.Scheme == "runtime" {
		return nil, fmt.Errorf("netstack: virtual clock: scheme %q has a clock of its own, want another", cfg.Scheme)
	}
	if cfg.Tick == 0 {
		cfg.Tick = time.Nanosecond
	}
	if cfg.Epoch.IsZero() {
		cfg.Epoch = time.Unix(0, 0).UTC()
	}
	w, err := wheel.New(cfg.Scheme, wheel.Config{Tick: cfg.Tick, Slots: cfg.Slots, Levels: cfg.Levels})
	if err != nil {
		return nil, fmt.Errorf("netstack: virtual clock: %w", err)
	}
	c := &VirtualClock{epoch: cfg.Epoch, wheel: w}
	c.onExpiry = func(h wheel.Timer) { c.due = c.release(h) }
	return c, nil
}

// Now returns the epoch plus the time that has passed.
func (c *VirtualClock) Now() time.Time { return c.epoch.Add(time.Duration(c.Time())) }

// NowMonotonic returns the time since the epoch.
func (c *VirtualClock) NowMonotonic() tcpip.MonotonicTime { return monotonic(c.Time()) }

// Time returns NowMonotonic as a wheel.Time.
func (c *VirtualClock) Time() wheel.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc lets the driver call f after d.
func (c *VirtualClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	return c.start(d, f, time.Nanosecond)
}

// Coarse returns a view of the clock with coarser timers: they expire at multiples of tick, rounded
// up. So one stack can have coarse timers while its peer and the network have fine ones. It panics
// if tick is below 1 ns.
func (c *VirtualClock) Coarse(tick time.Duration) tcpip.Clock {
	if tick < time.Nanosecond {
		panic(fmt.Sprintf("BUG: netstack: coarse clock with a tick of %v, want at least 1ns", tick))
	}
	return &coarseClock{c, tick}
}

// NextExpiry returns the time at which the next timer expires, and whether one runs.
func (c *VirtualClock) NextExpiry() (at wheel.Time, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok = c.wheel.NextExpiry(math.MaxInt64)
	return max(at, c.now), ok
}

// Running returns the number of running timers.
func (c *VirtualClock) Running() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wheel.Len()
}

// start makes and starts a timer that rounds up to tick.
func (c *VirtualClock) start(d time.Duration, f func(), tick time.Duration) tcpip.Timer {
	if f == nil {
		panic("BUG: netstack: timer with a nil function")
	}
	t := &virtualTimer{clock: c, f: f, tick: wheel.Time(tick)}
	t.Reset(d)
	return t
}

// release frees record h and returns its timer, which no longer runs.
func (c *VirtualClock) release(h wheel.Timer) *virtualTimer {
	t := c.timers[h]
	c.timers[h] = nil
	c.wheel.Free(h)
	t.handle = 0
	return t
}

// virtualTimer is a tcpip.Timer. It holds a record of the wheel only while it runs.
type virtualTimer struct {
	clock  *VirtualClock
	f      func()
	tick   wheel.Time
	handle wheel.Timer // 0 while it does not run; guarded by clock.mu
}

// Stop stops the timer. It returns false if the timer has expired or was stopped before.
func (t *virtualTimer) Stop() bool {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.handle == 0 {
		return false
	}
	c.release(t.handle)
	return true
}

// Reset starts the timer to expire after d. A running timer is moved.
func (t *virtualTimer) Reset(d time.Duration) {
	c := t.clock
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.handle == 0 {
		t.handle = c.wheel.New(0)
		for int(t.handle) >= len(c.timers) {
			c.timers = append(c.timers, nil)
		}
		c.timers[t.handle] = t
	}
	at := c.now.Add(max(d, 0))
	if rest := at % t.tick; rest > 0 {
		at = at.Add(time.Duration(t.tick - rest))
	}
	c.wheel.Schedule(t.handle, at)
}

// coarseClock is the type of Coarse's result.
type coarseClock struct {
	*VirtualClock
	tick time.Duration
}

func (c *coarseClock) AfterFunc(d time.Duration, f func()) tcpip.Timer { return c.start(d, f, c.tick) }
