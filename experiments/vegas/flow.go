package vegas

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/netstack/virtual"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

// kind is a kind of loss that only a timeout can repair.
type kind struct {
	name    string
	flight  int    // segments of an exchange
	lost    int    // the lost segment, from 0; -1 is a random one
	attempt uint32 // the last transmission that is lost
}

var kinds = []kind{
	{"alone", 1, 0, 1},     // nothing else is in flight
	{"of three", 3, -1, 1}, // at most two duplicate ACKs arrive
	{"again", 8, 0, 2},     // a fast retransmission is lost
}

// mss is the payload of a full segment without timestamps over an MTU of 1500.
const mss = 1460

// series is cells that differ by seed: a flow of each kind of loss, or of a lone segment alone.
type series struct {
	name  string
	flow  flow
	cell  Cell
	every bool // each kind of loss
	seeds int
	cost  float64 // of an exchange
	run   func(flow) (Waits, error)
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, t := range p.timers() {
		for _, rtt := range p.RTTs {
			all = append(all, series{fmt.Sprintf("timers=%q rtt=%v", t.Text, rtt), flow{plan: p, timers: t, rtt: rtt},
				Cell{Timers: t.Text}, true, p.Seeds, 4e-5, flow.run}.cells()...)
		}
	}
	coarse := Cell{Timers: p.Coarse.Text}
	for _, rtt := range p.StillRTTs {
		all = append(all, series{fmt.Sprintf("still rtt=%v", rtt), flow{plan: p, timers: p.Coarse, rtt: rtt,
			still: true}, coarse, false, p.Seeds, 6e-6, flow.run}.cells()...)
	}
	for _, rtt := range p.RTTs {
		all = append(all, series{fmt.Sprintf("gvisor rtt=%v", rtt), flow{plan: p, timers: p.Fine, rtt: rtt},
			Cell{Timers: gvisor}, true, p.GVisorSeeds, 8e-4, flow.onStacks}.cells()...)
	}
	for _, s := range p.Subjects {
		for _, rtt := range p.RTTs {
			all = append(all, series{fmt.Sprintf("subject=%q rtt=%v", s, rtt), flow{plan: p, timers: p.Fine, rtt: rtt,
				subject: s}, Cell{Timers: s.String()}, true, p.GVisorSeeds, 8e-4, flow.onStacks}.cells()...)
		}
	}
	return all
}

// cells returns the cells of a series.
func (s series) cells() []experiments.Cell[Cell] {
	s.cell.RTT, s.cell.Still = s.flow.rtt, s.flow.still
	return experiments.Seeded(s.flow.plan.FirstSeed, s.seeds, s.name,
		s.cost*float64(s.flow.losses()*(s.flow.between()+1)), s.result)
}

// result runs the flows of one seed.
func (s series) result(seed int) (Cell, error) {
	c, f := s.cell, s.flow
	c.Seed = seed
	for f.kind = range kinds {
		if f.key = flowKey(seed, f.rtt, f.kind); f.still {
			f.key = testbed.Key(uint64(seed), 0x5e8, uint64(f.rtt))
		}
		result, err := s.run(f)
		if err != nil {
			return c, err
		}
		if c.Flows = append(c.Flows, result); !s.every {
			break
		}
	}
	return c, nil
}

// flowKey is the key of a flow's random numbers, the same for all timers.
func flowKey(seed int, rtt time.Duration, kind int) uint64 {
	return testbed.Key(uint64(seed), 0xe8, uint64(rtt), uint64(kind))
}

// flow is one flow from the client to the server: exchanges of a few segments and their ACKs, one
// after the other.
type flow struct {
	plan   *Plan
	timers testbed.Timers
	rtt    time.Duration
	// subject runs in a gVisor stack; without one it is gVisor's own TCP.
	subject testbed.Subject
	kind    int // index of kinds
	still   bool
	key     uint64
}

func (f *flow) losses() int {
	switch {
	case f.still:
		return f.plan.StillLosses
	}
	return f.plan.Losses
}

func (f *flow) between() int {
	if f.still {
		return f.plan.StillBetween
	}
	return f.plan.Between
}

// lossy reports whether exchange n, from 0, loses a segment: the last of each between+1.
func (f *flow) lossy(n int) bool { return n%(f.between()+1) == f.between() }

