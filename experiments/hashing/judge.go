package hashing

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/figure"
	"tcpwheel/experiments/stat"
)

const paper = "Varghese & Lauck, §VI-A2"

// describe returns the mean, the variance and the greatest of what ticks cost.
func (c *Cell) describe() (mean, variance, greatest float64) {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, of := range c.Costs {
		t, x := float64(of.Ticks), float64(of.Looks)
		n, sum, squares = n+t, sum+float64(t*x), squares+float64(t*x*x)
		greatest = max(greatest, x)
	}
	mean = sum / n
	return mean, squares/n - float64(mean*mean), greatest
}

// poissonMax returns the mean of the greatest of m draws from a Poisson distribution: the sum of the probabilities that it
// exceeds 0, 1, 2 and so on.
func poissonMax(mean float64, m int) (max float64) {
	k, term, below := 0.0, stat.Exp(-mean), 0.0
	if mean > 500 {
		// e^-mean is too small a number soon. Less than 12 standard deviations below the mean is drawn once in 10^31 times.
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

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "ticks", Title: fmt.Sprintf("Looks at timer records per tick, %s timers", experiments.Number(float64(p.Timers))),
		Columns: []string{"spread", "slots", "mean", "n/M", "variance", "variance/mean", "greatest, mean of seeds", "Poisson"},
	}
	fig := figure.Figure{
		Name: "tail", Title: fmt.Sprintf("What a tick costs, %d slots", p.Slots[0]),
		X: figure.Axis{Label: "looks at timer records in a tick", Log: true}, Y: figure.Axis{Label: "share of ticks that cost as much or more", Log: true},
		Marks:   []figure.Mark{{Label: "n/M", At: float64(p.Timers) / float64(p.Slots[0]), Vertical: true}},
		Caption: "All spreads have the mean n/M. A random one stays close to it; where all timers share a slot, one tick pays for all.",
	}
	wrongMeans, differ := 0, 0
	worst, dispersion := map[string]float64{}, map[string]float64{} // relative to what was expected, the farthest from 1
	far := func(of map[string]float64, key string, x float64) {
		if old, ok := of[key]; !ok || math.Abs(x-1) > math.Abs(old-1) {
			of[key] = x
		}
	}
	for i, m := range p.Slots {
		share := float64(p.Timers) / float64(m)
		for k, spread := range p.Spreads {
			var means, variances, greatest []float64
			ticks := map[int]int{}
			all := 0
			for _, c := range cells {
				if c.M != m || c.Spread != spread {
					continue
				}
				mean, variance, most := c.describe()
				if math.Abs(mean-share) > 1e-9*share {
					wrongMeans++
				}
				differ += len(c.Differ)
				means, variances, greatest = append(means, mean), append(variances, variance), append(greatest, most)
				for _, of := range c.Costs {
					ticks[of.Looks] += of.Ticks
					all += of.Ticks
				}
			}
			poisson := poissonMax(share, m)
			table.Add(spread, m, stat.Mean(means), share, stat.Mean(variances), stat.Mean(variances)/share, stat.Mean(greatest), poisson)
			switch spread {
			case "random":
				far(worst, spread, stat.Mean(greatest)/poisson)
				far(dispersion, spread, stat.Mean(variances)/share/(1-1/float64(m)))
			case "even":
				far(worst, spread, stat.Mean(greatest)/math.Ceil(share))
			case "one":
				far(worst, spread, stat.Mean(greatest)/float64(p.Timers))
			}
			if i > 0 {
				continue
			}
			s := figure.Series{Name: spread, Kind: figure.Steps, Group: k + 1}
			left := all
			most := int(stat.Quantile(greatest, 1))
			for x := 0; x <= most; x++ {
				if n := ticks[x]; n > 0 {
					if x > 0 {
						s.X, s.Y = append(s.X, float64(x)), append(s.Y, float64(left)/float64(all))
					}
					left -= n
				}
			}
			if len(s.X) > 0 {
				fig.Series = append(fig.Series, s)
			}
		}
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
	out.Claim(experiments.Claim{
		Name: "mean", Text: "the mean cost of a tick is n/M, whatever the spread", Published: "n/TableSize", Source: paper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d of %d runs otherwise", wrongMeans, len(cells)), Expected: "n/M in each run, exactly",
		Verdict: experiments.Holds(wrongMeans == 0),
	}, "a rotation leaves timers out, or looks at them twice")
	if x, ok := dispersion["random"]; ok {
		out.Claim(experiments.Claim{
			Name: "random-variance", Text: "a random spread has the variance of a binomial distribution, all but its mean", Source: "definition, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(x, "of it, at the M farthest from 1"), Expected: "1 ± 0.1", Verdict: experiments.Judged(x, 0.9, 1.1, 0.9, 1.1),
		}, "the slots are not hit at random")
		out.Claim(experiments.Claim{
			Name: "random-worst", Text: "its worst tick is that of a Poisson distribution", Source: "mean of the greatest of M Poisson draws, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(worst["random"], "of it, at the M farthest from 1"), Expected: "1 ± 0.1", Verdict: experiments.Judged(worst["random"], 0.9, 1.1, 0.9, 1.1),
		}, "the slots are not hit at random")
	}
	if x, ok := worst["one"]; ok {
		out.Claim(experiments.Claim{
			Name: "one-worst", Text: "timers that share a slot cost n in its tick", Published: "O(n) worst", Source: paper, Tag: experiments.FromSource,
			Measured: experiments.Measured(x, "of n"), Expected: "1, exactly", Verdict: experiments.Holds(x == 1),
		}, "a slot is not looked at as a whole")
	}
	if x, ok := worst["even"]; ok {
		out.Claim(experiments.Claim{
			Name: "even-worst", Text: "an even spread has no tick above n/M, rounded up", Source: "definition, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(x, "of it"), Expected: "1, exactly", Verdict: experiments.Holds(x == 1),
		}, "the slots are not hit in turn")
	}
	out.Claim(experiments.Claim{
		Name: "layouts", Text: "all layouts of Scheme 6 pay the same in each tick", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d runs differ", differ, len(cells)*(len(p.Schemes)-1)), Expected: "none", Verdict: experiments.Holds(differ == 0),
	}, "a layout looks at other timers")
	out.Notes = append(out.Notes, fmt.Sprintf("Timers at multiples of %d ticks reach only those slots that are multiples of the greatest divisor that "+
		"%d has in common with M, %d of %d: a heartbeat that is no power of two still costs its ticks several times the mean.",
		p.Heartbeat, p.Heartbeat, p.Slots[0]/gcd(p.Slots[0], p.Heartbeat), p.Slots[0]))
	return out, nil
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
