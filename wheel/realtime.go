package wheel

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Realtime is a facility on the machine's clock: timers like those of package time, as precise as
// their tick. A goroutine sleeps on an Alarm until the next timer is due. It wakes up once for
// each tick with expiring timers, and not at all while no timer runs.
//
// A timer expires at the first tick not before its deadline, never before, plus the time the
// machine takes to wake the goroutine: see Alarm. Starting a timer costs START_TIMER and one
// reading of the clock, and a system call if the timer expires before all others. Stopping one
// costs no system call. Neither allocates; only making a timer does.
//
// Multiple goroutines may invoke methods on a Realtime and on its timers, expiry functions
// included. A Realtime that is not closed is never collected.
type Realtime struct {
	clock  *Alarm // the first alarm; only its clock is used
	config AlarmConfig
	tick   time.Duration
	done   chan struct{} // closed when the last server has ended

	mu       sync.Mutex
	wheel    Facility
	timers   []*RealtimeTimer // running timers by handle
	onExpiry func(Timer)      // rt.expire as a function value
	closed   bool
	wakeups  uint64
	expired  uint64

	// See serve for the part that each plays.
	alarms  []*Alarm // all of them, at most maxServers
	alarm   *Alarm   // the one armed for the next expiry
	spare   *Alarm   // the one on standby; nil if there is none or its goroutine runs a function
	servers int      // goroutines that serve or are on standby

	inline  func() // function of an InlineFunc timer that just expired
	last    func() // function of the last AfterFunc timer that expired, if not started yet
	calling bool   // inside a function of InlineFunc
}

// RealtimeConfig are the parameters of a Realtime. A zero field means its default.
type RealtimeConfig struct {
	// Scheme is the name of the scheme that keeps the timers. It must not be "runtime", which has
	// a clock of its own. Default: Default.
	Scheme string

	// Tick is the granularity: see Config.Tick. Deadlines round up to a tick, and timers of one
	// tick share a wake-up. Default: 1 ms.
	Tick time.Duration

	// Slots and Levels are Config.Slots and Config.Levels.
	Slots, Levels int

	// Reserve is the number of running timers to make room for at the start, 0 to 2^28. Default:
	// 0.
	Reserve int

	// Alarm configures the clock. Ticks fall at its epoch plus multiples of Tick.
	Alarm AlarmConfig
}

// RealtimeStats are counts since the start of a Realtime.
type RealtimeStats struct {
	Running  int    `json:"running"`  // running timers
	Expiries uint64 `json:"expiries"` // expired timers
	Wakeups  uint64 `json:"wakeups"`  // times the clock woke a goroutine
	Sets     uint64 `json:"sets"`     // times the clock was set: system calls
}

// Start makes a Realtime and starts its goroutine. Its error names the field, the value and the
// bound it breaks, or the system call that failed.
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

// Now returns the time since AlarmConfig.Epoch, by default since Start.
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

// Close stops all timers and ends the goroutines of rt. It waits for them, except while one of
// them runs a function of InlineFunc, which may be the caller; that goroutine ends when the
// function returns (see Done). Functions started by AfterFunc run on. A timer started after Close
// never expires.
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
