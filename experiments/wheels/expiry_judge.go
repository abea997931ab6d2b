package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

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
	out.Tables = append(out.Tables, expiryTable(cells))
	return out, nil
}

func expiryTable(cells []expiryCell) experiments.Table {
	t := experiments.Table{Name: "errors", Title: "Time of expiry after the deadline, by granularity",
		Columns: []string{"timers of", "granularity, ms", "early", "mean, ticks", "95 % from", "to", "greatest, ticks",
			"even, p", "schemes that differ"}}
	type timers struct {
		n    int
		tick int64
	}
	for _, g := range judge.By(cells, func(c *expiryCell) timers { return timers{c.Count, int64(c.Tick)} }) {
		of := "a facility"
		if g.Key.n > 0 {
			of = fmt.Sprintf("4.4BSD, %d ticks", g.Key.n)
		}
		late := judge.Student(judge.Values(g.Rows, (*expiryCell).late))
		t.Add(of, float64(g.Key.tick)/1e6, judge.Sum(g.Rows, func(c *expiryCell) int { return c.Early }),
			late.Value, late.Lo, late.Hi,
			judge.Most(g.Rows, func(c *expiryCell) float64 { return c.Greatest }).Greatest,
			stat.Median(judge.Values(g.Rows, func(c *expiryCell) float64 { return c.KS })),
			judge.Sum(g.Rows, (*expiryCell).differ))
	}
	return t
}
