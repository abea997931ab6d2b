package incast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
)

// text is the text of the timers of a cell.
func (p *randomisedPlan) text(floor time.Duration, jitter bool) string {
	text := fmt.Sprintf("%s floor=%v", p.Timers.Text, floor)
	if jitter {
		text += fmt.Sprintf(" jitter=%v", p.Jitter)
	}
	return text
}

func randomisedCells(p *randomisedPlan) (all []experiments.Cell[randomisedCell]) {
	add := func(c randomisedCell, seeds int) {
		for seed := 1; seed <= seeds; seed++ {
			for _, jitter := range []bool{false, true} {
				c := c // of this cell
				c.Seed, c.Jitter = seed, jitter
				name := fmt.Sprintf("rate=%d timers=%q servers=%d seed=%d", p.Rates[c.Network], p.text(c.Floor,
					jitter), c.Servers, seed)
				if c.Service > 0 {
					name += fmt.Sprintf(" service=%v", c.Service)
				}
				all = append(all, experiments.Cell[randomisedCell]{
					Name: name, Cost: 1e-8 * float64(p.Queries*c.Servers*(2000+p.Bytes)),
					Run: func(context.Context) (randomisedCell, error) { return randomisedRun(p, c) },
				})
			}
		}
	}
	for network := range p.Rates {
		for _, floor := range p.Floors {
			for _, n := range p.Servers {
				seeds := p.Seeds
				if n <= p.Few {
					seeds = p.FewSeeds
				}
				add(randomisedCell{Network: network, Floor: floor, Servers: n}, seeds)
			}
		}
	}
	for network := range p.Rates {
		for _, floor := range p.Floors {
			for _, service := range p.Services {
				add(randomisedCell{Service: service, Network: network, Floor: floor, Servers: p.SpreadServers},
					p.SpreadSeeds)
			}
		}
	}
	return all
}

// randomisedPatience is R2 of RFC 9293 §3.8.3. It is longer than all backed-off timeouts together,
// so every answer arrives.
const randomisedPatience = 24 * time.Hour

// randomisedRun asks the servers of a cell.
func randomisedRun(p *randomisedPlan, c randomisedCell) (randomisedCell, error) {
	timers, err := testbed.ParseTimers(p.text(c.Floor, c.Jitter))
	if err != nil {
		return c, err
	}
	conn := timers.Config()
	conn.Socket.NoDelay = true
	conn.Policy.R2 = randomisedPatience
	conn.Congestion.InitialWindow = uint32(p.Window)
	// Each direction has two links.
	link := sim.LinkConfig{Rate: uint64(p.Rates[c.Network]), Overhead: uint32(p.Overhead),
		Delay: p.RoundTrips[c.Network] / 4}
	port := link
	port.Queue.Packets = uint32(p.Buffer)
	star, err := testbed.NewStar(testbed.StarPlan{
		Seed: uint64(c.Seed), Client: conn, Server: conn, Servers: c.Servers, Access: link, Port: port, Back: link,
	})
	if err != nil {
		return c, err
	}
	queries, err := testbed.FanIn{
		Seed: testbed.Key(uint64(c.Seed), uint64(c.Servers)), Request: uint32(p.Request), Response: uint32(p.Bytes),
		Queries: p.Queries, Service: cmp.Or(c.Service, p.Service), Think: p.Think, Limit: 100 * time.Hour,
	}.Run(star)
	if err != nil {
		return c, err
	}
	for _, q := range queries {
		c.Took = append(c.Took, q.Took)
		c.Timeouts += q.Timeouts
		c.Most = append(c.Most, q.Most)
	}
	c.Retransmissions = star.Counters().RetransSegs
	ruled, now := 0, star.World.Net.Now()
	var rtos []time.Duration
	for _, h := range star.Servers {
		h.Engine().Sockets(func(s *tcp.Socket) {
			i := s.Conn().Info(now)
			if i.SRTT+4*i.RTTVar <= c.Floor {
				ruled++
			}
			rtos = append(rtos, max(i.SRTT+4*i.RTTVar, c.Floor))
		})
	}
	c.Ruled = float64(ruled) / float64(c.Servers)
	slices.Sort(rtos)
	c.Low, c.High = rtos[len(rtos)/10], rtos[len(rtos)*9/10]
	return c, nil
}
