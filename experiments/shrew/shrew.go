// Package shrew is study E20: short pulses against a flow, once in each retransmission timeout.
package shrew

import (
	"embed"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Rate      int           `plan:"rate" unit:"rate" min:"10000" max:"10000000000"`
	Buffer    int           `plan:"buffer" unit:"size" min:"1500" max:"100000000"`
	RoundTrip time.Duration `plan:"round_trip" min:"1ms" max:"1s"`

	Length    time.Duration   `plan:"length" min:"1ms" max:"10s"`
	Others    []time.Duration `plan:"other_lengths" min:"1ms" max:"10s" optional:"true"`
	PulseRate int             `plan:"pulse_rate" unit:"rate" min:"10000" max:"10000000000"`
	Packet    int             `plan:"packet" min:"40" max:"1500"`
	Periods   []time.Duration `plan:"periods" min:"10ms" max:"100s" order:"rising"`

	Published   testbed.Timers   `plan:"published"`
	Finer       testbed.Timers   `plan:"finer"`
	NoFloor     testbed.Timers   `plan:"no_floor"`
	OtherTimers []testbed.Timers `plan:"others" optional:"true"`
	BSD         testbed.Timers   `plan:"bsd"`

	Settle    time.Duration `plan:"settle" min:"1s" max:"10m"`
	Duration  time.Duration `plan:"duration" min:"1s" max:"1h"`
	FirstSeed int           `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int           `plan:"seeds" min:"1" max:"1000"`

	FlowTrips []time.Duration `plan:"flow_round_trips" min:"1ms" max:"1s" optional:"true"`
	FlowSeeds int             `plan:"flow_seeds" min:"1" max:"1000"`

	GVisorFloors []time.Duration `plan:"gvisor_floors" min:"1ms" max:"1m" optional:"true"`
	GVisorSeeds  int             `plan:"gvisor_seeds" min:"1" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is a flow's share against pulses of a period under one seed.
type Cell struct {
	Timers string        `json:"timers"`   // the sender
	Pulse  time.Duration `json:"pulse_s"`  // length of a pulse
	Period time.Duration `json:"period_s"` // from one pulse to the next; 0s is no pulses
	Seed   int           `json:"seed"`     // it sets the phase of the pulses

	Share    float64 `json:"share"`    // of the bottleneck's rate, 0 to 1: data that arrived after the first pulse
	Timeouts uint64  `json:"timeouts"` // of the sender, after the first pulse

	Several bool      `json:"several,omitempty"` // whether the plan's flows of several round trips ran together
	Flows   []float64 `json:"flows,omitempty"`   // the share of each of several flows
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E20", Name: "shrew", Bed: "dumbbell", Class: experiments.Published, Files: files,
	Check: func(p *Plan) error {
		longest := max(p.Length, slices.Max(append(p.Others, 0)))
		if p.Periods[0] <= longest {
			return fmt.Errorf("periods: %v, want above the longest pulse, %v", p.Periods[0], longest)
		}
		return testbed.CheckStacks(p.stacks())
	},
	Words: func() experiments.Words { return words },
	Cells: cells, Judge: outcome,
})

// train is the packets of the pulses.
type train struct {
	begin  wheel.Time
	period time.Duration // 0 is no pulses
	gap    float64       // ns from one packet of a pulse to the next
	burst  int           // packets of a pulse
	size   uint32        // of a packet, in bytes
}

// train returns the pulses of a cell. The first begins within a period after the flow has settled,
// at a phase that depends on the seed.
func (p *Plan) train(c *Cell) train {
	t := train{
		begin:  wheel.Time(p.Settle).Add(time.Duration(testbed.Uniform(uint64(c.Seed), 0xe20) * float64(c.Period))),
		period: c.Period, gap: 8e9 * float64(p.Packet) / float64(p.PulseRate), burst: 1, size: uint32(p.Packet),
	}
	for t.since(t.burst) < c.Pulse {
		t.burst++
	}
	return t
}

