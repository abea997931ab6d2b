package wheel

import "time"

// RealtimeTimer is one timer of a Realtime, like time.Timer. It owns a record of the wheel only
// while it runs. The Realtime keeps a running timer alive. A timer that is not running is
// collected when nothing refers to it.
type RealtimeTimer struct {
	// C delivers the time of each expiry of a timer made by NewTimer; else it is nil.
	C <-chan time.Time

	rt     *Realtime
	f      func()
	inline bool
	ch     chan time.Time // C; it has room for one value
	handle Timer          // the record while running, else 0; guarded by rt.mu
}

// AfterFunc calls f at the first tick after d, in a goroutine of its own: time.AfterFunc with the
// precision of rt. Functions of one tick run in no particular order, because the scheduler orders
// goroutines.
func (rt *Realtime) AfterFunc(d time.Duration, f func()) *RealtimeTimer {
	return rt.start(&RealtimeTimer{f: f}, d)
}

// InlineFunc is AfterFunc for functions that return soon. f runs in the goroutine that serves rt,
// one function after another, earlier ticks first. No expiry costs a goroutine, but while f runs
// no other timer of rt expires. So f must return; if it waits for another timer of rt, it waits
// for ever. f may call any method of rt and its timers. A timer that it stops does not expire,
// even one of its own tick.
func (rt *Realtime) InlineFunc(d time.Duration, f func()) *RealtimeTimer {
	return rt.start(&RealtimeTimer{f: f, inline: true}, d)
}

// NewTimer sends the time on C at the first tick after d: time.NewTimer with the precision of rt.
// C has room for one value, which Stop and Reset remove.
func (rt *Realtime) NewTimer(d time.Duration) *RealtimeTimer {
	ch := make(chan time.Time, 1)
	return rt.start(&RealtimeTimer{C: ch, ch: ch}, d)
}

func (rt *Realtime) start(t *RealtimeTimer, d time.Duration) *RealtimeTimer {
	if t.f == nil && t.ch == nil {
		panic("BUG: wheel: timer with a nil function")
	}
	t.rt = rt
	t.Reset(d)
	return t
}

// Reset starts the timer to expire d after the call, and reports whether it was running. A
// negative d counts as 0: the timer expires at the next tick. Reset never calls the function
// itself.
//
// If it returns false for a timer with a function, the timer was stopped or its function was
// started before. A started function runs on, possibly at the same time as the next run. For a
// timer with a channel, no time of an earlier expiry is received from C after Reset. An expiry
// whose time had not been received counts as running.
func (t *RealtimeTimer) Reset(d time.Duration) bool {
	return t.ResetAt(t.owner().Now().Add(max(d, 0)))
}

// ResetAt is Reset to an instant on the clock of Realtime.Now; a passed instant counts as now. A
// function that restarts its timer at instants it computes makes a ticker without drift.
// Restarted for an interval, the timer would drift: the interval begins when the function runs,
// and rounds up to a tick again.
func (t *RealtimeTimer) ResetAt(at Time) bool {
	rt := t.owner()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	was := t.drain()
	if rt.closed {
		return was
	}
	if t.handle != 0 {
		was = true
	} else {
		t.handle = rt.wheel.New(0)
		for int(t.handle) >= len(rt.timers) {
			rt.timers = append(rt.timers, nil)
		}
		rt.timers[t.handle] = t
	}
	rt.wheel.Schedule(t.handle, at)
	due, _ := rt.wheel.Deadline(t.handle)
	rt.alarm.ArmEarlier(due)
	return was
}

// Stop keeps the timer from expiring, and reports whether it did. It returns false if the timer
// has expired, was stopped before, or its Realtime is closed. After false, the function of
// AfterFunc or InlineFunc may be running; Stop does not wait for it. After Stop, no time is
// received from C: a time not yet received is removed, and counts as stopped.
func (t *RealtimeTimer) Stop() bool {
	rt := t.owner()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	was := t.drain()
	if t.handle != 0 {
		rt.release(t.handle)
		was = true
	}
	return was
}

// Deadline returns the instant of the tick at which the timer will expire, on the clock of
// Realtime.Now, and whether it is running.
func (t *RealtimeTimer) Deadline() (at Time, running bool) {
	rt := t.owner()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if t.handle == 0 {
		return 0, false
	}
	return rt.wheel.Deadline(t.handle)
}

// drain removes the time of an earlier expiry from C, and reports whether there was one. The
// caller holds the lock, under which times are sent.
func (t *RealtimeTimer) drain() bool {
	select {
	case <-t.ch:
		return true
	default:
		return false
	}
}

func (t *RealtimeTimer) owner() *Realtime {
	if t.rt == nil {
		panic("BUG: wheel: timer was not made by a Realtime")
	}
	return t.rt
}
