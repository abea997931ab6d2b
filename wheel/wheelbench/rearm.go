package wheelbench

import (
	"time"

	"tcpwheel/wheel"
)

// rearm is what acknowledgements and activity do to timers: move them to a later deadline, over
// and over.
var rearm = Workload{
	Name:     "rearm",
	About:    "START of a random one of n timers that run",
	countOps: 10_000,
	onWheel:  func(b base, f wheel.Facility) load { return &wheelRearm{wheelBase{base: b, f: f}} },
	rivals: map[string]func(b base) load{
		Runtime: func(b base) load { return &runtimeRearm{runtimeBase{base: b}} },
	},
}

type wheelRearm struct{ wheelBase }

func (l *wheelRearm) fill() bool { return l.make(l.n) && l.startAll() }

func (l *wheelRearm) run(ops int) (int, bool) {
	f, rng, first, n, tick := l.f, l.rng, l.first, uint64(l.n), wheel.Time(l.tick)
	now := f.Now()
	for range ops {
		r := rng.next()
		f.Schedule(first+wheel.Timer(below(r, n)), now+wheel.Time(interval(r))*tick)
	}
	l.rng = rng
	return ops, true
}

type runtimeRearm struct{ runtimeBase }

func (l *runtimeRearm) run(ops int) (int, bool) {
	rng, timers, n := l.rng, l.timers, uint64(l.n)
	for range ops {
		r := rng.next()
		timers[below(r, n)].Reset(away + time.Duration(interval(r))*l.tick)
	}
	l.rng = rng
	return ops, true
}
