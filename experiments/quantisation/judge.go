package quantisation

import (
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// variance is p·(1-p) of the law for a round trip, in thousandths of a tick squared, times the phases.
func variance(thousandths int) int {
	f := thousandths % phases
	return phases * f * (phases - f)
}

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	claims(cells, out)
	tables(p, cells, out)
	figures(p, cells, out)
	out.Notes = append(out.Notes, "Rounding up is shown for comparison: no clock of this house does it. Linux's timestamps and 4.4BSD's t_rtt, the 1 it begins "+
		"with taken off, tell ticks crossed.")
	return out, nil
}

func claims(cells []Cell, out *experiments.Outcome) {
	var trips, biased, other, exact, read, up, bsd, ticks, timed, below int
	for i := range cells {
		c := &cells[i]
		for _, e := range c.Errors {
			trips++
			if e.Sum != 0 {
				biased++
			}
			if e.Squares != variance(e.Thousandths) {
				other++
			}
		}
		if c.Errors != nil {
			ticks++
			exact, read, up, bsd = exact+c.Exact, read+c.Read, up+c.Up, bsd+c.BSD
		}
		for _, t := range c.Timeouts {
			timed++
			if t.Least < c.Tick {
				below++
			}
		}
	}
	// What was added up over all phases and round trips, by their number and that of the units: ticks.
	mean := func(sum int) float64 { return float64(sum) / float64(ticks*phases*phases*phases) }
	const law = "definition of a clock that is read"
	out.Claim(experiments.Claim{
		Name: "exact", Text: "an exact clock does not err", Source: law, Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d measurements", exact, ticks*phases*phases), Expected: experiments.Whether(exact == 0, "none errs"),
		Otherwise: "Measure rounds where there is no tick",
	})
	out.Claim(experiments.Claim{
		Name: "unbiased", Text: "the errors of a clock that is read add up to 0 over the phases of its tick", Published: "0", Source: law, Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d round trips are biased; %s ticks over all from 0 to 1", biased, trips, experiments.Number(mean(read))),
		Expected:  experiments.Whether(biased == 0 && read == 0, "none, and 0"),
		Otherwise: "the clock rounds one of the instants otherwise",
	})
	out.Claim(experiments.Claim{
		Name: "variance", Text: "their variance is G²·p·(1-p), p being the part of a tick beyond whole ones", Published: "G²·p·(1-p)", Source: law, Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d round trips have another", other, trips), Expected: experiments.Whether(other == 0, "none"),
		Otherwise: "the clock does not tell ticks crossed",
	})
	out.Claim(experiments.Claim{
		Name: "rounding-up", Text: "a clock that rounds the difference up errs by half a tick in the mean over round trips", Published: "G/2", Source: "definition of rounding up", Tag: experiments.Computed,
		Measured: experiments.Measured(mean(up), "ticks"), Expected: experiments.Whether(2*up == ticks*phases*phases*(phases-1), "0.4995: half of 0 to 999 thousandths"),
		Otherwise: "the sum is wrong",
	})
	out.Claim(experiments.Claim{
		Name: "from-one", Text: "4.4BSD's first average, which counts from 1, errs by a tick in the mean", Published: "G", Source: "4.4BSD, tcp_xmit_timer", Tag: experiments.FromPrint,
		Measured: experiments.Measured(mean(bsd), "ticks"), Expected: experiments.Whether(bsd == ticks*phases*phases*phases, "1"),
		Otherwise: "the estimator takes the 1 off at once",
	})
	out.Claim(experiments.Claim{
		Name: "at-least-g", Text: "no timeout is below G, however short the round trip", Published: "RTO = SRTT + max(G, K·RTTVAR)", Source: "RFC 6298 §2", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d of %d runs have one below", below, timed), Expected: experiments.Whether(below == 0, "none"),
		Otherwise: "the estimator does not know its clock's tick",
	})
}

