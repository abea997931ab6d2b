package comb

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

// gvisorPayload is the bytes that fit into a segment of gVisor's with any SACK blocks.
const gvisorPayload = 1400

// gvisors are gVisor's own TCP with the floor of the other timers and without RACK and its
// probe, and with its defaults.
var gvisors = []testbed.Subject{{Kind: testbed.GVisor, Floor: time.Second, NoRACK: true}, {Kind: testbed.GVisor}}

func gvisorCells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, g := range gvisors {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.GVisorSeeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("timers=%q seed=%d", g, seed), Cost: 4e-4 * float64(p.Connections),
				Run: func(context.Context) (Cell, error) { return onStacks(p, g, seed) },
			})
		}
	}
	return all
}

// onStacks is runOutage with a subject in a gVisor stack as the client.
func onStacks(p *Plan, g testbed.Subject, seed int) (Cell, error) {
	c := Cell{Timers: g.String(), Seed: seed}
	up, down := p.links(begins)
	counter := p.counter(begins)
	s, err := testbed.NewStacks(testbed.StacksPlan{Seed: uint64(seed), Client: g, Server: config(p.Shipped),
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
	for _, a := range schedule(p, begins, seed, false) {
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
		s.Write(conns[a.conn], gvisorPayload)
	}
	if err == nil {
		err = s.Run(begins.Add(p.Watch), func() bool { return len(counter.times) == p.Connections })
	}
	c.fill(p, counter)
	return c, s.Finish(err)
}
