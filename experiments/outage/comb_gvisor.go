package outage

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// combGvisorPayload is the bytes that fit into a segment of gVisor's with any SACK blocks.
const combGvisorPayload = 1400

// combGvisors are gVisor's own TCP with the floor of the other timers and without RACK and its
// probe, and with its defaults.
var combGvisors = []testbed.Subject{{Kind: testbed.GVisor, Floor: time.Second, NoRACK: true}, {Kind: testbed.GVisor}}

func combGvisorCells(p *combPlan) (all []experiments.Cell[combCell]) {
	for _, g := range combGvisors {
		for seed := 1; seed <= p.GVisorSeeds; seed++ {
			all = append(all, experiments.Cell[combCell]{
				Name: fmt.Sprintf("timers=%q seed=%d", g, seed), Cost: 4e-4 * float64(p.Connections),
				Run: func(context.Context) (combCell, error) { return combOnStacks(p, g, seed) },
			})
		}
	}
	return all
}

// combOnStacks is combOutage with a subject in a gVisor stack as the client.
func combOnStacks(p *combPlan, g testbed.Subject, seed int) (combCell, error) {
	c := combCell{Timers: g.String(), Seed: seed}
	up, down := p.links(combBegins)
	counter := p.counter(combBegins)
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: uint64(seed), Client: g, Server: combConfig(p.Shipped),
		Up: up, Down: down})
	if err != nil {
		return c, err
	}
	s.Sent = func(now wheel.Time, from int, p *virtual.Packet, fate *sim.Fate) {
		if from == testbed.DialEnd && p.End > p.Start {
			counter.sent(now, int(p.Tag), *fate)
		}
	}
	s.Arrived = func(now wheel.Time, from int, p *virtual.Packet) {
		if from == testbed.DialEnd {
			counter.arrived(now, p.Header.SrcPort, int(p.Tag))
		}
	}
	s.Serve(func(*sockets.Conn) error { return nil })
	conns := make([]*sockets.Conn, p.Connections)
	for _, a := range combSchedule(p, combBegins, seed, false) {
		if err = s.Run(a.at, nil); err != nil {
			break
		}
		if a.open {
			s.Dial(0, func(conn *sockets.Conn) error {
				conns[a.conn] = conn
				return nil
			})
			continue
		}
		if conns[a.conn] == nil {
			err = fmt.Errorf("connection %d is not open when it must send", a.conn)
			break
		}
		s.Write(conns[a.conn], combGvisorPayload)
	}
	if err == nil {
		err = s.Run(combBegins.Add(p.Watch), func() bool { return len(counter.times) == p.Connections })
	}
	c.fill(p, counter)
	return c, s.Finish(err)
}
