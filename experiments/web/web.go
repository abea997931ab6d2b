// Package web is study E18: answers of a web server over lossy paths, by the sender's timers.
package web

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/netstack/tcp"
	"tcpwheel/wheel"
)

//go:embed *.md *.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Flows   int `plan:"flows" min:"1" max:"100000"`
	Request int `plan:"request" unit:"size" min:"1" max:"1460"`

	Shares     []float64       `plan:"shares" min:"0" max:"1"`
	Sizes      []int           `plan:"sizes" unit:"size" min:"1" max:"10000000" order:"rising"`
	TripShares []float64       `plan:"round_trip_shares" min:"0" max:"1"`
	RoundTrips []time.Duration `plan:"round_trips" min:"1ms" max:"10s" order:"rising"`
	Rate       int             `plan:"rate" unit:"rate" min:"100000" max:"100000000000"`

	LossFrom float64         `plan:"loss_from" unit:"probability" min:"0.0001" max:"0.3"`
	LossTo   float64         `plan:"loss_to" unit:"probability" min:"0.0001" max:"0.3"`
	Bursts   []time.Duration `plan:"bursts" min:"1ms" max:"10s" order:"rising"`
	Longer   []time.Duration `plan:"longer_bursts" min:"1ms" max:"10s" order:"rising" optional:"true"`
	Share    float64         `plan:"timeout_share" min:"0.01" max:"0.99"`

	Without      testbed.Timers   `plan:"without_probes"`
	With         testbed.Timers   `plan:"with_probes"`
	Others       []testbed.Timers `plan:"timers" optional:"true"`
	GVisorBursts []time.Duration  `plan:"gvisor_bursts" min:"1ms" max:"10s" order:"rising" optional:"true"`

	SizeFactors []float64     `plan:"size_factors" min:"0.01" max:"100" optional:"true"`
	TripFactors []float64     `plan:"round_trip_factors" min:"0.01" max:"100" optional:"true"`
	Parallel    []int         `plan:"parallel" min:"2" max:"64" optional:"true"`
	VariedBurst time.Duration `plan:"varied_burst" min:"1ms" max:"10s"`
	FirstSeed   int           `plan:"first_seed" min:"1" max:"1000000"`

	Seeds int `plan:"seeds" min:"1" max:"1000"`
	// OtherSeeds are those of what no published result is about: other timers, bursts and assumptions.
	OtherSeeds int `plan:"other_seeds" min:"1" max:"1000"`
}

// Cell is the answers of a seed.
type Cell struct {
	Timers string        `json:"timers"`           // of the sender: their text, or gVisor's own TCP
	Burst  time.Duration `json:"burst_s"`          // mean length of the bursts that lose all packets
	Varied string        `json:"varied,omitempty"` // change of sizes, round trips or connections; or nothing
	Seed   int           `json:"seed"`

	Flows int           `json:"flows"`  // answers
	Took  time.Duration `json:"took_s"` // sum over the answers, from the request to the last byte
	Tail  []int64       `json:"tail"`   // times of the longest twentieth of them in µs, the longest first

	Lossy     int           `json:"lossy"`        // answers that lost a segment
	LossyTook time.Duration `json:"lossy_took_s"` // sum over these
	Inflation float64       `json:"inflation"`    // sum of their times relative to those without losses
	Worst     []float64     `json:"worst"`        // greatest twentieth of these ratios, 1 without losses

	Lost int `json:"lost"` // segments, retransmissions included
	// gVisor's TCP reports only Timeouts; its other counts are 0.
	Sent     uint64 `json:"sent"`     // segments with data, retransmissions included
	Fast     uint64 `json:"fast"`     // retransmissions in fast recovery
	Late     uint64 `json:"late"`     // retransmissions by a timeout or in the slow start after it
	Probes   uint64 `json:"probes"`   // tail loss probes
	Timeouts uint64 `json:"timeouts"` // expiries
	Episodes uint64 `json:"episodes"` // timeouts that do not follow a timeout
	Blind    uint64 `json:"blind"`    // of these, those outside of a recovery: without a sign of a loss
	Spurious uint64 `json:"spurious"` // duplicates that the client reported by DSACK
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E18", Name: "web", Bed: "pair", Class: experiments.Published, Files: files,
	Words: func() experiments.Words { return words },
	Check: func(p *Plan) error {
		if err := checkShares("shares", "sizes", p.Shares, len(p.Sizes)); err != nil {
			return err
		}
		if err := checkShares("round_trip_shares", "round_trips", p.TripShares, len(p.RoundTrips)); err != nil {
			return err
		}
		if p.LossTo < p.LossFrom {
			return fmt.Errorf("loss_to: %v, want at least loss_from, %v", p.LossTo, p.LossFrom)
		}
		return nil
	},
	Cells: cells,
	Judge: judgeWeb,
})

