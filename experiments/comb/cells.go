package comb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

const (
	payload = 1448  // bytes of the lost segment
	shown   = 20000 // milliseconds in Comb
)

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(tm testbed.Timers, straddles bool) {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
			name := fmt.Sprintf("timers=%q seed=%d", tm, seed)
			if straddles {
				name += " straddling"
			}
			all = append(all, experiments.Cell[Cell]{
				Name: name, Cost: 4e-5 * float64(p.Connections),
				Run: func(context.Context) (Cell, error) {
					return runOutage(p, tm, Cell{Straddles: straddles, Seed: seed})
				},
			})
		}
	}
	all = append(all, experiments.Cell[Cell]{Name: "mixed", Cost: 5e-5 * float64(p.Connections),
		Run: func(context.Context) (Cell, error) {
			return runOutage(p, p.BSD, Cell{Mixed: true, Seed: p.FirstSeed})
		}})
	add(p.BSD, true)
	add(p.BSD, false)
	for _, tm := range p.Timers {
		add(tm, false)
	}
	if !slices.ContainsFunc(p.Timers, func(tm testbed.Timers) bool { return tm.Text == p.Shipped.Text }) {
		add(p.Shipped, false)
	}
	return append(all, gvisorCells(p)...)
}

// action is a connection's action at an instant: it opens, or it sends a segment.
type action struct {
	at   wheel.Time
	conn int
	open bool
}

// schedule returns the actions in order: each connection opens, sends a segment in a later
// tick, and one in the outage. The first two happen within a tick, so that 4.4BSD counts no tick in
// a round trip. The random numbers are the same for all timers.
//
// If mixed, a third of the connections has its last sample cross a tick, which leaves 4.4BSD's
// estimator at a timeout of 5 ticks. Another third has a sample within a tick after that one, which
// leaves it at 4.
func schedule(p *Plan, start wheel.Time, seed int, mixed bool) (all []action) {
	const slow = tcptimers.SlowTick
	draw := func(conn, what int) float64 { return testbed.Uniform(uint64(seed), 0xe19, uint64(conn), uint64(what)) }
	for conn := range p.Connections {
		within := func(tick, what int) wheel.Time {
			room := slow - 3*p.RTT // the link's transmission time adds to the round trip
			return wheel.Time(time.Duration(tick)*slow + p.RTT/2 + time.Duration(draw(conn, what)*float64(room)))
		}
		across := func(tick int) wheel.Time {
			return wheel.Time(time.Duration(tick+1)*slow - time.Duration((0.1+float64(0.8*draw(conn,
				5)))*float64(p.RTT)))
		}
		opens := int(draw(conn, 0) * warmTicks / 2)
		last := within(opens+warmTicks/2, 2)
		all = append(all, action{within(opens, 1), conn, true})
		if mixed {
			all = append(all, action{within(opens+2, 4), conn, false}) // the estimator comes to rest
			switch conn % 3 {
			case 1:
				all = append(all, action{across(opens + 4), conn, false})
			case 2:
				last = across(opens + warmTicks/2)
			}
		}
		all = append(all,
			action{last, conn, false},
			action{start.Add(time.Duration(draw(conn, 3) * float64(p.Outage))), conn, false})
	}
	slices.SortStableFunc(all, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return all
}

// warmTicks is 4.4BSD's ticks for the connections to open and to measure their round trips.
const warmTicks = 12

// counter is a sim.Tap on the link to the server.
type counter struct {
	start       wheel.Time // of the outage
	bins        []int      // retransmissions, by the millisecond
	second      []int      // first retransmissions, by the millisecond
	dropped     int
	droppedEver int
	repaired    [math.MaxUint16 + 1]bool // by the client's port
	times       []time.Duration          // when the segments arrived
}

// Sent implements sim.Tap.
func (c *counter) Sent(now wheel.Time, d *host.Datagram, f sim.Fate) {
	if d.Start != d.End {
		c.sent(now, int(d.Attempt), f)
	}
}

// sent counts a transmission of a data segment.
func (c *counter) sent(now wheel.Time, attempt int, f sim.Fate) {
	if now < c.start || attempt < 2 {
		return
	}
	bin := int(now.Sub(c.start) / time.Millisecond)
	if bin >= len(c.bins) {
		return
	}
	c.bins[bin]++
	if attempt == 2 {
		c.second[bin]++
	}
	if f.Outcome == sim.QueueDropped {
		c.droppedEver++
		if attempt == 2 {
			c.dropped++
		}
	}
}

// Arrived implements sim.Tap.
func (c *counter) Arrived(now wheel.Time, d *host.Datagram) {
	c.arrived(now, d.Body.Header.SrcPort, int(d.Attempt))
}

// arrived counts the arrival of a packet from a port of the client.
func (c *counter) arrived(now wheel.Time, port uint16, attempt int) {
	if now >= c.start && attempt > 1 && !c.repaired[port] {
		c.repaired[port] = true
		c.times = append(c.times, now.Sub(c.start))
	}
}

// begins is the begin of the outage: one of 4.4BSD's sweeps, when all connections have measured
// their round trips.
const begins = wheel.Time((warmTicks + 1) * tcptimers.SlowTick)

// links returns the link to the server, which loses all packets in the outage, and the link back.
func (p *Plan) links(start wheel.Time) (up, down sim.LinkConfig) {
	down = sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38, Queue: sim.Limit{Packets: uint32(p.Queue)},
		Delay: p.RTT / 2}
	up = down
	from := time.Duration(start)
	up.Loss = sim.Losses{sim.Outages{{From: from, To: from + p.Outage}}}
	return up, down
}

