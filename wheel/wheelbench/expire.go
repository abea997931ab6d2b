package wheelbench

import (
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// expire runs every timer to its expiry, and pays for every tick.
var expire = Workload{
	Name:  "expire",
	About: "START of n timers, ticks until all have expired; per timer",
	// 10^5 of the runtime's timers keep the processor busy for much longer than the 10 ms of the
	// longest interval.
	runtimeFrom: 100_000,
	onWheel:     func(b base, f wheel.Facility) load { return &wheelExpire{wheelBase{base: b, f: f}} },
	rivals: map[string]func(b base) load{
		Runtime: func(b base) load { return &runtimeExpire{runtimeBase{base: b}} },
	},
}

type wheelExpire struct{ wheelBase }

func (l *wheelExpire) fill() bool  { return l.make(l.n) && l.startAll() }
func (l *wheelExpire) ready() bool { return l.expireAll() }

// run does passes of n operations.
func (l *wheelExpire) run(ops int) (done int, ok bool) {
	for done < ops && (done == 0 || !l.stop.Load()) {
		if !l.startAll() || !l.expireAll() {
			return done, false
		}
		done += l.n
	}
	return done, true
}

// expireAll advances tick by tick to the last expiry. Where a scheme rounds to coarser ticks,
// that is past the longest interval.
func (l *wheelExpire) expireAll() bool {
	tick, expired := wheel.Time(l.tick), 0
	for now := l.f.Now() + tick; expired < l.n; now += tick {
		n, _ := l.f.Advance(now, 0, ignore)
		expired += n
		if l.stop.Load() {
			return false
		}
	}
	return true
}

func ignore(wheel.Timer) {}

type runtimeExpire struct{ runtimeBase }

// ready stops the timers that space was measured with.
func (l *runtimeExpire) ready() bool {
	l.close()
	return true
}

func (l *runtimeExpire) run(ops int) (done int, ok bool) {
	rng := l.rng
	for done < ops && (done == 0 || !l.stop.Load()) {
		var expired atomic.Int64
		last := make(chan struct{})
		fire := func() {
			if expired.Add(1) == int64(l.n) {
				close(last)
			}
		}
		for range l.n {
			time.AfterFunc(time.Duration(interval(rng.next()))*time.Microsecond, fire)
		}
		<-last
		done += l.n
	}
	l.rng = rng
	return done, true
}
