package track

import (
	"time"

	"tcpwheel/wheel"
)

// captureClock is what the times of all packets show about the clock of the capture.
type captureClock struct {
	origin wheel.Time
	last   wheel.Time
	tick   time.Duration // the greatest common divisor of times since origin; 0 without any
	times  int           // that differ, up to tickTimes
	back   time.Duration // how far it last went back
	backAt wheel.Time    // from when
}

const (
	// fineTick is the resolution below which a clock is exact for all that is measured here.
	fineTick = 100 * time.Microsecond

	// tickTimes is how many times must agree with a coarse clock: those of a few packets do by chance.
	tickTimes = 64
)

// note takes in the time of a packet.
func (k *captureClock) note(at wheel.Time) {
	if k.tick > 0 && k.tick < fineTick || at == k.last {
		return
	}
	if k.last == 0 {
		k.origin = at
	}
	k.last = at
	k.times = min(k.times+1, tickTimes)
	a, b := at.Sub(k.origin).Abs(), k.tick
	for b > 0 {
		a, b = b, a%b
	}
	k.tick = a
}

// wentBack notes a step back from a time.
func (k *captureClock) wentBack(by time.Duration, at wheel.Time) {
	if at != k.backAt || by > k.back {
		k.back, k.backAt = by, at
	}
}

// resolution returns the clock's resolution, 0 for a fine one.
func (k *captureClock) resolution() time.Duration {
	if k.tick < fineTick || k.times < tickTimes {
		return 0
	}
	return k.tick
}

// unsure returns by how much the time between two packets may be wrong.
func (k *captureClock) unsure(from, to wheel.Time) time.Duration {
	if k.back > 0 && from <= k.backAt && to >= k.backAt.Add(-k.back) {
		return k.back + k.resolution()
	}
	return k.resolution()
}
