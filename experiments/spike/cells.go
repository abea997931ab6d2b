package spike

import (
	"errors"
	"fmt"
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

// The responses to a spurious timeout. none cannot detect one.
const (
	none  = "none"
	frto  = "F-RTO"
	eifel = "Eifel"
	dsack = "DSACK"
	every = "all three"
)

var responses = []string{none, frto, eifel, dsack, every}

// apply configures the response.
func apply(cfg *tcp.Config, response string) {
	cfg.Policy.FRTO = response == frto || response == every
	cfg.Timestamps = response == eifel || response == every
	cfg.SACK = response == dsack || response == every
}

// family is a kind of timers.
type family string

const (
	ofTick   family = "granularity"
	ofFloor  family = "floor"
	ofPolicy family = "policy"
	ofStack  family = "stack" // another TCP
)

// timers are timers with a name.
type timers struct {
	name   string
	family family
	size   time.Duration // G, or the floor
	lab    testbed.Timers
	stack  testbed.Subject // of ofStack
}

func (p *Plan) all() (all []timers) {
	const bare = " -tlp -rack control=newreno"
	for _, g := range p.Ticks {
		lab := testbed.MustTimers(fmt.Sprintf("per-segment@%v rtt-tick=%v var-min=0s floor=1ms%s", g, g, bare))
		all = append(all, timers{name: fmt.Sprintf("G=%v", g), family: ofTick, size: g, lab: lab})
	}
	for _, floor := range p.Floors {
		lab := testbed.MustTimers(fmt.Sprintf("per-segment@1ms rtt-tick=1ms var-min=%v%s", floor, bare))
		all = append(all, timers{name: fmt.Sprintf("floor=%v", floor), family: ofFloor, size: floor, lab: lab})
	}
	for _, name := range p.Policies {
		all = append(all, timers{name: name, family: ofPolicy, lab: testbed.MustTimers(name + " control=newreno")})
	}
	if p.GVisorSeeds > 0 {
		all = append(all, timers{name: gvisor, family: ofStack, stack: newReno})
	}
	for _, s := range p.Subjects {
		all = append(all, timers{name: s.String(), family: ofStack, stack: s})
	}
	return all
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, tm := range p.all() {
		seeds, cost := p.Seeds, 6e-4*(p.Warm+p.Watch).Seconds()*float64(len(p.Peaks)+4*len(p.Tried))
		if tm.family == ofStack {
			seeds, cost = p.GVisorSeeds, 1e-2*(p.Warm+p.Watch).Seconds()*float64(len(p.Peaks)+len(p.Tried))
		}
		all = append(all, experiments.Seeded(p.FirstSeed, seeds, tm.name, cost,
			func(seed int) (Cell, error) { return cell(p, &tm, seed) })...)
	}
	return all
}

func cell(p *Plan, tm *timers, seed int) (c Cell, err error) {
	c = Cell{Timers: tm.name, Seed: seed}
	run := func(peak time.Duration, response string) error {
		s := Spike{Peak: peak, Response: response}
		do := func() error { return spike(p, tm, seed, &s) }
		if tm.family == ofStack {
			do = func() error { return stackSpike(p, tm.stack, seed, &s) }
		}
		if err := do(); err != nil {
			return fmt.Errorf("%s, seed %d, peak %v, %s: %w", tm.name, seed, peak, response, err)
		}
		c.Spikes = append(c.Spikes, s)
		return nil
	}
	for _, peak := range append([]time.Duration{p.RTT}, p.Peaks...) {
		if err := run(peak, none); err != nil {
			return c, err
		}
	}
	tried := responses[1:]
	if tm.family == ofStack {
		tried = []string{every}
	}
	for _, peak := range p.Tried {
		for _, response := range tried {
			if err := run(peak, response); err != nil {
				return c, err
			}
		}
	}
	c.Waits, err = waits(p, tm, seed)
	return c, err
}

// config returns the configurations of both sides. Whole policies keep their delayed ACKs at the
// sender only, which receives no data.
func config(tm *timers) (client, server tcp.Config) {
	client = tm.lab.Config()
	p := tm.lab.Policy
	p.DelAck = tcptimers.DelAckConfig{Every: 1}
	return client, tcp.DefaultConfig(p)
}

// spike slows the path down during a transfer.
func spike(p *Plan, tm *timers, seed int, s *Spike) error {
	const mss = 1448
	client, server := config(tm)
	apply(&client, s.Response)
	apply(&server, s.Response)
	client.Congestion.MaxWindow = uint32(p.Window * mss)
	b, err := newBed(p, client, server)
	if err != nil {
		return err
	}
	if err := b.server.Listen(80, tcp.ListenConfig{Backlog: 1}, func() host.App { return &host.Sink{} }); err != nil {
		return err
	}
	session, err := b.client.Dial(b.server, 80, nil, &host.Bulk{Buffer: 1 << 20})
	if err != nil {
		return err
	}
	net, conn := b.world.Net, session.Conn()
	net.Run(wheel.Time(p.Warm) + wheel.Time(testbed.Uniform(uint64(seed), 0xe23)*float64(tcptimers.SlowTick)))
	begin := net.Now()
	counted := b.client.Counters()
	again, acked := len(b.record.Retransmissions), conn.Acked()
	s.Before = conn.Info(begin).Cwnd
	s.Least = s.Before
	b.path.rtt = s.Peak
	slow, after := begin.Add(p.Lasts), begin.Add(p.Lasts+s.Peak+p.RTT)
	for at := begin; at < begin.Add(p.Watch); {
		at = at.Add(10 * time.Millisecond)
		net.Run(at)
		if at >= slow {
			b.path.rtt = p.RTT
		}
		info := conn.Info(at)
		s.Least = min(s.Least, info.Cwnd)
		if s.After == 0 && at >= after {
			s.After, s.Ssthresh = info.Cwnd, info.Ssthresh
		}
	}
	now := b.client.Counters()
	s.Retransmissions, s.Bytes = len(b.record.Retransmissions)-again, conn.Acked()-acked
	s.Timeouts = int(now.TCPTimeouts - counted.TCPTimeouts)
	s.Undone = int(now.TCPLossUndo + now.TCPFullUndo + now.TCPPartialUndo -
		(counted.TCPLossUndo + counted.TCPFullUndo + counted.TCPPartialUndo))
	return errors.Join(b.world.Faults()...)
}

// conn is a connection of a client that is driven from outside.
type conn struct {
	runFor          func(time.Duration)
	write           func(bytes int)
	acked           func() uint64
	retransmissions *[]testbed.Retransmission
	finish          func() error // returns the first error of the run, too
}

// connect opens a connection over two links.
func (tm *timers) connect(p *Plan, seed int, up, down sim.LinkConfig) (c conn, err error) {
	if tm.family == ofStack {
		g, err := p.stacks(tm.stack, every, 0, up, down)
		if err != nil {
			return c, err
		}
		var opened *sockets.Conn
		g.Serve(testbed.Sink)
		g.Dial(0, func(c *sockets.Conn) error {
			opened = c
			return nil
		})
		if err := g.Run(wheel.Time(time.Minute), func() bool { return opened != nil }); err != nil {
			return c, g.Finish(err)
		}
		return conn{
			runFor:          func(d time.Duration) { _ = g.Run(g.Net.Now().Add(d), nil) },
			write:           func(bytes int) { g.Write(opened, bytes) },
			acked:           func() uint64 { return g.Acked },
			retransmissions: &g.Retransmissions,
			finish:          func() error { return g.Finish(g.Run(g.Net.Now(), nil)) },
		}, nil
	}
	client, server := config(tm)
	apply(&client, every)
	apply(&server, every)
	pair, err := testbed.NewPair(testbed.PairPlan{
		Seed: uint64(seed), Client: client, Server: server, Up: up, Down: down, Trace: true, Verify: true,
	})
	if err != nil {
		return c, err
	}
	session, err := pair.Connect()
	return conn{
		runFor:          pair.RunFor,
		write:           func(bytes int) { session.Write(uint32(bytes), 0) },
		acked:           func() uint64 { return session.Wrote() - session.Unacked() },
		retransmissions: &pair.Records[0].Retransmissions,
		finish:          func() error { return errors.Join(pair.World.Faults()...) },
	}, err
}

// waits loses lone segments, each once, and returns the times from transmission to retransmission.
func waits(p *Plan, tm *timers, seed int) (waits []int64, err error) {
	const size = 1000
	wrote, lost := uint64(0), ^uint64(0)
	link := sim.LinkConfig{Delay: p.RTT / 2}
	if tm.family == ofStack {
		link.Rate, link.Overhead = uint64(p.Rate), 38
	}
	lossy := link
	lossy.Loss = sim.Losses{&testbed.StreamLoss{Rule: func(_ wheel.Time, start, _ uint64, attempt uint32) bool {
		return start == lost && attempt == 1
	}}}
	c, err := tm.connect(p, seed, lossy, link)
	if err != nil {
		return nil, err
	}
	write := func() {
		c.write(size)
		wrote += size
	}
	c.runFor(2 * p.RTT)
	for i := range p.Losses {
		for j := range p.Exchanges {
			// At random instants, a coarse clock measures the right mean.
			phase := testbed.Uniform(uint64(seed), 0xe23, uint64(i), uint64(j))
			c.runFor(2*p.RTT + time.Duration(phase*float64(tcptimers.SlowTick)))
			write()
		}
		c.runFor(20 * time.Second)
		before := len(*c.retransmissions)
		lost = wrote
		write()
		c.runFor(time.Minute)
		if len(*c.retransmissions) == before || c.acked() != wrote {
			return nil, errors.Join(fmt.Errorf("loss %d was not repaired within a minute", i), c.finish())
		}
		waits = append(waits, (*c.retransmissions)[before].Wait().Microseconds())
	}
	return waits, c.finish()
}

// gvisor is the name of gVisor's own TCP with NewReno. Without a response a subject in a gVisor
// stack has neither SACK nor timestamps, and gVisor's neither RACK nor probes; with all three
// responses it has all that it has.
const gvisor = "gVisor"

var newReno = testbed.Subject{Kind: testbed.GVisor, Control: "newreno"}

// stacks connects a subject in a gVisor stack to a server with this project's TCP.
func (p *Plan) stacks(subject testbed.Subject, response string, window int, up, down sim.LinkConfig) (*testbed.Stacks,
	error) {
	_, server := config(&timers{lab: testbed.MustTimers("per-segment control=newreno")})
	apply(&server, response)
	subject.NoSACK = subject.NoSACK || response == none
	return testbed.NewStacks(testbed.StacksPlan{Seed: 1, Client: subject,
		Change: func(c *tcp.Config) { apply(c, response) }, Server: server, NoSACK: response == none,
		ServerBuffer: window, Up: up, Down: down, Trace: true})
}

// stackSpike is spike with a subject in a gVisor stack, which does not report its window.
func stackSpike(p *Plan, subject testbed.Subject, seed int, s *Spike) error {
	const mss = 1448
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38}
	g, err := p.stacks(subject, s.Response, p.Window*mss, link, link)
	if err != nil {
		return err
	}
	begin := wheel.Time(p.Warm) + wheel.Time(testbed.Uniform(uint64(seed), 0xe23)*float64(tcptimers.SlowTick))
	var last [2]wheel.Time // when the last packet of a direction arrives: packets keep their order
	g.Sent = func(_ wheel.Time, from int, _ *virtual.Packet, fate *sim.Fate) {
		rtt := p.RTT
		if fate.At >= begin && fate.At < begin.Add(p.Lasts) {
			rtt = s.Peak
		}
		last[from] = max(last[from], fate.At.Add(rtt/2))
		fate.At = last[from]
	}
	g.Serve(testbed.Sink)
	g.Dial(0, func(c *sockets.Conn) error {
		for b := make([]byte, 64*mss); ; {
			if _, err := c.Write(b); err != nil {
				return err
			}
		}
	})
	err = g.Run(begin, nil)
	again, acked, timeouts := len(g.Retransmissions), g.Acked, g.Net.Counts(testbed.DialEnd).Timeouts
	if err == nil {
		err = g.Run(begin.Add(p.Watch), nil)
	}
	s.Retransmissions, s.Bytes = len(g.Retransmissions)-again, g.Acked-acked
	s.Timeouts = int(g.Net.Counts(testbed.DialEnd).Timeouts - timeouts)
	if err == nil && acked == 0 {
		err = errors.New("nothing has arrived before the spike")
	}
	return g.Finish(err)
}
