package netstack

import (
	"fmt"
	"math"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

// VirtualClock is a tcpip.Clock on which time passes only when its driver, one goroutine, says so: by Advance, Run or
// Step. They run the functions of the timers that come due in the driver's goroutine, each to its end before the next,
// earlier ticks first and, within a tick, in the order in which the timers were started. The time that a function sees
// is the tick at which its timer was due. The same calls make the same runs.
//
// The timers are those of tcpip.Timer, as Clock has them, but for the goroutine. A function that runs does so without
// any lock of the clock, and may start, stop and move all timers: one that it stops does not expire, even if it was due.
// A timer of 0 or less expires at the next tick, in the same Advance if one is under way, and never inside AfterFunc or
// Reset. A function must not wait for another one, and must not drive the clock: that panics.
//
// Other goroutines may start, stop and move timers and read the time, but what they do is in no order. A stack with
// goroutines of its own, as gVisor's TCP has them, stays deterministic if the driver waits for them after each event:
// see SetSettle and Settle.
//
// A VirtualClock needs no Close: it owns nothing but memory.
type VirtualClock struct {
	epoch time.Time

	mu       sync.Mutex
	now      wheel.Time
	wheel    wheel.Facility
	timers   []*virtualTimer // by handle: the timers that run
	onExpiry func(wheel.Timer)
	due      *virtualTimer // the timer that expired last
	settle   func()
	driven   bool
}

// VirtualClockConfig are the parameters of a VirtualClock. The zero value of each field stands for its default.
type VirtualClockConfig struct {
	// Scheme is the name of the scheme that keeps the timers: by default scheme3, a heap, which is the fastest with the
	// few timers and the long silences of a simulation. With scheme6 and its relatives the order within a tick is
	// deterministic but not always START order: see package wheel. It is not "runtime", which has a clock of its own.
	Scheme string

	// Tick is the granularity of the timers: 1 ns by default, which rounds nothing.
	Tick time.Duration

	// Slots and Levels are wheel.Config.Slots and wheel.Config.Levels.
	Slots, Levels int

	// Epoch is the time of day at which the clock begins: the beginning of 1970, UTC, by default. NowMonotonic begins
	// at 0.
	Epoch time.Time
}

var _ tcpip.Clock = (*VirtualClock)(nil)

// NewVirtualClock makes a VirtualClock. Its error names the parameter, the value and the bound that it breaks.
func NewVirtualClock(cfg VirtualClockConfig) (*VirtualClock, error) {
	if cfg.Scheme == "" {
		cfg.Scheme = "scheme3"
	}
	if cfg.Scheme == "runtime" {
		return nil, fmt.Errorf("netstack: virtual clock: scheme %q, want one without a clock of its own", cfg.Scheme)
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

// Now returns the epoch and the time since.
func (c *VirtualClock) Now() time.Time { return c.epoch.Add(time.Duration(c.Time())) }

// NowMonotonic returns the time since the epoch.
func (c *VirtualClock) NowMonotonic() tcpip.MonotonicTime { return monotonic(c.Time()) }

// Time is NowMonotonic as the wheel writes it.
func (c *VirtualClock) Time() wheel.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc has the driver call f after d.
func (c *VirtualClock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	return c.start(d, f, time.Nanosecond)
}

// Coarse returns a view of the clock with the same time and coarser timers: they expire at multiples of tick since the
// epoch, rounded up. So a stack may have coarse timers beside a peer and a network that have fine ones. It panics if
// tick is below 1 ns.
func (c *VirtualClock) Coarse(tick time.Duration) tcpip.Clock {
	if tick < time.Nanosecond {
		panic(fmt.Sprintf("BUG: netstack: coarse clock with a tick of %v, want at least 1ns", tick))
	}
	return &coarseClock{c, tick}
}

// NextExpiry returns the instant at which the next timer expires, and whether one runs.
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

// start makes a timer that rounds to ticks of its own, and starts it.
func (c *VirtualClock) start(d time.Duration, f func(), tick time.Duration) tcpip.Timer {
	if f == nil {
		panic("BUG: netstack: timer with a nil function")
	}
	t := &virtualTimer{clock: c, f: f, tick: wheel.Time(tick)}
	t.Reset(d)
	return t
}

// release gives the record h back, and returns the timer that it stood for, which now does not run.
func (c *VirtualClock) release(h wheel.Timer) *virtualTimer {
	t := c.timers[h]
	c.timers[h] = nil
	c.wheel.Free(h)
	t.handle = 0
	return t
}

// virtualTimer is a tcpip.Timer. It owns a record of the wheel only while it runs.
type virtualTimer struct {
	clock  *VirtualClock
	f      func()
	tick   wheel.Time
	handle wheel.Timer // 0 while it does not run; guarded by clock.mu
}

// Stop keeps the timer from expiring, and reports whether it did: false if it has expired or was stopped before.
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

// Reset starts the timer to expire after d, as if it had just been made. A running one is moved.
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

// coarseClock is what Coarse returns.
type coarseClock struct {
	*VirtualClock
	tick time.Duration
}

func (c *coarseClock) AfterFunc(d time.Duration, f func()) tcpip.Timer { return c.start(d, f, c.tick) }
