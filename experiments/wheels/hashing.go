package wheels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// hashingPlan is the plan of the study.
type hashingPlan struct {
	Timers    int      `plan:"timers" min:"100" max:"10000000"`
	Slots     []int    `plan:"slots" min:"2" max:"16777216" power:"two" order:"rising"`
	Spreads   []string `plan:"spreads" oneof:"random even one heartbeat"`
	Heartbeat int      `plan:"heartbeat" min:"1" max:"1000000"`
	Rotations int      `plan:"rotations" min:"1" max:"100"`
	Schemes   []string `plan:"schemes" oneof:"scheme6-list scheme6-eager scheme6"`
	FirstSeed int      `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int      `plan:"seeds" min:"1" max:"1000"`
}

// hashingCell is the cost of ticks under one spread and seed.
type hashingCell struct {
	Spread string `json:"spread"`
	M      int    `json:"m"`
	Seed   int    `json:"seed"`

	// Costs is the number of ticks by cost, in rising order.
	Costs  []hashingCost `json:"costs"`
	Differ []string      `json:"differ,omitempty"` // schemes whose ticks have other costs
}

// hashingCost is a number of timer records visited in a tick, and the ticks that visited so many.
type hashingCost struct {
	Looks int `json:"looks"`
	Ticks int `json:"ticks"`
}

// poissonMax returns the mean of the greatest of m draws from a Poisson distribution: the sum of
// the probabilities that it exceeds 0, 1, 2 and so on.
func poissonMax(mean float64, m int) (max float64) {
	k, term, below := 0.0, stat.Exp(-mean), 0.0
	if mean > 500 {
		// e^-mean underflows for great means. A draw falls 12 standard deviations below the mean once
		// in 10^31 times.
		k = math.Floor(mean - float64(12*math.Sqrt(mean)))
		log := float64(k*stat.Log(mean)) - mean
		for i := 2.0; i <= k; i++ {
			log -= stat.Log(i)
		}
		term, max = stat.Exp(log), k
	}
	for ; ; k++ {
		below += term
		term *= mean / (k + 1)
		exceed := 1 - stat.Power(min(below, 1), m)
		max += exceed
		if k > mean && exceed < 1e-9 {
			return max
		}
	}
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// Hashing is the study.
var Hashing = experiments.Define(experiments.Spec[hashingPlan, hashingCell]{
	ID: "E4", Name: "hashing", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/hashing", Files: files,
	Words: func() experiments.Words { return hashingWords },
	Cells: hashingCells, Judge: hashingJudge,
})

func hashingCells(p *hashingPlan) (all []experiments.Cell[hashingCell]) {
	for _, m := range p.Slots {
		for _, spread := range p.Spreads {
			all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("spread=%s M=%d", spread, m),
				1e-8*float64(len(p.Schemes))*float64(p.Timers*(p.Rotations+5)+m*p.Rotations),
				func(seed int) (hashingCell, error) { return hashingRun(p, spread, m, seed) })...)
		}
	}
	return all
}

// ticks draws the ticks at which timers are due, all after the rotations that are watched.
func (p *hashingPlan) ticks(spread string, m, seed int) []wheel.Time {
	r := rand.New(rand.NewPCG(uint64(seed), 0xe4))
	first := wheel.Time((p.Rotations + 1) * m)
	all := make([]wheel.Time, p.Timers)
	for i := range all {
		switch spread {
		case "random":
			all[i] = first + wheel.Time(r.IntN(1000*m))
		case "even":
			all[i] = first + wheel.Time(i)
		case "one":
			all[i] = first + wheel.Time(i*m)
		case "heartbeat":
			beats := int(first)/p.Heartbeat + 1 + r.IntN(1000*m)
			all[i] = wheel.Time(beats * p.Heartbeat)
		}
	}
	return all
}

func hashingRun(p *hashingPlan, spread string, m, seed int) (hashingCell, error) {
	c := hashingCell{Spread: spread, M: m, Seed: seed}
	ticks := p.ticks(spread, m, seed)
	var first []int
	for i, scheme := range p.Schemes {
		f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: m, Count: true})
		if err != nil {
			return c, err
		}
		f.Reserve(len(ticks))
		for _, at := range ticks {
			f.Schedule(f.New(0), at)
		}
		looks := make([]int, p.Rotations*m)
		before := f.Counts().TickVisits
		for t := range looks {
			if n, _ := f.Advance(f.Now()+1, 0, func(wheel.Timer) {}); n != 0 {
				return c, fmt.Errorf("%s: %d timers expired", scheme, n)
			}
			now := f.Counts().TickVisits
			looks[t], before = int(now-before), now
		}
		if i == 0 {
			first = looks
		} else if !slices.Equal(looks, first) {
			c.Differ = append(c.Differ, scheme)
		}
	}
	slices.Sort(first)
	for _, n := range first {
		if k := len(c.Costs); k > 0 && c.Costs[k-1].Looks == n {
			c.Costs[k-1].Ticks++
		} else {
			c.Costs = append(c.Costs, hashingCost{n, 1})
		}
	}
	return c, nil
}

var hashingWords = experiments.Words{
	Question: "What does the hash of a hashed wheel control: the mean cost of a tick, or its variance?",
	Found:    "The hash never changes the mean cost of a tick, n/M: {mean}. It decides the worst tick alone.",
}

// cost returns the mean of the records that a tick visits, and their variance.
func (c *hashingCell) cost() (mean, variance float64) {
	var ticks, looks, squares float64
	for _, of := range c.Costs {
		ticks += float64(of.Ticks)
		looks += float64(of.Ticks * of.Looks)
		squares += float64(of.Ticks * of.Looks * of.Looks)
	}
	mean = looks / ticks
	return mean, squares/ticks - float64(mean*mean)
}

// worst returns the most records that a tick visits.
func (c *hashingCell) worst() float64 { return float64(c.Costs[len(c.Costs)-1].Looks) }

// hashingSpread is the runs of a spread under all seeds, in the mean.
type hashingSpread struct {
	spread                string
	m                     int
	cost, variance, worst float64
	share, poisson        float64 // n/M, and the mean of the greatest of M Poisson draws
}

func hashingSpreads(p *hashingPlan, cells []hashingCell) (all []hashingSpread) {
	type key struct {
		m      int
		spread string
	}
	worst := map[int]float64{}
	for _, g := range judge.By(cells, func(c *hashingCell) key { return key{c.M, c.Spread} }) {
		share := float64(p.Timers) / float64(g.Key.m)
		if _, ok := worst[g.Key.m]; !ok {
			worst[g.Key.m] = poissonMax(share, g.Key.m)
		}
		all = append(all, hashingSpread{
			spread: g.Key.spread, m: g.Key.m, share: share, poisson: worst[g.Key.m],
			cost:     judge.Mean(g.Rows, func(c *hashingCell) float64 { mean, _ := c.cost(); return mean }),
			variance: judge.Mean(g.Rows, func(c *hashingCell) float64 { _, v := c.cost(); return v }),
			worst:    judge.Mean(g.Rows, (*hashingCell).worst),
		})
	}
	return all
}

// hashingJudge judges the mean of a tick's cost, its variance and the worst tick.
func hashingJudge(p *hashingPlan, cells []hashingCell) (*experiments.Outcome, error) {
	spreads := hashingSpreads(p, cells)
	odd := judge.Count(cells, func(c *hashingCell) bool {
		mean, _ := c.cost()
		share := float64(p.Timers) / float64(c.M)
		return math.Abs(mean-share) > 1e-9*share
	})
	differ := judge.Sum(cells, func(c *hashingCell) int { return len(c.Differ) })
	of := func(spread string, ratio func(s *hashingSpread) float64) float64 {
		return farthest(judge.Where(spreads, func(s *hashingSpread) bool { return s.spread == spread }), ratio)
	}
	const paper, computed = "Varghese & Lauck, §VI-A2", "definition, computed"
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "mean", Class: experiments.Law, Source: paper, Tag: experiments.FromSource, Published: "n/TableSize",
			Text:     "the mean cost of a tick is n/M, whatever the spread",
			Measured: judge.Said("%d of %d runs have another mean", odd, len(cells)).Judging(float64(odd)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		experiments.Claim{
			Name: "random-variance", Class: experiments.Law, Source: computed, Tag: experiments.Computed,
			Text: "a random spread has the variance of a binomial distribution", Basis: "set for this project",
			Measured: experiments.Measured(of("random", func(s *hashingSpread) float64 {
				return s.variance / s.share / (1 - 1/float64(s.m))
			}), "of it, at the M farthest from 1"),
			Expected: experiments.Within(1, 0.1, ""),
		},
		experiments.Claim{
			Name: "random-worst", Class: experiments.Law, Tag: experiments.Computed,
			Text: "its worst tick is that of a Poisson distribution", Basis: "set for this project",
			Source: "mean of the greatest of M Poisson draws, computed",
			Measured: experiments.Measured(of("random", func(s *hashingSpread) float64 { return s.worst / s.poisson }),
				"of it, at the M farthest from 1"),
			Expected: experiments.Within(1, 0.1, ""),
		},
		experiments.Claim{
			Name: "one-worst", Class: experiments.Law, Source: paper, Tag: experiments.FromSource, Published: "O(n) worst",
			Text: "timers that share a slot cost n in its tick",
			Measured: experiments.Measured(of("one", func(s *hashingSpread) float64 { return s.worst / float64(p.Timers) }),
				"of n"),
			Expected: experiments.Exactly(1, ""),
		},
		experiments.Claim{
			Name: "even-worst", Class: experiments.Law, Source: computed, Tag: experiments.Computed,
			Text: "an even spread has no tick above n/M, rounded up",
			Measured: experiments.Measured(of("even", func(s *hashingSpread) float64 { return s.worst / math.Ceil(s.share) }),
				"of it"),
			Expected: experiments.Exactly(1, ""),
		},
		experiments.Claim{
			Name: "layouts", Class: experiments.Check, Source: "contract of package wheel", Tag: experiments.Computed,
			Text: "all layouts of Scheme 6 pay the same in each tick",
			Measured: judge.Said("%d of %d runs differ", differ, len(cells)*(len(p.Schemes)-1)).
				Judging(float64(differ)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
	)
	least := slices.Min(p.Slots)
	out.Notes = append(out.Notes, judge.Say("Timers at multiples of %d ticks reach only the slots that are multiples of "+
		"the greatest divisor that %d and M share, %d of %d. So a heartbeat that is no power of two costs its ticks several "+
		"times the mean.", p.Heartbeat, p.Heartbeat, least/gcd(least, p.Heartbeat), least))
	t := experiments.Table{Name: "ticks", Title: judge.Say("Timer records visited per tick, %v timers", float64(p.Timers)),
		Columns: []string{"spread", "slots M", "mean", "n/M", "variance", "variance/mean", "worst tick, mean over seeds",
			"worst tick of a Poisson spread"}}
	for _, s := range spreads {
		t.Add(s.spread, s.m, s.cost, s.share, s.variance, s.variance/s.share, s.worst, s.poisson)
	}
	out.Tables = append(out.Tables, t)
	return out, nil
}

// farthest returns the ratio that is farthest from 1, NaN without rows.
func farthest[R any](rows []R, ratio func(*R) float64) float64 {
	r := judge.Most(rows, func(r *R) float64 { return math.Abs(ratio(r) - 1) })
	if r == nil {
		return math.NaN()
	}
	return ratio(r)
}
