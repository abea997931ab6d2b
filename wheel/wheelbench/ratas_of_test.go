package wheelbench

import (
	"math/rand/v2"
	"time"

	"tcpwheel/wheel"
)

// ofMix is ratasMix on a wheel.Of: each unit has its timers inside it, as the C++ original has.
type ofMix struct {
	pairs     int
	messages  int64
	deadlines int64

	w      *wheel.Of[*ofUnit]
	random *rand.Rand
	units  []ofUnit
	expire func(*wheel.Entry[*ofUnit])
	due    []*wheel.Entry[*ofUnit] // where timers expire in batches
}

type ofUnit struct {
	other    *ofUnit
	toSend   int32
	quota    int32
	received uint32
	closing  bool
	waiting  bool
	gone     bool
	interval time.Duration

	idle, pace, requests, deadline, close wheel.Entry[*ofUnit]
}

func newOfMix(pairs, batch int, seed uint64) (*ofMix, error) {
	w, err := wheel.NewOf[*ofUnit](wheel.Config{Tick: ratasTick})
	if err != nil {
		return nil, err
	}
	m := &ofMix{w: w, random: rand.New(rand.NewPCG(seed, 0)), due: make([]*wheel.Entry[*ofUnit], batch)}
	m.units = make([]ofUnit, 2*pairs+pairs/32+32)
	m.expire = func(e *wheel.Entry[*ofUnit]) { // a method value would cost another call
		if u := e.Owner; e != &u.pace {
			m.expired(e)
		} else if u.toSend > 0 {
			u.quota = 1
			m.deliver(u, w.Now())
		}
	}
	return m, nil
}

// begin adds pairs during the first second: see ratasMix.begin.
func (m *ofMix) begin(pairs int) {
	progress, perTick := 0.0, 2*float64(pairs)/float64(time.Second/ratasTick)
	for m.w.Now() < wheel.Time(time.Second) {
		for progress += m.random.Float64() * perTick; progress > 1; progress-- {
			m.addPair(ratasInterval + time.Duration(m.random.IntN(100))*ratasTick)
		}
		m.advance(m.w.Now().Add(ratasTick))
	}
	if m.pairs == 0 {
		m.addPair(ratasInterval)
	}
}

// advance returns the number of timers that expired.
func (m *ofMix) advance(now wheel.Time) (expired int) {
	if len(m.due) == 0 {
		expired, _ = m.w.Advance(now, 0, m.expire)
		return expired
	}
	for n := m.w.AdvanceBatch(now, m.due); n > 0; n = m.w.AdvanceBatch(now, m.due) {
		expired += n
		now := m.w.Now()
		for _, e := range m.due[:n] {
			if u := e.Owner; e != &u.pace {
				m.expired(e)
			} else if u.toSend > 0 {
				u.quota = 1
				m.deliver(u, now)
			}
		}
	}
	return expired
}

func (m *ofMix) addPair(interval time.Duration) {
	if 2*m.pairs+2 > len(m.units) {
		return
	}
	server, client := &m.units[2*m.pairs], &m.units[2*m.pairs+1]
	m.pairs++
	for _, u := range []*ofUnit{server, client} {
		for _, e := range u.entries() {
			e.Owner = u
		}
		u.quota = 1
		m.w.Schedule(&u.close, m.w.Now().Add(ratasLife))
	}
	server.other, client.other = client, server
	server.interval, client.interval = ratasInterval, interval
	m.request(client, m.w.Now())
}

func (u *ofUnit) entries() [ratasTimers]*wheel.Entry[*ofUnit] {
	return [...]*wheel.Entry[*ofUnit]{&u.idle, &u.pace, &u.requests, &u.deadline, &u.close}
}

// expired is EXPIRY_PROCESSING of all but pace timers, which are nearly all.
func (m *ofMix) expired(e *wheel.Entry[*ofUnit]) {
	u, now := e.Owner, m.w.Now()
	switch {
	case e == &u.requests:
		m.request(u, now)
	case e == &u.deadline:
		m.deadlines++
	case e == &u.close && !u.closing:
		u.closing = true
		m.w.Schedule(e, now.Add(ratasLinger))
	default:
		m.drop(u)
	}
}

func (m *ofMix) request(u *ofUnit, now wheel.Time) {
	if u.closing {
		return
	}
	m.w.Schedule(&u.deadline, now+wheel.Time(4*ratasResponse*ratasPace))
	u.waiting = true
	u.other.toSend += ratasResponse
	m.deliver(u.other, now)
}

func (m *ofMix) deliver(u *ofUnit, now wheel.Time) {
	other := u.other
	n := min(u.quota, u.toSend)
	u.quota -= n
	u.toSend -= n
	if other.received++; other.waiting || other.received%ratasResponse == 0 {
		m.receive(other, now)
	}
	if u.quota == 0 {
		m.w.Schedule(&u.pace, now+wheel.Time(ratasPace))
	}
	at := now + wheel.Time(ratasIdle)
	if late := at + wheel.Time(ratasSlack); !m.w.Within(&u.idle, at, late) || !m.w.Within(&other.idle, at, late) {
		m.w.ScheduleRange(&u.idle, at, late)
		m.w.ScheduleRange(&other.idle, at, late)
	}
}

func (m *ofMix) receive(u *ofUnit, now wheel.Time) {
	if u.waiting {
		m.w.Schedule(&u.deadline, now+wheel.Time(2*ratasResponse*ratasPace))
		u.waiting = false
	}
	if u.received%ratasResponse == 0 {
		m.w.Stop(&u.deadline)
		m.w.Schedule(&u.requests, now.Add(u.interval))
	}
}

func (m *ofMix) drop(u *ofUnit) {
	if u.gone {
		return
	}
	u.gone = true
	for _, e := range u.entries() {
		m.w.Stop(e)
	}
	m.messages += int64(u.received)
}
