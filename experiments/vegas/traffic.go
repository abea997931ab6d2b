package vegas

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"tcpwheel/experiments"
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

// tcplibKinds are the kinds of conversation of tcplib with their shares of all conversations
// (apps_brkdn of app_brkdn.h). The other half of the conversations has no kind there.
var tcplibKinds = []struct {
	name  string
	share float64
	draw  func(t tcplib, r *rand.Rand) conversation
}{
	{"ftp", 0.0216, func(t tcplib, r *rand.Rand) conversation {
		return t.items(r, "ftp nitems", "ftp itemsize", "ftp ctlsize")
	}},
	{"telnet", 0.0612, tcplib.telnet},
	{"nntp", 0.0056, func(t tcplib, r *rand.Rand) conversation { return t.items(r, "nntp nitems", "nntp itemsize") }},
	{"smtp", 0.3798, func(t tcplib, r *rand.Rand) conversation {
		return conversation{bytes: uint64(t.draw(r, "smtp itemsize"))}
	}},
}

// tcplib is the distributions of P. Danzig and S. Jamin, "tcplib: A Library of TCP Internetwork
// Traffic Characteristics", USC-CS-91-495, 1991, by name. Bytes, items and milliseconds. See
// tcplib.csv.
type tcplib map[string][]tcplibPoint

// tcplibPoint is a value, and the share of draws up to it.
type tcplibPoint struct{ value, share float64 }

// readTcplib reads the file. It panics if the file is broken, as it is part of the program.
var readTcplib = sync.OnceValue(func() tcplib {
	all := tcplib{}
	for _, row := range experiments.ReadRows(files, "tcplib.csv") {
		value, err := strconv.ParseFloat(row[1], 64)
		share, err2 := strconv.ParseFloat(row[2], 64)
		if err != nil || err2 != nil {
			panic("BUG: tcplib.csv: " + strings.Join(row, ","))
		}
		all[row[0]] = append(all[row[0]], tcplibPoint{value, share})
	}
	return all
})

// draw draws a value as tcplib.c does: evenly between two points.
func (t tcplib) draw(r *rand.Rand, table string) float64 {
	u, points := float64(r.Float64()), t[table] // its product is not fused with the sums below
	if u < points[0].share {
		return points[0].value
	}
	for i, p := range points[1:] {
		if before := points[i]; u <= p.share {
			return before.value + float64((u-before.share)/(p.share-before.share)*(p.value-before.value))
		}
	}
	return points[len(points)-1].value
}

// mean returns the mean of a table.
func (t tcplib) mean(table string) float64 {
	points := t[table]
	sum := float64(points[0].value * points[0].share)
	for i, p := range points[1:] {
		sum += float64((p.share - points[i].share) * (p.value + points[i].value) / 2)
	}
	return sum
}

// items draws a conversation that transfers items over one connection, one after the other. sizes
// are the parts of an item.
func (t tcplib) items(r *rand.Rand, items string, sizes ...string) (c conversation) {
	for range int(t.draw(r, items)) {
		for _, size := range sizes {
			c.bytes += uint64(t.draw(r, size))
		}
	}
	return c
}

func (t tcplib) telnet(r *rand.Rand) conversation {
	own := rand.New(rand.NewPCG(r.Uint64(), 0x7e1))
	return conversation{lasts: time.Duration(t.draw(r, "telnet duration") * float64(time.Millisecond)),
		packet: func() (uint32, time.Duration) {
			return uint32(t.draw(own, "telnet packet")),
				time.Duration(t.draw(own, "telnet interarrival") * float64(time.Millisecond))
		}}
}

// converse draws a conversation of any kind.
func (t tcplib) converse(r *rand.Rand) conversation {
	all := 0.0
	for _, k := range tcplibKinds {
		all += k.share
	}
	u := float64(r.Float64() * all)
	for _, k := range tcplibKinds[:len(tcplibKinds)-1] {
		if u < k.share {
			return k.draw(t, r)
		}
		u -= k.share
	}
	return tcplibKinds[len(tcplibKinds)-1].draw(t, r)
}

// tcplibSamples is the conversations whose mean counts as the mean.
const tcplibSamples = 200_000

// bytes returns the mean bytes of a conversation, over conversations that a fixed seed draws. The
// tail is heavy: half of the bytes are in one conversation of a hundred.
var tcplibBytes = sync.OnceValue(func() float64 {
	t, r, sum := readTcplib(), rand.New(rand.NewPCG(1, 0x7c9)), 0.0
	for range tcplibSamples {
		c := t.converse(r)
		if c.lasts > 0 {
			c.bytes = uint64(t.mean("telnet packet") * c.lasts.Seconds() * 1e3 / t.mean("telnet interarrival"))
		}
		sum += float64(c.bytes)
	}
	return sum / tcplibSamples
})