func checkShares(name, of string, shares []float64, n int) error {
	if len(shares) != n || n < 2 || shares[0] != 0 || shares[n-1] != 1 || !slices.IsSorted(shares) {
		return fmt.Errorf("%s: %v, want as many as %s, %d, rising from 0 to 1", name, shares, of, n)
	}
	return nil
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	add := func(timers testbed.Timers, burst time.Duration, v variation, seeds int) {
		for seed := p.FirstSeed; seed < p.FirstSeed+seeds; seed++ {
			name := fmt.Sprintf("timers=%q burst=%v seed=%d", timers.Text, burst, seed)
			if v.name != "" {
				name += " " + v.name
			}
			c := Cell{Timers: timers.Text, Burst: burst, Varied: v.name, Seed: seed, Flows: p.Flows}
			all = append(all, experiments.Cell[Cell]{
				Name: name, Cost: 2e-4 * float64(p.Flows*v.connections),
				Run: func(context.Context) (Cell, error) { return run(p, timers, v, c) },
			})
		}
	}
	compared := []testbed.Timers{p.Without, p.With}
	for _, timers := range compared {
		for _, burst := range p.Bursts {
			add(timers, burst, asDrawn, p.Seeds)
		}
		for _, burst := range p.Longer {
			add(timers, burst, asDrawn, p.OtherSeeds)
		}
	}
	for _, timers := range p.Others {
		for _, burst := range p.Bursts {
			add(timers, burst, asDrawn, p.OtherSeeds)
		}
	}
	for _, burst := range p.gvisor() {
		for seed := p.FirstSeed; seed < p.FirstSeed+p.OtherSeeds; seed++ {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("gvisor burst=%v seed=%d", burst, seed),
				Cost: 3e-3 * float64(p.Flows),
				Run: func(ctx context.Context) (Cell, error) {
					return gvisorRun(ctx, p, Cell{Timers: gvisor, Burst: burst, Seed: seed, Flows: p.Flows})
				},
			})
		}
	}
	for _, v := range p.variations() {
		for _, timers := range compared {
			add(timers, p.VariedBurst, v, p.OtherSeeds)
		}
	}
	return all
}

// variation is a change of what is assumed.
type variation struct {
	name        string
	size, trip  float64 // factors
	connections int     // that bring an answer each, at once
}

var asDrawn = variation{size: 1, trip: 1, connections: 1}

// variations returns the changes of the plan, each alone.
func (p *Plan) variations() (all []variation) {
	for _, x := range p.SizeFactors {
		all = append(all, variation{fmt.Sprintf("sizes × %v", x), x, 1, 1})
	}
	for _, x := range p.TripFactors {
		all = append(all, variation{fmt.Sprintf("round trips × %v", x), 1, x, 1})
	}
	for _, n := range p.Parallel {
		all = append(all, variation{fmt.Sprintf("%d answers at once", n), 1, 1, n})
	}
	return all
}

// answer is the random parameters of one answer.
type answer struct {
	seed        uint64
	bytes       int
	trip        time.Duration
	loss        float64
	connections int // that bring so many bytes each, at once
}

// draw returns answer i of a seed, the same for all timers and lengths of bursts.
func (p *Plan) draw(v variation, seed, i int) answer {
	key := testbed.Key(uint64(seed), uint64(i))
	return answer{
		seed:  key,
		bytes: min(max(int(v.size*between(p.Shares, p.Sizes, testbed.Uniform(key, 1))), 1), p.Sizes[len(p.Sizes)-1]),
		trip:  time.Duration(v.trip * between(p.TripShares, p.RoundTrips, testbed.Uniform(key, 2))),
		loss:  p.LossFrom + float64((p.LossTo-p.LossFrom)*testbed.Uniform(key, 3)),

		connections: v.connections,
	}
}

