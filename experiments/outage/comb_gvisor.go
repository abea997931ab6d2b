package outage

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

// combGvisor is gVisor's own TCP: over the floor of the other timers and without RACK and its probe, or as it comes.
type combGvisor struct{ plain bool }

// combGvisorPayload is what fits into a segment of gVisor's whatever SACK blocks it carries.
const combGvisorPayload = 1400

// combGvisorFloor is the floor of the other timers.
const combGvisorFloor = time.Second

// String stands where timers have their text.
func (g combGvisor) String() string {
	if g.plain {
		return "gVisor's own TCP"
	}
	return "gVisor's own TCP, floor=1s, no RACK"
}

var combGvisors = []combGvisor{{}, {plain: true}}

func combGvisorCells(p *combPlan) (all []experiments.Cell[combCell]) {
	for _, g := range combGvisors {
		for seed := 1; seed <= p.GVisorSeeds; seed++ {
			all = append(all, experiments.Cell[combCell]{
				Name: fmt.Sprintf("timers=%q seed=%d", g, seed), Cost: 4e-4 * float64(p.Connections),
				Run: func(context.Context) (combCell, error) { return g.outage(p, seed) },
			})
		}
	}
	return all
}

// combSegment is one of a connection, by its client's port.
type combSegment struct {
	port  uint16
	start uint64
}

// combStacks is the wire between gVisor's TCP and a server of this house.
type combStacks struct {
	*combCounter
	links    [2]*sim.Link
	attempts map[combSegment]int
}

// outage is outage with gVisor's own TCP as the client.
func (g combGvisor) outage(p *combPlan, seed int) (combCell, error) {
	c := combCell{Timers: g.String(), Seed: seed}
	up, down := p.links(combBegins)
	w := &combStacks{combCounter: p.counter(combBegins), attempts: map[combSegment]int{}}
	for i, cfg := range []sim.LinkConfig{up, down} {
		var err error
		if w.links[i], err = sim.NewLink(cfg, uint64(i)); err != nil {
			return c, err
		}
	}
	client := virtual.TCP{GVisor: true}
	if !g.plain {
		client.NoRACK, client.MinRTO = true, combGvisorFloor
	}
	server := virtual.TCP{Config: netstack.Config{Conn: combConfig(p.Shipped)}}
	s, err := testbed.NewStacks(uint64(seed), [2]virtual.TCP{testbed.DialEnd: client, testbed.ListenEnd: server}, w)
	if err != nil {
		return c, err
	}
	s.Serve(func(*sockets.Conn) error { return nil })
	conns := make([]*sockets.Conn, p.Connections)
	for _, a := range combSchedule(p, combBegins, seed) {
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
			_, err := conns[a.conn].Write(make([]byte, combGvisorPayload))
			return err
		})
	}
	if err == nil {
		err = s.Run(combBegins.Add(p.Watch), func() bool { return len(w.times) == p.Connections })
	}
	c.fill(p, w.combCounter)
	if left := s.Close(); err == nil {
		err = left
	}
	return c, err
}

// Send implements virtual.Wire.
func (w *combStacks) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	attempt := 1
	if from == testbed.DialEnd && p.End > p.Start {
		k := combSegment{p.Header.SrcPort, p.Start}
		w.attempts[k]++
		attempt = w.attempts[k]
	}
	p.Tag = int64(attempt)
	fate := w.links[from].Send(now, &sim.Packet{Start: p.Start, End: p.End, Attempt: uint32(attempt), Size: p.Size})
	if from == testbed.DialEnd && p.End > p.Start {
		w.sent(now, attempt, fate)
	}
	return fate.At.Sub(now), fate.Outcome == sim.Delivered
}

// Arrive implements virtual.Wire.
func (w *combStacks) Arrive(now wheel.Time, from int, p *virtual.Packet) bool {
	if from == testbed.DialEnd {
		w.arrived(now, p.Header.SrcPort, int(p.Tag))
	}
	return true
}
