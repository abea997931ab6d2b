package wheel

import (
	"math"
	"time"
)

const (
	// maxServers is the number of alarms of a Realtime, each with its goroutine: one serves, one
	// is on standby.
	maxServers = 2

	// expiryBatch is how many timers expire before other goroutines get the lock: some 20 µs of
	// work.
	expiryBatch = 64

	// exactSearch is the number of running timers up to which the server looks for the exact next
	// expiry: a few microseconds at most. Above, it asks for the next busy slot, and may wake up
	// only to look at timers of later rotations.
	exactSearch = 1024
)

// addServer adds an alarm with its goroutine.
func (rt *Realtime) addServer(a *Alarm) {
	rt.alarms = append(rt.alarms, a)
	rt.servers++
	go rt.serve(a)
}

// serve is the goroutine of alarm a. It either serves, which means that it sleeps until its alarm
// goes off and then advances the wheel, or is on standby with an alarm that is not armed.
//
// A function of AfterFunc needs a goroutine of its own. A new one would be late by the time it
// takes to wake another thread, 15 µs on a virtual machine. So the server arms the alarm of the
// standby goroutine instead of its own, which costs nothing since one has to be armed anyway.
// Then it runs the function itself, at once, and is on standby when the function returns. Until
// then, functions get new goroutines.
func (rt *Realtime) serve(a *Alarm) {
	for a.Wait() == nil {
		if f := rt.bookkeep(); f != nil {
			f()
			if !rt.standBy(a) {
				return
			}
		}
	}
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if rt.servers--; rt.servers == 0 {
		close(rt.done)
	}
}

// standBy makes a the spare alarm, and reports whether its goroutine is still needed.
func (rt *Realtime) standBy(a *Alarm) bool {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	if !rt.closed {
		rt.spare = a
		rt.servers++
	}
	return !rt.closed
}

// bookkeep does PER_TICK_BOOKKEEPING, runs expired inline functions and arms the clock for the
// next expiry. If it returns a function, another goroutine serves from now on, and the caller
// must run the function.
func (rt *Realtime) bookkeep() (f func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.wakeups++
	now := rt.Now()
	for n := 1; !rt.closed; n++ {
		// One expiry at a time, so that a function that runs here can stop timers of its own
		// tick.
		_, done := rt.wheel.Advance(now, 1, rt.onExpiry)
		switch {
		case rt.inline != nil:
			rt.runInline()
			now = rt.Now()
		case done:
			f = rt.handOver()
			rt.arm()
			return f
		case n%expiryBatch == 0:
			rt.startLast()
			rt.mu.Unlock()
			rt.mu.Lock()
		}
	}
	return nil
}

// expire is EXPIRY_PROCESSING. Advance calls it with the lock held. It releases the record at
// once, so that an expired timer leaves nothing behind.
func (rt *Realtime) expire(h Timer) {
	t := rt.release(h)
	rt.expired++
	switch {
	case t.ch != nil:
		t.ch <- time.Now() // there is room: Reset emptied it
	case t.inline:
		rt.inline = t.f
	default:
		rt.startLast()
		rt.last = t.f
	}
}

// release releases record h and returns its timer, which is then not running.
func (rt *Realtime) release(h Timer) *RealtimeTimer {
	t := rt.timers[h]
	rt.timers[h] = nil
	rt.wheel.Free(h)
	t.handle = 0
	return t
}

// runInline runs the function of an InlineFunc timer, without the lock.
func (rt *Realtime) runInline() {
	rt.startLast()
	f := rt.inline
	rt.inline, rt.calling = nil, true
	rt.mu.Unlock()
	f()
	rt.mu.Lock()
	rt.calling = false
}

// startLast starts the function of the last AfterFunc timer that expired, if it was not started
// yet, in a new goroutine.
func (rt *Realtime) startLast() {
	if rt.last != nil {
		go rt.last()
		rt.last = nil
	}
}

// handOver returns the function of the last AfterFunc timer that expired, if a goroutine is on
// standby; that one serves from now on. Otherwise the function gets a new goroutine, and the
// first time, so does a standby alarm.
func (rt *Realtime) handOver() (f func()) {
	if rt.last != nil && rt.spare != nil {
		f, rt.last = rt.last, nil
		rt.alarm, rt.spare = rt.spare, nil
		rt.servers--
	} else if rt.last != nil {
		rt.startLast()
		if len(rt.alarms) < maxServers {
			// Without a descriptor for it, later functions get new goroutines as this one did.
			if a, err := NewAlarm(rt.config); err == nil {
				rt.spare = a
				rt.addServer(a)
			}
		}
	}
	return f
}

// arm sets the clock for the next expiry.
func (rt *Realtime) arm() {
	at, ok := Time(0), false
	if rt.wheel.Len() <= exactSearch {
		at, ok = rt.wheel.NextExpiry(math.MaxInt64)
	} else {
		at, ok = rt.wheel.NextWakeup()
	}
	if ok {
		rt.alarm.Arm(at)
	} else {
		rt.alarm.Disarm()
	}
}
