package wheelbench

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"time"

	"tcpwheel/wheel"
)

// Limit names the work that no timer facility can leave out: the same operations on the same
// number of records of 16 bytes in the same order, where START and STOP only write the deadline and
// the order of expiry is known in advance. A scheme is compared with it as with a rival.
const Limit = "limit"

// limitRec is a record as small as that of scheme6, the smallest one.
type limitRec struct {
	deadline wheel.Time
	_        uint64
}

// limitBase is the common part of the limits: n records, and spare ones.
type limitBase struct {
	base
	recs []limitRec
	now  wheel.Time
}

func (l *limitBase) fill() bool {
	l.recs = make([]limitRec, l.n+spares)
	for i := range l.recs {
		l.recs[i].deadline = wheel.Time(interval(l.rng.next())) * wheel.Time(l.tick)
	}
	return true
}

type limitStartStop struct {
	limitBase
	turn int
}

func (l *limitStartStop) run(ops int) (int, bool) {
	recs := l.recs[l.n : l.n+spares]
	for i := l.turn; i < l.turn+ops; i++ {
		write(&recs[i%spares], wheel.Time(i))
		write(&recs[i%spares], -1)
	}
	l.turn = (l.turn + ops) % spares
	return ops, true
}

// write is a call, so that the compiler does not drop the first of two writes.
//
//go:noinline
func write(r *limitRec, deadline wheel.Time) { r.deadline = deadline }

type limitRearm struct{ limitBase }

func (l *limitRearm) run(ops int) (int, bool) {
	rng, n := l.rng, uint64(l.n)
	for range ops {
		r := rng.next()
		l.recs[below(r, n)].deadline = l.now + wheel.Time(interval(r))*wheel.Time(l.tick)
	}
	l.rng = rng
	return ops, true
}

type limitExpire struct {
	limitBase
	order []uint32 // records in the order of their deadlines
}

// ready sorts by deadline, as a wheel must while the clock runs.
func (l *limitExpire) ready() bool {
	l.order = make([]uint32, l.n)
	for i := range l.order {
		l.order[i] = uint32(i)
	}
	slices.SortStableFunc(l.order, func(a, b uint32) int { return cmp.Compare(l.recs[a].deadline, l.recs[b].deadline) })
	return true
}

func (l *limitExpire) run(ops int) (done int, ok bool) {
	expire := ignore
	for done < ops && (done == 0 || !l.stop.Load()) {
		rng, recs := l.rng, l.recs[:l.n]
		for i := range recs {
			recs[i].deadline = l.now + wheel.Time(interval(rng.next()))*wheel.Time(l.tick)
		}
		for _, i := range l.order {
			recs[i].deadline = -1
			expire(wheel.Timer(i))
		}
		l.rng = rng
		done += l.n
	}
	return done, true
}

type limitKeepalive struct {
	limitBase
	part time.Duration
}

func (l *limitKeepalive) run(ops int) (int, bool) {
	rng, n := l.rng, uint64(l.n)
	for range ops {
		l.now += wheel.Time(l.tick)
		for range l.packets(&l.part) {
			l.recs[below(rng.next(), n)].deadline = l.now + wheel.Time(keepaliveInterval)
		}
	}
	l.rng = rng
	return ops, true
}

// limitRatas keeps the timers of Ratas' mix. An idle timer, which never expires, is only written.
// Pace timers have one interval, so they expire in the order of START, from a queue. The others,
// one expiry in 129, are in a wheel.
type limitRatas struct {
	wheel.Facility
	recs       []limitRec // idle and pace timers, by number
	most       wheel.Timer
	queue      []wheel.Timer // a ring of pace timers
	head, tail uint32
	now        wheel.Time
	wakeup     wheel.Time // of the others
}

func (l *limitRatas) Now() wheel.Time { return l.now }

func (l *limitRatas) Reserve(n int) {
	l.most = wheel.Timer(n / ratasTimers)
	l.recs = make([]limitRec, 2*l.most+1)
	l.queue = make([]wheel.Timer, 1<<bits.Len32(uint32(l.most)))
	l.Facility.Reserve(n)
}

func (l *limitRatas) Schedule(t wheel.Timer, deadline wheel.Time) {
	if t > 2*l.most {
		l.Facility.Schedule(t, deadline)
		l.wakeup = min(l.wakeup, deadline)
		return
	}
	l.recs[t].deadline = deadline
	if t > l.most {
		l.queue[l.tail&uint32(len(l.queue)-1)] = t
		l.tail++
	}
}

func (l *limitRatas) ScheduleRange(t wheel.Timer, earliest, latest wheel.Time) {
	if r := &l.recs[t]; r.deadline < earliest || r.deadline > latest {
		r.deadline = latest
	}
}

func (l *limitRatas) Stop(t wheel.Timer) bool { return t <= 2*l.most || l.Facility.Stop(t) }

func (l *limitRatas) Advance(now wheel.Time, _ int, expire func(wheel.Timer)) (n int, done bool) {
	for {
		next := min(now, l.wakeup)
		for l.head != l.tail {
			t := l.queue[l.head&uint32(len(l.queue)-1)]
			at := l.recs[t].deadline
			if at > next {
				break
			}
			l.head++
			l.now = at
			n++
			expire(t)
			next = min(next, l.wakeup)
		}
		l.now = next
		others, _ := l.Facility.Advance(next, 0, expire)
		n += others
		if l.wakeup = math.MaxInt64; l.Facility.Len() > 0 {
			l.wakeup, _ = l.Facility.NextWakeup()
		}
		if next == now {
			return n, true
		}
	}
}