func tables(p *Plan, cells []Cell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "errors", Title: "Errors over all phases, in ticks; the same for each granularity",
		Columns: []string{"round trip, ticks", "mean", "standard deviation", "of the law", "rounded up", "counted from 1"},
	}
	for i := range cells {
		if cells[i].Errors == nil {
			continue
		}
		for _, e := range cells[i].Errors {
			n := phases
			up := (n - e.Thousandths%n) % n
			table.Add(float64(e.Thousandths)/phases, float64(e.Sum)/phases/phases, deviation(e.Squares), deviation(variance(e.Thousandths)),
				float64(up)/phases, 1.0)
		}
		break
	}
	rto := experiments.Table{
		Name: "timeouts", Title: "Timeouts by round trips that do not vary: RFC 6298 without a floor, and 4.4BSD's estimator, over the same clock",
		Columns: []string{"granularity, ms", "round trip, ms", "SRTT, of it", "RTO, of it", "95 % from", "to", "least RTO, ms", "4.4BSD, of it"},
	}
	for _, tick := range p.Ticks {
		for k, rtt := range p.RTTs {
			of := at(cells, tick, k)
			in := stat.BootstrapMean(each(of, func(t Timeout) float64 { return t.RTO }), 1)
			rto.Add(float64(tick)/1e6, float64(rtt)/1e6, stat.Mean(each(of, func(t Timeout) float64 { return t.SRTT })), in.Value, in.Lo, in.Hi,
				stat.Quantile(each(of, func(t Timeout) float64 { return float64(t.Least) / 1e6 }), 0), stat.Mean(each(of, func(t Timeout) float64 { return t.BSD })))
		}
	}
	rto.Data = len(rto.Rows) > 40
	out.Tables = append(out.Tables, table, rto)
}

// at returns the timeouts of a tick and the k-th round trip, by seed.
func at(cells []Cell, tick time.Duration, k int) (all []Timeout) {
	for i := range cells {
		if cells[i].Tick == tick && cells[i].Timeouts != nil {
			all = append(all, cells[i].Timeouts[k])
		}
	}
	return all
}

func each(all []Timeout, value func(Timeout) float64) (values []float64) {
	for _, t := range all {
		values = append(values, value(t))
	}
	return values
}

// deviation is the standard deviation, in ticks, of squares that were added up over all phases.
func deviation(squares int) float64 { return math.Sqrt(float64(squares)/phases) / phases }

func figures(p *Plan, cells []Cell, out *experiments.Outcome) {
	spread := figure.Figure{
		Name: "deviation", Title: "By how much a clock's tick blurs a round trip",
		X: figure.Axis{Label: "round trip, ticks", Lo: 0, Hi: 1}, Y: figure.Axis{Label: "standard deviation of its measurement, ticks", Lo: 0, Hi: 0.6},
		Caption: "The law is G·√(p·(1-p)); each point is a round trip over all phases of the tick. Above one tick it repeats.",
	}
	law := figure.Series{Name: "law", Kind: figure.Line, Dashed: true}
	for n := 0; n <= phases; n += phases / 100 {
		law.X, law.Y = append(law.X, float64(n)/phases), append(law.Y, deviation(variance(n)))
	}
	points := figure.Series{Name: "measured", Kind: figure.Points}
	for i := range cells {
		if cells[i].Errors == nil {
			continue
		}
		for _, e := range cells[i].Errors {
			if e.Thousandths <= phases {
				points.X, points.Y = append(points.X, float64(e.Thousandths)/phases), append(points.Y, deviation(e.Squares))
			}
		}
		break
	}
	spread.Series = []figure.Series{law, points}
	rto := figure.Figure{
		Name: "timeout", Title: "The timeout by the round trip, without a floor",
		X:       figure.Axis{Label: "round trip, ms", Log: true},
		Y:       figure.Axis{Label: "RTO by the round trip", Log: true},
		Caption: "Round trips that do not vary. Where they are shorter than the tick, the granularity is the timeout.",
	}
	for _, tick := range p.Ticks {
		s := figure.Series{Name: "G " + tick.String(), Kind: figure.Line}
		for k, rtt := range p.RTTs {
			in := stat.BootstrapMean(each(at(cells, tick, k), func(t Timeout) float64 { return t.RTO }), 1)
			s.X, s.Y = append(s.X, float64(rtt)/1e6), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		rto.Series = append(rto.Series, s)
	}
	out.Figures = append(out.Figures, spread, rto)
}
