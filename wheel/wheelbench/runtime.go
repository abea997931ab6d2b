package wheelbench

import "time"

// Runtime names the Go runtime's timers, the rival of the schemes.
const Runtime = "runtime"

// away is so far in the future that no timer expires during a benchmark.
const away = time.Hour

// never is the function of timers that do not expire.
func never() {}

// runtimeBase is the common part of loads on the Go runtime's timers: n running timers.
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

// own is the space of the handles, which other facilities are not charged for either.
func (b *runtimeBase) own() int { return 8 * cap(b.timers) }