// lost returns the lost segment of exchange n.
func (f *flow) lost(n int) int {
	k := &kinds[f.kind]
	if k.lost < 0 {
		return int(testbed.Key(f.key, 1, uint64(n)) % uint64(k.flight))
	}
	return k.lost
}

// run runs the flow to its end.
func (f flow) run() (Waits, error) {
	k := &kinds[f.kind]
	out := Waits{Waits: []time.Duration{}}
	losses := watch{}
	up, down := f.links(&losses)
	cfg := f.timers.Config()
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: f.key, Client: cfg, Server: cfg, Up: up, Down: down,
		Trace: true, Verify: true})
	if err != nil {
		return out, err
	}
	err = pair.Server.Listen(80, tcp.ListenConfig{Backlog: 1},
		func() host.App { return host.Apps{&host.Sink{}, &host.Closer{}} })
	if err != nil {
		return out, err
	}
	app := &exchanges{flow: &f, bytes: uint32(k.flight * mss), total: f.losses() * (f.between() + 1),
		net: pair.World.Net}
	if _, err := pair.Client.Dial(pair.Server, 80, nil, app); err != nil {
		return out, err
	}
	for until := time.Minute; !app.closed; until += time.Minute {
		if until > 100*time.Hour {
			return out, fmt.Errorf("%d of %d exchanges after %v", app.n, app.total, until)
		}
		pair.Run(wheel.Time(until))
	}
	for _, err := range append(pair.World.Faults(), app.err) {
		if err != nil {
			return out, err
		}
	}
	return out, losses.waits(pair.Records[0].Retransmissions, f.losses(), &out)
}

// links returns the link to the server, which loses segments and reports them to losses, and the
// link back.
func (f *flow) links(losses *watch) (up, down sim.LinkConfig) {
	k := &kinds[f.kind]
	bytes := uint64(k.flight * mss)
	down.Delay = f.rtt / 10
	up = sim.LinkConfig{Delay: f.rtt - down.Delay,
		Loss: sim.Losses{&testbed.StreamLoss{Rule: func(now wheel.Time, start, end uint64, attempt uint32) bool {
			n := int(start / bytes)
			if !f.lossy(n) || int(start%bytes/mss) != f.lost(n) {
				return false
			}
			return losses.sent(now, n, attempt, k.attempt)
		}}}}
	if f.plan.CV > 0 && !f.still {
		// Segments of one exchange leave together and take the same time, and those of the next another
		// time. A round trip takes at least as long as the link back.
		up.Jitter = sim.Jitter{Amount: time.Duration(math.Round(f.plan.CV * float64(f.rtt))), Normal: true,
			Hold: down.Delay}
	}
	return up, down
}

// begins returns when exchange n begins if the one before ends now.
func (f *flow) begins(n int, now wheel.Time) wheel.Time {
	phase := time.Duration(testbed.Key(f.key, 2, uint64(n)) % uint64(tcptimers.SlowTick))
	tick := now.Add(tcptimers.SlowTick - time.Duration(now)%tcptimers.SlowTick)
	switch {
	case f.still && f.lossy(n):
		return tick.Add(phase)
	case f.still:
		return tick.Add(f.plan.StillOffset)
	case n%(f.between()+1) == 0:
		return now.Add(phase) // the last timeout has aligned the flow with the tick
	}
	return now
}

// exchanges is the application. It writes the data of an exchange, and the next when it is
// acknowledged.
type exchanges struct {
	flow  *flow
	bytes uint32 // of an exchange
	total int
	net   *sim.Network[host.Body]

	n       int // exchanges begun
	running bool
	s       *host.Session
	timer   wheel.Timer
	closed  bool
	err     error
}

// OnEvents implements host.App.
func (x *exchanges) OnEvents(now wheel.Time, s *host.Session, ev tcp.Events) {
	switch {
	case ev.Has(tcp.EventClosed):
		x.closed, x.err = true, s.Err()
		if x.s != nil {
			x.net.FreeTimer(x.timer)
		}
	case x.s == nil && ev.Has(tcp.EventConnected):
		x.s, x.timer = s, x.net.NewTimer(x)
		x.next(now)
	case x.running && ev.Has(tcp.EventSent):
		if x.running = false; x.n == x.total {
			s.Shutdown()
			return
		}
		x.next(now)
	}
}

// next begins the next exchange, now or at its time.
func (x *exchanges) next(now wheel.Time) {
	if at := x.flow.begins(x.n, now); at > now {
		x.net.StartTimer(x.timer, at)
		return
	}
	x.Expire(now)
}

