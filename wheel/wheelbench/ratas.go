package wheelbench

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"tcpwheel/wheel"
)

// The mix of the benchmark that Juho Snellman published with Ratas, his hierarchical timer wheel
// (2016): pairs of work units, a client that asks and a server that answers, each with five
// timers. It is written from the post and from what the program does. The C++ original does the
// same work: as many messages between as many pairs.
//
//	idle      a minute away, extended by each message sent or received
//	close     three minutes away
//	pace      soon; set and expired once for each message of an answer
//	request   a second away; set once for each request, expires
//	deadline  medium; set once for each request, moved nearer by the first message, always stopped
const (
	ratasTick     = 20 * time.Microsecond
	ratasResponse = 128              // messages of one answer
	ratasPace     = 10 * ratasTick   // between two of them
	ratasInterval = time.Second      // from the end of one answer to the next request
	ratasLife     = 3 * time.Minute  // until a unit begins to close
	ratasLinger   = 10 * time.Second // from then until it is gone
	ratasIdle     = time.Minute      // without a message, until a unit is gone
	ratasSlack    = time.Second      // by which the idle timer may be late
	ratasEnd      = 5 * time.Minute  // of a whole run
)

// The kinds of timer of a unit.
const (
	idleTimer = iota
	paceTimer
	requestTimer
	deadlineTimer
	closeTimer
	ratasTimers
)

// ratasUnit is one of the two units of a pair: unit i is paired with unit i^1.
type ratasUnit struct {
	toSend   int32 // messages requested and not sent yet
	quota    int32 // messages that may be sent before the next pace tick
	received uint32
	closing  bool
	waiting  bool // for the first message of an answer
	gone     bool
	interval time.Duration
	_        [8]byte // a pair is a cache line
}

// ratasMix is one run of the mix.
type ratasMix struct {
	pairs     int   // pairs of units, ten timers each
	messages  int64 // received by units that are gone: the checksum of a run
	deadlines int64 // requests that missed their deadline: 0 in a correct run

	w       wheel.Facility
	ranges  bool // extend the idle timer by a range
	endless bool // units do not close
	random  *rand.Rand
	units   []ratasUnit
	most    uint32 // units at most
	pace    uint32 // number of the first pace timer
	expire  func(wheel.Timer)
}

// newRatas prepares a run of about the given number of pairs on w, which must be new and have a
// tick of 20 µs. It makes all timers, so that their numbers follow from unit and kind: see timer.
func newRatas(w wheel.Facility, pairs int, ranges bool, seed uint64) *ratasMix {
	m := &ratasMix{w: w, ranges: ranges, random: rand.New(rand.NewPCG(seed, 0)), most: uint32(2*pairs + pairs/32 + 32)}
	m.units = make([]ratasUnit, 0, m.most)
	w.Reserve(ratasTimers * int(m.most))
	for range ratasTimers * m.most {
		w.New(0)
	}
	m.pace = uint32(m.timer(0, paceTimer))
	m.expire = m.expiry()
	return m
}

// timer returns a timer of unit i. Timers of one kind have consecutive numbers, from 1 up. So the
// idle timers of a pair, which every message touches, are neighbours.
func (m *ratasMix) timer(i, kind uint32) wheel.Timer { return wheel.Timer(kind*m.most + i + 1) }

// begin adds pairs at random instants of the first second, at least one. It checks stop at each
// pair and each tick.
func (m *ratasMix) begin(pairs int, stop *atomic.Bool) {
	progress, perTick := 0.0, 2*float64(pairs)/float64(time.Second/ratasTick)
	for m.w.Now() < wheel.Time(time.Second) {
		for progress += m.random.Float64() * perTick; progress > 1 && !stop.Load(); progress-- {
			m.addPair(ratasInterval + time.Duration(m.random.IntN(100))*ratasTick)
		}
		m.w.Advance(m.w.Now().Add(ratasTick), 0, m.expire)
		if stop.Load() {
			return
		}
	}
	if m.pairs == 0 {
		m.addPair(ratasInterval)
	}
}

func (m *ratasMix) addPair(interval time.Duration) {
	server := uint32(len(m.units))
	if server == m.most {
		return
	}
	m.pairs++
	m.units = append(m.units, ratasUnit{quota: 1, interval: ratasInterval}, ratasUnit{quota: 1, interval: interval})
	now := m.w.Now()
	m.w.Schedule(m.timer(server, closeTimer), now.Add(ratasLife))
	m.w.Schedule(m.timer(server+1, closeTimer), now.Add(ratasLife))
	m.request(server+1, now)
}

