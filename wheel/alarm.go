package wheel

import (
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Alarm is the machine's clock, with one instant at which it goes off. It is what a goroutine sleeps on that serves a
// facility in real time; Realtime is made of one, and programs that keep a wheel of their own use it like this:
//
//	for alarm.Wait() == nil {
//		mu.Lock()
//		wheel.Advance(alarm.Now(), 0, expire)
//		if at, ok := wheel.NextWakeup(); ok {
//			alarm.Arm(at)
//		} else {
//			alarm.Disarm()
//		}
//		mu.Unlock()
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
// so that a timer which is started costs a system call only if it is to expire before all others. An Alarm goes off
// once for each time it is armed, and never by itself.
//
// On Linux it is a timerfd on CLOCK_MONOTONIC, registered with the runtime's netpoller: Wait parks the goroutine and
// holds no thread. How long the machine takes to wake it up, 5 to 50 µs, is learnt and set off, so that most waits end
// within a few microseconds of the instant if a processor is idle: see AlarmConfig.NoSpin. Elsewhere, and where
// RuntimeTimers asks for it, it is a timer of the Go runtime, which on an idle process may wake a millisecond late. A
// process whose processors are all busy delays both until one of them is free.
//
// The clock is monotonic: setting the time of day does not touch it. On Linux it stands still while the machine sleeps.
//
// Multiple goroutines may invoke methods on an Alarm, but only one at a time Wait.
type Alarm struct {
	start  time.Time
	offset Time         // Now at start
	armed  atomic.Int64 // the instant set last, or unset; it stays after the alarm went off

	mu     sync.Mutex // held to set the clock, so that none is set once it is closed
	clock  alarmClock
	sets   uint64
	closed bool
}

// unset is no instant: nothing is armed.
const unset = math.MaxInt64

// AlarmConfig are the parameters of an Alarm.
type AlarmConfig struct {
	// Epoch is the instant at which Now is 0: that of NewAlarm by default. Alarms that share an epoch that was read
	// by time.Now agree on Now to the nanosecond.
	Epoch time.Time

	// RuntimeTimers makes the alarm a timer of the Go runtime on all systems. It is imprecise, but obeys the fake
	// clock of testing/synctest.
	RuntimeTimers bool

	// NoSpin lets the goroutine sleep until the instant itself, so that each wake-up is as late as the machine takes.
	// Else it is woken up as much earlier as was learnt, 100 µs or a quarter of its sleep at most, and keeps the
	// processor busy for the rest, a few microseconds.
	NoSpin bool
}

// alarmClock is the part of an Alarm that depends on the system. All calls but wait are serialised by Alarm.mu.
type alarmClock interface {
	set(at Time)        // goes off at at, and not at what was set before
	clear(pending bool) // does not go off; pending tells whether the instant that was set is yet to come
	wait() bool         // sleeps until it goes off, and returns false once it is closed
	close() error
}

// NewAlarm makes an alarm that is not armed. It fails where the system has no file descriptor left for it.
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
	if err != nil {
		return nil, err
	}
	a.clock = clock
	return a, nil
}

// Now returns the time since the epoch. It never steps back.
func (a *Alarm) Now() Time { return a.offset.Add(time.Since(a.start)) }

// Arm sets the alarm to go off at at, in place of whatever was set before: at once if at has passed. One system call.
// It does nothing on a closed alarm.
func (a *Alarm) Arm(at Time) {
	a.mu.Lock()
	a.set(at)
	a.mu.Unlock()
}

// ArmEarlier is Arm if at is before the instant that was set last, and else costs one comparison. An alarm that has
// gone off is taken to be set until it is armed anew or disarmed, because its goroutine is on its way to do so.
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

// Disarm makes the alarm not go off. It costs a system call only if the instant that was set has not come yet.
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

// Wait sleeps until the alarm goes off, and returns os.ErrClosed once it is closed. It may return for an instant that
// another call of Arm has replaced meanwhile, so that the caller asks Now what is due.
func (a *Alarm) Wait() error {
	if !a.clock.wait() {
		return os.ErrClosed
	}
	return nil
}

// Sets returns how often the clock was set: the system calls that arming has cost.
func (a *Alarm) Sets() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sets
}

// Close gives the clock back to the system and ends Wait. The second call does nothing.
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
