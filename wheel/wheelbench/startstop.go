package wheelbench

import (
	"time"

	"tcpwheel/wheel"
)

// startStop is the life of most timers: started, and stopped before they expire.
var startStop = Workload{
	Name:     "start-stop",
	About:    "START and STOP of one timer while n others run",
	countOps: 10_000,
	onWheel:  func(b base, f wheel.Facility) load { return &wheelStartStop{wheelBase: wheelBase{base: b, f: f}} },
	rivals: map[string]func(b base) load{
		Runtime: func(b base) load { return &runtimeStartStop{runtimeBase: runtimeBase{base: b}} },
	},
}

// spares is how many timers take turns. They are too many for the next one to be the one that was
// stopped last, and few enough to stay in the cache, as the timers of active connections do.
const spares = 64 // a power of two

type wheelStartStop struct {
	wheelBase
	turn      int
	deadlines [1024]wheel.Time // drawn in advance: a call costs little more than a random number
}

func (l *wheelStartStop) fill() bool { return l.make(l.n+spares) && l.startAll() }

func (l *wheelStartStop) ready() bool {
	for i := range l.deadlines {
		l.deadlines[i] = l.f.Now() + wheel.Time(interval(l.rng.next()))*wheel.Time(l.tick)
	}
	return true
}

func (l *wheelStartStop) run(ops int) (int, bool) {
	f, spare := l.f, l.first+wheel.Timer(l.n)
	for i := l.turn; i < l.turn+ops; i++ {
		t := spare + wheel.Timer(i%spares)
		f.Schedule(t, l.deadlines[i%len(l.deadlines)])
		f.Stop(t)
	}
	l.turn = (l.turn + ops) % len(l.deadlines)
	return ops, true
}

type runtimeStartStop struct {
	runtimeBase
	turn      int
	intervals [1024]time.Duration
}

func (l *runtimeStartStop) ready() bool {
	for i := range l.intervals {
		l.intervals[i] = away + time.Duration(interval(l.rng.next()))*l.tick
	}
	return true
}

func (l *runtimeStartStop) run(ops int) (int, bool) {
	for i := l.turn; i < l.turn+ops; i++ {
		time.AfterFunc(l.intervals[i%len(l.intervals)], never).Stop()
	}
	l.turn = (l.turn + ops) % len(l.intervals)
	return ops, true
}
