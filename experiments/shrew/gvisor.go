package shrew

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// gvisor is gVisor's own TCP over a floor, with its defaults SACK, RACK, probes and CUBIC. bare
// switches RACK and probes off. Its NewReno is not used: here it has timeouts without any pulse.
type gvisor struct {
	floor time.Duration
	bare  bool
}

// String returns the name in the place of a text of timers.
func (g gvisor) String() string {
	text := fmt.Sprintf("gVisor's own TCP, floor=%v", g.floor)
	if g.bare {
		text += ", no RACK"
	}
	return text
}

// gvisors are those of the plan.
func (p *Plan) gvisors() (all []gvisor) {
	for _, floor := range p.GVisorFloors {
		all = append(all, gvisor{floor, true}, gvisor{floor, false})
	}
	return all
}

func gvisorCells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, g := range p.gvisors() {
		for _, period := range append([]time.Duration{0}, p.Periods...) {
			for seed := 1; seed <= p.GVisorSeeds; seed++ {
				c := Cell{Timers: g.String(), Pulse: p.Length, Period: period, Seed: seed}
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("timers=%q pulse=%v period=%v seed=%d", c.Timers, c.Pulse, period, seed),
					Cost: 1e-5 * p.packets(c.Pulse, period),
					Run:  func(context.Context) (Cell, error) { return g.run(p, c) },
				})
			}
		}
	}
	return all
}

// run is run with gVisor's own TCP as the sender.
func (g gvisor) run(p *Plan, c Cell) (Cell, error) {
	w, err := testbed.NewWire(p.bottleneck(), p.bottleneck(), [2]uint64{0, 1})
	if err != nil {
		return c, err
	}
	// The pulses share the link of the data: packets that are due leave before one of the sender.
	pulses, sent := p.train(&c), 0
	w.Before = func(now wheel.Time, from int) {
		for ; from == testbed.DialEnd && pulses.period > 0 && pulses.at(sent) <= now; sent++ {
			w.Link(from).Send(pulses.at(sent), &sim.Packet{Size: pulses.size})
		}
	}
	receiver := netstack.Config{Conn: p.Published.Config()}
	s, err := testbed.NewStacks(virtual.Config{Seed: uint64(c.Seed),
		TCP: [2]virtual.TCP{testbed.DialEnd: {GVisor: true, MinRTO: g.floor, NoRACK: g.bare},
			testbed.ListenEnd: {Config: receiver}}, Wire: w})
	if err != nil {
		return c, err
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
	if left := s.Close(); err == nil {
		err = left
	}
	return c, err
}
