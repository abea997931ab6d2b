package wheel

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Realtime is a facility served by the machine's clock, for programs that want timers as those of package time, as
// precise as their tick. A goroutine sleeps on an Alarm until the next timer is due, and wakes up once for each tick at
// which timers expire; with no timer running, it sleeps until there is one.
//
// A timer expires at the first tick not before its deadline, never before, and as much later as it takes the machine to
// wake the goroutine up: see Alarm. Starting a timer costs what START_TIMER costs and one reading of the clock, and a
// system call if the timer is to expire before all others; stopping one costs no system call. Neither allocates, except
// for the timer itself when it is made.
//
// Multiple goroutines may invoke methods on a Realtime and on its timers, expiry functions included. A Realtime that is
// not closed is never collected.
type Realtime struct {
	clock  *Alarm // the first alarm, to read the time from
	config AlarmConfig
	tick   time.Duration
	done   chan struct{} // closed when the last server has ended

	mu       sync.Mutex
	wheel    Facility
	timers   []*RealtimeTimer // by handle: the timers that run
	onExpiry func(Timer)      // expire, as Advance takes it
	closed   bool
	wakeups  uint64
	expired  uint64

	// See serve for the part of each.
	alarms  []*Alarm // all: at most maxServers
	alarm   *Alarm   // the one that is set for the next expiry
	spare   *Alarm   // the one that stands by; nil if there is none, or its goroutine runs a function
	servers int      // goroutines that serve or stand by

	inline  func() // the function of an InlineFunc that has expired just now
	last    func() // that of the last AfterFunc that has expired, if it has not been started yet
	calling bool   // a function of InlineFunc runs
}

// RealtimeConfig are the parameters of a Realtime. The zero value of each field stands for its default.
type RealtimeConfig struct {
	// Scheme is the name of the scheme that keeps the timers: Default by default. It is not "runtime", which has a
	// clock of its own.
	Scheme string

	// Tick is the granularity: Config.Tick. Deadlines round up to a tick, and timers of one tick share a wake-up.
	Tick time.Duration

	// Slots and Levels are Config.Slots and Config.Levels.
	Slots, Levels int

	// Reserve is the number of running timers to make room for at the start.
	Reserve int

	// Alarm says how to read and sleep on the clock. Ticks fall at its epoch, and at all multiples of Tick since.
	Alarm AlarmConfig
}

// RealtimeStats count what a Realtime has done since its start.
type RealtimeStats struct {
	Running  int    `json:"running"`  // timers that run now
	Expiries uint64 `json:"expiries"` // timers that have expired
	Wakeups  uint64 `json:"wakeups"`  // times that the clock woke a goroutine up
	Sets     uint64 `json:"sets"`     // times that the clock was set: system calls
}

// Start makes a Realtime and starts its goroutine. Its error names the parameter, the value and the bound that it
// breaks, or the system call that failed.
func Start(cfg RealtimeConfig) (*Realtime, error) {
	if cfg.Scheme == "" {
		cfg.Scheme = Default
	}
	if cfg.Tick == 0 {
		cfg.Tick = time.Millisecond
	}
	if cfg.Alarm.Epoch.IsZero() {
		cfg.Alarm.Epoch = time.Now()
	}
	if cfg.Reserve < 0 || cfg.Reserve > maxRecords {
		return nil, fmt.Errorf("wheel: reserve %d, want 0 to %d", cfg.Reserve, maxRecords)
	}
	w, err := New(cfg.Scheme, Config{Tick: cfg.Tick, Slots: cfg.Slots, Levels: cfg.Levels})
	if err != nil {
		return nil, err
	}
	if _, ok := w.(*runtimeTimers); ok {
		return nil, fmt.Errorf("wheel: scheme %q, want one without a clock of its own", cfg.Scheme)
	}
	alarm, err := NewAlarm(cfg.Alarm)
	if err != nil {
		return nil, err
	}
	if cfg.Reserve > 0 {
		w.Reserve(cfg.Reserve)
	}
	rt := &Realtime{
		clock:  alarm,
		config: cfg.Alarm,
		tick:   cfg.Tick,
		done:   make(chan struct{}),
		wheel:  w,
		timers: make([]*RealtimeTimer, cfg.Reserve+1),
		alarm:  alarm,
	}
	rt.onExpiry = rt.expire
	rt.addServer(alarm)
	return rt, nil
}

// Now returns the time since the epoch of the configuration, which by default is the start of rt.
func (rt *Realtime) Now() Time { return rt.clock.Now() }

// Tick returns the granularity.
func (rt *Realtime) Tick() time.Duration { return rt.tick }

// Stats returns the counts.
func (rt *Realtime) Stats() RealtimeStats {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	s := RealtimeStats{Running: rt.wheel.Len(), Expiries: rt.expired, Wakeups: rt.wakeups}
	for _, a := range rt.alarms {
		s.Sets += a.Sets()
	}
	return s
}

// Done returns a channel that is closed when the goroutines of rt have ended.
func (rt *Realtime) Done() <-chan struct{} { return rt.done }

// Close stops all timers and ends the goroutines of rt. It returns when they have ended, except while one of them runs
// a function of InlineFunc, which may be the caller: that goroutine ends when the function returns, which Done tells.
// Functions that AfterFunc has started run on. A timer that is started after Close never expires.
func (rt *Realtime) Close() error {
	rt.mu.Lock()
	calling := rt.calling
	if !rt.closed {
		rt.closed = true
		for h, t := range rt.timers {
			if t != nil {
				rt.release(Timer(h))
			}
		}
	}
	alarms := rt.alarms
	rt.mu.Unlock()
	var err error
	for _, a := range alarms {
		err = errors.Join(err, a.Close())
	}
	if !calling {
		<-rt.done
	}
	return err
}
