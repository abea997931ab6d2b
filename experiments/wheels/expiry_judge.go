package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

func expiryJudge(p *expiryPlan, cells []expiryCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	expiryShow(p, cells, out)
	facilities := experiments.Select(cells, func(c *expiryCell) bool { return c.Count == 0 })
	early, differ, rejected := 0, 0, 0
	for _, c := range facilities {
		early, differ = early+c.Early, differ+len(c.Differ)
		if c.KS <= 0.01 {
			rejected++
		}
	}
	out.Claim(experiments.Claim{Name: "never-early", Class: experiments.Check, Text: "no timer expires before its deadline", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.Tally{Exceptions: early, Cases: p.Timers * len(facilities)}.Measure("early"), Expected: experiments.None(), Otherwise: "a facility rounds a deadline down"})
	out.Claim(experiments.Claim{Name: "mean", Class: experiments.Law, Text: "a timer is late by G/2 in the mean", Source: "definition of rounding up", Tag: experiments.Computed,
		Measured: experiments.MeasuredWithin(experiments.MeanOf(facilities, func(c *expiryCell) float64 { return c.Mean }), "ticks"),
		Expected: experiments.Within(0.5, 0.01, ""), Basis: "2 % of the mean, set for this project", Otherwise: "the instants at which timers start are not even over a tick"})
	out.Claim(experiments.Claim{Name: "even", Class: experiments.Check, Text: "errors are spread evenly over a tick", Source: "definition of rounding up", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01", rejected, len(facilities)).Judging(100 * float64(rejected) / float64(len(facilities))),
		Expected:  experiments.AtMost(5, "%, as few as chance gives"),
		Otherwise: "the distribution of the errors is not the one that rounding up gives"})
	out.Claim(experiments.Claim{Name: "agree", Class: experiments.Check, Text: "all schemes expire each timer at the same tick", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: experiments.Tally{Exceptions: differ, Cases: len(facilities) * (len(p.Schemes) - 1)}.Measure("runs differ"), Expected: experiments.None(), Otherwise: "a scheme breaks the contract"})
	bsd := experiments.Select(cells, func(c *expiryCell) bool { return c.Count > 0 })
	short, latest := -stat.Mean(experiments.Values(bsd, func(c *expiryCell) float64 { return c.Mean })), math.Inf(-1)
	for _, c := range bsd {
		latest = max(latest, c.Greatest)
	}
	out.Claim(experiments.Claim{Name: "bsd-countdown", Class: experiments.Law, Text: "4.4BSD's timer of n ticks takes more than n-1 and at most n of them", Published: "((n-1)·G, n·G]",
		Source: "4.4BSD, tcp_slowtimo", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredText("%s ticks below n in the mean, at most n", experiments.Number(short)),
		Expected:  experiments.Whether(latest <= 0 && math.Abs(short-0.5) < 0.01, "half a tick below n in the mean, never beyond n"),
		Otherwise: "the sweep does not count like 4.4BSD's"})
	return out, nil
}

func expiryShow(p *expiryPlan, cells []expiryCell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "errors", Title: "Time of expiry after the deadline, by granularity",
		Columns: []string{"timers of", "granularity, ms", "early", "mean, ticks", "95 % from", "to", "greatest, ticks", "even, p", "schemes that differ"},
	}
	row := func(name string, of []expiryCell) stat.Interval {
		early, differ := 0, 0
		for _, c := range of {
			early, differ = early+c.Early, differ+len(c.Differ)
		}
		mean := experiments.MeanOf(of, func(c *expiryCell) float64 { return c.Mean })
		greatest := experiments.Values(of, func(c *expiryCell) float64 { return c.Greatest })
		table.Add(name, float64(of[0].Tick)/1e6, early, mean.Value, mean.Lo, mean.Hi, stat.Quantile(greatest, 1),
			stat.Median(experiments.Values(of, func(c *expiryCell) float64 { return c.KS })), differ)
		return mean
	}
	s := figure.Series{Name: "all schemes", Kind: figure.Points}
	for _, tick := range p.Ticks {
		of := experiments.Select(cells, func(c *expiryCell) bool { return c.Count == 0 && c.Tick == tick })
		s.AddInterval(float64(tick)/1e6, row("a facility", of))
	}
	for _, n := range p.BSD {
		row(fmt.Sprintf("4.4BSD, %d ticks", n), experiments.Select(cells, func(c *expiryCell) bool { return c.Count == n }))
	}
	out.Tables = append(out.Tables, table)
	out.Figures = append(out.Figures, figure.Figure{
		Name: "mean-error", Title: "A timer is late by half a tick in the mean",
		X:       figure.Axis{Label: "granularity G, ms", Log: true},
		Y:       figure.Axis{Label: "time of expiry after the deadline, ticks", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "G/2", At: 0.5}},
		Series:  []figure.Series{s},
		Caption: "Means over seeds with 95 % intervals. All schemes expire each timer at the same tick.",
	})
}