// Expire implements sim.Handler: it begins the next exchange.
func (x *exchanges) Expire(wheel.Time) {
	x.n++
	x.running = true
	x.s.Write(x.bytes, 0)
}

// watch records the lost segments on the link.
type watch struct {
	all []loss
}

type loss struct {
	exchange  int
	at, again wheel.Time // of the last lost transmission, and of the one after it
	attempt   int        // number of the one after it; 0 before it
}

// sent notes a transmission of an exchange's segment, and reports whether it is lost.
func (w *watch) sent(now wheel.Time, exchange int, attempt, upTo uint32) bool {
	if attempt == 1 {
		w.all = append(w.all, loss{exchange: exchange})
	}
	l := &w.all[len(w.all)-1]
	if attempt <= upTo {
		l.at = now
		return true
	}
	if l.attempt == 0 {
		l.again, l.attempt = now, int(attempt)
	}
	return false
}

// waits fills in the wait of each loss. It returns an error unless there are want losses.
func (w *watch) waits(retransmissions []testbed.Retransmission, want int, out *Waits) error {
	timed := map[wheel.Time]map[int]bool{} // by time and attempt: a retransmission timer caused it
	for i := range retransmissions {
		r := &retransmissions[i]
		if timed[r.At] == nil {
			timed[r.At] = map[int]bool{}
		}
		timed[r.At][r.Attempt] = r.Timed && r.Timer == tcptimers.Rexmit
	}
	for _, l := range w.all {
		wait := l.again.Sub(l.at).Truncate(time.Microsecond)
		switch {
		case !timed[l.again][l.attempt]:
			out.Other++
		case l.attempt > 2 && timed[l.at][l.attempt-1]:
			out.BackedOff = append(out.BackedOff, wait)
		default:
			out.Waits = append(out.Waits, wait)
		}
	}
	if seen := len(out.Waits) + len(out.BackedOff) + out.Other; seen != want {
		return fmt.Errorf("%d losses occurred, want %d", seen, want)
	}
	return nil
}

// gvisor is the name of gVisor's own TCP in the place of a text of timers. It has a floor on the
// timeout, and a clock of nanoseconds.
const gvisor = "gVisor"

// bare is that TCP: SACK is off, and with it gVisor's RACK and probes.
var bare = testbed.Subject{Kind: testbed.GVisor, NoSACK: true, Control: "newreno"}

// onStacks runs the flow with a subject in a gVisor stack in the place of the client's engine, over
// the links that two engines have.
func (f flow) onStacks() (out Waits, err error) {
	subject := f.subject
	if subject.Kind == "" {
		subject = bare
	}
	out.Waits = []time.Duration{}
	losses := watch{}
	up, down := f.links(&losses)
	// The keys are those of a Pair's links, for the same delays.
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: f.key, Client: subject, Server: f.timers.Config(), NoSACK: true,
		Up: up, UpKey: sim.LinkKey(f.key, "client>server"), Down: down, DownKey: sim.LinkKey(f.key, "server>client"),
		Trace: true})
	if err != nil {
		return out, err
	}
	var conn *sockets.Conn
	bytes, begun, running := uint64(kinds[f.kind].flight*mss), 0, false
	next := func(now wheel.Time) {
		s.Net.Clock.AfterFunc(max(1, f.begins(begun, now).Sub(now)), func() {
			begun++
			running = true
			s.Write(conn, int(bytes))
		})
	}
	total := f.losses() * (f.between() + 1)
	s.Arrived = func(now wheel.Time, from int, _ *virtual.Packet) {
		// The ACK of the last byte ends an exchange.
		if from == testbed.ListenEnd && running && s.Acked == uint64(begun)*bytes {
			if running = false; begun < total {
				next(now)
			}
		}
	}
	s.Serve(testbed.Sink)
	s.Dial(0, func(c *sockets.Conn) error {
		conn = c
		next(s.Net.Now())
		return nil
	})
	done := func() bool { return begun == total && !running }
	err = s.Run(wheel.Time(100*time.Hour), done)
	if err == nil && !done() {
		err = fmt.Errorf("%d exchanges, and then none", begun)
	}
	if err = s.Finish(err); err != nil {
		return out, err
	}
	return out, losses.waits(s.Retransmissions, f.losses(), &out)
}
