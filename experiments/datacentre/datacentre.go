// Package datacentre is study E28: what each setting of TCP's timers buys in a data centre.
package datacentre

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel/stat"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study. All lists but the steps are crossed.
type Plan struct {
	Timers     testbed.Timers  `plan:"timers"`
	Works      []Work          `plan:"works"`
	RoundTrips []time.Duration `plan:"round_trips" min:"1us" max:"100ms"`
	Floors     []time.Duration `plan:"floors" min:"10us" max:"500ms"`
	Delays     []string        `plan:"delays"`
	Jiffies    []time.Duration `plan:"jiffies" min:"1us" max:"100ms"`
	Stamps     []time.Duration `plan:"stamps" min:"1us" max:"1s"`

	// What the published claims compare, each one of the lists.
	Rack        time.Duration `plan:"rack" min:"1us" max:"100ms"`
	UsualFloor  time.Duration `plan:"usual_floor" min:"10us" max:"500ms"`
	Floor       time.Duration `plan:"floor" min:"10us" max:"500ms"`
	Enough      time.Duration `plan:"enough" min:"10us" max:"500ms"`
	Finest      time.Duration `plan:"finest" min:"10us" max:"500ms"`
	UsualDelay  string        `plan:"usual_delay"`
	UsualJiffy  time.Duration `plan:"usual_jiffy" min:"1us" max:"100ms"`
	Jiffy       time.Duration `plan:"jiffy" min:"1us" max:"100ms"`
	FineJiffy   time.Duration `plan:"fine_jiffy" min:"1us" max:"100ms"`
	CoarseStamp time.Duration `plan:"coarse_stamp" min:"1us" max:"1s"`
	FineStamp   time.Duration `plan:"fine_stamp" min:"1us" max:"1s"`

	Steps []Step `plan:"steps" optional:"true"`

	Rate      int           `plan:"rate" unit:"rate" min:"1000000" max:"100000000000"`
	Overhead  int           `plan:"overhead" min:"0" max:"1000"`
	Buffer    int           `plan:"buffer" min:"1" max:"100000"`
	Request   int           `plan:"request" min:"1" max:"1460"`
	Service   time.Duration `plan:"service" min:"0s" max:"1s"`
	Warmup    int           `plan:"warmup" min:"0" max:"1000"`
	FirstSeed int           `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int           `plan:"seeds" min:"1" max:"1000"`
}

// Work is what servers do for the client.
type Work struct {
	Name    string        `plan:"name"`
	Servers int           `plan:"servers" min:"1" max:"1000"`
	Bytes   int           `plan:"bytes" unit:"size" min:"1" max:"10000000"` // of each answer
	Loss    float64       `plan:"loss" min:"0" max:"0.5"`                   // of packets with data
	Think   time.Duration `plan:"think" min:"0s" max:"10s"`                 // longest pause
	Queries int           `plan:"queries" min:"1" max:"100000"`
}

// Step is a setting of an operator. Steps follow the order that an operator would choose.
type Step struct {
	Name  string        `plan:"name"`
	Set   string        `plan:"set"`   // how, in words of the command line
	Ends  string        `plan:"at"`    // the ends that need it
	Since string        `plan:"linux"` // the first version that can
	Floor time.Duration `plan:"floor" min:"10us" max:"500ms"`
	Delay string        `plan:"delay"`
	Jiffy time.Duration `plan:"jiffy" min:"1us" max:"100ms"`
	Stamp time.Duration `plan:"stamp" min:"1us" max:"1s"`
}

// How long ACKs wait, besides a duration.
const (
	belowFloor = "floor less a jiffy" // Linux since 6.7 where rto_min is set
	noDelay    = "off"                // the route attribute quickack
	delackMin  = 40 * time.Millisecond
)

// Cell is one setting at one work over one round trip, under one seed.
type Cell struct {
	Work      string        `json:"work"`
	RoundTrip time.Duration `json:"round_trip_s"` // of idle links
	Floor     time.Duration `json:"floor_s"`      // rto_min, as it is set
	Delay     string        `json:"delay"`        // how long ACKs wait: a duration, floor less a jiffy, or off
	Jiffy     time.Duration `json:"jiffy_s"`      // the tick of timers, 1/HZ
	Stamp     time.Duration `json:"stamp_s"`      // the tick of timestamps
	Seed      int           `json:"seed"`

	RTO time.Duration `json:"rto_s"` // median timeout of the servers at the end, without backoff
	ATO time.Duration `json:"ato_s"` // how long the client's ACKs may wait then; 0s is not at all

	Queries  int           `json:"queries"`
	Took     time.Duration `json:"took_s"`   // sum over the queries
	P99      time.Duration `json:"p99_s"`    // of the queries
	Slow     int           `json:"slow"`     // queries with a timeout of a server
	Timeouts uint64        `json:"timeouts"` // of both ends, as are the counts below; warmup included
	Probes   uint64        `json:"probes"`   // for lost tails
	Resent   uint64        `json:"resent"`   // retransmitted
	Spurious uint64        `json:"spurious"` // duplicates reported by DSACK
	Undone   uint64        `json:"undone"`   // reductions of the window that were undone
	Stamped  uint64        `json:"stamped"`  // those undone by neither DSACKs nor F-RTO, but timestamps
	ACKs     uint64        `json:"acks"`     // without data
	Sent     uint64        `json:"sent"`     // all but pure retransmissions
	Dropped  uint64        `json:"dropped"`  // at the port
}

// Row is a cell and its place among the steps.
type Row struct {
	Cell
	At     string        // the work and the round trip
	Step   int           // of the steps, from 1; 0 is none of them
	Before time.Duration // Took of the step before, under the same seed; 0 of the first
	Least  time.Duration // of a query without loss: its bytes on the wire and a round trip
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E28", Name: "datacentre", Bed: "fan-in", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: func(p *Plan) error {
		for _, d := range append(slices.Clone(p.Delays), p.UsualDelay) {
			if _, err := ackDelay(d, time.Second, time.Millisecond); err != nil {
				return fmt.Errorf("delays: %w", err)
			}
		}
		for i, s := range p.Steps {
			if p.step(s.Floor, s.Delay, s.Jiffy, s.Stamp) != i+1 {
				return fmt.Errorf("steps: %q is the same setting as an earlier step", s.Name)
			}
		}
		return nil
	},
	Cells: cells, Judge: outcome,
	Live: []experiments.LivePart[Plan]{{Name: "kernel", Needs: testbed.NeedsRoot, Run: kernel}},
})

// ackDelay returns how long an ACK may wait, 0 for not at all. Linux keeps rto_min in jiffies,
// rounded up to least; an ACK then waits a jiffy less, but at least one (tcp_delack_max).
func ackDelay(text string, least, jiffy time.Duration) (time.Duration, error) {
	switch text {
	case noDelay:
		return 0, nil
	case belowFloor:
		return min(delackMin, max(least, 2*jiffy)-jiffy), nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > 500*time.Millisecond {
		return 0, fmt.Errorf("%q, want a duration up to 500ms, %q or %q", text, belowFloor, noDelay)
	}
	return d, nil
}

// step returns the place of a setting among the steps, from 1, or 0.
func (p *Plan) step(floor time.Duration, delay string, jiffy, stamp time.Duration) int {
	return 1 + slices.IndexFunc(p.Steps, func(s Step) bool {
		return s.Floor == floor && s.Delay == delay && s.Jiffy == jiffy && s.Stamp == stamp
	})
}

// each calls f for each cell, in their order.
func (p *Plan) each(f func(w *Work, c Cell)) {
	for i := range p.Works {
		w := &p.Works[i]
		for _, trip := range p.RoundTrips {
			for _, floor := range p.Floors {
				for _, delay := range p.Delays {
					for _, jiffy := range p.Jiffies {
						for _, stamp := range p.Stamps {
							for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
								f(w, Cell{Work: w.Name, RoundTrip: trip, Floor: floor, Delay: delay, Jiffy: jiffy,
									Stamp: stamp, Seed: seed})
							}
						}
					}
				}
			}
		}
	}
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	p.each(func(w *Work, c Cell) {
		all = append(all, experiments.Cell[Cell]{
			Name: fmt.Sprintf("work=%q rtt=%v floor=%v delay=%q jiffy=%v stamp=%v seed=%d", c.Work, c.RoundTrip, c.Floor,
				c.Delay, c.Jiffy, c.Stamp, c.Seed),
			Cost: 1e-9 * float64((w.Queries+p.Warmup)*w.Servers*(w.Bytes+5000)),
			Run:  func(context.Context) (Cell, error) { return p.run(w, c) },
		})
	})
	return all
}

// rows returns the cells with their steps.
func rows(p *Plan, cells []Cell) (all []Row) {
	type run struct {
		at         string
		step, seed int
	}
	took := map[run]time.Duration{}
	p.each(func(w *Work, _ Cell) {
		c := cells[len(all)]
		r := Row{Cell: c, At: fmt.Sprintf("%s, %v", c.Work, c.RoundTrip), Least: p.least(w) + c.RoundTrip}
		if r.Step = p.step(c.Floor, c.Delay, c.Jiffy, c.Stamp); r.Step > 0 {
			took[run{r.At, r.Step, r.Seed}] = r.Took
		}
		all = append(all, r)
	})
	for i := range all {
		r := &all[i]
		r.Before = took[run{r.At, r.Step - 1, r.Seed}]
	}
	return all
}

// least returns how long the port takes to send the answers of all servers, each segment with its
// headers, timestamps and overhead.
func (p *Plan) least(w *Work) time.Duration {
	const mss, headers = 1448, 52
	onWire := w.Servers * (w.Bytes + (w.Bytes+mss-1)/mss*(headers+p.Overhead))
	return time.Duration(onWire) * 8 * time.Second / time.Duration(p.Rate)
}

// config returns the TCP of both ends. The probe for a lone segment waits rto_min for the ACK, and
// any other one two jiffies more than two round trips (tcp_schedule_loss_probe).
func (p *Plan) config(c *Cell) (tcp.Config, error) {
	cfg := p.Timers.Config()
	t := &cfg.Policy
	least := (c.Floor + c.Jiffy - 1).Truncate(c.Jiffy)
	t.Tick, t.MaxAckDelay, t.PersistMin = c.Jiffy, least, least
	t.SetFloor(least)
	t.ProbeSlack = min(t.ProbeSlack, 2*c.Jiffy)
	d, err := ackDelay(c.Delay, least, c.Jiffy)
	t.DelAck.Delay, t.DelAck.Min, t.DelAck.Max = d, d, d
	if d == 0 {
		t.DelAck.Every = 1
	}
	cfg.TimestampTick, cfg.Socket.NoDelay = c.Stamp, true
	return cfg, err
}

// run runs the queries of a cell.
func (p *Plan) run(w *Work, c Cell) (Cell, error) {
	cfg, err := p.config(&c)
	if err != nil {
		return c, err
	}
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: uint32(p.Overhead), Delay: c.RoundTrip / 4}
	port, back := link, link
	port.Queue.Packets = uint32(p.Buffer)
	if w.Loss > 0 { // the same bytes in all settings
		loss := sim.Losses{&testbed.StreamLoss{P: w.Loss}}
		port.Loss, back.Loss = loss, loss
	}
	star, err := testbed.NewStar(testbed.StarPlan{Seed: uint64(c.Seed), Client: cfg, Server: cfg, Servers: w.Servers,
		Access: link, Port: port, Back: back})
	if err != nil {
		return c, err
	}
	queries, err := testbed.FanIn{
		Seed: testbed.Key(uint64(c.Seed), uint64(w.Servers)), Request: uint32(p.Request), Response: uint32(w.Bytes),
		Queries: w.Queries, Warmup: p.Warmup, Service: p.Service, Think: w.Think, Limit: 100 * time.Hour,
	}.Run(star)
	if err != nil {
		return c, err
	}
	var took []float64
	for _, q := range queries {
		c.Queries++
		c.Took += q.Took
		took = append(took, float64(q.Took))
		if q.Timeouts > 0 {
			c.Slow++
		}
	}
	c.P99 = time.Duration(stat.Quantile(took, 0.99))
	c.count(star)
	return c, nil
}

// count reads the connections at the end, and the counters of both ends.
func (c *Cell) count(star *testbed.Star) {
	now := star.World.Net.Now()
	var rtos []time.Duration
	for _, h := range star.Servers {
		h.Engine().Sockets(func(s *tcp.Socket) {
			i := s.Conn().Info(now)
			rtos = append(rtos, i.RTO>>i.Backoff)
		})
	}
	slices.Sort(rtos)
	c.RTO = rtos[len(rtos)/2]
	star.Client.Engine().Sockets(func(s *tcp.Socket) { c.ATO = s.Conn().Info(now).ATO })
	sum, client := star.Counters(), star.Client.Counters()
	c.ACKs = sum.TCPPureAcks
	sum.Add(&client)
	c.Timeouts, c.Probes, c.Resent = sum.TCPTimeouts, sum.TCPLossProbes, sum.RetransSegs
	c.Spurious = sum.TCPDSACKRecv + sum.TCPDSACKOfoRecv
	c.Undone = sum.TCPFullUndo + sum.TCPPartialUndo + sum.TCPLossUndo
	c.Stamped = c.Undone - min(c.Undone, sum.TCPDSACKUndo+sum.TCPSpuriousRTOs)
	c.Sent = sum.OutSegs
	c.Dropped = star.World.Net.Link(star.Links.Bottleneck).Counts().QueueDropped
}
