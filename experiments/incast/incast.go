// Package incast is the studies of incast: E15, how floor and granularity of the timeout change it,
// and E27, the same in the setup of the CMU group.
package incast

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
)

//go:embed README.md plan.yaml cmu/README.md cmu/plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Bytes     int           `plan:"bytes" unit:"size" min:"1000" max:"100000000"`
	Fragment  int           `plan:"fragment" unit:"size" min:"0" max:"10000000"`
	Request   int           `plan:"request" min:"1" max:"1460"`
	Servers   []int         `plan:"servers" min:"1" max:"1000" order:"rising"`
	Rate      int           `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead  int           `plan:"overhead" min:"0" max:"1000"`
	RoundTrip time.Duration `plan:"round_trip" min:"1us" max:"100ms"`
	Buffer    int           `plan:"buffer" min:"1" max:"100000"`
	Service   time.Duration `plan:"service" min:"0s" max:"1s"`
	Think     time.Duration `plan:"think" min:"0s" max:"10s"`

	Classic       testbed.Timers   `plan:"classic"`
	Window        int              `plan:"initial_window" min:"536" max:"65535"`
	Floors        []time.Duration  `plan:"floors" min:"100us" max:"10s"`
	DelAck        string           `plan:"delack"`
	OtherDelAcks  []string         `plan:"other_delacks" optional:"true"`
	Fine          time.Duration    `plan:"fine" min:"100us" max:"10s"`
	Enough        time.Duration    `plan:"enough" min:"100us" max:"10s"`
	EnoughServers int              `plan:"enough_servers" min:"1" max:"1000"`
	Others        []testbed.Timers `plan:"others" optional:"true"`
	Windows       []int            `plan:"receive_windows" min:"2896" max:"1000000" optional:"true"`
	Buffers       []int            `plan:"buffers" min:"1" max:"100000" optional:"true"`
	Thinks        []time.Duration  `plan:"thinks" min:"1us" max:"1m" optional:"true"`
	Services      []time.Duration  `plan:"services" min:"1us" max:"1s" optional:"true"`
	VariedSeeds   int              `plan:"varied_seeds" min:"1" max:"1000"`

	Repairs  []string `plan:"repairs" optional:"true"`
	Repaired []int    `plan:"repaired_servers" min:"1" max:"1000" optional:"true"`

	Queries   int `plan:"queries" min:"1" max:"100000"`
	Fewer     int `plan:"fewer" min:"1" max:"100000"`
	Warmup    int `plan:"warmup" min:"0" max:"1000"`
	FirstSeed int `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int `plan:"seeds" min:"1" max:"1000"`

	GVisorFloors []time.Duration `plan:"gvisor_floors" min:"100us" max:"10s" optional:"true"`
	GVisorSeeds  int             `plan:"gvisor_seeds" min:"1" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is the queries to a number of servers under one seed.
type Cell struct {
	Timers  string `json:"timers"`  // the TCP of the servers, and what is changed
	Servers int    `json:"servers"` // that answer at once
	Seed    int    `json:"seed"`

	Queries         int           `json:"queries"`
	Took            time.Duration `json:"took_s"`            // sum over the queries
	Timed           int           `json:"timed"`             // queries with a timeout
	Least           time.Duration `json:"least_s,omitempty"` // query with a timeout, or 0s
	Longest         time.Duration `json:"longest_s"`         // query
	Timeouts        uint64        `json:"timeouts"`
	Retransmissions uint64        `json:"retransmissions"` // warmup included
	Spurious        uint64        `json:"spurious"`        // duplicates reported by DSACK; gVisor does not count them
	Dropped         uint64        `json:"dropped"`         // at the port
}

// Study is the study of the setup of DCTCP's authors.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E15", Name: "incast", Bed: "fan-in", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: check, Cells: cells, Judge: outcome,
})

// CMU is the study of the setup of the CMU group.
var CMU = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E27", Name: "cmu", Bed: "fan-in", Class: experiments.Published, Folder: "incast/cmu", Files: files, Base: Study,
	Words: func() experiments.Words { return cmuWords },
	Check: check, Cells: cells, Judge: cmuOutcome,
})

func check(p *Plan) error {
	if !slices.Contains(p.Floors, p.Fine) || p.Fine == p.coarse() {
		return fmt.Errorf("fine: %v, want one of floors, below the greatest of them, %v: set fine and floors "+
			"together", p.Fine, p.coarse())
	}
	if p.Servers[0] != 1 || p.Servers[len(p.Servers)-1] < 20 {
		return fmt.Errorf("servers: %v, want numbers from 1 to 20 or more", p.Servers)
	}
	for _, n := range p.Repaired {
		if !slices.Contains(p.Servers, n) {
			return fmt.Errorf("repaired_servers: %d, want one of servers, %v", n, p.Servers)
		}
	}
	for _, s := range p.subjects() {
		if _, err := testbed.ParseTimers(s.timers); err != nil {
			return fmt.Errorf("timers %q: %w", s.text, err)
		}
	}
	return testbed.CheckStacks(p.stacks())
}

// Setting is a TCP that serves the queries.
type Setting struct {
	Kind    string        // classic, other, gvisor, change, service, repair or blind
	Floor   time.Duration // on the timeout of classic, gvisor, change, service, repair and blind
	DelAck  string        // how long the client's ACKs wait
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
			for seed := p.FirstSeed; seed < p.FirstSeed+s.seeds; seed++ {
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
