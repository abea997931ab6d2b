package shrew

import (
	"context"
	"fmt"
	"net/netip"
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
		for seed := 1; seed <= p.Seeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("timers=%q pulse=%v period=%v seed=%d", timers.Text, pulse, period, seed),
				Cost: 1e-6 * p.packets(pulse, period),
				Run: func(context.Context) (Cell, error) {
					return run(p, timers, Cell{Timers: timers.Text, Pulse: pulse, Period: period, Seed: seed})
				},
			})
		}
	}
	for i, timers := range append(p.Timers[:len(p.Timers):len(p.Timers)], p.BSD) {
		for k, pulse := range p.Pulses {
			if i > 0 && k > 0 {
				continue
			}
			if k == 0 {
				add(timers, pulse, 0)
			}
			for _, period := range p.Periods {
				add(timers, pulse, period)
			}
		}
	}
	return append(all, gvisorCells(p)...)
}

// packets returns about the packets of a cell.
func (p *Plan) packets(pulse, period time.Duration) float64 {
	duty := 0.0
	if period > 0 {
		duty = float64(pulse) / float64(period)
	}
	return (p.Settle + p.Duration).Seconds() * (float64(p.Rate)/12000 + float64(duty*float64(p.PulseRate)/8/float64(p.Packet)))
}

// bottleneck returns the link that the flow and the pulses share.
func (p *Plan) bottleneck() sim.LinkConfig {
	return sim.LinkConfig{Rate: uint64(p.Rate), Delay: p.RoundTrip / 2, Queue: sim.Limit{Bytes: uint64(p.Buffer)}}
}

// share returns the share of the bottleneck's rate of so many bytes during the watch.
func (p *Plan) share(bytes uint64) float64 {
	return 8 * float64(bytes) / p.Duration.Seconds() / float64(p.Rate)
}

// run runs one flow against the pulses of a cell.
func run(p *Plan, timers testbed.Timers, c Cell) (Cell, error) {
	w, err := host.NewWorld(sim.Config{Seed: uint64(c.Seed)})
	if err != nil {
		return c, err
	}
	var hosts [2]*host.Host
	for side := range hosts {
		hosts[side], err = w.NewHost(netip.AddrFrom4([4]byte{10, 0, 0, byte(side + 1)}), tcp.EngineConfig{
			Conn: timers.Config(), Seed: testbed.Key(uint64(c.Seed), uint64(side)), Key: [16]byte{0: byte(side + 1), 1: byte(c.Seed)},
		})
		if err != nil {
			return c, err
		}
	}
	attack := &pulses{train: p.train(&c)}
	built, err := sim.Build(w.Net, sim.TopologyConfig{Kind: "dumbbell", Senders: 2, Bottleneck: p.bottleneck()},
		[]sim.Node[host.Body]{hosts[0], attack}, []sim.Node[host.Body]{hosts[1], sink{}})
	if err != nil {
		return c, err
	}
	if err := w.Attach(hosts[0], built.Senders[0], built.SenderOut[0]); err != nil {
		return c, err
	}
	if err := w.Attach(hosts[1], built.Receivers[0], built.ReceiverOut[0]); err != nil {
		return c, err
	}
	if err := hosts[1].Listen(80, tcp.ListenConfig{Backlog: 1}, func() host.App { return &host.Sink{} }); err != nil {
		return c, err
	}
	if _, err := hosts[0].Dial(hosts[1], 80, nil, &host.Bulk{}); err != nil {
		return c, err
	}
	begin := wheel.Time(p.Settle)
	if c.Period > 0 {
		attack.start(w.Net, built)
	}
	w.Net.Run(begin)
	before, timeouts := hosts[1].Counts().Readable, hosts[0].Counters().TCPTimeouts
	w.Net.Run(begin.Add(p.Duration))
	c.Share = p.share(hosts[1].Counts().Readable - before)
	c.Timeouts = hosts[0].Counters().TCPTimeouts - timeouts
	if faults := w.Faults(); len(faults) > 0 {
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
	a.net, a.out = net, built.SenderOut[1]
	a.dg.From, a.dg.To, a.dg.Size = built.Senders[1], built.Receivers[1], a.size
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
