package incast

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
)

// subject is a TCP that serves the queries.
type subject struct {
	text    string // its timers, and what is varied
	base    string // its timers, "" if they are text
	classic bool
	queries int
	seeds   int // 0 is the plan's
	servers []int
	variant
	gvisor *gvisor // gVisor's own TCP in the place of timers, if not nil
}

// timers returns the text of its timers.
func (s *subject) timers() string { return cmp.Or(s.base, s.text) }

// variant is one change of the plan. It explains results and is not compared with other TCPs. A
// zero field is the plan's own value.
type variant struct {
	suffix         string // of the text of the timers
	what           string // in tables
	window         int    // the client's receive window in bytes
	buffer         int    // packets that the port holds
	service, think time.Duration
	words          string // options of the timers
}

func (v *variant) varied() bool { return v.suffix != "" }

func windowOf(bytes int) variant {
	return variant{window: bytes, suffix: fmt.Sprintf(" window=%d", bytes), what: fmt.Sprintf("receive window of %d bytes", bytes)}
}

func bufferOf(packets int) variant {
	return variant{buffer: packets, suffix: fmt.Sprintf(" buffer=%d", packets), what: fmt.Sprintf("port of %d packets", packets)}
}

func serviceOf(spread time.Duration) variant {
	return variant{service: spread, suffix: fmt.Sprintf(" service=%v", spread), what: fmt.Sprintf("service times up to %v", spread)}
}

func thinkOf(longest time.Duration) variant {
	return variant{think: longest, suffix: fmt.Sprintf(" think=%v", longest), what: fmt.Sprintf("pauses up to %v, which end the carried-over window", longest)}
}

var withoutSACK = variant{words: " -sack", suffix: " -sack", what: "no SACK"}

// variants returns the changes that are tried one by one at the greatest floor.
func (p *Plan) variants() (all []variant) {
	for _, window := range p.Windows {
		all = append(all, windowOf(window))
	}
	for _, buffer := range p.Buffers {
		all = append(all, bufferOf(buffer))
	}
	for _, think := range p.Thinks {
		all = append(all, thinkOf(think))
	}
	if len(all) > 0 {
		all = append(all, withoutSACK)
	}
	return all
}

// with returns the text of the classic TCP with a floor, a delay of ACKs and a change.
func (p *Plan) with(v variant, floor time.Duration, delack string) string {
	return p.timers(floor, delack) + v.suffix
}

// changed returns the subject of with.
func (p *Plan) changed(v variant, floor time.Duration, delack string) subject {
	return subject{text: p.with(v, floor, delack), base: p.timers(floor, delack) + v.words, classic: true, queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Servers, variant: v}
}

// spreadFloors returns the floors at which other spreads of service times are tried.
func (p *Plan) spreadFloors() (all []time.Duration) {
	for _, floor := range p.Floors {
		if floor == p.coarse() || floor == p.Fine || floor == fineEnough {
			all = append(all, floor)
		}
	}
	return all
}

// repaired returns the text of the same with a means that repairs losses before the timer.
func (p *Plan) repaired(repair, delack string) string {
	return p.timers(p.coarse(), delack) + " " + repair
}

// blind returns the text of the classic TCP without means to detect spurious timeouts: no
// timestamps (RFC 3522), and no SACK, hence no DSACK (RFC 3708).
func (p *Plan) blind(floor time.Duration) string {
	return p.timers(floor, p.DelAcks[0]) + " -timestamps -sack"
}

// blindFloors returns the floors of blind: those of the ratio, and the finest.
func (p *Plan) blindFloors() (all []time.Duration) {
	for _, floor := range p.Floors {
		if floor == p.coarse() || floor == p.Fine || floor <= fineEnough {
			all = append(all, floor)
		}
	}
	return all
}

// timers returns the text of the classic TCP with a floor and a delay of ACKs.
func (p *Plan) timers(floor time.Duration, delack string) string {
	return fmt.Sprintf("%s floor=%v delack=%s", p.Classic.Text, floor, delack)
}

// ticked returns the text of the fine floor on a tick of expiry, and of the clock too.
func (p *Plan) ticked(tick time.Duration, clock bool) string {
	words := strings.Fields(p.timers(p.Fine, p.DelAcks[0]))
	policy, _, _ := strings.Cut(words[0], "@")
	words[0] = fmt.Sprintf("%s@%v", policy, tick)
	if clock {
		words = append(words, fmt.Sprintf("rtt-tick=%v", tick))
	}
	return strings.Join(words, " ")
}

// most returns the numbers of servers that claims on delayed ACKs use.
func (p *Plan) most() []int { return p.Servers[slices.Index(p.Servers, p.upTo(fineServers)):] }

