package wheelbench

import (
	"cmp"
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

// limitRatas is Ratas' mix without timers to keep in order. Those of a unit lie inside it, as in an
// Of, and START and STOP write them. Pace timers all have one interval, so they expire in the order
// of START, from a queue. So do request timers, up to 2 ms apart.
type limitRatas struct {
	base
	units          []limitUnit
	paces, renewed unitQueue // units by their pace timers and by their request timers
	now            wheel.Time
}

// limitUnit is about as large as an ofUnit.
type limitUnit struct {
	other                         *limitUnit
	toSend, quota                 int32
	received                      uint32
	waiting                       bool
	idle, pace, request, deadline limitRec
	_                             [128]byte
}

// unitQueue is a ring of units, as large as a power of two.
type unitQueue struct {
	ring       []*limitUnit
	head, tail uint32
}

func (q *unitQueue) add(u *limitUnit) { q.ring[q.tail&uint32(len(q.ring)-1)] = u; q.tail++ }

// first returns the unit at the head, or nil.
func (q *unitQueue) first() *limitUnit {
	if q.head == q.tail {
		return nil
	}
	return q.ring[q.head&uint32(len(q.ring)-1)]
}

// fill has all units ask within the first second.
func (l *limitRatas) fill() bool {
	pairs := max(l.n/10, 1)
	l.units = make([]limitUnit, 2*pairs)
	size := 1 << bits.Len(uint(2*pairs))
	l.paces.ring, l.renewed.ring = make([]*limitUnit, size), make([]*limitUnit, size)
	for i := range l.units {
		u := &l.units[i]
		u.other, u.quota = &l.units[i^1], 1
		if i&1 == 0 {
			u.request.deadline = wheel.Time(i) * wheel.Time(time.Second) / wheel.Time(len(l.units))
			l.renewed.add(u)
		}
	}
	l.advance(wheel.Time(2 * time.Second))
	return true
}

func (l *limitRatas) run(ops int) (done int, ok bool) {
	for done < ops && !l.stop.Load() {
		done += l.advance(l.now + wheel.Time(time.Millisecond))
	}
	return done, true
}

// advance returns the number of timers that expired.
func (l *limitRatas) advance(to wheel.Time) (expired int) {
	for ; ; expired++ {
		pace, renewed := l.paces.first(), l.renewed.first()
		switch {
		case pace != nil && pace.pace.deadline <= to && (renewed == nil || pace.pace.deadline <= renewed.request.deadline):
			l.paces.head++
			l.now = pace.pace.deadline
			if pace.toSend > 0 {
				pace.quota = 1
				l.deliver(pace)
			}
		case renewed != nil && renewed.request.deadline <= to:
			l.renewed.head++
			l.now = max(l.now, renewed.request.deadline)
			renewed.waiting = true
			renewed.deadline.deadline = l.now + wheel.Time(4*ratasResponse*ratasPace)
			renewed.other.toSend += ratasResponse
			l.deliver(renewed.other)
		default:
			l.now = to
			return expired
		}
	}
}

// deliver is ofMix.deliver.
func (l *limitRatas) deliver(u *limitUnit) {
	other := u.other
	n := min(u.quota, u.toSend)
	u.quota -= n
	u.toSend -= n
	if other.received++; other.waiting || other.received%ratasResponse == 0 {
		l.receive(other)
	}
	if u.quota == 0 {
		u.pace.deadline = l.now + wheel.Time(ratasPace)
		l.paces.add(u)
	}
	at := l.now + wheel.Time(ratasIdle)
	for _, idle := range []*limitRec{&u.idle, &other.idle} {
		if idle.deadline < at || idle.deadline > at+wheel.Time(ratasSlack) {
			idle.deadline = at + wheel.Time(ratasSlack)
		}
	}
}

func (l *limitRatas) receive(u *limitUnit) {
	if u.waiting {
		u.deadline.deadline = l.now + wheel.Time(2*ratasResponse*ratasPace)
		u.waiting = false
	}
	if u.received%ratasResponse == 0 {
		u.deadline.deadline = -1
		u.request.deadline = l.now + wheel.Time(ratasInterval)
		l.renewed.add(u)
	}
}
