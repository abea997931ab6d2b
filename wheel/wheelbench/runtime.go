package wheelbench

import "time"

// away is so far in the future that no timer of a benchmark expires meanwhile.
const away = time.Hour

// never is the function of timers that do not expire.
func never() {}

// runtimeBase is what loads on the Go runtime's timers share: n of them that run.
type runtimeBase struct {
	base
	timers []*time.Timer
}

func (b *runtimeBase) fill() bool {
	b.timers = make([]*time.Timer, b.n)
	for i := range b.timers {
		b.timers[i] = time.AfterFunc(away+time.Duration(interval(b.rng.next()))*b.tick, never)
		if b.stop.Load() {
			return false
		}
	}
	return true
}

func (b *runtimeBase) close() {
	for _, t := range b.timers {
		if t != nil {
			t.Stop()
		}
	}
	b.timers = nil
}

// own is the space of the handles, which is not counted for other facilities either.
func (b *runtimeBase) own() int { return 8 * cap(b.timers) }
