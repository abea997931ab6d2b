package wheels

import (
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
)

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
