package shrew

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/wheel"
)

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
			for seed := p.FirstSeed; seed < p.FirstSeed+p.GVisorSeeds; seed++ {
				c := Cell{Timers: s.String(), Pulse: p.Length, Period: period, Seed: seed}
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("timers=%q pulse=%v period=%v seed=%d", c.Timers, c.Pulse, period, seed),
					Cost: 1e-5 * p.packets(c.Pulse, period),
					Run:  func(context.Context) (Cell, error) { return runStacks(p, s, c) },
				})
			}
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