// between returns the value at a share u in [0, 1), by linear interpolation.
func between[T ~int | ~int64](shares []float64, values []T, u float64) float64 {
	i := 1
	for i < len(shares)-1 && shares[i] <= u {
		i++
	}
	part := (u - shares[i-1]) / (shares[i] - shares[i-1])
	return float64(values[i-1]) + float64(part*float64(values[i]-values[i-1]))
}

// slot is the time step of the weather.
const slot = time.Millisecond

// weather is the path of an answer: a Markov chain of two states in time, the same for all timers.
// The bad state loses all packets. The first state has the stationary probability.
type weather struct {
	answer
	enter, leave float64
	at           int64 // slot
	bad          bool
}

func (a answer) weather(burst time.Duration) *weather {
	leave := float64(slot) / float64(burst)
	return &weather{
		answer: a, enter: a.loss / (1 - a.loss) * leave, leave: leave,
		bad: testbed.Uniform(a.seed, 4) < a.loss,
	}
}

// lost reports whether the path is bad at an instant, not before the last call's.
func (w *weather) lost(at wheel.Time) bool {
	for w.at < int64(at)/int64(slot) {
		w.at++
		u := testbed.Uniform(w.seed, 5, uint64(w.at))
		if w.bad {
			w.bad = u >= w.leave
		} else {
			w.bad = u < w.enter
		}
	}
	return w.bad
}

// run sends all answers of a cell.
func run(p *Plan, timers testbed.Timers, v variation, c Cell) (Cell, error) {
	for i := range p.Flows {
		a := p.draw(v, c.Seed, i)
		took, n, counters, err := p.send(timers, a, a.weather(c.Burst).lost)
		if err != nil {
			return c, fmt.Errorf("answer %d: %w", i, err)
		}
		inflation := 1.0
		if n > 0 {
			alone, _, _, err := p.send(timers, a, never)
			if err != nil {
				return c, fmt.Errorf("answer %d: %w", i, err)
			}
			inflation = c.lossy(took, alone)
		}
		c.add(took, n, inflation)
		c.Sent += counters.TCPOrigDataSent + counters.RetransSegs
		c.Fast += counters.TCPFastRetrans
		c.Probes += counters.TCPLossProbes
		c.Late += counters.TCPTimeouts + counters.TCPSlowStartRetrans
		c.Timeouts += counters.TCPTimeouts
		episodes := counters.TCPTimeouts - counters.TCPLossFailures
		c.Episodes += episodes
		c.Blind += episodes - counters.TCPSackFailures - counters.TCPRenoFailures
		c.Spurious += counters.TCPDSACKRecv + counters.TCPDSACKOfoRecv
	}
	c.Tail, c.Worst = greatest(c.Tail), greatest(c.Worst)
	return c, nil
}

// never is a path without loss.
func never(wheel.Time) bool { return false }

// add counts an answer that lost n segments.
func (c *Cell) add(took time.Duration, n int, inflation float64) {
	c.Took += took
	c.Tail = append(c.Tail, took.Microseconds())
	c.Lost += n
	c.Worst = append(c.Worst, inflation)
}

// lossy counts an answer with losses. It returns its time relative to that without losses.
func (c *Cell) lossy(took, alone time.Duration) float64 {
	inflation := float64(took) / float64(alone)
	c.Lossy++
	c.LossyTook += took
	c.Inflation += inflation
	return inflation
}

// greatest returns the greatest twentieth of all, the greatest first.
func greatest[T cmp.Ordered](all []T) []T {
	slices.Sort(all)
	slices.Reverse(all)
	return all[:(len(all)+19)/20]
}

// headers is the bytes of the IP and TCP headers, with timestamps.
const headers = 52

// limit is the longest that an answer may take.
const limit = wheel.Time(time.Hour)

