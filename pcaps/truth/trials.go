package truth

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"tcpwheel/netstack/sim"
	"tcpwheel/netstack/sim/host"
	"tcpwheel/pcaps/damage"
	"tcpwheel/pcaps/replay"
	"tcpwheel/pcaps/tasks"
	"tcpwheel/tcptimers"
)

// Trials simulates captures of connections under some timers, and the same connections under
// others, to judge replays of the captures. What is lost follows the transmissions, the time, or
// the number of the packet: one trial in three each, as the three keys of a replay.
type Trials struct {
	Seeds  int    // trials for each of 45 combinations, at least 1
	First  uint64 // the first seed
	Fewest int    // losses of a verdict; 0 is the replay's bound

	// Damages, if any, are made of the captures, which are then judged instead of the undamaged ones:
	// of each trial PerTrial damages in turn, each at one point of capture. 0 is all.
	Damages  []*damage.Damage
	PerTrial int

	every int // run only each so many of the plan, for short tests; 0 is all
}

// trialPolicies are the policies that replays of trials try.
var trialPolicies = []string{"linux", "rfc6298", "rfc7765", "per-segment@1ms", "per-segment@100ms", "per-segment@500ms", "bsd"}

// trial is a simulated capture of several connections.
type trial struct {
	scenario Scenario // of all of them, but for what is lost
	fates    int      // 0: by transmission, 1: by time, 2: by number
	part     float64  // of the packets that are lost
	conns    int
	seed     uint64
	fewest   int
	damages  []*damage.Damage
}

// trialApps are the senders' applications, and how many bytes they write.
var trialApps = []struct {
	app   func() host.App
	bytes uint64
}{
	{func() host.App { return &host.Bulk{Bytes: 300_000, Finish: true} }, 300_000},
	{func() host.App {
		return &host.OnOff{Burst: 20_000, Pause: 700 * time.Millisecond, Bursts: 15, Finish: true}
	}, 300_000},
	{func() host.App {
		return &host.OnOff{Burst: 900, Pause: 450 * time.Millisecond, Bursts: 40, Finish: true}
	}, 36_000},
}

// plan returns the trials.
func (t *Trials) plan() (all []trial) {
	seed := t.First
	for range t.Seeds {
		for _, name := range tcptimers.PolicyNames() {
			for fates := range 3 {
				for i := range trialApps {
					seed++
					r := rand.New(rand.NewPCG(seed, 0x747269616c))
					rtt := time.Duration(4e6 * math.Exp(r.Float64()*math.Log(180.0/4)))
					all = append(all, trial{
						fates: fates, part: 0.02 + 0.06*r.Float64(), conns: 2 + r.IntN(7), seed: seed, fewest: t.Fewest,
						scenario: Scenario{
							Policy: tcptimers.MustPolicy(name), SACK: r.IntN(4) > 0, Timestamps: r.IntN(4) > 0, RTT: rtt, Rate: 20_000_000,
							Jitter: rtt / 100, App: trialApps[i].app, Upstream: r.IntN(3) == 0, Span: 5 * time.Minute,
						},
					})
					all[len(all)-1].scenario.Reorder = []float64{0, 0, 0.01}[r.IntN(3)]
				}
			}
		}
	}
	return some(all, t.every)
}

// Run simulates and replays the plan on all processors, and returns how many trials it had. The
// result does not depend on the number of processors.
func (t *Trials) Run(ctx context.Context) (*Replays, int, error) {
	if t.Seeds < 1 {
		return nil, 0, fmt.Errorf("truth: %d seeds of trials, want 1 and more", t.Seeds)
	}
	all := t.plan()
	each := make([]Replays, len(all))
	n := t.PerTrial
	if n == 0 {
		n = len(t.Damages)
	}
	for i := range all {
		for k := range min(n, len(t.Damages)) {
			all[i].damages = append(all[i].damages, t.Damages[(i*n+k)%len(t.Damages)])
		}
	}
	err := tasks.Each(ctx, len(all), runtime.GOMAXPROCS(0), func(_ context.Context, i int) error { return all[i].run(&each[i]) })
	if err != nil {
		return nil, 0, err
	}
	sum := &Replays{}
	for i := range each {
		sum.Add(&each[i])
	}
	return sum, len(all), nil
}

