// Package comb is study E19, whether coarse ticks retransmit all at once after an outage. It is a
// part of study incast.
package comb

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/experiments/judge"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/pcaps/figure"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Connections int              `plan:"connections" min:"10" max:"28000"`
	RTT         time.Duration    `plan:"rtt" min:"1ms" max:"1s"`
	Outage      time.Duration    `plan:"outage" min:"10ms" max:"500ms"`
	Rate        int              `plan:"rate" unit:"rate" min:"1000000" max:"1000000000000"` // bit/s
	Queue       int              `plan:"queue" min:"1" max:"1000000"`                        // packets
	Watch       time.Duration    `plan:"watch" min:"2s" max:"10m"`
	BSD         testbed.Timers   `plan:"bsd"`
	Timers      []testbed.Timers `plan:"timers"`
	FirstSeed   int              `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int              `plan:"seeds" min:"1" max:"1000"`
}

// Cell is the retransmissions under some timers and one seed.
type Cell struct {
	Timers string `json:"timers"` // of the client
	Seed   int    `json:"seed"`

	Late    int           `json:"late,omitempty"` // segments left out: the one before was lost in the queue, and not yet repaired
	Peak    int           `json:"peak"`           // the most retransmissions in a millisecond
	Second  int           `json:"second"`         // first retransmissions
	Bins    int           `json:"bins"`           // milliseconds with first retransmissions
	First   time.Duration `json:"first_s"`        // of these, from the begin of the outage
	Last    time.Duration `json:"last_s"`         // of these
	Dropped int           `json:"dropped"`        // first retransmissions that the queue dropped
	Comb    [][2]int      `json:"comb,omitempty"` // first seed: millisecond, retransmissions
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E19", Name: "comb", Bed: "pair", Class: experiments.Exact, Files: files,
	Check: func(p *Plan) error {
		if p.BSD.Policy.Phase != tcptimers.PhaseCountdown {
			return fmt.Errorf("bsd: %q, want timers with phase=countdown, such as bsd", p.BSD.Text)
		}
		for i, tm := range p.Timers {
			for _, other := range append([]testbed.Timers{p.BSD}, p.Timers[:i]...) {
				if tm.Text == other.Text {
					return fmt.Errorf("timers: %q occurs twice", tm.Text)
				}
			}
		}
		return nil
	},
	Words:   func() experiments.Words { return words },
	Applies: applies,
	Cells:   cells,
	Judge:   outcome,
})

// applies returns why a plan leaves all claims without meaning, or nil.
func applies(p *Plan) error {
	// schedule puts an exchange and the next one into neighbouring ticks.
	if most := tcptimers.SlowTick / 4; p.RTT > most {
		return fmt.Errorf("a round trip of %v is longer than a quarter of 4.4BSD's tick, %v: its connections "+
			"cannot measure it within a tick", p.RTT, most)
	}
	return nil
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	for _, tm := range append(slices.Clone(p.Timers), p.BSD) {
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("timers=%q", tm),
			4e-5*float64(p.Connections), func(seed int) (Cell, error) { return p.run(tm, seed) })...)
	}
	return all
}

// action is a connection's action at an instant: it opens, or it sends a segment.
type action struct {
	at   wheel.Time
	conn int
	open bool
}

// warmTicks is 4.4BSD's ticks for the connections to open and to measure their round trips. Then
// the outage begins, at a sweep.
const (
	warmTicks = 12
	begins    = wheel.Time((warmTicks + 1) * tcptimers.SlowTick)
)

// schedule returns the actions in order: each connection opens, sends a segment in a later
// tick, and one in the outage. The first two happen within a tick, so that 4.4BSD counts no tick in
// a round trip. The random numbers are the same for all timers.
func (p *Plan) schedule(seed int) (all []action) {
	const slow = tcptimers.SlowTick
	for conn := range p.Connections {
		draw := func(what uint64) float64 { return testbed.Uniform(uint64(seed), 0xe19, uint64(conn), what) }
		within := func(tick int, what uint64) wheel.Time {
			room := slow - 3*p.RTT // the link's transmission time adds to the round trip
			return wheel.Time(time.Duration(tick)*slow + p.RTT/2 + time.Duration(draw(what)*float64(room)))
		}
		opens := int(draw(0) * warmTicks / 2)
		all = append(all, action{within(opens, 1), conn, true}, action{within(opens+warmTicks/2, 2), conn, false},
			action{begins.Add(time.Duration(draw(3) * float64(p.Outage))), conn, false})
	}
	slices.SortStableFunc(all, func(a, b action) int { return cmp.Compare(a.at, b.at) })
	return all
}

// counter is a sim.Tap on the link to the server.
type counter struct {
	bins    []int // retransmissions, by the millisecond of the outage
	second  []int // first retransmissions, likewise
	dropped int   // of these, by the queue
}

// Sent implements sim.Tap.
func (c *counter) Sent(now wheel.Time, d *host.Datagram, f sim.Fate) {
	bin := int(now.Sub(begins) / time.Millisecond)
	if d.Start == d.End || now < begins || d.Attempt < 2 || bin >= len(c.bins) {
		return
	}
	c.bins[bin]++
	if d.Attempt == 2 {
		c.second[bin]++
		if f.Outcome == sim.QueueDropped {
			c.dropped++
		}
	}
}

// Arrived implements sim.Tap.
func (*counter) Arrived(wheel.Time, *host.Datagram) {}

// run runs the connections through the outage. ACKs are not delayed.
func (p *Plan) run(tm testbed.Timers, seed int) (Cell, error) {
	c := Cell{Timers: tm.Text, Seed: seed}
	tm.Policy.DelAck = tcptimers.DelAckConfig{Every: 1}
	cfg := tm.Config()
	cfg.Control = "newreno"
	link := sim.LinkConfig{Rate: uint64(p.Rate), Overhead: 38, Queue: sim.Limit{Packets: uint32(p.Queue)},
		Delay: p.RTT / 2}
	lossy := link
	lossy.Loss = sim.Losses{sim.Outages{{From: time.Duration(begins), To: time.Duration(begins) + p.Outage}}}
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: uint64(seed), Client: cfg, Server: cfg, Up: lossy, Down: link})
	if err != nil {
		return c, err
	}
	up, ok := pair.World.Net.LinkNamed("client>server")
	if !ok {
		return c, errors.New("no link from the client to the server")
	}
	ms := int(p.Watch / time.Millisecond)
	tap := &counter{bins: make([]int, ms), second: make([]int, ms)}
	pair.World.Net.Tap(up, tap)
	if err := pair.Server.Listen(80, tcp.ListenConfig{Backlog: p.Connections},
		func() host.App { return &host.Sink{} }); err != nil {
		return c, err
	}
	sessions := make([]*host.Session, p.Connections)
	for _, a := range p.schedule(seed) {
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
			s.Write(1448, 0)
		}
	}
	pair.Run(begins.Add(p.Watch))
	if err := errors.Join(pair.World.Faults()...); err != nil {
		return c, err
	}
	c.Dropped = tap.dropped
	for bin, n := range tap.bins {
		c.Peak = max(c.Peak, n)
		if seed == p.FirstSeed && n > 0 {
			c.Comb = append(c.Comb, [2]int{bin, n})
		}
		if m := tap.second[bin]; m > 0 {
			at := time.Duration(bin) * time.Millisecond
			if c.Bins == 0 {
				c.First = at
			}
			c.Second, c.Bins, c.Last = c.Second+m, c.Bins+1, at
		}
	}
	return c, nil
}

// row is a run with its timers.
type row struct {
	Cell
	tcptimers.Policy
}

// label returns a short name of the timers.
func (r *row) label() string {
	switch {
	case r.Phase == tcptimers.PhaseCountdown:
		return "4.4BSD, swept each " + r.Tick.String()
	case r.Rexmit != tcptimers.RexmitPerSegment:
		return "one timer, tick of " + r.Tick.String()
	case r.Phase == tcptimers.PhaseOwn:
		return "tick of " + r.Tick.String() + ", own phase"
	}
	return "tick of " + r.Tick.String()
}

var words = experiments.Words{
	Question: "Do coarse ticks retransmit everything at once after an outage?",
	Found: "After an outage of one tick between two sweeps, over a round trip within a tick, 4.4BSD's sweep retransmits " +
		"for all connections in one millisecond: {ratio#} times what fine timers send then. The queue drops {drops}: of a " +
		"full tooth, and under fine timers.",
}

func peak(r *row) float64 { return float64(r.Peak) }

// density returns the first retransmissions per millisecond, from the first to the last of them.
func density(r *row) float64 { return float64(r.Second) / (judge.Ms(r.Last-r.First) + 1) }

// outcome judges the runs, and shows them.
func outcome(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	named := map[string]tcptimers.Policy{p.BSD.Text: p.BSD.Policy}
	for _, tm := range p.Timers {
		named[tm.Text] = tm.Policy
	}
	var all []row
	for _, c := range cells {
		all = append(all, row{c, named[c.Timers]})
	}
	out, claims := &experiments.Outcome{}, p.claims(all)
	if err := applies(p); err != nil {
		for i := range claims {
			claims[i].Unless = err.Error()
		}
		out.Judge(claims...)
		return out, nil
	}
	out.Judge(claims...)
	out.Figures = append(out.Figures, p.combFigure(all))
	return out, nil
}

func (p *Plan) claims(all []row) []experiments.Claim {
	phase := func(of tcptimers.Phase) []row { return judge.Where(all, func(r *row) bool { return r.Phase == of }) }
	bsd, own, shared := phase(tcptimers.PhaseCountdown), phase(tcptimers.PhaseOwn), phase(tcptimers.PhaseShared)
	var fine []row // those of the finest tick
	if finest := judge.Most(shared, func(r *row) float64 { return -float64(r.Tick) }); finest != nil {
		fine = judge.Where(shared, func(r *row) bool { return r.Timers == finest.Timers })
	}
	coarse := judge.Where(shared, func(r *row) bool { return r.Tick > time.Millisecond })
	off := judge.Count(coarse, func(r *row) bool { return r.Bins != int((p.Outage+r.Tick-1)/r.Tick) })
	rate, full := float64(p.Connections)/judge.Ms(p.Outage), max(p.Connections-p.Queue-1, 0)
	mean := func(rows []row, of func(*row) float64) float64 { return judge.Mean(rows, of) }
	dropped := func(r *row) float64 { return float64(r.Dropped) }
	claims := []experiments.Claim{
		{
			Name: "one-bin", Text: "under 4.4BSD's sweep all retransmissions fall into one bin of a millisecond",
			Published: fmt.Sprintf("%d in one", p.Connections),
			Measured: judge.Said("%v at the peak; bins with any: %v", mean(bsd, peak),
				mean(bsd, func(r *row) float64 { return float64(r.Bins) })),
			Expected: experiments.Whether(judge.All(bsd, func(r *row) bool {
				return r.Bins == 1 && r.Peak == p.Connections
			}), "all, in one"),
		},
		{
			Name: "fine", Text: "fine timers spread them like the losses: N/500 per millisecond",
			Published: judge.Say("%v per ms", rate), Basis: "2 % set for this project",
			Measured: experiments.MeasuredWithin(judge.Student(judge.Values(fine, density)), "per ms"),
			Expected: experiments.WithinPercent(rate, 2, "per ms").OrDiffers(experiments.WithinPercent(rate, 20, "per ms")),
		},
		{
			Name: "ratio", Text: "4.4BSD's peak is 500 times the rate of fine timers, per millisecond",
			Published: "500", Basis: "set for this project",
			Measured: experiments.Measured(mean(bsd, peak)/mean(fine, density), "times"),
			Expected: experiments.Within(500, 10, "times").OrDiffers(experiments.AtLeast(100, "")),
		},
		{
			Name: "teeth", Published: "⌈500 ms/tick⌉ teeth",
			Text:     "a tick that timers share has a tooth for each tick of the outage: the peak grows with the tick",
			Measured: judge.Said("%d of %d runs off", off, len(coarse)).Judging(float64(off)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		{
			Name: "phase", Text: "a tick of the same size with its own phase for each timer has no comb",
			Basis:    "set for this project",
			Measured: experiments.Measured(mean(own, peak)/mean(fine, peak), "times the peak of fine timers"),
			Expected: experiments.Within(1, 0.1, "").OrDiffers(experiments.Between(0.5, 2, "")),
		},
		{
			Name: "drops", Published: "N - queue - 1, and 0",
			Text:     "the queue drops the part of a full tooth that it cannot hold; it drops none of fine timers",
			Measured: judge.Said("%v of %d, and %v", mean(bsd, dropped), p.Connections, mean(fine, dropped)),
			Expected: experiments.Whether(judge.All(bsd, func(r *row) bool { return r.Dropped == full }) &&
				judge.All(fine, func(r *row) bool { return r.Dropped == 0 }), "%d, and 0", p.Connections-p.Queue-1),
		},
	}
	for i := range claims {
		c := &claims[i]
		c.Class, c.Tag, c.Source = experiments.Law, experiments.Computed, "definition of the timers"
		if c.Name == "teeth" && len(coarse) == 0 {
			c.Unless = "no timers share a tick of more than a millisecond"
		}
	}
	return claims
}

func (p *Plan) combFigure(all []row) figure.Figure {
	f := figure.Figure{
		Name: "comb", Title: judge.Say("%v connections lose a segment each within %v: when do they retransmit?",
			float64(p.Connections), p.Outage),
		Caption: "4.4BSD's sweep retransmits all at one instant. Ticks that timers share make a tooth each. Without a " +
			"tick, retransmissions are spread like the losses. The axis is logarithmic: 4.4BSD's tooth is 500 times as high " +
			"as the ground.",
		X:     figure.Axis{Label: "since the outage began, ms", Lo: 950, Hi: 1550},
		Y:     figure.Axis{Label: "retransmissions per millisecond", Log: true, Lo: 1, Hi: 2 * float64(p.Connections)},
		Marks: []figure.Mark{{Label: "rate of the losses", At: float64(p.Connections) / judge.Ms(p.Outage)}},
	}
	drawn := []time.Duration{time.Microsecond, 10 * time.Millisecond, 100 * time.Millisecond}
	for i := range all {
		r := &all[i]
		if r.Phase != tcptimers.PhaseCountdown && !(r.Phase == tcptimers.PhaseShared &&
			strings.HasPrefix(r.label(), "tick") && slices.Contains(drawn, r.Tick)) {
			continue
		}
		s := figure.Series{Name: r.label(), Kind: figure.Bars}
		for _, b := range r.Comb {
			if at := float64(b[0]); at >= f.X.Lo && at <= f.X.Hi {
				s.Add(at, float64(b[1]))
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	return f
}
