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
	same   int           // packets with the time of the one before, up to tickTimes
	back   time.Duration // how far it last went back
	backAt wheel.Time    // from when
	behind int           // packets since, from before that time
	before time.Duration // how far it went back the time before
	ahead  time.Duration // how far it has gone ahead, at an unknown time: it went back twice
}

const (
	// fineTick is the resolution below which a clock is exact for all that is measured here.
	fineTick = 100 * time.Microsecond

	// tickTimes is how many times must agree with a coarse clock: those of a few packets do by chance.
	// As many packets are enough where half of them have the time of the one before.
	tickTimes = 64

	// noClock is the resolution of a file whose packets have one time.
	noClock = time.Minute
)

// note takes in the time of a packet.
func (k *captureClock) note(at wheel.Time) {
	if k.tick > 0 && k.tick < fineTick {
		return
	}
	if at == k.last {
		k.same = min(k.same+1, tickTimes)
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
	if at != k.backAt {
		if k.behind > 1 { // else a packet was out of order in the file
			k.before = k.back
		}
		k.back, k.backAt, k.behind = 0, at, 0
	}
	k.back = max(k.back, by)
	if k.behind++; k.behind > 1 {
		k.ahead = max(k.ahead, min(k.before, k.back))
	}
}

// resolution returns the clock's resolution, 0 for a fine one.
func (k *captureClock) resolution() time.Duration {
	if k.tick == 0 && k.same >= tickTimes/2 {
		return noClock
	}
	if k.tick >= fineTick && (k.times >= tickTimes || k.same >= max(k.times, tickTimes/2)) {
		return k.tick
	}
	return 0
}

// unsure returns by how much the time between two packets may be wrong.
func (k *captureClock) unsure(from, to wheel.Time) time.Duration {
	if k.wentBackBetween(from, to) {
		return k.back + k.resolution()
	}
	return k.ahead + k.resolution()
}

// wentBackBetween reports whether the clock went back between two packets.
func (k *captureClock) wentBackBetween(from, to wheel.Time) bool {
	return k.back > 0 && from <= k.backAt && to >= k.backAt.Add(-k.back)
}

// unsure returns by how much the time between two packets of both directions may be wrong.
func (c *Conn) unsure(from, to wheel.Time) time.Duration {
	return c.captured.unsure(from, to) + min(2*c.skew, queueSkew)
}

// noteSkew notes that a packet was captured that much later than its ACK: the stamps of both
// directions are apart by more than the round trip.
func (c *Conn) noteSkew(by time.Duration) {
	c.skew = max(c.skew, min(by, queueSkew), 1)
}