// send sends one answer, or those of several connections at once. It returns the time from the
// request to the last byte, the number of lost segments, and the server's counters. bad reports
// whether a packet that leaves the link is lost.
func (p *Plan) send(timers testbed.Timers, a answer, bad func(wheel.Time) bool) (took time.Duration, lost int,
	c tcp.Counters, err error) {
	link := sim.LinkConfig{Rate: uint64(p.Rate), Delay: a.trip / 2}
	down := link
	free := wheel.Time(0) // when the link is idle again
	down.Loss = sim.Losses{&testbed.StreamLoss{Rule: func(now wheel.Time, start, end uint64, _ uint32) bool {
		free = max(free, now).Add(time.Duration(8e9 * float64(end-start+headers) / float64(p.Rate)))
		hit := bad(free)
		if hit {
			lost++
		}
		return hit
	}}}
	cfg := timers.Config()
	cfg.Socket.NoDelay = true // or the last segment waits for earlier ACKs
	pair, err := testbed.NewPair(testbed.PairPlan{Seed: a.seed, Client: cfg, Server: cfg, Up: link, Down: down})
	if err != nil {
		return 0, 0, c, err
	}
	err = pair.Server.Listen(80, tcp.ListenConfig{Backlog: a.connections}, func() host.App {
		return &host.Responder{Request: uint32(p.Request), Response: uint32(a.bytes)}
	})
	if err != nil {
		return 0, 0, c, err
	}
	asked := make([]host.Requests, a.connections)
	for i := range asked {
		asked[i] = host.Requests{Request: uint32(p.Request), Response: uint32(a.bytes), Count: 1, Keep: true}
		if _, err := pair.Client.Dial(pair.Server, 80, nil, &asked[i]); err != nil {
			return 0, 0, c, err
		}
	}
	net := pair.World.Net
	for i := range asked {
		for len(asked[i].Latency) == 0 {
			if !net.Step() || net.Now() > limit {
				return 0, 0, c, fmt.Errorf("no end after %v of %d bytes", time.Duration(net.Now()), a.bytes)
			}
		}
		took = max(took, asked[i].Latency[0])
	}
	if faults := pair.World.Faults(); len(faults) > 0 {
		return 0, 0, c, faults[0]
	}
	return took, lost, pair.Server.Counters(), nil
}

// gvisor is the name of gVisor's own TCP in the place of a text of timers.
const gvisor = "gVisor's own TCP"

// gvisor returns the bursts for gVisor's TCP that the other timers have too.
func (p *Plan) gvisor() (all []time.Duration) {
	for _, burst := range p.GVisorBursts {
		if slices.Contains(p.Bursts, burst) {
			all = append(all, burst)
		}
	}
	return all
}

// gvisorRun is run with gVisor's own TCP as the server.
func gvisorRun(ctx context.Context, p *Plan, c Cell) (Cell, error) {
	for i := range p.Flows {
		a := p.draw(asDrawn, c.Seed, i)
		r, err := p.sendStacks(ctx, testbed.GVisor, p.Without, a, a.weather(c.Burst).lost)
		if err != nil {
			return c, fmt.Errorf("answer %d: %w", i, err)
		}
		inflation := 1.0
		if r.Lost > 0 {
			alone, err := p.sendStacks(ctx, testbed.GVisor, p.Without, a, never)
			if err != nil {
				return c, fmt.Errorf("answer %d: %w", i, err)
			}
			inflation = c.lossy(r.Times[0], alone.Times[0])
		}
		c.add(r.Times[0], r.Lost, inflation)
		c.Sent += uint64(r.Sent)
		c.Timeouts += r.Timeouts
	}
	c.Tail, c.Worst = greatest(c.Tail), greatest(c.Worst)
	return c, nil
}

// sendStacks is send with another subject as the server. Its counts are taken on the path.
func (p *Plan) sendStacks(ctx context.Context, kind testbed.Kind, timers testbed.Timers, a answer,
	bad func(wheel.Time) bool) (testbed.Result, error) {
	link := sim.LinkConfig{Rate: uint64(p.Rate), Delay: a.trip / 2}
	// Fates decide when a segment arrives, half a round trip after it left the link.
	rule := func(now wheel.Time, _, _ uint64, _ uint32) bool { return bad(now.Add(-link.Delay)) }
	r, err := testbed.Run(ctx, &testbed.Spec{
		Kind: kind, Timers: timers, Peer: p.Without, Seed: a.seed,
		Work:  testbed.Work{Shape: testbed.Answers, Objects: 1, Bytes: uint64(a.bytes), Request: uint32(p.Request)},
		Path:  testbed.Path{Data: link, Acks: link, Fates: testbed.FatesOf("weather", &testbed.StreamLoss{Rule: rule})},
		Flows: 1, Limit: time.Duration(limit),
	})
	if err == nil && r.Unfinished > 0 {
		err = fmt.Errorf("no end after %v of %d bytes", time.Duration(limit), a.bytes)
	}
	return r, err
}
