package netstack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"

	"tcpwheel/wheel"
)

// Clock is a tcpip.Clock whose timers are kept in a timing wheel, for stack.Options.Clock of a whole gVisor stack, under
// any transport protocol. VirtualClock is the one for tests and simulations.
//
// A timer expires at the first tick not before its deadline, and never before: gVisor's TCP takes a timer that is early
// for one that was put off, and starts it again. Ticks fall at the epoch and at all multiples of Tick since. Only expiry
// is on ticks: Now and NowMonotonic are read from the machine's clock whole.
//
// The timers are those of tcpip.Timer, as gVisor's standard clock has them. A function runs in a goroutine that nothing
// else waits for, so it may block, and may call any method of the clock and of its timers. Functions of one tick run in
// no particular order. Stop that returns false does not wait for the function. Reset of a running timer moves it; Reset
// of another starts it, while a run of the function that has begun goes on. A negative duration counts as 0, and 0
// expires at the next tick, never inside the call.
//
// While no timer runs the clock sleeps, and never wakes up by itself. Multiple goroutines may invoke its methods. A Clock
// that is not closed is never collected, nor are the timers that run.
type Clock struct {
	shards []*wheel.Realtime // of one epoch
}

// ClockConfig are the parameters of a Clock. The zero value of each field stands for its default.
type ClockConfig struct {
	// RealtimeConfig has the scheme, the tick and the rest of each wheel. The epoch, Alarm.Epoch, is where NowMonotonic
	// is 0: the time of NewClock by default. Clocks of one epoch agree on NowMonotonic.
	//
	// The scheme is scheme7 by default. A stack has many timers that are far away, such as keepalives, and a wheel that
	// is full of them wakes its clock up T/M times per timer as a Scheme 6, and at most m times as a Scheme 7 (Appendix A
	// of the paper). scheme6 costs less to start timers on, and is as quiet while up to 1024 of them run.
	wheel.RealtimeConfig

	// Shards is the number of wheels, 1 by default and at most 256. Each has a lock, a goroutine and wake-ups of its
	// own: more let more processors start and stop timers at once, and share fewer wake-ups.
	Shards int
}

const maxClockShards = 256

var _ tcpip.Clock = (*Clock)(nil)

// NewClock makes a Clock and starts its goroutines. Its error names the parameter, the value and the bound that it
// breaks, or the system call that failed.
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
	c := &Clock{}
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

// Time is NowMonotonic as the wheel writes it.
func (c *Clock) Time() wheel.Time { return c.shards[0].Now() }

// AfterFunc calls f after d, at the next tick, in a goroutine that nothing else waits for.
func (c *Clock) AfterFunc(d time.Duration, f func()) tcpip.Timer {
	shard := c.shards[0]
	if len(c.shards) > 1 {
		shard = c.shards[rand.IntN(len(c.shards))]
	}
	return (*clockTimer)(shard.AfterFunc(d, f))
}

// Tick returns the granularity of the timers.
func (c *Clock) Tick() time.Duration { return c.shards[0].Tick() }

// Stats returns the counts of all shards.
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

// Close stops all timers and ends the goroutines of the clock, and returns when they have ended. Functions that have
// begun run on, and may be the caller. A timer that is started after Close never expires; the time may still be read.
// Close the stacks that use the clock first: they would wait for their timers in vain.
func (c *Clock) Close() error {
	var err error
	for _, rt := range c.shards {
		err = errors.Join(err, rt.Close())
	}
	return err
}

// clockTimer is a timer of the wheel with the methods of tcpip.Timer. It is the same object, so that a timer costs one
// allocation.
type clockTimer wheel.RealtimeTimer

func (t *clockTimer) Stop() bool            { return (*wheel.RealtimeTimer)(t).Stop() }
func (t *clockTimer) Reset(d time.Duration) { (*wheel.RealtimeTimer)(t).Reset(d) }

// monotonic writes t as gVisor does. MonotonicTime has no other constructor than Add.
func monotonic(t wheel.Time) tcpip.MonotonicTime {
	return tcpip.MonotonicTime{}.Add(time.Duration(t))
}
