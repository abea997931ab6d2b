package granularity

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/netstack/sim"
	"tcpwheel/tcptimers"
)

// The parts of the study.
const (
	partEnds    = "ends"    // both ends of all factors crossed, and levels in between alone
	partCrossed = "crossed" // all levels crossed
	partMap     = "map"     // streams
	partStacks  = "stacks"  // whole stacks
)

// The works, and the paths of each. A stream's writes and a transfer have no tails to speak of.
const (
	responses = "responses"
	stream    = "stream"
	transfers = "transfers"
)

var paths = map[string][]string{
	responses: {"random", "burst", "tails", "steady", "spike"},
	stream:    {"random", "burst", "steady", "spike"},
	transfers: {"random", "burst", "steady", "spike"},
}

// unit is places that share a cell, with the settings that are compared there.
type unit struct {
	places   []Place
	settings []Setting
}

// units returns the units of a plan; each is a cell under each seed.
func (p *Plan) units() (all []unit) {
	ends := append(p.ends(), p.levels()...)
	for _, rtt := range p.RTT {
		for _, work := range []string{responses, stream, transfers} {
			for _, path := range paths[work] {
				all = append(all, unit{[]Place{{Part: partEnds, Work: work, Path: path, RTT: rtt, Gap: gapOf(work)}}, ends})
			}
		}
	}
	if p.Crossed > 0 {
		at := Place{Part: partCrossed, Work: responses, Path: "random", RTT: p.Crossed}
		for chunk := range slices.Chunk(p.all(), 128) {
			all = append(all, unit{[]Place{at}, chunk})
		}
	}
	for _, rtt := range p.MapRTT {
		for _, gap := range p.Gaps {
			u := unit{settings: p.streams()}
			for _, losses := range p.Losses {
				for _, times := range p.Times {
					u.places = append(u.places, Place{partMap, stream, "random", rtt, gap, losses, times})
				}
			}
			all = append(all, u)
		}
	}
	for _, rtt := range p.RTT {
		all = append(all, unit{[]Place{stacksAt(rtt)}, p.stacks()})
	}
	return all
}

// gapOf returns the gap between the writes of a stream that is not in the map.
func gapOf(work string) float64 {
	if work == stream {
		return 0.5
	}
	return 0
}

func cells(p *Plan) (all []experiments.Cell[Cell]) {
	names := map[string]int{}
	for _, u := range p.units() {
		at := u.places[0]
		name := fmt.Sprintf("%s %s path=%s rtt=%v gap=%v", at.Part, at.Work, at.Path, at.RTT, at.Gap)
		names[name]++
		for _, seed := range p.seeds() {
			all = append(all, experiments.Cell[Cell]{
				Name: fmt.Sprintf("%s part=%d seed=%d", name, names[name], seed),
				Cost: p.cost(&u),
				Run:  func(ctx context.Context) (Cell, error) { return p.run(ctx, &u, seed) },
			})
		}
	}
	return all
}

// cost estimates the time of a cell in seconds.
func (p *Plan) cost(u *unit) (seconds float64) {
	const run, segment, object = 2e-4, 1e-6, 3e-6
	for i := range u.places {
		s := p.spec(&u.places[i], &u.settings[0], 1)
		seconds += run + float64(segment*s.Segments()) + float64(object*float64(s.Work.Objects))
	}
	return seconds * float64(len(u.settings))
}

// run runs all settings at the places of a unit.
func (p *Plan) run(ctx context.Context, u *unit, seed int) (c Cell, err error) {
	for i := range u.places {
		var all []Run
		for k := range u.settings {
			s := p.spec(&u.places[i], &u.settings[k], seed)
			r, err := testbed.Run(ctx, s)
			if err != nil {
				return c, fmt.Errorf("%+v: %w", u.settings[k], err)
			}
			all = append(all, p.measure(&u.places[i], &r))
		}
		c.Runs = append(c.Runs, all)
	}
	return c, nil
}

// warm is how many first objects are neither lost nor counted, so that the round trip is known.
const warm = 4

