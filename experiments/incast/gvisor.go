package incast

import (
	"fmt"
	"io"
	"time"

	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sockets"
	"tcpwheel/netstack/virtual"
	"tcpwheel/wheel"
)

// gVisor's own TCP has SACK, CUBIC and an initial window of ten segments. RACK and probes are off:
// with them a query takes seconds, and under some seeds gVisor's TCP stops sending while answers
// are missing. Its servers are the connections of one stack, each behind its own link.

// gvisorFloor is the default floor of gVisor's TCP.
const gvisorFloor = 200 * time.Millisecond

// gvisorPort is the client's port of the first connection. The client is the classic one, with the
// first of the delayed ACKs.
const gvisorPort = 10000

// gvisorStar is the servers in a gVisor stack around a switch, and the client.
type gvisorStar struct {
	*testbed.Stacks
	plan     *Plan
	key      uint64          // of the random numbers, as in testbed.FanIn
	access   [2][]*sim.Link  // of the servers: to the switch, and from it
	middle   [2]*sim.Link    // the port to the client, and the link back
	conns    []*sockets.Conn // of the client
	left     int             // connections not yet open, or answers missing
	asked    int             // queries so far
	since    wheel.Time      // start of the query
	timeouts uint64          // of the servers, before the query
	ended    func(took time.Duration, timeouts uint64)
}

// runStacks is run with the servers' TCP in a gVisor stack.
func runStacks(p *Plan, s subject, n, seed int) (Cell, error) {
	c := Cell{Timers: s.text, Servers: n, Seed: seed}
	timers, err := testbed.ParseTimers(s.timers)
	if err != nil {
		return c, err
	}
	r := &gvisorStar{plan: p, key: testbed.Key(uint64(seed), uint64(n)), conns: make([]*sockets.Conn, n), left: n}
	if err := r.build(&s); err != nil {
		return c, err
	}
	client := virtual.TCP{Config: netstack.Config{Conn: timers.Config()}}
	if r.Stacks, err = testbed.NewStacks(virtual.Config{Seed: uint64(seed),
		TCP: [2]virtual.TCP{testbed.DialEnd: client, testbed.ListenEnd: s.stack.Stack()}, Wire: r}); err != nil {
		return c, err
	}
	r.ended = func(took time.Duration, timeouts uint64) {
		if r.asked > p.Warmup {
			c.add(testbed.Query{Took: took, Timeouts: timeouts})
		}
	}
	r.Serve(r.answer)
	for i := range n {
		r.Dial(gvisorPort+uint16(i), func(conn *sockets.Conn) error { return r.ask(i, conn) })
	}
	const limit = wheel.Time(100 * time.Hour)
	if err = r.Run(limit, func() bool { return c.Queries == s.queries }); err == nil && c.Queries < s.queries {
		err = fmt.Errorf("%d of %d queries in %v", c.Queries, s.queries, time.Duration(r.Net.Now()))
	}
	c.Retransmissions = r.Net.Stack(testbed.ListenEnd).Stats().TCP.Retransmits.Value()
	c.Dropped = r.middle[0].Counts().QueueDropped
	return c, r.Finish(err)
}

// build makes the links.
func (r *gvisorStar) build(s *subject) (err error) {
	link, port := r.plan.links(s)
	newLink := func(cfg sim.LinkConfig, key ...uint64) *sim.Link {
		l, failed := sim.NewLink(cfg, testbed.Key(r.key, key...))
		if failed != nil {
			err = failed
		}
		return l
	}
	r.middle = [2]*sim.Link{newLink(port, 0), newLink(link, 1)}
	for i := range r.conns {
		for direction := range r.access {
			r.access[direction] = append(r.access[direction], newLink(link, 2+uint64(direction), uint64(i)))
		}
	}
	return err
}

// ask is the client's task of a connection: it reads the answers.
func (r *gvisorStar) ask(i int, c *sockets.Conn) error {
	r.conns[i] = c
	r.arrived()
	left := r.plan.response(len(r.conns))
	for b := make([]byte, 64<<10); ; {
		n, err := c.Read(b[:min(len(b), left)])
		if err != nil {
			return err
		}
		if left -= n; left == 0 {
			left = r.plan.response(len(r.conns))
			r.arrived()
		}
	}
}

// arrived notes an open connection or a complete answer. After the last one it starts the next
// query.
func (r *gvisorStar) arrived() {
	if r.left--; r.left > 0 {
		return
	}
	if r.asked > 0 {
		r.ended(r.Net.Now().Sub(r.since), r.Net.Counts(testbed.ListenEnd).Timeouts-r.timeouts)
	}
	r.Net.Clock.AfterFunc(drawn(r.plan.Think, r.key, 0x7417, uint64(r.asked)), func() {
		r.asked++
		r.left, r.since, r.timeouts = len(r.conns), r.Net.Now(), r.Net.Counts(testbed.ListenEnd).Timeouts
		for _, c := range r.conns {
			r.Go(func() error {
				_, err := c.Write(make([]byte, r.plan.Request))
				return err
			})
		}
	})
}

// answer is the servers' task of a connection.
func (r *gvisorStar) answer(c *sockets.Conn) error {
	request, response := make([]byte, r.plan.Request), make([]byte, r.plan.response(len(r.conns)))
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return err
		}
		r.Net.Tasks.Sleep(drawn(r.plan.Service, r.key, 0x5e71, uint64(r.asked),
			uint64(c.RemoteAddrPort().Port()-gvisorPort)))
		if _, err := c.Write(response); err != nil {
			return err
		}
	}
}

// drawn returns a random time above 0, evenly up to most.
func drawn(most time.Duration, key uint64, parts ...uint64) time.Duration {
	return max(1, time.Duration(testbed.Uniform(key, parts...)*float64(most)))
}

// Send implements virtual.Wire. Each server has a link to the switch, and the client has one.
func (r *gvisorStar) Send(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == testbed.DialEnd {
		return testbed.Pass(now, r.middle[1], p)
	}
	return testbed.Pass(now, r.access[0][p.Header.DstPort-gvisorPort], p)
}

// Forward implements virtual.Relay: all servers share the port to the client.
func (r *gvisorStar) Forward(now wheel.Time, from int, p *virtual.Packet) (time.Duration, bool) {
	if from == testbed.DialEnd {
		return testbed.Pass(now, r.access[1][p.Header.SrcPort-gvisorPort], p)
	}
	return testbed.Pass(now, r.middle[0], p)
}

// Arrive implements virtual.Wire.
func (r *gvisorStar) Arrive(wheel.Time, int, *virtual.Packet) bool { return true }
