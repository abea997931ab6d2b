package shrew

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(timers testbed.Timers, pulse, period time.Duration) {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("timers=%q pulse=%v period=%v seed=%d", timers.Text, pulse, period, seed),
				Cost: 1e-6 * p.packets(pulse, period),
				Run: func(context.Context) (Cell, error) {
					return run(p, timers, []time.Duration{p.RoundTrip}, Cell{Timers: timers.Text, Pulse: pulse,
						Period: period, Seed: seed})
				},
			})
		}
	}
	for i, timers := range slices.Concat([]testbed.Timers{p.Published, p.Finer, p.NoFloor}, p.OtherTimers,
		[]testbed.Timers{p.BSD}) {
		add(timers, p.Length, 0)
		for _, period := range p.Periods {
			add(timers, p.Length, period)
		}
		for _, pulse := range p.Others {
			if i > 0 {
				break // for the published timers alone
			}
			for _, period := range p.Periods {
				add(timers, pulse, period)
			}
		}
	}
	if len(p.FlowTrips) > 0 && slices.Min(p.FlowTrips) >= p.RoundTrip {
		for _, period := range append([]time.Duration{0}, p.Periods...) {
			for seed := p.FirstSeed; seed < p.FirstSeed+p.FlowSeeds; seed++ {
				c := Cell{Timers: p.Published.Text, Pulse: p.Length, Period: period, Seed: seed, Several: true}
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("flows=%d period=%v seed=%d", len(p.FlowTrips), period, seed),
					Cost: 2e-6 * p.packets(c.Pulse, period),
					Run:  func(context.Context) (Cell, error) { return run(p, p.Published, p.FlowTrips, c) },
				})
			}
		}
	}
	return append(all, stackCells(p)...)
}

// packets returns about the packets of a cell.
func (p *Plan) packets(pulse, period time.Duration) float64 {
	duty := 0.0
	if period > 0 {
		duty = float64(pulse) / float64(period)
	}
	return (p.Settle + p.Duration).Seconds() * (float64(p.Rate)/12000 +
		float64(duty*float64(p.PulseRate)/8/float64(p.Packet)))
}

// bottleneck returns the link that the flow and the pulses share.
func (p *Plan) bottleneck() sim.LinkConfig {
	return sim.LinkConfig{Rate: uint64(p.Rate), Delay: p.RoundTrip / 2, Queue: sim.Limit{Bytes: uint64(p.Buffer)}}
}

// share returns the share of the bottleneck's rate of so many bytes during the watch.
func (p *Plan) share(bytes uint64) float64 {
	return 8 * float64(bytes) / p.Duration.Seconds() / float64(p.Rate)
}

// attacked is flows, one for each round trip, next to the pulses.
type attacked struct {
	*testbed.Dumbbell
	attack *pulses
}

// build connects the hosts of a cell and dials the flows.
func build(p *Plan, timers testbed.Timers, trips []time.Duration, c *Cell) (*attacked, error) {
	a := &attacked{attack: &pulses{train: p.train(c)}}
	plan := testbed.DumbbellPlan{Seed: uint64(c.Seed), Pairs: len(trips), Bottleneck: p.bottleneck(),
		Serve: func() host.App { return &host.Sink{} }, Source: a.attack, Sink: sink{}}
	plan.Host = func(side, pair int) (netip.Addr, tcp.EngineConfig) {
		number := 2*pair + side
		return netip.AddrFrom4([4]byte{10, 0, 0, byte(number + 1)}), tcp.EngineConfig{
			Conn: timers.Config(), Seed: testbed.Key(uint64(c.Seed), uint64(number)),
			Key: [16]byte{0: byte(number + 1), 1: byte(c.Seed)},
		}
	}
	for _, trip := range trips {
		plan.Access = append(plan.Access, sim.LinkConfig{Delay: (trip - p.RoundTrip) / 4})
	}
	plan.Access = append(plan.Access, sim.LinkConfig{})
	var err error
	if a.Dumbbell, err = testbed.NewDumbbell(plan); err != nil {
		return nil, err
	}
	for i, sender := range a.Senders {
		if _, err := sender.Dial(a.Receivers[i], testbed.ServePort, nil, &host.Bulk{}); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// run runs the flows of a cell against its pulses.
func run(p *Plan, timers testbed.Timers, trips []time.Duration, c Cell) (Cell, error) {
	a, err := build(p, timers, trips, &c)
	if err != nil {
		return c, err
	}
	begin := wheel.Time(p.Settle)
	if c.Period > 0 {
		a.attack.start(a.World.Net, a.Links)
	}
	a.World.Net.Run(begin)
	before := make([]uint64, len(trips))
	timeouts := uint64(0)
	for i := range trips {
		before[i], timeouts = a.Receivers[i].Counts().Readable, timeouts+a.Senders[i].Counters().TCPTimeouts
	}
	a.World.Net.Run(begin.Add(p.Duration))
	for i := range trips {
		share := p.share(a.Receivers[i].Counts().Readable - before[i])
		c.Share, c.Timeouts = c.Share+share, c.Timeouts+a.Senders[i].Counters().TCPTimeouts
		if c.Several {
			c.Flows = append(c.Flows, share)
		}
	}
	c.Timeouts -= timeouts
	if faults := a.World.Faults(); len(faults) > 0 {
		return c, faults[0]
	}
	return c, nil
}

// pulses sends packets without purpose, for the length of a pulse in each period.
type pulses struct {
	train
	net   *sim.Network[host.Body]
	out   sim.LinkID
	dg    host.Datagram
	timer wheel.Timer
	sent  int
}

// start starts the pulses.
func (a *pulses) start(net *sim.Network[host.Body], built *sim.Topology) {
	last := len(built.Senders) - 1
	a.net, a.out = net, built.SenderOut[last]
	a.dg.From, a.dg.To, a.dg.Size = built.Senders[last], built.Receivers[last], a.size
	a.timer = net.NewTimer(a)
	net.StartTimer(a.timer, a.at(0))
}

// Expire implements sim.Handler: it sends the next packet.
func (a *pulses) Expire(wheel.Time) {
	a.net.Send(a.out, &a.dg)
	a.sent++
	a.net.StartTimer(a.timer, a.at(a.sent))
}

// Receive implements sim.Node. The attacker gets no packets.
func (a *pulses) Receive(wheel.Time, sim.LinkID, *host.Datagram) {}

// sink receives the attacker's packets.
type sink struct{}

// Receive implements sim.Node.
func (sink) Receive(wheel.Time, sim.LinkID, *host.Datagram) {}
