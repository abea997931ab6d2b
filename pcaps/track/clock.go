package track

import (
	"time"

	"tcpwheel/wheel"
)

// senderClock tells from timestamps when packets were sent, where they have waited in queues on their way to the point of capture: each
// is late by as much as its stamp is further behind the time of capture than that of the fastest packet of late.
type senderClock struct {
	begun   bool
	ts      uint32 // of the first packet
	at      wheel.Time
	tick    time.Duration // 0 as long as it is not known
	guess   time.Duration // what it was the first time that it could be told
	guessed time.Duration // and how long that was after the first packet
	least   time.Duration // how far stamps are behind, at least: of this window and of the one before
	before  time.Duration
	since   wheel.Time
	windows int
}

// ticks are those of known stacks.
var ticks = [...]time.Duration{
	time.Microsecond, 100 * time.Microsecond, time.Millisecond, time.Second / 300, 4 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	500 * time.Millisecond, time.Second,
}

const (
	// clockWindow is how long the fastest packet counts, at most twice that: clocks drift apart by up to 0.1 ms each second.
	clockWindow = 5 * time.Second

	// A clock is known if it keeps the time of one of those above to a tenth, after that time and that many ticks, and again after twice
	// as long.
	clockLearns = 50 * time.Millisecond
	clockTicks  = 16
)

// sent returns when a packet was sent that was captured now, on the time of the fastest packets. It is off by a tick; the packet's own
// time is returned where it is as good.
func (c *senderClock) sent(ts uint32, now wheel.Time) wheel.Time {
	if !c.begun || now.Before(c.at) {
		*c = senderClock{begun: true, ts: ts, at: now}
		return now
	}
	n := int64(int32(ts - c.ts))
	if c.tick == 0 {
		c.learn(n, now)
	}
	if c.tick == 0 || n < 0 {
		return now
	}
	behind := now.Sub(c.at) - time.Duration(n)*c.tick
	switch {
	case c.windows == 0:
		c.windows, c.since, c.least, c.before = 1, now, behind, behind
	case now.Sub(c.since) >= clockWindow:
		c.since, c.least, c.before = now, behind, c.least
		// The stamps wrap around, and a tick that is a little off adds up: begin anew.
		if n > 1<<29 {
			*c = senderClock{begun: true, ts: ts, at: now, tick: c.tick} // the windows too
			return now
		}
	default:
		c.least = min(c.least, behind)
	}
	late := behind - min(c.least, c.before)
	if late <= 2*c.tick || late > time.Minute {
		return now
	}
	return now.Add(-late + c.tick/2)
}

// learn finds the tick.
func (c *senderClock) learn(n int64, now wheel.Time) {
	passed := now.Sub(c.at)
	if n < clockTicks || passed < clockLearns {
		return
	}
	per := passed / time.Duration(n)
	for _, tick := range ticks {
		if d := (per - tick).Abs(); d > tick/10 {
			continue
		}
		// What delays packets makes the clock look slow, and seldom twice in the same way.
		if c.guess != tick {
			c.guess, c.guessed = tick, passed
		} else if passed >= 2*c.guessed {
			c.tick = tick
		}
		return
	}
	if n > 1<<20 || passed > time.Minute {
		c.begun = false // it was not what it seemed
	}
}
