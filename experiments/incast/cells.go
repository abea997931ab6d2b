package incast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
)

// Setting is a TCP that serves the queries.
type Setting struct {
	Kind    string        // classic, tick, other, gvisor, change, service, repair or blind
	Floor   time.Duration // on the timeout of classic, gvisor, change, service, repair and blind
	DelAck  string        // how long the client's ACKs wait
	Tick    time.Duration // of expiry; 0s is exact
	Clock   bool          // whether the clock of the round trips has that tick too
	Change  string        // the one thing that is changed; nothing of the classic TCP
	Window  int           // the client's receive window; 0 is the engine's own
	Service time.Duration // longest time until a server begins to answer
	Repair  string        // other means that repair losses
}

// subject is a Setting and how to run it.
type subject struct {
	Setting
	text    string // its timers, and what is changed
	timers  string // of the engine
	queries int
	seeds   int
	servers []int
	initial int             // window, 0 is the engine's
	buffer  int             // packets that the port holds
	think   time.Duration   // longest pause between queries
	stack   testbed.Subject // of the servers in a gVisor stack
}

// Row is a Cell and its Setting.
type Row struct {
	Cell
	Setting
}

// coarse returns the greatest floor.
func (p *Plan) coarse() time.Duration { return slices.Max(p.Floors) }

// comparedFloors returns the coarse and the fine floor, and the floors that fine accepts.
func (p *Plan) comparedFloors(fine func(floor time.Duration) bool) (all []time.Duration) {
	for _, floor := range p.Floors {
		if floor == p.coarse() || floor == p.Fine || fine(floor) {
			all = append(all, floor)
		}
	}
	return all
}

// classic returns the TCP of 2010 with a floor and a delay of ACKs.
func (p *Plan) classic(kind string, floor time.Duration, delack string) subject {
	text := fmt.Sprintf("%s floor=%v delack=%s", p.Classic.Text, floor, delack)
	return subject{
		Setting: Setting{Kind: kind, Floor: floor, DelAck: delack, Change: "nothing", Service: p.Service},
		text:    text, timers: text, queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Servers, initial: p.Window,
		buffer: p.Buffer, think: p.Think,
	}
}

// changed returns the classic TCP with a change, and words for its timers.
func (p *Plan) changed(kind string, floor time.Duration, delack, suffix, words, what string) subject {
	s := p.classic(kind, floor, delack)
	s.text, s.timers, s.Change = s.text+suffix, s.timers+words, what
	return s
}

// ticked returns the fine floor on a tick of expiry, and of the clock too.
func (p *Plan) ticked(tick time.Duration, clock bool) subject {
	s := p.classic("tick", p.Fine, p.DelAck)
	words := strings.Fields(s.text)
	policy, _, _ := strings.Cut(words[0], "@")
	words[0] = fmt.Sprintf("%s@%v", policy, tick)
	if clock {
		words = append(words, fmt.Sprintf("rtt-tick=%v", tick))
	}
	s.text = strings.Join(words, " ")
	s.timers, s.Tick, s.Clock, s.servers = s.text, tick, clock, p.Ticked
	return s
}

// changes returns the changes that are tried one by one at the greatest floor.
func (p *Plan) changes(delack string) (all []subject) {
	coarse := func(suffix, words, what string) *subject {
		all = append(all, p.changed("change", p.coarse(), delack, suffix, words, what))
		return &all[len(all)-1]
	}
	for _, bytes := range p.Windows {
		coarse(fmt.Sprintf(" window=%d", bytes), "", fmt.Sprintf("receive window of %d bytes", bytes)).Window = bytes
	}
	for _, packets := range p.Buffers {
		coarse(fmt.Sprintf(" buffer=%d", packets), "", fmt.Sprintf("port of %d packets", packets)).buffer = packets
	}
	for _, longest := range p.Thinks {
		coarse(fmt.Sprintf(" think=%v", longest), "",
			fmt.Sprintf("pauses up to %v, which end the carried-over window", longest)).think = longest
	}
	if len(all) > 0 {
		coarse(" -sack", " -sack", noSACK)
	}
	return all
}

