package netstack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

// Clock is a tcpip.Clock that keeps its timers in a timing wheel. Pass it as stack.Options.Clock;
// it serves a whole gVisor stack with any transport protocol. VirtualClock is for tests and
// simulations.
//
// A timer expires at the first tick not before its deadline, never earlier: gVisor's TCP restarts a
// timer that fires early. Ticks are at the epoch and at multiples of Tick after it. Only expiry is
// on ticks: Now and NowMonotonic read the machine's clock exactly.
//
// The timers behave like those of gVisor's standard clock. Each function runs in a goroutine of its
// own, except on a Serial clock: it may block, and may call any method of the clock and its timers.
// Functions of one tick run in no particular order. If Stop returns false, it does not wait for the
// function. Reset moves a running timer and starts any other. A negative duration counts as 0, and
// 0 expires at the next tick, never inside the call.
//
// The clock sleeps while no timer runs. Multiple goroutines may invoke its methods. A Clock and its
// running timers are not garbage-collected until Close.
type Clock struct {
	shards []*wheel.Realtime // with one epoch
	serial bool
	settle func() // nil for none
}

// ClockConfig configures a Clock. The zero value of each field is its default.
type ClockConfig struct {
	// RealtimeConfig has the scheme, the tick and the size of each wheel. Alarm.Epoch is the zero
	// of NowMonotonic; the default is the time of NewClock. Clocks with one epoch agree on
	// NowMonotonic.
	//
	// The default scheme is scheme7. A stack has many distant timers, such as keepalives. Under
	// Scheme 6 each wakes the clock T/M times, under Scheme 7 at most m times (Appendix A of the
	// paper). scheme6 starts timers faster, and wakes up as seldom while at most 1024 of them run.
	wheel.RealtimeConfig

	// Shards is the number of wheels, 1 to 256; the default is 1. Each has a lock, a goroutine and
	// wake-ups of its own. With more, more CPUs can start and stop timers at once, but share fewer
	// wake-ups.
	Shards int

	// Serial runs the functions of a shard one after another in its goroutine: earlier ticks first,
	// and within a tick as VirtualClock does. They must return soon, and must not wait for each
	// other.
	Serial bool
	// Settle, if not nil, is called after each function of a Serial clock, before the next one.
	Settle func()
}

const maxClockShards = 256

var _ tcpip.Clock = (*Clock)(nil)

// NewClock makes a Clock and starts its goroutines. The error names the parameter, its value and
// the bound, or the system call that failed.
func NewClock(cfg ClockConfig) (*Clock, error) {
	if cfg.Shards == 0 {
		cfg.Shards = 1
	}
	if cfg.Shards < 1 || cfg.Shards > maxClockShards {
		return nil, fmt.Errorf("netstack: clock: shards %d, want 1 to %d", cfg.Shards, maxClockShards)
	}
	if cfg.Scheme == "" {
		cfg.Scheme = "scheme7"
	}
	if cfg.Alarm.Epoch.IsZero() {
		cfg.Alarm.Epoch = time.Now()
	}
	c := &Clock{serial: cfg.Serial, settle: cfg.Settle}
	for range cfg.Shards {
		rt, err := wheel.Start(cfg.RealtimeConfig)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("netstack: clock: %w", err), c.Close())
		}
		c.shards = append(c.shards, rt)
	}
	return c, nil
}

// Now returns the time of day.
func (c *Clock) Now() time.Time { return time.Now() }

// NowMonotonic returns the time since the epoch. It never steps back.
func (c *Clock) NowMonotonic() tcpip.MonotonicTime { return monotonic(c.Time()) }

// Time returns NowMonotonic as a wheel.Time.
func (c *Clock) Time() wheel.Time { return c.shards[0].Now() }

// AfterFunc calls f at the first tick after d, in a goroutine of its own unless the clock is
// Serial.
func (c *Clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	shard := c.shards[0]
	if len(c.shards) > 1 {
		shard = c.shards[rand.IntN(len(c.shards))]
	}
	switch {
	case !c.serial:
		return (*clockTimer)(shard.AfterFunc(d, f))
	case c.settle == nil:
		return (*clockTimer)(shard.InlineFunc(d, f))
	}
	return (*clockTimer)(shard.InlineFunc(d, func() {
		f()
		c.settle()
	}))
}

// Tick returns the granularity of the timers.
func (c *Clock) Tick() time.Duration { return c.shards[0].Tick() }

// Stats returns the sum of the counts of all shards.
func (c *Clock) Stats() (sum wheel.RealtimeStats) {
	for _, rt := range c.shards {
		s := rt.Stats()
		sum.Running += s.Running
		sum.Expiries += s.Expiries
		sum.Wakeups += s.Wakeups
		sum.Sets += s.Sets
	}
	return sum
}

// Close stops all timers, ends the clock's goroutines and waits for them. It does not wait for
// timer functions, so one may call it. Timers started after Close never expire; the time can still
// be read. Close the stacks that use the clock first: they would wait forever for their timers.
func (c *Clock) Close() error {
	var err error
	for _, rt := range c.shards {
		err = errors.Join(err, rt.Close())
	}
	return err
}

// clockTimer adds tcpip.Timer's methods to the wheel's timer. As it is the same object, a timer
// costs one allocation.
type clockTimer wheel.RealtimeTimer

func (t *clockTimer) Stop() bool            { return (*wheel.RealtimeTimer)(t).Stop() }
func (t *clockTimer) Reset(d time.Duration) { (*wheel.RealtimeTimer)(t).Reset(d) }

// monotonic converts t. MonotonicTime has no other constructor than Add.
func monotonic(t wheel.Time) tcpip.MonotonicTime {
	return tcpip.MonotonicTime{}.Add(time.Duration(t))
}
