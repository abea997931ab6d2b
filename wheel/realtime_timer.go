package wheel

import "time"

// RealtimeTimer is one timer of a Realtime, as time.Timer is one of the runtime. It owns a record of the wheel only
// while it runs. One that has expired or was stopped, and that nobody refers to any longer, is collected; one that runs
// is kept by the Realtime.
type RealtimeTimer struct {
	// C delivers the time of each expiry, if the timer was made by NewTimer; else it is nil.
	C <-chan time.Time

	rt     *Realtime
	f      func()
	inline bool
	ch     chan time.Time // C, with room for one
	handle Timer          // the record while it runs, else 0; guarded by rt.mu
}

// AfterFunc calls f after d, at the next tick, in a goroutine that nothing else waits for: time.AfterFunc, with the
// precision of rt. As goroutines run when the scheduler likes, functions of one tick run in no particular order.
func (rt *Realtime) AfterFunc(d time.Duration, f func()) *RealtimeTimer {
	return rt.start(&RealtimeTimer{f: f}, d)
}

// InlineFunc is AfterFunc for functions that return soon: f runs in the goroutine that serves rt, one after another,
// and earlier ticks come first. No expiry costs a goroutine, but as long as f runs, no other timer of rt expires. So f
// must return; one that waits for another timer of rt waits for ever. It may call any method of rt and of its timers. A
// timer that it stops does not expire, not even one of its own tick.
func (rt *Realtime) InlineFunc(d time.Duration, f func()) *RealtimeTimer {
	return rt.start(&RealtimeTimer{f: f, inline: true}, d)
}

// NewTimer sends the time on C after d, at the next tick: time.NewTimer, with the precision of rt. C has room for one
// value, which Stop and Reset remove.
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

// Reset starts the timer to expire after d, as counted from the call, and reports whether it was running. A negative d
// counts as 0: the timer expires at the next tick. It never calls the function itself.
//
// If it returns false for a timer with a function, the function has been started before or the timer was stopped; a run
// that has been started goes on, possibly beside the one that Reset asks for. For a timer with a channel, no time of an
// earlier expiry is received from C after Reset, and true includes that there was one which had not been received.
func (t *RealtimeTimer) Reset(d time.Duration) bool {
	return t.ResetAt(t.owner().Now().Add(max(d, 0)))
}

// ResetAt is Reset to an instant on the clock of Realtime.Now; one that has passed counts as now. A function that
// starts its timer again at instants that it counts itself makes a ticker that does not drift, where one that asks for
// an interval gets that much after the tick at which it runs, rounded up to a tick once more.
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

// Stop keeps the timer from expiring, and reports whether it did: false if it has expired or was stopped before, or its
// Realtime is closed. After false, the function of AfterFunc or InlineFunc has been started, and Stop does not wait for
// it. After Stop, no time is received from C; one that had not been received is removed, and counts as stopped.
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

// Deadline returns the instant of the tick at which the timer will expire, on the clock of Realtime.Now, and whether it
// runs.
func (t *RealtimeTimer) Deadline() (at Time, running bool) {
	rt := t.owner()
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if t.handle == 0 {
		return 0, false
	}
	return rt.wheel.Deadline(t.handle)
}

// drain removes the time of an earlier expiry from C, and reports whether there was one. It is called with the lock
// held, under which times are sent.
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
