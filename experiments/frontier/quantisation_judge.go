package frontier

import (
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// variance returns the sum over all phases of the squared errors that the law p·(1-p) gives a round
// trip, in thousandths of a tick squared.
func variance(thousandths int) int {
	f := thousandths % phases
	return phases * f * (phases - f)
}

func quantJudge(p *quantPlan, cells []quantCell) (*experiments.Outcome, error) {
	errs := experiments.Select(cells, func(c *quantCell) bool { return c.Errors != nil })
	timed := experiments.Select(cells, func(c *quantCell) bool { return c.Timeouts != nil })
	out := &experiments.Outcome{
		Tables:  []experiments.Table{errorTable(errs), timeoutTable(p, timed)},
		Figures: []figure.Figure{deviationFigure(errs), timeoutFigure(p, timed)},
		Notes: []string{"Rounding up is shown for comparison: no clock of this project does it. Linux's timestamps " +
			"and 4.4BSD's t_rtt, less the 1 that it starts from, " +
			"count ticks crossed."},
	}
	for _, c := range append(errorClaims(errs), timeoutClaim(timed)) {
		out.Claim(c)
	}
	return out, nil
}

// errorClaims judges the errors of measured round trips over all phases of a tick.
func errorClaims(cells []quantCell) []experiments.Claim {
	var biased, variances experiments.Tally
	var exact, read, up, bsd int
	for _, c := range cells {
		for _, e := range c.Errors {
			biased.Add(e.Sum == 0)
			variances.Add(e.Squares == variance(e.Thousandths))
		}
		exact, read, up, bsd = exact+c.Exact, read+c.Read, up+c.Up, bsd+c.BSD
	}
	// The mean of a sum over ticks, phases and round trips. The sum is in thousandths of a tick.
	mean := func(sum int) float64 { return float64(sum) / float64(len(cells)*phases*phases*phases) }
	const law = "definition of a clock that is read"
	return []experiments.Claim{
		{Name: "exact", Class: experiments.Check, Text: "an exact clock has no error", Source: law,
			Tag: experiments.Computed,
			Measured: experiments.Tally{Exceptions: exact,
				Cases: len(cells) * phases * phases}.Measure("measurements"), Expected: experiments.None(),
			Otherwise: "Measure rounds where there is no tick"},
		{Name: "unbiased", Class: experiments.Law,
			Text: "the errors of a clock that is read add up to 0 over the phases of its tick", Published: "0",
			Source: law, Tag: experiments.Computed,
			Measured: experiments.MeasuredText("%d of %d round trips are biased; mean error over all round trips "+
				"from 0 to 1 tick: %s ticks",
				biased.Exceptions, biased.Cases, experiments.Number(mean(read))),
			Expected:  experiments.Whether(biased.Exceptions == 0 && read == 0, "none, and 0"),
			Otherwise: "the clock rounds one of the instants otherwise"},
		{Name: "variance", Class: experiments.Law,
			Text:      "their variance is G²·p·(1-p), where p is the part of a tick beyond whole ones",
			Published: "G²·p·(1-p)", Source: law, Tag: experiments.Computed,
			Measured: variances.Measure("round trips have another"), Expected: experiments.None(),
			Otherwise: "the clock does not count ticks crossed"},
		{Name: "rounding-up", Class: experiments.Law,
			Text:      "a clock that rounds the difference up is half a tick too long in the mean over round trips",
			Published: "G/2", Source: "definition of rounding up", Tag: experiments.Computed,
			Measured: experiments.MeasuredExactly(mean(up), "ticks"),
			Expected: experiments.Whether(2*up == len(cells)*phases*phases*(phases-1),
				"0.4995: half of 0 to 999 thousandths"),
			Otherwise: "the sum is wrong"},
		{Name: "from-one", Class: experiments.Law,
			Text: "4.4BSD's first average, which counts from 1, is a tick too long in the mean", Published: "G",
			Source: "4.4BSD, tcp_xmit_timer", Tag: experiments.FromPrint,
			Measured: experiments.MeasuredExactly(mean(bsd), "ticks"), Expected: experiments.Exactly(1, "ticks"),
			Otherwise: "the estimator subtracts the 1 at once"},
	}
}

func timeoutClaim(cells []quantCell) experiments.Claim {
	var below experiments.Tally
	for _, c := range cells {
		for _, t := range c.Timeouts {
			below.Add(t.Least >= c.Tick)
		}
	}
	return experiments.Claim{Name: "at-least-g", Class: experiments.Check,
		Text: "no timeout is below G, however short the round trip", Published: "RTO = SRTT + max(G, K·RTTVAR)",
		Source: "RFC 6298 §2", Tag: experiments.Standard,
		Measured: below.Measure("runs have one below"), Expected: experiments.None(),
		Otherwise: "the estimator does not use its clock's tick"}
}

func errorTable(cells []quantCell) experiments.Table {
	t := experiments.Table{Name: "errors", Title: "Errors of a measured round trip over all phases, in ticks; the " +
		"same for each granularity",
		Columns: []string{"round trip, ticks", "mean", "standard deviation", "expected standard deviation",
			"rounded up", "counted from 1"}}
	if len(cells) == 0 {
		return t
	}
	for _, e := range cells[0].Errors {
		up := (phases - e.Thousandths%phases) % phases
		t.Add(float64(e.Thousandths)/phases, float64(e.Sum)/phases/phases, deviation(e.Squares),
			deviation(variance(e.Thousandths)), float64(up)/phases, 1.0)
	}
	return t
}

func timeoutTable(p *quantPlan, cells []quantCell) experiments.Table {
	t := experiments.Table{Name: "timeouts", Title: "Timeouts at round trips that do not vary: RFC 6298 without a " +
		"floor, and 4.4BSD's estimator, with the same clock",
		Columns: []string{"granularity, ms", "round trip, ms", "SRTT / round trip", "RTO / round trip", "95 % from",
			"to", "least RTO, ms", "4.4BSD's RTO / round trip"}}
	for _, tick := range p.Ticks {
		for k, rtt := range p.RTTs {
			of := timeoutsOf(cells, tick, k)
			in := experiments.MeanOf(of, func(t *steadyTimeout) float64 { return t.RTO })
			t.Add(float64(tick)/1e6, float64(rtt)/1e6,
				stat.Mean(experiments.Values(of, func(t *steadyTimeout) float64 { return t.SRTT })), in.Value, in.Lo,
				in.Hi,
				slices.Min(experiments.Values(of, func(t *steadyTimeout) float64 { return float64(t.Least) / 1e6 })),
				stat.Mean(experiments.Values(of, func(t *steadyTimeout) float64 { return t.BSD })))
		}
	}
	t.Data = len(t.Rows) > 40
	return t
}

// timeoutsOf returns the timeouts of a tick and the k-th round trip, by seed.
func timeoutsOf(cells []quantCell, tick time.Duration, k int) (all []steadyTimeout) {
	for i := range cells {
		if cells[i].Tick == tick {
			all = append(all, cells[i].Timeouts[k])
		}
	}
	return all
}

// deviation returns the standard deviation, in ticks, from squared errors summed over all phases.
func deviation(squares int) float64 { return math.Sqrt(float64(squares)/phases) / phases }

func deviationFigure(cells []quantCell) figure.Figure {
	law := figure.Series{Name: "law", Kind: figure.Line, Dashed: true}
	for n := 0; n <= phases; n += phases / 100 {
		law.Add(float64(n)/phases, deviation(variance(n)))
	}
	points := figure.Series{Name: "measured", Kind: figure.Points}
	if len(cells) > 0 {
		for _, e := range cells[0].Errors {
			if e.Thousandths <= phases {
				points.Add(float64(e.Thousandths)/phases, deviation(e.Squares))
			}
		}
	}
	return figure.Figure{
		Name: "deviation", Title: "How far a clock's tick spreads the measurements of one round trip",
		X: figure.Axis{Label: "round trip, ticks", Lo: 0, Hi: 1},
		Y: figure.Axis{Label: "standard deviation of its measurement, ticks", Lo: 0, Hi: 0.6},
		Caption: "The law is G·√(p·(1-p)). Each point is a round trip over all phases of the tick. Above one tick " +
			"the curve repeats.",
		Series: []figure.Series{law, points},
	}
}

func timeoutFigure(p *quantPlan, cells []quantCell) figure.Figure {
	f := figure.Figure{
		Name: "timeout", Title: "The timeout by the round trip, without a floor",
		X:       figure.Axis{Label: "round trip, ms", Log: true},
		Y:       figure.Axis{Label: "RTO / round trip", Log: true},
		Caption: "Round trips that do not vary. Where they are shorter than the tick, the granularity is the timeout.",
	}
	for _, tick := range p.Ticks {
		s := figure.Series{Name: "G " + tick.String(), Kind: figure.Line}
		for k, rtt := range p.RTTs {
			s.AddInterval(float64(rtt)/1e6, experiments.MeanOf(timeoutsOf(cells, tick, k),
				func(t *steadyTimeout) float64 { return t.RTO }))
		}
		f.Series = append(f.Series, s)
	}
	return f
}
