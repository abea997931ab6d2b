package vegas

import (
	"math/rand/v2"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// traffic is the traffic of others over a dumbbell: conversations that begin at random times at an
// even rate, each over a connection of its own.
type traffic struct {
	*dumbbell
	rng   *rand.Rand
	every time.Duration // mean time between two conversations
	draw  func(r *rand.Rand) conversation
	timer wheel.Timer
	err   error // of a conversation that failed to begin
}

// conversation is the data that one connection writes: bytes at once, as far as the window allows,
// or packets with random waits between them.
type conversation struct {
	bytes  uint64
	lasts  time.Duration // 0 for all at once
	packet func() (bytes uint32, wait time.Duration)
}

// add has others put a load, as a share of the bottleneck, into conversations. mean is the mean
// bytes of draw.
func (d *dumbbell) add(load, mean float64, key uint64, draw func(*rand.Rand) conversation) *traffic {
	t := &traffic{dumbbell: d, rng: rand.New(rand.NewPCG(uint64(d.seed), key)), draw: draw}
	if load > 0 {
		t.every = time.Duration(mean / (load * float64(d.rate) / 8) * float64(time.Second))
		t.timer = d.World.Net.NewTimer(t)
		t.next(0)
	}
	return t
}

// next sets the timer for the next conversation.
func (t *traffic) next(now wheel.Time) {
	wait := time.Duration(stat.Exponential(t.rng) * float64(t.every))
	t.World.Net.StartTimer(t.timer, now.Add(wait))
}

// Expire implements sim.Handler: a conversation begins.
func (t *traffic) Expire(now wheel.Time) {
	c := t.draw(t.rng)
	var app host.App = &host.Bulk{Bytes: max(c.bytes, 1), Finish: true}
	if c.lasts > 0 {
		app = &typist{traffic: t, conversation: c, until: now.Add(c.lasts)}
	}
	from, to := t.others()
	if _, err := from.Dial(to, testbed.ServePort, nil, app); err != nil && t.err == nil {
		t.err = err
	}
	t.next(now)
}

// typist writes the packets of a conversation in their times.
type typist struct {
	*traffic
	conversation
	until   wheel.Time
	session *host.Session
	timer   wheel.Timer
}

// OnEvents implements host.App.
func (y *typist) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	switch {
	case ev.Has(tcp.EventClosed) && y.session != nil:
		y.World.Net.FreeTimer(y.timer)
		y.session = nil
	case ev.Has(tcp.EventConnected) && y.session == nil:
		y.session, y.timer = s, y.World.Net.NewTimer(y)
		y.Expire(now)
	}
}

// Expire implements sim.Handler: it writes a packet.
func (y *typist) Expire(now wheel.Time) {
	if now >= y.until {
		y.session.Shutdown()
		return
	}
	bytes, wait := y.packet()
	y.session.Write(max(bytes, 1), 0)
	y.World.Net.StartTimer(y.timer, now.Add(wait))
}

// logNormal draws transfers of log-normal sizes, and returns their mean.
func logNormal(median int, spread float64) (draw func(*rand.Rand) conversation, mean float64) {
	return func(r *rand.Rand) conversation {
		return conversation{bytes: uint64(float64(median) * stat.Exp(spread*stat.Normal(r)))}
	}, float64(median) * stat.Exp(spread*spread/2)
}