// subjects returns all TCPs of the plan.
func (p *Plan) subjects() (all []subject) {
	delacks := append([]string{p.DelAck}, p.OtherDelAcks...)
	for i, delack := range delacks {
		for _, floor := range p.Floors {
			s := p.classic("classic", floor, delack)
			s.seeds = p.Seeds
			if i == 0 && (floor == p.Fine || floor == p.coarse()) {
				s.queries = p.Queries
			}
			all = append(all, s)
		}
	}
	for _, tick := range p.Ticks {
		all = append(all, p.ticked(tick, false), p.ticked(tick, true))
	}
	for _, t := range p.Others {
		s := subject{Setting: Setting{Kind: "other", Service: p.Service}, text: t.Text, timers: t.Text,
			queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Servers, buffer: p.Buffer, think: p.Think}
		if t.Config().Control == "newreno" {
			s.initial = p.Window
		}
		all = append(all, s)
	}
	for i, stack := range p.stacks() {
		kind := "gvisor"
		if i >= len(p.GVisorFloors) {
			kind = "other"
		}
		s := p.classic(kind, gvisorFloor, p.DelAck) // the client's timers
		s.stack, s.Floor, s.text, s.seeds = stack, stack.Floor, stack.String(), p.GVisorSeeds
		all = append(all, s)
	}
	// A change runs with each delay of ACKs before the next one does.
	byDelack := make([][]subject, len(delacks))
	for i, delack := range delacks {
		byDelack[i] = p.changes(delack)
	}
	for k := range byDelack[0] {
		for i := range delacks {
			all = append(all, byDelack[i][k])
		}
	}
	for _, spread := range p.Services {
		for _, floor := range p.comparedFloors(func(f time.Duration) bool { return f == p.Enough }) {
			s := p.changed("service", floor, p.DelAck, fmt.Sprintf(" service=%v", spread), "",
				fmt.Sprintf("service times up to %v", spread))
			s.Service = spread
			all = append(all, s)
		}
	}
	for _, repair := range p.Repairs {
		for _, delack := range delacks {
			s := p.changed("repair", p.coarse(), delack, " "+repair, " "+repair, repair)
			s.Repair, s.servers = repair, p.Repaired
			all = append(all, s)
		}
	}
	// Without means to detect spurious timeouts: no timestamps (RFC 3522), and no SACK, hence no DSACK
	// (RFC 3708).
	for _, floor := range p.comparedFloors(func(f time.Duration) bool { return f <= p.Enough }) {
		if cfg := p.Classic.Config(); !cfg.SACK {
			break // it is blind already
		}
		const words = " -timestamps -sack"
		s := p.changed("blind", floor, p.DelAck, words, words, "no timestamps, no SACK")
		s.servers = p.most()
		all = append(all, s)
	}
	return all
}

// stacks returns the TCPs that run in gVisor stacks: gVisor's own over each floor, and the plan's.
// gVisor's has SACK, CUBIC and an initial window of ten segments. RACK and probes are off: with
// them a query takes seconds, and under some seeds gVisor's TCP stops sending while answers are
// missing.
func (p *Plan) stacks() (all []testbed.Subject) {
	for _, floor := range p.GVisorFloors {
		all = append(all, testbed.Subject{Kind: testbed.GVisor, Floor: floor, NoRACK: true})
	}
	return append(all, p.Subjects...)
}

// most returns the numbers of servers from the greatest one up to EnoughServers.
func (p *Plan) most() []int {
	from := 0
	for i, n := range p.Servers {
		if n <= p.EnoughServers {
			from = i
		}
	}
	return p.Servers[from:]
}

// each calls f for each cell, in their order.
func (p *Plan) each(f func(s *subject, n, seed int)) {
	for _, s := range p.subjects() {
		for _, n := range s.servers {
			for seed := 1; seed <= s.seeds; seed++ {
				f(&s, n, seed)
			}
		}
	}
}