// spec returns a run.
func (p *Plan) spec(at *Place, set *Setting, seed int) *testbed.Spec {
	jitter := min(p.Jitter, at.RTT/4)
	if at.Path == "steady" {
		jitter = 0
	}
	fates := fmt.Sprintf("fates:%v", p.Loss)
	switch {
	case at.Part == partMap:
		fates = fmt.Sprintf("fates:%v,burst=%d,times=%d", p.Loss, at.Losses, at.Times)
	case at.Path == "burst":
		fates += fmt.Sprintf(",burst=%d", p.Burst)
	case at.Path == "tails":
		fates = fmt.Sprintf("tail:1,p=%v", p.Tails)
	}
	lost, err := testbed.ParseFates(fates)
	if err != nil {
		panic(fmt.Sprintf("BUG: %v", err)) // of values that the plan bounds
	}
	s := &testbed.Spec{
		Kind: testbed.Engine, Timers: testbed.MustTimers(set.sender()), Peer: testbed.MustTimers(set.receiver()),
		Seed:  uint64(seed),
		Work:  testbed.Work{Shape: testbed.Answers, Objects: warm + p.Responses, Warm: warm, Bytes: p.Bytes},
		Path:  testbed.Path{Acks: sim.LinkConfig{Delay: at.RTT / 2}, Fates: lost},
		Flows: 1, Stagger: tcptimers.SlowTick, // the ticks are at random phases
		Limit: time.Hour,
	}
	s.Path.Data = sim.LinkConfig{Delay: at.RTT - at.RTT/2, Jitter: sim.Jitter{Amount: jitter, Hold: 10 * jitter}}
	if at.Path == "spike" {
		s.Path.Spikes = testbed.Spikes{Rise: 4 * at.RTT, Lasts: 10 * at.RTT, Every: 100 * at.RTT}
	}
	switch at.Work {
	case stream:
		s.Work.Shape, s.Work.Objects, s.Work.Bytes = testbed.Stream, warm+p.Writes, segment
		s.Work.Think = time.Duration(at.Gap * float64(at.RTT))
	case transfers:
		s.Work.Objects, s.Work.Warm, s.Work.Bytes = 1+p.Transfers, 1, p.Transfer
	}
	return s
}

// segment is the bytes of a full segment without timestamps.
const segment = 1460

// measure returns what counts of a result.
func (p *Plan) measure(at *Place, r *testbed.Result) Run {
	times := slices.Clone(r.Times)
	slices.Sort(times)
	sum := time.Duration(0)
	for _, d := range times {
		sum += d
	}
	run := Run{
		Mean: sum / time.Duration(len(times)), Objects: len(times), Unfinished: r.Unfinished, Sent: r.Sent,
		Lost: r.Lost, Spurious: r.Spurious, Repaired: r.Repaired, Waited: r.WaitSum,
		Timeouts: r.Timeouts, Probes: r.Probes, Operations: r.Wheel.Starts + r.Wheel.Stops + r.Wheel.Expiries,
	}
	if at.Part != partEnds && at.Part != partStacks || at.Work != responses {
		return run
	}
	// All seeds together, 1 % of the objects are slower than p99: all of them may be of one seed.
	for _, d := range times[len(times)-min(len(times), slowest(len(times)*p.Seeds)):] {
		run.Slowest = append(run.Slowest, d.Truncate(time.Microsecond))
	}
	return run
}

// slowest returns how many of n objects must be known for their 99 % quantile.
func slowest(n int) int { return n - int(math.Ceil(0.99*float64(n)-1e-9)) + 1 }

// rowsOf returns the rows of all runs.
func rowsOf(p *Plan, cells []Cell) (rows []Row) {
	seeds := p.seeds()
	for i, u := range p.units() {
		for k, seed := range seeds {
			for a, runs := range cells[i*len(seeds)+k].Runs {
				for b := range runs {
					rows = append(rows, Row{Seed: seed, Place: u.places[a], Setting: u.settings[b], Run: runs[b]})
				}
			}
		}
	}
	return rows
}
