package comb

import (
	"context"
	"fmt"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/lab"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// gvisor is gVisor's own TCP: over the floor of the other timers and without RACK and its probe, or as it comes.
type gvisor struct{ plain bool }

// gvisorPayload is what fits into a segment of gVisor's whatever SACK blocks it carries.
const gvisorPayload = 1400

// gvisorFloor is the floor of the other timers.
const gvisorFloor = time.Second

// String stands where timers have their text.
func (g gvisor) String() string {
	if g.plain {
		return "gVisor's own TCP"
	}
	return "gVisor's own TCP, floor=1s, no RACK"
}

var gvisors = []gvisor{{}, {plain: true}}

func gvisorCells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, g := range gvisors {
		for seed := 1; seed <= p.GVisorSeeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("timers=%q seed=%d", g, seed), Cost: 4e-4 * float64(p.Connections),
				Run: func(context.Context) (Cell, error) { return g.outage(p, seed) },
			})
		}
	}
	return all
}

// segment is one of a connection, by its client's port.
type segment struct {
	port  uint16
	start uint64
}

// stacks is the wire between gVisor's TCP and a server of this house.
type stacks struct {
	*counter
	links    [2]*sim.Link
	attempts map[segment]int
}

// outage is outage with gVisor's own TCP as the client.
func (g gvisor) outage(p *Plan, seed int) (Cell, error) {
	c := Cell{Timers: g.String(), Seed: seed}
	up, down := p.links(begins)
	w := &stacks{counter: p.counter(begins), attempts: map[segment]int{}}
	for i, cfg := range []sim.LinkConfig{up, down} {
		var err error
		if w.links[i], err = sim.NewLink(cfg, uint64(i)); err != nil {
			return c, err
		}
	}
	client := virtual.TCP{GVisor: true}
	if !g.plain {
		client.NoRACK, client.MinRTO = true, gvisorFloor
	}
	server := virtual.TCP{Config: netstack.Config{Conn: config(p.Shipped)}}
	s, err := lab.NewStacks(uint64(seed), [2]virtual.TCP{lab.DialEnd: client, lab.ListenEnd: server}, w)
	if err != nil {
		return c, err
	}
	s.Serve(func(*sockets.Conn) error { return nil })
	conns := make([]*sockets.Conn, p.Connections)
	for _, a := range schedule(p, begins, seed) {
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
		s.Go(func() error {
			if conns[a.conn] == nil {
				return fmt.Errorf("connection %d is not open when it is to send", a.conn)
			}
			_, err := conns[a.conn].Write(make([]byte, gvisorPayload))
			return err
		})
	}
	if err == nil {
		err = s.Run(begins.Add(p.Watch), func() bool { return len(w.times) == p.Connections })
	}
	c.fill(p, w.counter)
	if left := s.Close(); err == nil {
		err = left
	}
	return c, err
}

// Send implements virtual.Wire.
func (w *stacks) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	attempt := 1
	if from == lab.DialEnd && p.End > p.Start {
		k := segment{p.Header.SrcPort, p.Start}
		w.attempts[k]++
		attempt = w.attempts[k]
	}
	p.Tag = int64(attempt)
	fate := w.links[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: uint32(attempt), Size: p.Size})
	if from == lab.DialEnd && p.End > p.Start {
		w.sent(now, attempt, fate)
	}
	return fate.At.Sub(now), fate.Verdict == sim.Delivered
}

// Arrive implements virtual.Wire.
func (w *stacks) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if from == lab.DialEnd {
		w.arrived(now, p.Header.SrcPort, int(p.Tag))
	}
	return true
}
