package frontier

import (
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var quantWords = experiments.Words{
	Question: "How does a clock's tick change a measured round trip, and the timeout?",
	Found: "A clock that is read has no bias and the variance G²·p·(1-p); 4.4BSD's first average is {from-one#} tick " +
		"too long. No timeout is below G.",
}

// quantJudge judges the errors of all round trips, their sums, and the timeouts.
func quantJudge(p *quantPlan, cells []quantCell) (*experiments.Outcome, error) {
	var errors []phaseErrors // of all granularities
	var sums clockSums
	summed, steady, early := 0, 0, 0
	for _, c := range cells {
		if c.Errors != nil {
			errors, summed = append(errors, c.Errors...), summed+phases*phases
			sums = clockSums{sums.Read + c.Read, sums.Up + c.Up, sums.BSD + c.BSD, sums.Exact + c.Exact}
		}
		steady += len(c.Timeouts)
		early += judge.Count(c.Timeouts, func(t *steadyTimeout) bool { return t.Least < c.Tick })
	}
	biased := judge.Count(errors, func(e *phaseErrors) bool { return e.Sum != 0 })
	otherwise := judge.Count(errors, func(e *phaseErrors) bool { return e.Squares != variance(e.Thousandths) })
	mean := func(sum int) float64 { return float64(sum) / (float64(summed) * phases) } // in ticks
	exactly := func(m experiments.Measure) experiments.Measure { m.Exact = true; return m }
	const (
		read     = "definition of a clock that is read"
		computed = experiments.Computed
	)
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "exact", Class: experiments.Check, Text: "an exact clock has no error", Source: read, Tag: computed,
			Measured: judge.Said("%d of %d measurements", sums.Exact, summed).Judging(float64(sums.Exact)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		experiments.Claim{
			Name: "unbiased", Class: experiments.Law, Source: read, Tag: computed, Published: "0",
			Text: "the errors of a clock that is read add up to 0 over the phases of its tick",
			Measured: judge.Said("%d of %d round trips are biased; mean error over all round trips from 0 to 1 tick: %v ticks",
				biased,
				len(errors), mean(sums.Read)),
			Expected: experiments.Whether(biased == 0 && sums.Read == 0, "none, and 0"),
		},
		experiments.Claim{
			Name: "variance", Class: experiments.Law, Source: read, Tag: computed, Published: "G²·p·(1-p)",
			Text:     "their variance is G²·p·(1-p), where p is the part of a tick beyond whole ones",
			Measured: judge.Said("%d of %d round trips have another", otherwise, len(errors)).Judging(float64(otherwise)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
		experiments.Claim{
			Name: "rounding-up", Class: experiments.Law, Source: "definition of rounding up", Tag: computed, Published: "G/2",
			Text:     "a clock that rounds the difference up is half a tick too long in the mean over round trips",
			Measured: exactly(experiments.Measured(mean(sums.Up), "ticks")),
			Expected: experiments.Whether(2*sums.Up == summed*(phases-1), "0.4995: half of 0 to 999 thousandths"),
		},
		experiments.Claim{
			Name: "from-one", Class: experiments.Law, Source: "4.4BSD, tcp_xmit_timer", Tag: experiments.FromPrint,
			Text:      "4.4BSD's first average, which counts from 1, is a tick too long in the mean",
			Published: "G", Measured: exactly(experiments.Measured(mean(sums.BSD), "ticks")),
			Expected: experiments.Exactly(1, "ticks"),
		},
		experiments.Claim{
			Name: "at-least-g", Class: experiments.Check, Source: "RFC 6298 §2", Tag: experiments.Standard,
			Text:      "no timeout is below G, however short the round trip",
			Published: "RTO = SRTT + max(G, K·RTTVAR)", Measured: judge.Said("%d of %d runs have one below", early,
				steady).Judging(float64(early)),
			Expected: experiments.Exactly(0, "").Saying("none"),
		},
	)
	out.Tables = append(out.Tables, quantTable(p, cells))
	out.Figures = append(out.Figures, quantFigure(cells[0].Errors))
	return out, nil
}

// beyond returns the part of a round trip beyond whole ticks, variance the sum of the squared errors
// that the law gives it, and deviation the standard deviation of such a sum, in ticks.
func beyond(thousandths int) int { return thousandths % phases }
func variance(thousandths int) int {
	return phases * beyond(thousandths) * (phases - beyond(thousandths))
}
func deviation(squares int) float64 { return math.Sqrt(float64(squares)/phases) / phases }

func quantTable(p *quantPlan, cells []quantCell) experiments.Table {
	t := experiments.Table{Name: "timeouts", Title: "Timeouts at round trips that do not vary: RFC 6298 without a " +
		"floor, and 4.4BSD's estimator, with the same clock", Columns: []string{"granularity, ms", "round trip, ms",
		"SRTT / round trip", "RTO / round trip", "95 % from", "to", "least RTO, ms", "4.4BSD's RTO / round trip"}}
	for _, g := range judge.By(cells, func(c *quantCell) time.Duration { return c.Tick }) {
		for i, rtt := range p.RTTs {
			var runs []steadyTimeout
			for _, c := range judge.Where(g.Rows, func(c *quantCell) bool { return c.Timeouts != nil }) {
				runs = append(runs, c.Timeouts[i])
			}
			of := func(f func(*steadyTimeout) float64) []float64 { return judge.Values(runs, f) }
			rto := judge.Student(of(func(t *steadyTimeout) float64 { return t.RTO }))
			t.Add(g.Key, rtt, stat.Mean(of(func(t *steadyTimeout) float64 { return t.SRTT })), rto.Value, rto.Lo, rto.Hi,
				slices.Min(of(func(t *steadyTimeout) float64 { return judge.Ms(t.Least) })),
				stat.Mean(of(func(t *steadyTimeout) float64 { return t.Old })))
		}
	}
	return t
}

func quantFigure(errors []phaseErrors) figure.Figure {
	law, measured := figure.Series{Name: "law", Kind: figure.Line, Dashed: true},
		figure.Series{Name: "measured", Kind: figure.Points}
	for n := 0; n <= phases; n += 10 {
		law.Add(float64(n)/phases, deviation(variance(n)))
	}
	for _, e := range errors {
		if e.Thousandths <= phases {
			measured.Add(float64(e.Thousandths)/phases, deviation(e.Squares))
		}
	}
	return figure.Figure{
		Name: "deviation", Title: "How far a clock's tick spreads the measurements of one round trip",
		Caption: "The law is G·√(p·(1-p)). Each point is a round trip over all phases of the tick. Above one tick the " +
			"curve repeats.",
		X:      figure.Axis{Label: "round trip, ticks", Hi: 1},
		Y:      figure.Axis{Label: "standard deviation of its measurement, ticks", Hi: 0.6},
		Series: []figure.Series{law, measured},
	}
}