// rows returns the cells with their settings.
func rows(p *Plan, cells []Cell) []Row {
	all := make([]Row, 0, len(cells))
	p.each(func(s *subject, _, _ int) {
		all = append(all, Row{cells[len(all)], s.Setting})
	})
	return all
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	p.each(func(s *subject, n, seed int) {
		cost := 1e-9
		if s.stack.Kind != "" {
			cost = 1e-8
		}
		of := *s
		all = append(all, experiments.Cell[Cell]{
			Name: fmt.Sprintf("timers=%q servers=%d seed=%d", s.text, n, seed),
			Cost: cost * float64((s.queries+p.Warmup)*(n*p.response(n)+5000*n)),
			Run:  func(context.Context) (Cell, error) { return run(p, of, n, seed) },
		})
	})
	return all
}

// links returns the link of all hosts, and that of the port to the client. Each direction has two.
func (p *Plan) links(s *subject) (link, port sim.LinkConfig) {
	link = sim.LinkConfig{Rate: uint64(p.Rate), Overhead: uint32(p.Overhead), Delay: p.RoundTrip / 4}
	port = link
	port.Queue.Packets = uint32(s.buffer)
	return link, port
}

// response returns the bytes of the answer of each of n servers.
func (p *Plan) response(n int) int {
	if p.Fragment > 0 {
		return p.Fragment
	}
	return (p.Bytes + n - 1) / n
}

// add counts a query.
func (c *Cell) add(q testbed.Query) {
	c.Queries++
	c.Took += q.Took
	c.Longest = max(c.Longest, q.Took)
	c.Timeouts += q.Timeouts
	if q.Timeouts > 0 {
		c.Timed++
		if c.Least == 0 || q.Took < c.Least {
			c.Least = q.Took
		}
	}
}

// gvisorFloor is the default floor of gVisor's TCP.
const gvisorFloor = 200 * time.Millisecond

// run queries n servers under one seed.
func run(p *Plan, s subject, n, seed int) (Cell, error) {
	c := Cell{Timers: s.text, Servers: n, Seed: seed}
	timers, err := testbed.ParseTimers(s.timers)
	if err != nil {
		return c, err
	}
	conn := timers.Config()
	conn.Socket.NoDelay = true
	if s.initial > 0 {
		conn.Congestion.InitialWindow = uint32(s.initial)
	}
	client := conn
	if s.Window != 0 {
		client.RecvBuffer, client.RecvBufferMax = uint32(s.Window), 0
	}
	link, port := p.links(&s)
	plan := testbed.StarPlan{Seed: uint64(seed), Client: client, Server: conn, Servers: n, Access: link, Port: port,
		Back: link}
	ask := func(of testbed.Servers) error {
		queries, err := testbed.FanIn{
			Seed: testbed.Key(uint64(seed), uint64(n)), Request: uint32(p.Request), Response: uint32(p.response(n)),
			Queries: s.queries, Warmup: p.Warmup, Service: s.Service, Think: s.think, Limit: 100 * time.Hour,
		}.Run(of)
		for _, q := range queries {
			c.add(q)
		}
		return err
	}
	if s.stack.Kind != "" {
		star, err := testbed.NewStackStar(plan, &s.stack)
		if err != nil {
			return c, err
		}
		err = ask(star)
		c.Retransmissions = star.Net.Stack(testbed.ListenEnd).Stats().TCP.Retransmits.Value()
		c.Dropped = star.Dropped()
		return c, star.Finish(err)
	}
	star, err := testbed.NewStar(plan)
	if err != nil {
		return c, err
	}
	if err := ask(star); err != nil {
		return c, err
	}
	sum := star.Counters()
	c.Retransmissions, c.Spurious = sum.RetransSegs, sum.TCPDSACKRecv+sum.TCPDSACKOfoRecv
	c.Dropped = star.World.Net.Link(star.Links.Bottleneck).Counts().QueueDropped
	return c, nil
}
