package track

import (
	"time"

	"tcpwheel/wheel"
)

// senderClock derives when packets were sent from their timestamps, where queues before the point
// of capture delayed them. A packet is late by as much as its timestamp is further behind the
// capture time than that of the fastest recent packet.
type senderClock struct {
	begun   bool
	ts      uint32 // TSval of the first packet
	at      wheel.Time
	tick    time.Duration // 0 while unknown
	guess   time.Duration // the first estimate of tick
	guessed time.Duration // time from the first packet to that estimate
	least   time.Duration // least lateness in this window, and in the one before
	before  time.Duration
	since   wheel.Time
	windows int
	votes   [len(ticks)]uint16 // while tick is unknown: packets that agree with each of ticks
}

// ticks are the timestamp clocks of known stacks.
var ticks = [...]time.Duration{
	time.Microsecond, 100 * time.Microsecond, time.Millisecond, time.Second / 300, 4 * time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond,
	500 * time.Millisecond, time.Second,
}

// sent returns when a packet captured now was sent, on the time scale of the fastest packets. The
// error is at most a tick. It returns now where that is as good.
func (c *senderClock) sent(ts uint32, now wheel.Time) wheel.Time {
	if !c.begun || now.Before(c.at) {
		*c = senderClock{begun: true, ts: ts, at: now}
		return now
	}
	n := int64(int32(ts - c.ts))
	if c.tick == 0 {
		c.vote(n, now)
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
		// The timestamp wraps, and the error of the tick adds up: start again.
		if n > 1<<29 {
			*c = senderClock{begun: true, ts: ts, at: now, tick: c.tick} // with the lateness windows reset
			return now
		}
	default:
		c.least = min(c.least, behind)
	}
	late := behind - min(c.least, c.before)
	if late <= 2*c.tick || late > clockGiveUp {
		return now
	}
	return now.Add(-late + c.tick/2)
}

// vote counts a packet, n ticks after c.at, for the clocks that it agrees with, within a quarter. A
// queue delays some packets, and seldom many by the same factor.
func (c *senderClock) vote(n int64, now wheel.Time) {
	passed := now.Sub(c.at)
	if n < clockTicks/2 || n > 1<<20 {
		return
	}
	for i, tick := range ticks[:] {
		if all := time.Duration(n) * tick; (passed - all).Abs() <= all/4 {
			c.votes[i] = min(c.votes[i]+1, 1<<12)
		}
	}
}

// likely returns the tick, or else 1 ms or less if most packets agree with that, else 0. Queues make
// a clock look slower than it is, so that a slower one must be known.
func (c *senderClock) likely() time.Duration {
	if c.tick != 0 {
		return c.tick
	}
	best, others := 0, uint16(0)
	for i := range ticks {
		if c.votes[i] > c.votes[best] {
			best = i
		}
	}
	for i := range ticks {
		if i != best {
			others = max(others, c.votes[i])
		}
	}
	if c.votes[best] == 0 || c.votes[best] < 2*others || ticks[best] > time.Millisecond {
		return 0
	}
	return ticks[best]
}

// between returns the time between two packets of a clock of 100 Hz or more, within a tick, from
// their timestamps; ok is false without such a clock.
func (c *senderClock) between(first, second uint32) (d, tick time.Duration, ok bool) {
	n := int64(int32(second - first))
	if tick = c.likely(); tick == 0 || tick > coarsestTick || n < 0 || n > 1<<20 {
		return 0, 0, false
	}
	return time.Duration(n) * tick, tick, true
}

// learn estimates the tick of the timestamps: n ticks passed since c.at.
func (c *senderClock) learn(n int64, now wheel.Time) {
	passed := now.Sub(c.at)
	if n < clockTicks || passed < clockLearns {
		return
	}
	per := passed / time.Duration(n)
	for _, tick := range ticks[:] { // not a copy of the array
		if d := (per - tick).Abs(); d > tick/10 {
			continue
		}
		// Queueing makes the clock look slow, but seldom twice by the same factor.
		if c.guess != tick {
			c.guess, c.guessed = tick, passed
		} else if passed >= 2*c.guessed {
			c.tick = tick
		}
		return
	}
	if n > 1<<20 || passed > clockGiveUp {
		c.begun = false // the estimate was wrong
	}
}