// expiry returns EXPIRY_PROCESSING. Nearly all expiries are those of pace timers.
func (m *ratasMix) expiry() func(wheel.Timer) {
	return func(t wheel.Timer) {
		i := uint32(t) - m.pace
		if i >= uint32(len(m.units)) {
			m.expired(uint32(t - 1))
			return
		}
		if u := &m.units[i]; u.toSend > 0 {
			u.quota = 1
			m.deliver(i, m.w.Now())
		}
	}
}

// expired processes the expiry of a timer that is not a pace timer, by its number from 0 up.
func (m *ratasMix) expired(t uint32) {
	i, kind := t%m.most, t/m.most
	switch u := &m.units[i]; kind {
	case requestTimer:
		m.request(i, m.w.Now())
	case closeTimer:
		switch {
		case m.endless:
			m.w.Schedule(m.timer(i, kind), m.w.Now().Add(ratasLife))
		case u.closing:
			m.drop(i)
		default:
			u.closing = true
			m.w.Schedule(m.timer(i, kind), m.w.Now().Add(ratasLinger))
		}
	case idleTimer:
		m.drop(i)
	case deadlineTimer:
		m.deadlines++
	}
}

// request asks the other unit for an answer, unless unit i is closing.
func (m *ratasMix) request(i uint32, now wheel.Time) {
	u := &m.units[i]
	if u.closing {
		return
	}
	m.w.Schedule(m.timer(i, deadlineTimer), now+wheel.Time(4*ratasResponse*ratasPace))
	u.waiting = true
	m.units[i^1].toSend += ratasResponse
	m.deliver(i^1, now)
}

// deliver sends what the quota of unit i allows, starts the timer that renews the quota, and
// extends the idle timers of both units.
func (m *ratasMix) deliver(i uint32, now wheel.Time) {
	u, other := &m.units[i], &m.units[i^1]
	n := min(u.quota, u.toSend)
	u.quota -= n
	u.toSend -= n
	spent := u.quota == 0
	if other.received++; other.waiting || other.received%ratasResponse == 0 {
		m.received(i^1, now)
	}
	w, at := m.w, now+wheel.Time(ratasIdle)
	if spent {
		w.Schedule(wheel.Timer(m.pace+i), now+wheel.Time(ratasPace))
	}
	idle, idleOther := wheel.Timer(i+1), wheel.Timer(i^1+1) // see timer
	if m.ranges {
		w.ScheduleRange(idle, at, at+wheel.Time(ratasSlack))
		w.ScheduleRange(idleOther, at, at+wheel.Time(ratasSlack))
	} else {
		w.Schedule(idle, at)
		w.Schedule(idleOther, at)
	}
}

// received handles the first and the last message of an answer to unit i.
func (m *ratasMix) received(i uint32, now wheel.Time) {
	u := &m.units[i]
	if u.waiting {
		m.w.Schedule(m.timer(i, deadlineTimer), now+wheel.Time(2*ratasResponse*ratasPace))
		u.waiting = false
	}
	if u.received%ratasResponse == 0 {
		m.w.Stop(m.timer(i, deadlineTimer))
		m.w.Schedule(m.timer(i, requestTimer), now.Add(u.interval))
	}
}

// drop ends unit i: it stops all its timers.
func (m *ratasMix) drop(i uint32) {
	u := &m.units[i]
	if u.gone {
		return
	}
	u.gone = true
	for k := range uint32(ratasTimers) {
		m.w.Stop(m.timer(i, k))
	}
	m.messages += int64(u.received)
}

// ratas is the mix as a workload: n/10 pairs that do not close.
var ratas = Workload{
	Name:     "ratas",
	About:    "an expiry and its three STARTs in the mix of Ratas, tick 20µs",
	countOps: 100_000,
	onWheel: func(b base, f wheel.Facility) load {
		return &wheelRatas{base: b, mix: newRatas(f, max(b.n/10, 1), true, b.rng.next())}
	},
	tick: ratasTick,
}

type wheelRatas struct {
	base
	mix *ratasMix
}

// fill begins the mix. After a second of virtual time all pairs are there.
func (l *wheelRatas) fill() bool {
	l.mix.endless = true
	l.mix.begin(max(l.n/10, 1), l.stop)
	return !l.stop.Load()
}

func (l *wheelRatas) own() int { return cap(l.mix.units) * 32 }

func (l *wheelRatas) run(ops int) (done int, ok bool) {
	m := l.mix
	for done < ops && !l.stop.Load() {
		n, _ := m.w.Advance(m.w.Now().Add(time.Millisecond), 0, m.expire)
		done += n
	}
	return done, true
}
