package wheels

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

const ratesMTU = 1500

func ratesCells(p *ratesPlan) (all []experiments.Cell[ratesCell]) {
	seconds := (p.Settle + p.Watched).Seconds()
	for _, timers := range p.Timers {
		for _, trip := range p.RoundTrips {
			all = append(all, experiments.Cell[ratesCell]{
				Name: fmt.Sprintf("timers=%v trip=%v", timers, trip), Cost: 3e-6 * seconds * p.packets(),
				Run: func(context.Context) (ratesCell, error) { return runRates(p, timers, trip, 0) },
			})
		}
		for _, busy := range p.Busy {
			all = append(all, experiments.Cell[ratesCell]{
				Name: fmt.Sprintf("timers=%v busy=%d", timers, busy), Cost: 4e-6 * seconds * float64(busy),
				Run: func(context.Context) (ratesCell, error) { return runRates(p, timers, p.BusyRoundTrip, busy) },
			})
		}
	}
	return all
}

// packets returns how many full packets the link carries a second.
func (p *ratesPlan) packets() float64 { return float64(p.Rate) / float64(8*(ratesMTU+p.Overhead)) }

// runRates runs one flow over the link. If busy is not 0, it runs many connections that send both
// ways at busy packets a second in all.
func runRates(p *ratesPlan, timers testbed.Timers, trip time.Duration, busy int) (ratesCell, error) {
	c := ratesCell{Timers: timers.String(), Trip: trip, Busy: busy, Watched: p.Watched}
	c.Per = timers.Policy.Rexmit == tcptimers.RexmitPerSegment
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: uint32(p.Overhead), Delay: trip / 2}
	flows := 1
	if busy > 0 {
		flows = p.Connections
		// A host sends half of the packets and receives the other half. Nearly all are full.
		link.Rate = uint64(busy/2) * uint64(8*(ratesMTU+p.Overhead))
	}
	cfg := timers.Config()
	// The window is the capacity of the path from the last bit of a segment to its ACK, plus a few
	// segments.
	inFlight := float64(p.Window*float64(link.Rate)*trip.Seconds()/float64(8*(ratesMTU+p.Overhead))) + 8
	cfg.RecvBuffer = uint32(inFlight/float64(flows)+1) * 1448
	cfg.RecvBufferMax = cfg.RecvBuffer
	cfg.MaxSegments = tcp.MaxSentSegments
	cfg.Socket.Keepalive = busy > 0
	tallies := [2]*tally{newTally(), newTally()}
	pair, err := testbed.NewPair(testbed.PairPlan{
		Seed: 1, Client: cfg, Server: cfg, Up: link, Down: link, Count: true,
		Tracers: [2]tcp.Tracer{tallies[0], tallies[1]},
	})
	if err != nil {
		return c, err
	}
	serve := func() host.App { return &host.Sink{} }
	if busy > 0 {
		serve = func() host.App { return host.Apps{&host.Sink{}, &host.Bulk{Buffer: 1 << 20}} }
	}
	if err := pair.Server.Listen(80, tcp.ListenConfig{Backlog: flows}, serve); err != nil {
		return c, err
	}
	// Connections open one after another, over the first tenth of the settling time.
	for i := range flows {
		app := host.Apps{&host.Sink{}, &host.Bulk{Buffer: 1 << 30}}
		if _, err := pair.Client.Dial(pair.Server, 80, nil, app); err != nil {
			return c, err
		}
		pair.Run(wheel.Time(p.Settle) / 10 * wheel.Time(i+1) / wheel.Time(flows))
	}
	pair.Run(wheel.Time(p.Settle))
	engines := [2]*tcp.Engine{pair.Client.Engine(), pair.Server.Engine()}
	var before [2]wheel.Counts
	for side, t := range tallies {
		before[side] = engines[side].Wheel()
		t.reset(wheel.Time(p.Settle))
	}
	end := wheel.Time(p.Settle + p.Watched)
	pair.Run(end)
	for side, t := range tallies {
		c.Sides[side] = t.side(end, p.Watched, before[side], engines[side].Wheel())
	}
	c.Sent, c.AcksIn = tallies[0].sent, tallies[0].received
	c.Arrived, c.AcksOut = tallies[1].data, tallies[1].segments
	for _, err := range pair.World.Faults() {
		return c, err
	}
	c.Retransmissions = pair.Client.Counters().RetransSegs
	return c, nil
}
