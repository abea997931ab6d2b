package wheels

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const hashingPaper = "Varghese & Lauck, §VI-A2"

// describe returns the mean, the variance and the greatest cost of a tick.
func (c *hashingCell) describe() (mean, variance, greatest float64) {
	n, sum, squares := 0.0, 0.0, 0.0
	for _, of := range c.Costs {
		t, x := float64(of.Ticks), float64(of.Looks)
		n, sum, squares = n+t, sum+float64(t*x), squares+float64(t*x*x)
		greatest = max(greatest, x)
	}
	mean = sum / n
	return mean, squares/n - float64(mean*mean), greatest
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

// hashingRuns are the cells of one number of slots and one spread.
type hashingRuns struct {
	spread string
	slots  int
	share  float64 // n/M
	cells  []hashingCell

	means, variances, worst []float64 // by seed
	poissonWorst            float64   // the expected worst tick of a random spread
}

func hashingGroupRuns(p *hashingPlan, cells []hashingCell) (all []hashingRuns) {
	for _, m := range p.Slots {
		for _, spread := range p.Spreads {
			r := hashingRuns{spread: spread, slots: m, share: float64(p.Timers) / float64(m)}
			r.cells = experiments.Select(cells, func(c *hashingCell) bool { return c.M == m && c.Spread == spread })
			for i := range r.cells {
				mean, variance, worst := r.cells[i].describe()
				r.means, r.variances, r.worst = append(r.means, mean), append(r.variances, variance), append(r.worst, worst)
			}
			r.poissonWorst = poissonMax(r.share, m)
			all = append(all, r)
		}
	}
	return all
}

func hashingJudge(p *hashingPlan, cells []hashingCell) (*experiments.Outcome, error) {
	all := hashingGroupRuns(p, cells)
	out := &experiments.Outcome{
		Tables: []experiments.Table{hashingTable(p, all)}, Figures: []figure.Figure{hashingTail(p, all)},
		Notes: []string{fmt.Sprintf("Timers at multiples of %d ticks reach only the slots that are multiples of the greatest divisor that "+
			"%d and M share, %d of %d. So a heartbeat that is no power of two costs its ticks several times the mean.",
			p.Heartbeat, p.Heartbeat, p.Slots[0]/gcd(p.Slots[0], p.Heartbeat), p.Slots[0])},
	}
	hashingClaims(p, all, out)
	return out, nil
}

func hashingClaims(p *hashingPlan, all []hashingRuns, out *experiments.Outcome) {
	var means, layouts experiments.Tally
	var dispersion experiments.Farthest
	worst := map[string]*experiments.Farthest{}
	for _, r := range all {
		far := worst[r.spread]
		if far == nil {
			far = &experiments.Farthest{}
			worst[r.spread] = far
		}
		for i, c := range r.cells {
			means.Add(math.Abs(r.means[i]-r.share) <= 1e-9*r.share)
			layouts.Exceptions += len(c.Differ)
			layouts.Cases += len(p.Schemes) - 1
		}
		switch greatest := stat.Mean(r.worst); r.spread {
		case "random":
			far.Add(greatest / r.poissonWorst)
			dispersion.Add(stat.Mean(r.variances) / r.share / (1 - 1/float64(r.slots)))
		case "even":
			far.Add(greatest / math.Ceil(r.share))
		case "one":
			far.Add(greatest / float64(p.Timers))
		}
	}
	out.Claim(experiments.Claim{Name: "mean", Class: experiments.OfOthers, Text: "the mean cost of a tick is n/M, whatever the spread", Published: "n/TableSize", Source: hashingPaper, Tag: experiments.FromSource,
		Measured: means.Measure("runs have another mean"), Expected: experiments.None(), Otherwise: "a rotation skips timers, or visits them twice"})
	if far := worst["random"]; far != nil {
		out.Claim(experiments.Claim{Name: "random-variance", Class: experiments.Law, Text: "a random spread has the variance of a binomial distribution", Source: "definition, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(dispersion.Ratio, "of it, at the M farthest from 1"), Expected: experiments.Within(1, 0.1, ""), Basis: "set for this project",
			Otherwise: "the slots are not hit at random"})
		out.Claim(experiments.Claim{Name: "random-worst", Class: experiments.Law, Text: "its worst tick is that of a Poisson distribution", Source: "mean of the greatest of M Poisson draws, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(far.Ratio, "of it, at the M farthest from 1"), Expected: experiments.Within(1, 0.1, ""), Basis: "set for this project",
			Otherwise: "the slots are not hit at random"})
	}
	if far := worst["one"]; far != nil {
		out.Claim(experiments.Claim{Name: "one-worst", Class: experiments.Law, Text: "timers that share a slot cost n in its tick", Published: "O(n) worst", Source: hashingPaper, Tag: experiments.FromSource,
			Measured: experiments.Measured(far.Ratio, "of n"), Expected: experiments.Exactly(1, ""), Otherwise: "a tick visits a part of its slot"})
	}
	if far := worst["even"]; far != nil {
		out.Claim(experiments.Claim{Name: "even-worst", Class: experiments.Law, Text: "an even spread has no tick above n/M, rounded up", Source: "definition, computed", Tag: experiments.Computed,
			Measured: experiments.Measured(far.Ratio, "of it"), Expected: experiments.Exactly(1, ""), Otherwise: "the slots are not hit in turn"})
	}
	out.Claim(experiments.Claim{Name: "layouts", Class: experiments.Check, Text: "all layouts of Scheme 6 pay the same in each tick", Source: "contract of package wheel", Tag: experiments.Computed,
		Measured: layouts.Measure("runs differ"), Expected: experiments.None(), Otherwise: "a layout visits other timers"})
}

func hashingTable(p *hashingPlan, all []hashingRuns) experiments.Table {
	t := experiments.Table{
		Name: "ticks", Title: fmt.Sprintf("Timer records visited per tick, %s timers", experiments.Number(p.Timers)),
		Columns: []string{"spread", "slots M", "mean", "n/M", "variance", "variance/mean", "worst tick, mean over seeds", "worst tick of a Poisson spread"},
	}
	for _, r := range all {
		variance := stat.Mean(r.variances)
		t.Add(r.spread, r.slots, stat.Mean(r.means), r.share, variance, variance/r.share, stat.Mean(r.worst), r.poissonWorst)
	}
	return t
}

// hashingTail draws the distribution of a tick's cost with the fewest slots.
func hashingTail(p *hashingPlan, all []hashingRuns) figure.Figure {
	fig := figure.Figure{
		Name: "tail", Title: fmt.Sprintf("What a tick costs, %d slots", p.Slots[0]),
		X: figure.Axis{Label: "timer records visited in a tick", Log: true}, Y: figure.Axis{Label: "share of ticks that cost as much or more", Log: true},
		Marks:   []figure.Mark{{Label: "n/M", At: float64(p.Timers) / float64(p.Slots[0]), Vertical: true}},
		Caption: "All spreads have the mean n/M. A random spread stays close to it. Where all timers share a slot, one tick pays for all.",
	}
	for k, r := range all[:len(p.Spreads)] {
		ticks, left := map[int]int{}, 0
		for _, c := range r.cells {
			for _, of := range c.Costs {
				ticks[of.Looks] += of.Ticks
				left += of.Ticks
			}
		}
		s := figure.Series{Name: r.spread, Kind: figure.Steps, Group: k + 1}
		sum := float64(left)
		for _, looks := range slices.Sorted(maps.Keys(ticks)) {
			if looks > 0 {
				s.Add(float64(looks), float64(left)/sum)
			}
			left -= ticks[looks]
		}
		if len(s.X) > 0 {
			fig.Series = append(fig.Series, s)
		}
	}
	return fig
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