// since returns the time from the begin of a pulse to its i-th packet, from 0.
func (t *train) since(i int) time.Duration { return time.Duration(float64(i) * t.gap) }

// at returns the time of the n-th packet of all, from 0.
func (t *train) at(n int) wheel.Time {
	return t.begin.Add(time.Duration(n/t.burst)*t.period + t.since(n%t.burst))
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(timers testbed.Timers, pulse, period time.Duration) {
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds,
			fmt.Sprintf("timers=%q pulse=%v period=%v", timers.Text, pulse, period),
			1e-6*p.packets(pulse, period), func(seed int) (Cell, error) {
				return run(p, timers, []time.Duration{p.RoundTrip}, Cell{Timers: timers.Text, Pulse: pulse, Period: period,
					Seed: seed})
			})...)
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
			all = append(all, experiments.Seeded(p.FirstSeed, p.FlowSeeds,
				fmt.Sprintf("flows=%d period=%v", len(p.FlowTrips), period),
				2e-6*p.packets(p.Length, period), func(seed int) (Cell, error) {
					return run(p, p.Published, p.FlowTrips, Cell{Timers: p.Published.Text, Pulse: p.Length, Period: period,
						Seed: seed, Several: true})
				})...)
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

// stacks are the subjects of the plan that run in gVisor stacks: gVisor's own TCP over each floor
// with its defaults SACK, RACK, probes and CUBIC, and without RACK and probes; and the plan's
// others. gVisor's NewReno is not used: here it has timeouts without any pulse.
func (p *Plan) stacks() (all []testbed.Subject) {
	for _, floor := range p.GVisorFloors {
		g := testbed.Subject{Kind: testbed.GVisor, Floor: floor, NoRACK: true}
		all = append(all, g)
		g.NoRACK = false
		all = append(all, g)
	}
	return append(all, p.Subjects...)
}

func stackCells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, s := range p.stacks() {
		for _, period := range append([]time.Duration{0}, p.Periods...) {
			all = append(all, experiments.Seeded(p.FirstSeed, p.GVisorSeeds,
				fmt.Sprintf("timers=%q pulse=%v period=%v", s, p.Length, period),
				1e-5*p.packets(p.Length, period), func(seed int) (Cell, error) {
					return runStacks(p, s, Cell{Timers: s.String(), Pulse: p.Length, Period: period, Seed: seed})
				})...)
		}
	}
	return all
}

// runStacks is run with a subject in a gVisor stack as the sender.
func runStacks(p *Plan, subject testbed.Subject, c Cell) (Cell, error) {
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: uint64(c.Seed), Client: subject,
		Server: p.Published.Config(), Up: p.bottleneck(), Down: p.bottleneck()})
	if err != nil {
		return c, err
	}
	// The pulses share the link of the data: packets that are due leave before one of the sender.
	pulses, sent := p.train(&c), 0
	s.Before = func(now wheel.Time, from int) {
		for ; from == testbed.DialEnd && pulses.period > 0 && pulses.at(sent) <= now; sent++ {
			s.Link(from).Send(pulses.at(sent), &sim.Packet{Size: pulses.size})
		}
	}
	arrived := 0
	s.Serve(func(conn *sockets.Conn) error { return testbed.Discard(conn, func(n int) { arrived += n }) })
	s.Dial(0, func(conn *sockets.Conn) error {
		for b := make([]byte, 64<<10); ; {
			if _, err := conn.Write(b); err != nil {
				return err
			}
		}
	})
	begin := wheel.Time(p.Settle)
	err = s.Run(begin, nil)
	before, timeouts := arrived, s.Net.Counts(testbed.DialEnd).Timeouts
	if err == nil {
		err = s.Run(begin.Add(p.Duration), nil)
	}
	c.Share = p.share(uint64(arrived - before))
	c.Timeouts = s.Net.Counts(testbed.DialEnd).Timeouts - timeouts
	return c, s.Finish(err)
}
