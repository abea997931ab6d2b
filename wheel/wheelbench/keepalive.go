package wheelbench

import (
	"time"

	"tcpwheel/wheel"
)

// keepalive is a timer that hardly ever expires, on a host with very many connections.
var keepalive = Workload{
	Name:     "keepalive",
	About:    "one tick of n connections at 30,000 packets a second",
	countOps: 10_000,
	onWheel:  func(b base, f wheel.Facility) load { return &wheelKeepalive{wheelBase: wheelBase{base: b, f: f}} },
	rivals: map[string]func(b base) load{
		Runtime: func(b base) load { return &runtimeKeepalive{runtimeBase: runtimeBase{base: b}} },
		Limit:   func(b base) load { return &limitKeepalive{limitBase: limitBase{base: b}} },
	},
}

const (
	// RFC 9293 §3.8.4 (MUST-28): the interval of keepalives defaults to no less than two hours.
	keepaliveInterval = 2 * time.Hour

	// The paper assumes 25,000 to 40,000 packets a second on a host.
	packetsPerSecond = 30_000
)

// lastActive returns how long a connection has been idle at the start, from the random number r.
// Packets meet connections at random, so each connection waits for n of them on average.
func (b *base) lastActive(r uint64) time.Duration {
	longest := min(2*time.Duration(b.n)*time.Second/packetsPerSecond, keepaliveInterval)
	return time.Duration(below(r, uint64(longest/time.Microsecond)+1)) * time.Microsecond
}

// packets returns how many packets arrive in the next tick. part carries the fraction of a packet
// over to the next call, in units of 1/time.Second.
func (b *base) packets(part *time.Duration) int {
	*part += b.tick * packetsPerSecond
	n := *part / time.Second
	*part -= n * time.Second
	return int(n)
}

type wheelKeepalive struct {
	wheelBase
	part  time.Duration
	probe func(wheel.Timer)
}

func (l *wheelKeepalive) fill() bool {
	if !l.make(l.n) {
		return false
	}
	// A connection whose timer expires is probed, answers, and is idle for another two hours.
	l.probe = func(t wheel.Timer) { l.f.Schedule(t, l.f.Now()+wheel.Time(keepaliveInterval)) }
	now := l.f.Now().Add(keepaliveInterval)
	for i := range l.n {
		l.f.Schedule(l.first+wheel.Timer(i), now-wheel.Time(l.lastActive(l.rng.next())))
		if l.stop.Load() {
			return false
		}
	}
	return true
}

func (l *wheelKeepalive) run(ops int) (done int, ok bool) {
	f, rng, first, n := l.f, l.rng, l.first, uint64(l.n)
	now := f.Now()
	for done < ops {
		now += wheel.Time(l.tick)
		for range l.packets(&l.part) {
			f.Schedule(first+wheel.Timer(below(rng.next(), n)), now+wheel.Time(keepaliveInterval))
		}
		f.Advance(now, 0, l.probe)
		done++
		if l.stop.Load() {
			break
		}
	}
	l.rng = rng
	return done, true
}

type runtimeKeepalive struct {
	runtimeBase
	part time.Duration
}

func (l *runtimeKeepalive) run(ops int) (int, bool) {
	rng, timers, n := l.rng, l.timers, uint64(l.n)
	for range ops {
		for range l.packets(&l.part) {
			timers[below(rng.next(), n)].Reset(keepaliveInterval)
		}
	}
	l.rng = rng
	return ops, true
}
