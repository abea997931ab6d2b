package wheel

import (
	"errors"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Alarm is the machine's clock with one instant at which it goes off. A goroutine that serves a
// facility in real time sleeps on it. Realtime uses it, and programs that keep a wheel of their
// own do this:
//
//	for alarm.Wait() == nil {
//	mu.Lock()
//	wheel.Advance(alarm.Now(), 0, expire)
//	if at, ok := wheel.NextWakeup(); ok {
//	alarm.Arm(at)
//	} else {
//	alarm.Disarm()
//	}
//	mu.Unlock()
//	}
//
// and, wherever a timer is started,
//
//	mu.Lock()
//	wheel.Schedule(t, deadline)
//	at, _ := wheel.Deadline(t)
//	alarm.ArmEarlier(at)
//	mu.Unlock()
//
// Starting a timer then costs a system call only if it expires before all others. An Alarm goes
// off once each time it is armed.
//
// On Linux it is a timerfd on CLOCK_MONOTONIC, registered with the runtime's netpoller: Wait
// parks the goroutine and holds no thread. An Alarm learns how long the machine takes to wake the
// goroutine, 5 to 50 µs, and wakes it that much earlier. If a processor is idle, most waits end
// within a few microseconds of the instant: see AlarmConfig.NoSpin. On other systems, and with
// AlarmConfig.RuntimeTimers, it is a timer of the Go runtime, which may wake an idle process a
// millisecond late. If all processors are busy, both are late until one is free.
//
// The clock is monotonic: setting the time of day does not affect it. On Linux it stops while the
// machine sleeps.
//
// In a bubble of testing/synctest, time is that of the bubble. NewAlarm finds out and takes the
// runtime's timer, because the kernel does not know the bubble's clock. An Alarm belongs to the
// bubble it was made in.
//
// Multiple goroutines may invoke methods on an Alarm, but only one at a time may call Wait.
type Alarm struct {
	start  time.Time
	offset Time         // Now at start
	armed  atomic.Int64 // the instant set last, or unset; kept after the alarm went off

	mu     sync.Mutex // held while the clock is set, so that none is set after Close
	clock  alarmClock
	sets   uint64
	closed bool
}

// unset is the instant of an alarm that is not armed.
const unset = math.MaxInt64

// AlarmConfig are the parameters of an Alarm. A zero field means its default.
type AlarmConfig struct {
	// Epoch is the instant at which Now is 0. Alarms with the same epoch, as read by time.Now,
	// agree on Now to the nanosecond. Default: the call of NewAlarm.
	Epoch time.Time

	// RuntimeTimers makes the alarm a timer of the Go runtime on all systems. It is imprecise.
	// Default: false, except in a bubble of testing/synctest.
	RuntimeTimers bool

	// NoSpin makes the goroutine sleep until the instant itself, so that each wake-up is as late
	// as the machine makes it. Otherwise the goroutine wakes earlier by what was learnt, at most
	// 100 µs and a quarter of its sleep, and spins for the rest, a few microseconds. Default:
	// false.
	NoSpin bool
}

// alarmClock is the part of an Alarm that depends on the system. Alarm.mu serialises all calls
// but wait.
type alarmClock interface {
	set(at Time)        // goes off at at, and no longer at an instant set before
	clear(pending bool) // does not go off; pending: the instant set is yet to come
	wait() bool         // sleeps until it goes off; returns false once closed
	close() error
}

// errFakeClock is the error of newSystemClock in a bubble of testing/synctest.
var errFakeClock = errors.New("wheel: the clock of package time is not the kernel's")

// NewAlarm makes an alarm that is not armed. It fails if the system has no file descriptor left.
func NewAlarm(cfg AlarmConfig) (*Alarm, error) {
	a := &Alarm{start: time.Now()}
	if !cfg.Epoch.IsZero() {
		a.offset = Time(a.start.Sub(cfg.Epoch))
	}
	a.armed.Store(unset)
	if cfg.RuntimeTimers {
		a.clock = newRuntimeClock(a)
		return a, nil
	}
	clock, err := newSystemClock(a, cfg.NoSpin)
	if err == errFakeClock {
		clock, err = newRuntimeClock(a), nil
	}
	if err != nil {
		return nil, err
	}
	a.clock = clock
	return a, nil
}

// Now returns the time since the epoch. It never steps back.
func (a *Alarm) Now() Time { return a.offset.Add(time.Since(a.start)) }

// Arm sets the alarm to go off at at, instead of any instant set before: at once if at has
// passed. It costs one system call. On a closed alarm it does nothing.
func (a *Alarm) Arm(at Time) {
	a.mu.Lock()
	a.set(at)
	a.mu.Unlock()
}

// ArmEarlier is Arm if at is before the instant set last, and otherwise costs one comparison.
// After an alarm went off, its instant counts until Arm or Disarm, because its goroutine is about
// to call one.
func (a *Alarm) ArmEarlier(at Time) {
	if int64(at) >= a.armed.Load() {
		return
	}
	a.mu.Lock()
	if int64(at) < a.armed.Load() {
		a.set(at)
	}
	a.mu.Unlock()
}

func (a *Alarm) set(at Time) {
	if !a.closed {
		a.armed.Store(int64(at))
		a.clock.set(at)
		a.sets++
	}
}

// Disarm keeps the alarm from going off. It costs a system call only if the instant set has not
// come.
func (a *Alarm) Disarm() {
	a.mu.Lock()
	defer a.mu.Unlock()
	at := a.armed.Load()
	if at == unset || a.closed {
		return
	}
	a.armed.Store(unset)
	pending := at > int64(a.Now())
	a.clock.clear(pending)
	if pending {
		a.sets++
	}
}

// Wait sleeps until the alarm goes off. It returns os.ErrClosed once the alarm is closed. It may
// return for an instant that Arm has replaced meanwhile, so the caller asks Now what is due.
func (a *Alarm) Wait() error {
	if !a.clock.wait() {
		return os.ErrClosed
	}
	return nil
}

// Sets returns how often the clock was set: the system calls of Arm, ArmEarlier and Disarm.
func (a *Alarm) Sets() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sets
}

// Close releases the clock and ends Wait. A second call does nothing.
func (a *Alarm) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	return a.clock.close()
}

// runtimeClock is an alarm clock made of a timer of the Go runtime.
type runtimeClock struct {
	alarm *Alarm
	timer *time.Timer
	done  chan struct{}
}

func newRuntimeClock(a *Alarm) *runtimeClock {
	c := &runtimeClock{alarm: a, timer: time.NewTimer(math.MaxInt64), done: make(chan struct{})}
	c.timer.Stop()
	return c
}

func (c *runtimeClock) set(at Time) { c.timer.Reset(at.Sub(c.alarm.Now())) }
func (c *runtimeClock) clear(bool)  { c.timer.Stop() }

func (c *runtimeClock) wait() bool {
	select {
	case <-c.timer.C:
		return true
	case <-c.done:
		return false
	}
}

func (c *runtimeClock) close() error {
	c.timer.Stop()
	close(c.done)
	return nil
}
