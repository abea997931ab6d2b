package outage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

func deadCells(p *deadPlan) (all []experiments.Cell[deadCell]) {
	for i, d := range deaths(p) {
		for seed := 1; seed <= p.Seeds; seed++ {
			all = append(all, experiments.Cell[deadCell]{
				Name: fmt.Sprintf("%s, seed=%d", d.name, seed), Cost: 3e-4 * float64(p.Phases),
				Run: func(context.Context) (deadCell, error) { return die(p, &d, i, seed) },
			})
		}
	}
	for _, d := range gvisorCases(p) {
		all = append(all, experiments.Cell[deadCell]{
			Name: d.name, Cost: 0.01, Run: func(context.Context) (deadCell, error) { return dieUnderGVisor(p, &d) },
		})
	}
	return all
}

// die lets the peers of a case die at random instants.
func die(p *deadPlan, d *death, index, seed int) (deadCell, error) {
	tick := d.timers.Policy.Tick
	c := deadCell{Case: d.name, Seed: seed, Tick: tick}
	var late, took []float64
	var rules []time.Duration
	for i := range p.Phases {
		life, rule, exact, err := d.one(p, testbed.Uniform(uint64(seed), 0xe14, uint64(index), uint64(i)))
		if err != nil {
			return c, err
		}
		rules = append(rules, rule)
		off := life - rule
		least, most := time.Duration(0), tick-1
		switch {
		case exact:
			most = 0
		case d.countdown():
			least, most = 1-tick, 0
		}
		if off < least || off > most {
			c.Off++
		}
		late = append(late, float64(off)/float64(tick))
		took = append(took, life.Seconds())
	}
	c.Least, c.Mean, c.Greatest, c.Took = stat.Quantile(late, 0), stat.Mean(late), stat.Quantile(late, 1),
		stat.Mean(took)
	c.Rule = time.Duration(stat.Mean(rules))
	base := 0.0
	if d.countdown() {
		base = -1
	}
	_, c.KS = stat.KolmogorovSmirnov(late, func(x float64) float64 { return min(max(x-base, 0), 1) })
	if seed == 1 {
		slices.Sort(late)
		c.Late = late
	}
	return c, nil
}

// one runs one connection, whose peer dies at a phase of the tick from 0 to 1.
func (d *death) one(p *deadPlan, phase float64) (life, rule time.Duration, exact bool, err error) {
	cfg := d.config()
	dead := false
	lossy := sim.LinkConfig{Delay: p.RTT / 2, Loss: sim.Losses{&cut{&dead}}}
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: 1, Client: cfg, Server: cfg, Up: lossy, Down: lossy,
		Trace: d.activity == data})
	if err != nil {
		return 0, 0, false, err
	}
	var server *host.Session
	accepted := func() host.App {
		return host.Apps{&host.Sink{}, host.AppFunc(func(_ wheel.Time, s *host.Session, _ tcp.Events) { server = s })}
	}
	if err := pair.Server.Listen(80, tcp.ListenConfig{Backlog: 1}, accepted); err != nil {
		return 0, 0, false, err
	}
	net := pair.World.Net
	run := func(t time.Duration) { pair.Run(net.Now().Add(t)) }
	run(time.Second + time.Duration(phase*float64(d.timers.Policy.Tick))) // whole ticks plus the phase
	dead = d.activity == opening
	var ended wheel.Time
	start := net.Now()
	session, err := pair.Client.Dial(pair.Server, 80, nil,
		host.AppFunc(func(now wheel.Time, s *host.Session, ev tcp.Events) {
			if ev.Has(tcp.EventClosed) && errors.Is(s.Err(), tcp.ErrTimeout) {
				ended = now
			}
		}))
	if err != nil {
		return 0, 0, false, err
	}
	rto := time.Duration(0)
	if d.activity != opening {
		const settle = 2 * time.Second
		run(settle) // a whole number of ticks
		for range 20 {
			session.Write(100, 0) // measures a round trip
			run(settle)
		}
		if server == nil {
			return 0, 0, false, errors.New("the connection was not accepted")
		}
		if d.activity == idle {
			server.Write(100, 0)
			run(p.RTT / 2)
			start = net.Now() // the last segment has arrived
			dead = true
		} else {
			dead = true
			start, rto = net.Now(), session.Conn().Info(net.Now()).RTO
			session.Write(100, 0)
		}
	}
	for end := start.Add(4 * time.Hour); ended == 0 && net.Now() < end && net.Step(); {
	}
	if ended == 0 {
		return 0, 0, false, fmt.Errorf("%s: the connection lives after four hours", d.name)
	}
	rule, exact = d.rule(start, rto)
	return ended.Sub(start), rule, exact, nil
}

// cut is a sim.Loss of all packets, once the path is dead.
type cut struct{ dead *bool }

func (c *cut) String() string                            { return "cut" }
func (c *cut) Check() error                              { return nil }
func (c *cut) Start(uint64) sim.Dropper                  { return c }
func (c *cut) Lost(wheel.Time, uint64, *sim.Packet) bool { return *c.dead }
