package incast

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
)

// subject is a TCP that serves the queries.
type subject struct {
	text    string // its timers, and its window or port if they are not the plan's
	classic bool
	queries int
	servers []int
	window  int     // the client's receive window in bytes; 0 is the engine's own
	buffer  int     // packets that the port holds; 0 is the plan's
	varied  bool    // explains a result, and is not compared
	gvisor  *gvisor // gVisor's own TCP in the place of timers, if not nil
}

// timers returns the text of its timers.
func (s *subject) timers() string {
	text, _, _ := strings.Cut(s.text, windowed)
	text, _, _ = strings.Cut(text, buffered)
	return text
}

// Separators of the timers from the window or the port in a subject's text.
const (
	windowed = " window="
	buffered = " buffer="
)

// windowed returns the text of the classic TCP with the greatest floor and a client with that
// receive window, in bytes.
func (p *Plan) windowed(window int, delack string) string {
	return p.timers(p.coarse(), delack) + windowed + strconv.Itoa(window)
}

// buffered returns the text of the same through a port of so many packets.
func (p *Plan) buffered(buffer int, delack string) string {
	return p.timers(p.coarse(), delack) + buffered + strconv.Itoa(buffer)
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
			all = append(all, subject{text: p.ticked(tick, clock), classic: true, queries: p.Fewer, servers: p.Ticked})
		}
	}
	for _, t := range p.Others {
		all = append(all, subject{text: t.Text, classic: t.Control == "newreno", queries: p.Fewer, servers: p.Servers})
	}
	for _, g := range p.gvisors() {
		all = append(all, subject{text: g.String(), queries: p.Fewer, servers: p.Servers, gvisor: &g})
	}
	for _, window := range p.Windows {
		for _, delack := range p.DelAcks {
			all = append(all, subject{text: p.windowed(window, delack), classic: true, queries: p.Fewer, servers: p.Servers, window: window, varied: true})
		}
	}
	for _, buffer := range p.Buffers {
		for _, delack := range p.DelAcks {
			all = append(all, subject{text: p.buffered(buffer, delack), classic: true, queries: p.Fewer, servers: p.Servers, buffer: buffer, varied: true})
		}
	}
	for _, repair := range p.Repairs {
		for _, delack := range p.DelAcks {
			all = append(all, subject{text: p.repaired(repair, delack), classic: true, queries: p.Fewer, servers: p.Repaired, varied: true})
		}
	}
	for _, floor := range p.blindFloors() {
		all = append(all, subject{text: p.blind(floor), classic: true, queries: p.Fewer, servers: p.most(), varied: true})
	}
	return all
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, s := range p.subjects() {
		for _, n := range s.servers {
			seeds, run, cost := p.Seeds, run, 1e-9
			if s.gvisor != nil {
				seeds, run, cost = p.GVisorSeeds, runGVisor, 1e-8
			}
			for seed := 1; seed <= seeds; seed++ {
				all = append(all, experiments.Cell[Cell]{
					Name: fmt.Sprintf("timers=%q servers=%d seed=%d", s.text, n, seed),
					Cost: cost * float64((s.queries+p.Warmup)*(p.Bytes+5000*n)),
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
func (p *Plan) response(n int) int { return (p.Bytes + n - 1) / n }

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
		Queries: s.queries, Warmup: p.Warmup, Service: p.Service, Think: p.Think, Limit: 100 * time.Hour,
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