// name identifies the trial.
func (t *trial) name() string {
	by := [3]string{"transmission", "time", "number"}[t.fates]
	return fmt.Sprintf("%s rtt=%v lost by %s seed=%d", t.scenario.Policy.Name, t.scenario.RTT.Round(time.Microsecond), by, t.seed)
}

// run simulates the trial under all timers, and judges the replays of its captures.
func (t *trial) run(r *Replays) error {
	others := slices.DeleteFunc(slices.Clone(trialPolicies), func(text string) bool { return text == t.scenario.Policy.Name })
	tw := twins{name: t.name(), captured: t.scenario.Policy.Name, study: studyOf(others...)}
	tw.study.Fewest = t.fewest
	tw.under = make([][]flowRuns, len(tw.study.Choices))
	var results [Sides][]*replay.Result
	var captures [Sides][]damage.Packets
	for n := range t.conns {
		s := t.scenario
		s.Seed = t.seed*100 + uint64(n)
		s.Loss = t.losses(n)
		w, files, err := s.capture(len(t.damages) > 0)
		if err != nil {
			return err
		}
		var at [Sides]*replay.Result
		for point := range at {
			at[point], err = resultOf(tw.study, tw.name, anyConn, func(rec *replay.Recorder) error {
				for i := range w.Packets[point] {
					rec.Add(&w.Packets[point][i])
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if at[AtA] == nil || at[InMiddle] == nil || at[AtB] == nil {
			continue // there was no loss
		}
		for point := range at {
			results[point] = append(results[point], at[point])
		}
		for point := range files {
			captures[point] = append(captures[point], files[point])
		}
		tw.flow = append(tw.flow, flowRuns{w.Flow, w.Flow})
		for i := range tw.study.Choices {
			other := s
			other.Policy = tw.study.Choices[i].Timers()
			other.Policy.DelAck = s.Policy.DelAck // the receiver stays as it is
			w, err := Simulate(other)
			if err != nil {
				return err
			}
			tw.under[i] = append(tw.under[i], flowRuns{w.Flow, w.Flow})
		}
	}
	for i, d := range t.damages {
		side := Side((t.seed + uint64(i)) % uint64(Sides))
		if err := tw.judgeDamaged(r, side, d, captures[side]); err != nil {
			return err
		}
	}
	for side := range results {
		if len(t.damages) == 0 {
			tw.judge(r, Side(side), results[side])
		}
	}
	return nil
}

// losses draws what the n-th connection loses.
func (t *trial) losses(n int) sim.Losses {
	r := rand.New(rand.NewPCG(t.seed, uint64(n)))
	switch t.fates {
	case 0:
		return sim.Losses{LostTransmissions(r, 300_000, 1448, t.part)}
	case 1:
		var all sim.Outages
		for at := time.Duration(0); at < t.scenario.Span; {
			at += time.Duration(r.ExpFloat64() * float64(2*time.Second))
			end := at + time.Duration(2e6*math.Exp(r.Float64()*math.Log(300))) // 2 to 600 ms
			all = append(all, sim.Window{From: at, To: end})
			at = end + time.Millisecond
		}
		return sim.Losses{all}
	}
	if r.IntN(3) == 0 {
		return sim.Losses{sim.GilbertElliott{P: t.part / 3, R: 0.35, Bad: 1}}
	}
	return sim.Losses{sim.Bernoulli{P: t.part}}
}

// LostTransmissions draws which transmissions of a stream are lost: of each segment, each
// transmission alone. At least one is.
func LostTransmissions(r *rand.Rand, bytes, size uint64, part float64) (all sim.LostRanges) {
	const transmissions = 7 // later ones arrive
	for at := uint64(0); at < bytes; at += size {
		for n := range uint32(transmissions) {
			if r.Float64() < part || len(all) == 0 && at+size >= bytes {
				all = append(all, sim.LostRange{From: at, To: at + 1, Attempt: n + 1})
			}
		}
	}
	return all
}
