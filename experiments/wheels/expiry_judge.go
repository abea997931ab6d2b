package wheels

import (
	"fmt"
	"math"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

func expiryJudge(p *expiryPlan, cells []expiryCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "errors", Title: "Expiry less deadline, by granularity",
		Columns: []string{"timers of", "granularity, ms", "early", "mean, ticks", "95 % from", "to", "greatest, ticks", "even, p", "schemes that differ"},
	}
	var (
		early, differ  int
		means, ks      []float64
		bsdMeans       []float64
		bsdHi          = math.Inf(-1)
		x, y, low, top []float64
	)
	group := func(tick time.Duration, count int) (of []expiryCell) {
		for _, c := range cells {
			if c.Count == count && (count > 0 || c.Tick == tick) {
				of = append(of, c)
			}
		}
		return of
	}
	row := func(what string, of []expiryCell) stat.Interval {
		var m, greatest, p []float64
		e, d := 0, 0
		for _, c := range of {
			m, greatest, p = append(m, c.Mean), append(greatest, c.Greatest), append(p, c.KS)
			e, d = e+c.Early, d+len(c.Differ)
		}
		in := stat.BootstrapMean(m, 1)
		table.Add(what, float64(of[0].Tick)/1e6, e, in.Value, in.Lo, in.Hi, stat.Quantile(greatest, 1), stat.Median(p), d)
		return in
	}
	for _, tick := range p.Ticks {
		of := group(tick, 0)
		in := row("a facility", of)
		x, y, low, top = append(x, float64(tick)/1e6), append(y, in.Value), append(low, in.Lo), append(top, in.Hi)
		for _, c := range of {
			early, differ = early+c.Early, differ+len(c.Differ)
			means, ks = append(means, c.Mean), append(ks, c.KS)
		}
	}
	for _, n := range p.BSD {
		of := group(0, n)
		row(fmt.Sprintf("4.4BSD, %d ticks", n), of)
		for _, c := range of {
			bsdMeans = append(bsdMeans, c.Mean)
			bsdHi = max(bsdHi, c.Greatest)
		}
	}
	out.Tables = append(out.Tables, table)
	out.Figures = append(out.Figures, figure.Figure{
		Name: "mean-error", Title: "A timer is late by half a tick in the mean",
		X:     figure.Axis{Label: "granularity G, ms", Log: true},
		Y:     figure.Axis{Label: "expiry less deadline, in ticks", Lo: 0, Hi: 1},
		Marks: []figure.Mark{{Label: "G/2", At: 0.5}},
		Series: []figure.Series{{
			Name: "all schemes", Kind: figure.Points, X: x, Y: y, Lo: low, Hi: top,
		}},
		Caption: "Means over seeds with 95 % intervals. All schemes expire each timer at the same tick.",
	})
	mean := stat.BootstrapMean(means, 1)
	rejected := 0
	for _, p := range ks {
		if p <= 0.01 {
			rejected++
		}
	}
	out.Claim(experiments.Claim{
		Name: "never-early", Text: "no timer expires before its deadline", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d early of %d", early, p.Timers*p.Seeds*len(p.Ticks)), Expected: experiments.Whether(early == 0, "none"),

		Otherwise: "a facility rounds a deadline down",
	})
	out.Claim(experiments.Claim{
		Name: "mean", Text: "a timer is late by G/2 in the mean", Source: "definition of rounding up", Tag: experiments.Computed,
		Measured: experiments.MeasuredWithin(mean, "ticks").Judging(mean.Value), Expected: experiments.Between(0.49, 0.51, "").Saying("0.5 ± 0.01"),

		Otherwise: "the instants at which timers start are not even over a tick",
	})
	out.Claim(experiments.Claim{
		Name: "even", Text: "errors are spread evenly over a tick", Source: "definition of rounding up", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d samples differ at p ≤ 0.01", rejected, len(ks)),
		Expected:  experiments.Whether(float64(rejected) <= 0.05*float64(len(ks)), "as few as chance gives: at most 5 %%"),
		Otherwise: "the distribution of the errors is not the one that rounding up gives",
	})
	out.Claim(experiments.Claim{
		Name: "agree", Text: "all schemes expire each timer at the same tick", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d runs differ", differ, p.Seeds*len(p.Ticks)*(len(p.Schemes)-1)), Expected: experiments.Whether(differ == 0, "none"),

		Otherwise: "a scheme breaks the contract",
	})
	short := -stat.Mean(bsdMeans)
	out.Claim(experiments.Claim{
		Name: "bsd-countdown", Text: "4.4BSD's timer of n ticks takes more than n-1 and at most n of them", Published: "((n-1)·G, n·G]",
		Source: "4.4BSD, tcp_slowtimo", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredText("%s ticks below n in the mean, at most n", experiments.Number(short)),
		Expected:  experiments.Whether(bsdHi <= 0 && math.Abs(short-0.5) < 0.01, "half a tick below n in the mean, never beyond n"),
		Otherwise: "the sweep does not count as 4.4BSD's",
	})
	return out, nil
}