// upTo returns the greatest number of servers up to a bound.
func (p *Plan) upTo(bound int) (n int) {
	for _, m := range p.Servers {
		if m <= bound {
			n = m
		}
	}
	return n
}

// subjects returns all TCPs of the plan.
func (p *Plan) subjects() (all []subject) {
	for i, delack := range p.DelAcks {
		for _, floor := range p.Floors {
			s := subject{text: p.timers(floor, delack), classic: true, queries: p.Fewer, servers: p.Servers}
			if i == 0 && (floor == p.Fine || floor == p.coarse()) {
				s.queries = p.Queries
			}
			all = append(all, s)
		}
	}
	for _, tick := range p.Ticks {
		for _, clock := range []bool{false, true} {
			all = append(all, subject{text: p.ticked(tick, clock), classic: true, queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Ticked})
		}
	}
	for _, t := range p.Others {
		all = append(all, subject{text: t.Text, classic: t.Control == "newreno", queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Servers})
	}
	for _, g := range p.gvisors() {
		all = append(all, subject{text: g.String(), queries: p.Fewer, servers: p.Servers, gvisor: &g})
	}
	for _, v := range p.variants() {
		for _, delack := range p.DelAcks {
			all = append(all, p.changed(v, p.coarse(), delack))
		}
	}
	for _, spread := range p.Services {
		for _, floor := range p.spreadFloors() {
			all = append(all, p.changed(serviceOf(spread), floor, p.DelAcks[0]))
		}
	}
	for _, repair := range p.Repairs {
		for _, delack := range p.DelAcks {
			all = append(all, subject{text: p.repaired(repair, delack), classic: true, queries: p.Fewer, seeds: p.VariedSeeds, servers: p.Repaired, variant: variant{suffix: " " + repair}})
		}
	}
	for _, floor := range p.blindFloors() {
		all = append(all, subject{text: p.blind(floor), classic: true, queries: p.Fewer, seeds: p.VariedSeeds, servers: p.most(), variant: variant{suffix: " blind"}})
	}
	return all
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, s := range p.subjects() {
		for _, n := range s.servers {
			seeds, run, cost := cmp.Or(s.seeds, p.Seeds), run, 1e-9
			if s.gvisor != nil {
				seeds, run, cost = p.GVisorSeeds, runGVisor, 1e-8
			}
			for seed := 1; seed <= seeds; seed++ {
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("timers=%q servers=%d seed=%d", s.text, n, seed),
					Cost: cost * float64((s.queries+p.Warmup)*(n*p.response(n)+5000*n)),
					Run:  func(context.Context) (Cell, error) { return run(p, s, n, seed) },
				})
			}
		}
	}
	return all
}

// links returns the link of all hosts, and that of the port to the client. Each direction has two.
func (p *Plan) links(s *subject) (link, port sim.LinkConfig) {
	link = sim.LinkConfig{Rate: uint64(p.Rate), Overhead: uint32(p.Overhead), Delay: p.RoundTrip / 4}
	port = link
	port.Queue.Packets = uint32(p.Buffer)
	if s.buffer != 0 {
		port.Queue.Packets = uint32(s.buffer)
	}
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

// run queries n servers under one seed.
func run(p *Plan, s subject, n, seed int) (Cell, error) {
	c := Cell{Timers: s.text, Servers: n, Seed: seed}
	timers, err := testbed.ParseTimers(s.timers())
	if err != nil {
		return c, err
	}
	conn := timers.Config()
	conn.Socket.NoDelay = true
	if s.classic {
		conn.Congestion.InitialWindow = uint32(p.Window)
	}
	client := conn
	if s.window != 0 {
		client.RecvBuffer, client.RecvBufferMax = uint32(s.window), 0
	}
	link, port := p.links(&s)
	star, err := testbed.NewStar(testbed.StarPlan{Seed: uint64(seed), Client: client, Server: conn, Servers: n, Access: link, Port: port, Back: link})
	if err != nil {
		return c, err
	}
	queries, err := testbed.FanIn{
		Seed: testbed.Key(uint64(seed), uint64(n)), Request: uint32(p.Request), Response: uint32(p.response(n)),
		Queries: s.queries, Warmup: p.Warmup, Service: cmp.Or(s.service, p.Service), Think: cmp.Or(s.think, p.Think), Limit: 100 * time.Hour,
	}.Run(star)
	if err != nil {
		return c, err
	}
	for _, q := range queries {
		c.add(q)
	}
	sum := star.Counters()
	c.Retransmissions, c.Spurious = sum.RetransSegs, sum.TCPDSACKRecv+sum.TCPDSACKOfoRecv
	c.Dropped = star.World.Net.Link(star.Links.Bottleneck).Counts().QueueDropped
	return c, nil
}