// counter returns a counter for the whole watch.
func (p *Plan) counter(start wheel.Time) *counter {
	ms := int(p.Watch / time.Millisecond)
	return &counter{start: start, bins: make([]int, ms), second: make([]int, ms)}
}

// config returns the configuration of both engines.
func config(tm testbed.Timers) tcp.Config {
	tm.Policy.DelAck = tcptimers.DelAckConfig{Every: 1}
	cfg := tm.Config()
	cfg.Control = "newreno"
	return cfg
}

// runOutage runs the connections of a cell through the outage.
func runOutage(p *Plan, tm testbed.Timers, c Cell) (Cell, error) {
	c.Timers = tm.Text
	start := begins
	if c.Straddles {
		start = start.Add(tcptimers.SlowTick / 2)
	}
	cfg := config(tm)
	lossy, link := p.links(start)
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: uint64(c.Seed), Client: cfg, Server: cfg, Up: lossy,
		Down: link})
	if err != nil {
		return c, err
	}
	net := pair.World.Net
	up, ok := net.LinkNamed("client>server")
	if !ok {
		return c, errors.New("no link from the client to the server")
	}
	tap := p.counter(start)
	net.Tap(up, tap)
	if err := pair.Server.Listen(80, tcp.ListenConfig{Backlog: p.Connections},
		func() host.App { return &host.Sink{} }); err != nil {
		return c, err
	}
	sessions := make([]*host.Session, p.Connections)
	rtos := map[time.Duration]bool{}
	for _, a := range schedule(p, start, c.Seed, c.Mixed) {
		pair.Run(a.at)
		switch s := sessions[a.conn]; {
		case a.open:
			sessions[a.conn], err = pair.Client.Dial(pair.Server, 80, nil,
				host.AppFunc(func(wheel.Time, *host.Session, tcp.Events) {}))
			if err != nil {
				return c, err
			}
		case s.Unacked() > 0:
			c.Late++ // the queue has dropped its segment: it has to wait
		default:
			if a.at >= start {
				rtos[s.Conn().Info(a.at).RTO] = true
			}
			s.Write(payload, 0)
		}
	}
	pair.Run(start.Add(p.Watch))
	if err := errors.Join(pair.World.Faults()...); err != nil {
		return c, err
	}
	c.RTOs = len(rtos)
	c.fill(p, tap)
	return c, nil
}

// fill fills in the counts of the tap.
func (c *Cell) fill(p *Plan, tap *counter) {
	for bin, n := range tap.bins {
		at := time.Duration(bin) * time.Millisecond
		c.Retransmitted += n
		if n > c.Peak {
			c.Peak, c.PeakAt = n, at
		}
		if c.Seed == p.FirstSeed && n > 0 && bin < shown {
			c.Comb = append(c.Comb, [2]int{bin, n})
		}
		if m := tap.second[bin]; m > 0 {
			if c.Bins == 0 {
				c.First = at
			}
			c.Second, c.Bins, c.Last = c.Second+m, c.Bins+1, at
		}
	}
	c.Dropped, c.DroppedEver = tap.dropped, tap.droppedEver
	c.Unrepaired = p.Connections - len(tap.times)
	if need := (p.Connections*99 + 99) / 100; len(tap.times) >= need {
		c.Repaired99 = tap.times[need-1]
	}
}
