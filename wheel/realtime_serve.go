package wheel

import (
	"math"
	"time"
)

const (
	// maxServers is how many alarms a Realtime has, each with its goroutine: one serves, one stands by.
	maxServers = 2

	// expiryBatch is how many timers expire before others get the lock: some 20 µs of work.
	expiryBatch = 64

	// exactSearch is the number of running timers up to which the server looks for the exact next expiry, a few
	// microseconds at most. Beyond, it asks for the next busy slot, and may be woken up to look at later rounds.
	exactSearch = 1024
)

// addServer adds an alarm with its goroutine.
func (rt *Realtime) addServer(a *Alarm) {
	rt.alarms = append(rt.alarms, a)
	rt.servers++
	go rt.serve(a)
}

// serve is the goroutine of alarm a. It either serves, which is to sleep until its alarm goes off and to do the
// book-keeping then, or stands by with an alarm that is not set.
//
// A function of AfterFunc needs a goroutine that nobody waits for. A new one would be as late as it takes to wake up
// another thread, 15 µs on a virtual machine. So the server sets the alarm of the one that stands by instead of its
// own, which costs nothing as one has to be set anyway, and runs the function itself, at once. It stands by when the
// function has returned. While it has not, functions get new goroutines.
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

// bookkeep does PER_TICK_BOOKKEEPING, runs what has expired, and sets the clock for what expires next. It may leave a
// function for the caller to run, who then serves no longer.
func (rt *Realtime) bookkeep() (f func()) {
	rt.mu.Lock()
	defer rt.mu.Unlock()
	rt.wakeups++
	now := rt.Now()
	for n := 1; !rt.closed; n++ {
		// One expiry at a time, so that a function which runs here may still stop those of its own tick.
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

// expire is EXPIRY_PROCESSING, called by Advance with the lock held. The record goes back at once, so that a timer
// which has expired leaves nothing behind.
func (rt *Realtime) expire(h Timer) {
	t := rt.release(h)
	rt.expired++
	switch {
	case t.ch != nil:
		t.ch <- time.Now() // there is room: Reset has emptied it
	case t.inline:
		rt.inline = t.f
	default:
		rt.startLast()
		rt.last = t.f
	}
}

// release gives the record h back and returns the timer that it stood for, which now does not run.
func (rt *Realtime) release(h Timer) *RealtimeTimer {
	t := rt.timers[h]
	rt.timers[h] = nil
	rt.wheel.Free(h)
	t.handle = 0
	return t
}

// runInline runs the function of an InlineFunc, without the lock.
func (rt *Realtime) runInline() {
	rt.startLast()
	f := rt.inline
	rt.inline, rt.calling = nil, true
	rt.mu.Unlock()
	f()
	rt.mu.Lock()
	rt.calling = false
}

// startLast starts the function of the last AfterFunc that has expired in a new goroutine, if it is not started yet.
func (rt *Realtime) startLast() {
	if rt.last != nil {
		go rt.last()
		rt.last = nil
	}
}

// handOver returns the function of the last AfterFunc that has expired, if there is a goroutine that stands by; that
// one serves from now on. Else the function gets a new goroutine, and so does, once, the alarm that is to stand by.
func (rt *Realtime) handOver() (f func()) {
	if rt.last != nil && rt.spare != nil {
		f, rt.last = rt.last, nil
		rt.alarm, rt.spare = rt.spare, nil
		rt.servers--
	} else if rt.last != nil {
		rt.startLast()
		if len(rt.alarms) < maxServers {
			// Without it, for want of a descriptor, things go on as they did this time.
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
