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

// The five timers of a unit. Records are numbered in the order of New, so that the number
// identifies both the unit and the timer.
const (
	idleTimer = iota
	closeTimer
	paceTimer
	requestTimer
	deadlineTimer
	ratasTimers
)

type ratasUnit struct {
	timers   [ratasTimers]wheel.Timer
	other    uint32 // index of the other unit of the pair
	toSend   int32  // messages requested and not sent yet
	received int32
	interval time.Duration
	quota    int8 // messages that may be sent before the next pace tick
	closing  bool
	waiting  bool // for the first message of an answer
	gone     bool
	_        [8]byte // a cache line for each
}

// RatasMix is one run of the mix.
type RatasMix struct {
	Pairs     int   // pairs of units, ten timers each
	Messages  int64 // received by units that are gone: the checksum of a run
	Expiries  int64 // about one for each message
	Deadlines int64 // requests that missed their deadline: 0 in a correct run

	w       wheel.Facility
	ranges  bool // extend the idle timer by a range
	endless bool // units do not close
	random  *rand.Rand
	units   []ratasUnit
	expire  func(wheel.Timer)
}

// newRatas prepares a run of about the given number of pairs on w, which must be new and have a
// tick of 20 µs.
func newRatas(w wheel.Facility, pairs int, ranges bool, seed uint64) *RatasMix {
	m := &RatasMix{w: w, ranges: ranges, random: rand.New(rand.NewPCG(seed, 0))}
	m.units = make([]ratasUnit, 0, 2*pairs+pairs/4+32)
	m.expire = func(t wheel.Timer) { m.expired(t) }
	return m
}

// RunRatas runs the whole mix, five minutes of virtual time, on a new facility of the named
// scheme. With ranges it extends idle timers by ScheduleRange, as the second interface of Ratas
// does.
func RunRatas(scheme string, slots, pairs int, ranges bool, seed uint64) (*RatasMix, error) {
	w, err := wheel.New(scheme, wheel.Config{Tick: ratasTick, Slots: slots})
	if err != nil {
		return nil, err
	}
	m := newRatas(w, pairs, ranges, seed)
	m.begin(pairs, new(atomic.Bool))
	for now := w.Now(); now < wheel.Time(ratasEnd); {
		now = now.Add(100 * time.Millisecond)
		n, _ := w.Advance(now, 0, m.expire)
		m.Expiries += int64(n)
	}
	return m, nil
}

// begin adds pairs at random instants of the first second, at least one. It checks stop at each
// pair and each tick.
func (m *RatasMix) begin(pairs int, stop *atomic.Bool) {
	progress, perTick := 0.0, 2*float64(pairs)/float64(time.Second/ratasTick)
	for m.w.Now() < wheel.Time(time.Second) {
		for progress += m.random.Float64() * perTick; progress > 1 && !stop.Load(); progress-- {
			m.addPair(ratasInterval + time.Duration(m.random.IntN(100))*ratasTick)
		}
		n, _ := m.w.Advance(m.w.Now().Add(ratasTick), 0, m.expire)
		m.Expiries += int64(n)
		if stop.Load() {
			return
		}
	}
	if m.Pairs == 0 {
		m.addPair(ratasInterval)
	}
}

func (m *RatasMix) addPair(interval time.Duration) {
	m.Pairs++
	server, client := uint32(len(m.units)), uint32(len(m.units)+1)
	m.units = append(m.units,
		ratasUnit{other: client, quota: 1, interval: ratasInterval},
		ratasUnit{other: server, quota: 1, interval: interval})
	for i := server; i <= client; i++ {
		for k := range m.units[i].timers {
			m.units[i].timers[k] = m.w.New(0)
		}
		u := &m.units[i]
		m.busy(u, m.w.Now())
		m.w.Schedule(u.timers[closeTimer], m.w.Now().Add(ratasLife))
	}
	m.request(client)
}

// busy extends the idle timer of a unit.
func (m *RatasMix) busy(u *ratasUnit, now wheel.Time) {
	at := now + wheel.Time(ratasIdle)
	if m.ranges {
		m.w.ScheduleRange(u.timers[idleTimer], at, at+wheel.Time(ratasSlack))
	} else {
		m.w.Schedule(u.timers[idleTimer], at)
	}
}

func (m *RatasMix) expired(t wheel.Timer) {
	i := uint32(t-1) / ratasTimers
	switch u := &m.units[i]; uint32(t-1) % ratasTimers {
	case paceTimer:
		if u.toSend > 0 {
			u.quota = 1
			m.deliver(u, m.w.Now())
		}
	case requestTimer:
		m.request(i)
	case closeTimer:
		switch {
		case m.endless:
			m.w.Schedule(t, m.w.Now().Add(ratasLife))
		case u.closing:
			m.drop(u)
		default:
			u.closing = true
			m.w.Schedule(t, m.w.Now().Add(ratasLinger))
		}
	case idleTimer:
		m.drop(u)
	case deadlineTimer:
		m.Deadlines++
	}
}

// request asks the other unit for an answer, unless this one is closing.
func (m *RatasMix) request(i uint32) {
	u := &m.units[i]
	if u.closing {
		return
	}
	now := m.w.Now()
	m.w.Schedule(u.timers[deadlineTimer], now+wheel.Time(4*ratasResponse*ratasPace))
	u.waiting = true
	o := &m.units[u.other]
	o.toSend += ratasResponse
	m.deliver(o, now)
}

// deliver sends what the quota allows, and starts the timer that renews the quota.
func (m *RatasMix) deliver(u *ratasUnit, now wheel.Time) {
	m.busy(u, now)
	n := min(int32(u.quota), u.toSend)
	u.quota -= int8(n)
	u.toSend -= n
	m.receive(&m.units[u.other], now)
	if u.quota == 0 {
		m.w.Schedule(u.timers[paceTimer], now+wheel.Time(ratasPace))
	}
}

func (m *RatasMix) receive(u *ratasUnit, now wheel.Time) {
	m.busy(u, now)
	if u.waiting {
		m.w.Schedule(u.timers[deadlineTimer], now+wheel.Time(2*ratasResponse*ratasPace))
		u.waiting = false
	}
	u.received++
	if u.received%ratasResponse == 0 {
		m.w.Stop(u.timers[deadlineTimer])
		m.w.Schedule(u.timers[requestTimer], now.Add(u.interval))
	}
}

// drop ends a unit: it stops all its timers.
func (m *RatasMix) drop(u *ratasUnit) {
	if u.gone {
		return
	}
	u.gone = true
	for _, t := range u.timers {
		m.w.Stop(t)
	}
	m.Messages += int64(u.received)
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
	mix *RatasMix
}

// fill begins the mix. After a second of virtual time all pairs are there.
func (l *wheelRatas) fill() bool {
	l.mix.endless = true
	l.mix.w.Reserve(ratasTimers * cap(l.mix.units))
	l.mix.begin(max(l.n/10, 1), l.stop)
	return !l.stop.Load()
}

func (l *wheelRatas) own() int { return cap(l.mix.units) * 64 }

func (l *wheelRatas) run(ops int) (done int, ok bool) {
	m := l.mix
	for done < ops && !l.stop.Load() {
		n, _ := m.w.Advance(m.w.Now().Add(time.Millisecond), 0, m.expire)
		done += n
	}
	return done, true
}
