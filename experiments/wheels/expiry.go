package wheels

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/tcptimers"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// expiryPlan is the plan of the study.
type expiryPlan struct {
	Timers    int             `plan:"timers" min:"100" max:"10000000"`
	Shortest  time.Duration   `plan:"shortest" min:"1us" max:"1h"`
	Longest   time.Duration   `plan:"longest" min:"1us" max:"24h"`
	Ticks     []time.Duration `plan:"ticks" min:"1us" max:"10s"`
	Schemes   []string        `plan:"schemes"`
	BSDTick   time.Duration   `plan:"bsd_tick" min:"1ms" max:"10s"`
	BSD       []int           `plan:"bsd_counts" min:"1" max:"128"`
	FirstSeed int             `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int             `plan:"seeds" min:"1" max:"1000"`
}

// expiryCell is the errors at one granularity under one seed, in ticks.
type expiryCell struct {
	Tick  time.Duration `json:"tick_s"`          // the granularity G
	Count int           `json:"count,omitempty"` // ticks of a 4.4BSD timer; 0: facilities
	Seed  int           `json:"seed"`

	Early    int      `json:"early"`            // timers that expired before their deadline
	Mean     float64  `json:"mean"`             // from the deadline to expiry, mean
	Greatest float64  `json:"greatest"`         // the same, greatest
	KS       float64  `json:"ks"`               // p-value of errors that are even over a tick
	Differ   []string `json:"differ,omitempty"` // schemes with other errors than the first
}

// Expiry is the study.
var Expiry = experiments.Define(experiments.Spec[expiryPlan, expiryCell]{
	ID: "E12", Name: "expiry", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/expiry", Files: files,
	Words: func() experiments.Words { return expiryWords },
	Check: func(p *expiryPlan) error {
		if p.Longest <= p.Shortest {
			return fmt.Errorf("longest: %v, want more than shortest, %v", p.Longest, p.Shortest)
		}
		return nil
	},
	Cells: expiryCells, Judge: expiryJudge,
})

func expiryCells(p *expiryPlan) (all []experiments.Cell[expiryCell]) {
	for _, tick := range p.Ticks {
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("tick=%v", tick),
			1e-6*float64(p.Timers*len(p.Schemes)), func(seed int) (expiryCell, error) {
				return expiryFacilities(p, tick, seed)
			})...)
	}
	for _, n := range p.BSD {
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("bsd=%d", n),
			1e-7*float64(p.Timers), func(seed int) (expiryCell, error) { return expiryBsd(p, n, seed) })...)
	}
	return all
}

// expiryTimer is a timer of the work that all granularities and schemes share.
type expiryTimer struct {
	start, deadline wheel.Time
}

// expiryWork draws the timers of a seed, in the order of their starts.
func expiryWork(p *expiryPlan, seed int) []expiryTimer {
	rng := rand.New(rand.NewPCG(uint64(seed), 0xe12))
	all := make([]expiryTimer, p.Timers)
	for i := range all {
		start := wheel.Time(rng.Int64N(int64(time.Minute)))
		all[i] = expiryTimer{start, start.Add(p.Shortest + time.Duration(rng.Int64N(int64(p.Longest-p.Shortest))))}
	}
	slices.SortFunc(all, func(a, b expiryTimer) int { return cmp.Compare(a.start, b.start) })
	return all
}

// expiryFacilities runs the work in each scheme.
func expiryFacilities(p *expiryPlan, tick time.Duration, seed int) (expiryCell, error) {
	timers := expiryWork(p, seed)
	var first []time.Duration
	c := expiryCell{Tick: tick, Seed: seed}
	for i, scheme := range p.Schemes {
		f, err := wheel.New(scheme, wheel.Config{Tick: tick})
		if err != nil {
			return c, err
		}
		errors := expiryRun(f, timers)
		if i == 0 {
			first = errors
		} else if !slices.Equal(errors, first) {
			c.Differ = append(c.Differ, scheme)
		}
	}
	c.judge(first, tick, 0)
	return c, nil
}

// expiryRun starts the timers at their times and returns the error of each.
func expiryRun(f wheel.Facility, timers []expiryTimer) []time.Duration {
	errors := make([]time.Duration, len(timers))
	f.Reserve(len(timers))
	expire := func(t wheel.Timer) {
		i := f.Owner(t)
		errors[i] = f.Now().Sub(timers[i].deadline)
	}
	last := wheel.Time(0)
	for i, t := range timers {
		f.Advance(t.start, 0, expire)
		f.Schedule(f.New(uint64(i)), t.deadline)
		last = max(last, t.deadline)
	}
	f.Advance(last.Add(time.Hour), 0, expire)
	return errors
}

// expiryBsd returns the errors of timers of n ticks under 4.4BSD's sweep.
func expiryBsd(p *expiryPlan, n, seed int) (expiryCell, error) {
	policy, err := tcptimers.NewPolicy("bsd")
	if err != nil {
		return expiryCell{}, err
	}
	policy.Tick = p.BSDTick
	c := expiryCell{Tick: p.BSDTick, Count: n, Seed: seed}
	interval := time.Duration(n) * p.BSDTick
	timers := expiryWork(p, seed)
	errors := make([]time.Duration, len(timers))
	for i, t := range timers {
		errors[i] = policy.Deadline(t.start, interval).Sub(t.start) - interval
	}
	c.judge(errors, p.BSDTick, -1)
	return c, nil
}

// judge describes errors that begin at base ticks.
func (c *expiryCell) judge(errors []time.Duration, tick time.Duration, base float64) {
	ticks := make([]float64, len(errors))
	for i, e := range errors {
		if e < 0 {
			c.Early++
		}
		ticks[i] = float64(e) / float64(tick)
	}
	c.Mean, c.Greatest = stat.Mean(ticks), stat.Quantile(ticks, 1)
	_, c.KS = stat.KolmogorovSmirnov(ticks, func(x float64) float64 { return min(max(x-base, 0), 1) })
}

var expiryWords = experiments.Words{
	Question: "How late do timers expire at each granularity, and is one ever early?",
	Found:    "By rounding up, a timer is late by {mean} in the mean and never early, in every scheme.",
}

func (c *expiryCell) late() float64 { return c.Mean }
func (c *expiryCell) differ() int   { return len(c.Differ) }

// expiryJudge judges the facilities of package wheel, and 4.4BSD's timers of n ticks.
func expiryJudge(p *expiryPlan, cells []expiryCell) (*experiments.Outcome, error) {
	ours := judge.Where(cells, func(c *expiryCell) bool { return c.Count == 0 })
	bsd := judge.Where(cells, func(c *expiryCell) bool { return c.Count > 0 })
	early := judge.Sum(ours, func(c *expiryCell) int { return c.Early })
	uneven := judge.Count(ours, func(c *expiryCell) bool { return c.KS <= 0.01 })
	differ := judge.Sum(ours, (*expiryCell).differ)
	// How far 4.4BSD's timers expire before n ticks, and how late the latest one is, in ticks.
	short := -judge.Mean(bsd, (*expiryCell).late)
	last := judge.Most(bsd, func(c *expiryCell) float64 { return c.Greatest }).Greatest
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "never-early", Class: experiments.Check, Source: "RFC 6298 §5", Tag: experiments.Standard,
			Text:     "no timer expires before its deadline",
			Measured: judge.Said("%d of %d early", early, p.Timers*len(ours)).Judging(float64(early)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		experiments.Claim{
			Name: "mean", Class: experiments.Law, Source: "definition of rounding up", Tag: experiments.Computed,
			Text:     "a timer is late by G/2 in the mean",
			Basis:    "2 % of the mean, set for this project",
			Measured: experiments.MeasuredWithin(judge.Student(judge.Values(ours, (*expiryCell).late)), "ticks"),
			Expected: experiments.Within(0.5, 0.01, ""),
		},
		experiments.Claim{
			Name: "even", Class: experiments.Check, Source: "definition of rounding up", Tag: experiments.Computed,
			Text: "errors are spread evenly over a tick",
			Measured: judge.Said("%d of %d samples differ at p ≤ 0.01", uneven, len(ours)).
				Judging(100 * float64(uneven) / float64(len(ours))),
			Expected: experiments.AtMost(5, "%, as few as chance gives"),
		},
		experiments.Claim{
			Name: "agree", Class: experiments.Check, Source: "contract of package wheel", Tag: experiments.Computed,
			Text:     "all schemes expire each timer at the same tick",
			Measured: judge.Said("%d of %d runs differ", differ, len(ours)*(len(p.Schemes)-1)).Judging(float64(differ)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		experiments.Claim{
			Name: "bsd-countdown", Class: experiments.Law, Source: "4.4BSD, tcp_slowtimo", Tag: experiments.FromPrint,
			Text:      "4.4BSD's timer of n ticks takes more than n-1 and at most n of them",
			Published: "((n-1)·G, n·G]",
			Measured:  judge.Said("%v ticks below n in the mean, at most n", short),
			Expected: experiments.Whether(last <= 0 && math.Abs(short-0.5) < 0.01,
				"half a tick below n in the mean, never beyond n"),
		},
	)
	return out, nil
}
