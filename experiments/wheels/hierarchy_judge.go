package wheels

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

const (
	hierarchyPaper = "Varghese & Lauck, §VI-B"

	// hierarchyPercent is how far a crossover may be from the one that the fitted costs predict.
	hierarchyPercent = 15
)

// hierarchyResults are the results of all cells.
type hierarchyResults []hierarchyCell

// sum adds the runs that choose takes from the cells of a mean interval, over all seeds.
func (all hierarchyResults) sum(t int, choose func(c *hierarchyCell) hierarchyRun) (sum hierarchyRun) {
	for i := range all {
		if all[i].T == t {
			r := choose(&all[i])
			r.Timers, r.Ticks, r.Looks, r.Moves = r.Timers+sum.Timers, r.Ticks+sum.Ticks, r.Looks+sum.Looks, r.Moves+sum.Moves
			sum = r
		}
	}
	return sum
}

// six is Scheme 6 with the i-th number of slots, and just the hierarchy with the k-th number of
// levels that just reaches 2T.
func (all hierarchyResults) six(t, i int) hierarchyRun {
	return all.sum(t, func(c *hierarchyCell) hierarchyRun { return c.Six[i] })
}

func (all hierarchyResults) just(t, k int) hierarchyRun {
	return all.sum(t, func(c *hierarchyCell) hierarchyRun { return c.Just[k] })
}

func hierarchyJudge(p *hierarchyPlan, cells []hierarchyCell) (*experiments.Outcome, error) {
	out, all := &experiments.Outcome{}, hierarchyResults(cells)
	all.countClaims(p, out)
	c6, c7 := all.fit(p, out)
	all.crossovers(p, c6, c7, out)
	all.maps(p, out)
	return out, nil
}

// countClaims judges the visits to each timer.
func (all hierarchyResults) countClaims(p *hierarchyPlan, out *experiments.Outcome) {
	timers, miscounted, hierarchies, few := 0, 0, 0, true
	most := map[int]uint64{} // migrations of a timer, by levels
	for _, c := range all {
		for _, r := range slices.Concat(c.Six, c.Example) {
			timers, miscounted = timers+r.Timers, miscounted+r.Miscounted
		}
		for _, r := range slices.Concat(c.Seven, c.Just) {
			hierarchies += r.Timers
			most[r.Levels] = max(most[r.Levels], r.Most)
			few = few && r.Most < uint64(r.Levels)
		}
	}
	out.Claim(experiments.Claim{Name: "looks", Class: experiments.Law, Text: "Scheme 6 visits a timer of j ticks ⌊(j-1)/M⌋+1 times", Source: "whole visits, computed", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %s timers otherwise", miscounted, experiments.Number(timers)).Judging(float64(miscounted)), Expected: experiments.None(),
		Otherwise: "a rotation skips a timer, or visits it twice"})
	var texts []string
	for _, m := range p.Levels {
		texts = append(texts, fmt.Sprintf("%d of %d levels", most[m], m))
	}
	out.Claim(experiments.Claim{Name: "migrations", Class: experiments.OfOthers, Text: "a timer of Scheme 7 migrates less than m times", Published: "m lists to migrate between", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("at most %s, in %s timers", strings.Join(texts, ", "), experiments.Number(hierarchies)),
		Expected: experiments.Whether(few && hierarchies > 0, "m-1 at most"), Basis: "the bound as printed",
		Otherwise: "a timer migrates to a coarser wheel, or within one"})
	for _, t := range p.Intervals {
		if e, ok := hierarchyExamples[t]; ok {
			r := all.sum(t, func(c *hierarchyCell) hierarchyRun { return c.Example[0] })
			out.Claim(experiments.Claim{Name: fmt.Sprintf("exponential-%d", t), Class: experiments.Law, Basis: "1 %, and the rounding of intervals to ticks", Source: "1/(1-exp(-M/T)), computed", Tag: experiments.Computed,
				Text:     fmt.Sprintf("exponential intervals of mean T = %d, M = %d", t, e.slots),
				Measured: experiments.Measured(r.looks(), "visits per timer"), Expected: experiments.Within(e.looks, float64(0.01*e.looks)+0.005, ""),
				Otherwise: "the intervals are not exponential, or are rounded otherwise"})
		}
	}
}

// fit returns the costs: c6 per T/M, and c7 per level by number of levels.
func (all hierarchyResults) fit(p *hierarchyPlan, out *experiments.Outcome) (c6 float64, c7 []float64) {
	var x, y []float64
	for _, t := range p.Intervals {
		for i := range p.Slots {
			if r := all.six(t, i); r.rotations() >= 1 {
				x, y = append(x, r.rotations()), append(y, r.cost())
			}
		}
	}
	c6, _, r2 := stat.Line(x, y)
	for k, m := range p.Levels {
		sum, n := 0.0, 0
		for _, t := range p.Intervals {
			if r := all.just(t, k); r.Timers > 0 {
				sum += r.cost() / float64(m)
				n++
			}
		}
		c7 = append(c7, sum/float64(max(n, 1)))
	}
	line := experiments.Within(1, 0.01, "").Has(c6) && r2 > 0.999
	near, text := true, ""
	for _, t := range p.Intervals {
		if e, ok := hierarchyExamples[t]; ok {
			r := all.sum(t, func(c *hierarchyCell) hierarchyRun { return c.Example[0] })
			visits, printed := r.looks(), float64(t)/float64(e.slots)
			near = near && experiments.Printed(printed, "").Has(visits)
			text += fmt.Sprintf("; %s visits at T/M = %s", experiments.Number(visits), experiments.Number(printed))
		}
	}
	out.Claim(experiments.Claim{Name: "law-six", Class: experiments.OfOthers, Text: "a timer of T ticks costs Scheme 6 c6·T/M", Published: "c6·T/M", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("a line of slope c6 = %s visits, R² %.6f%s", experiments.Number(c6), r2, text),
		Expected: experiments.Whether(near && line, "T/M ± 10 %% at each example").OrDiffersIf(line, "a line with slope 1 ± 1 %%, R² above 0.999"), Basis: "the printed formula ± 10 %, the rule of all studies",
		Otherwise: "visits are whole: T/M + ½ in the mean, and never less than one. The formula holds for T far above M"})
	return c6, c7
}

// crossover returns the T/M at which Scheme 6 costs as much as Scheme 7, NaN if no number of slots
// of the plan is beyond it.
func (all hierarchyResults) crossover(p *hierarchyPlan, t int, cost float64) float64 {
	at := math.NaN()
	// From few slots to many: from a high T/M to a low one.
	for i := 1; i < len(p.Slots); i++ {
		a, b := all.six(t, i-1), all.six(t, i)
		if a.cost() >= cost && b.cost() < cost {
			share := (a.cost() - cost) / (a.cost() - b.cost())
			at = a.rotations() + float64(share*(b.rotations()-a.rotations()))
		}
	}
	return at
}

// crossovers compares the crossover for each T and m with the one that the costs predict.
func (all hierarchyResults) crossovers(p *hierarchyPlan, c6 float64, c7 []float64, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "crossovers", Title: "The T/M above which Scheme 7 is better, by cost of visits and moves",
		Columns: []string{"levels m", "T, ticks", "slots per level", "visits per timer", "moves per timer", "c7", "crossover T/M", "m·c7/c6", "m·c7/c6 - ½"},
	}
	within, whole := 0, 0
	var ratios []float64
	for k, m := range p.Levels {
		predicted := float64(m) * c7[k] / c6
		half := predicted - 0.5
		for _, t := range p.Intervals {
			just := all.just(t, k)
			if just.Timers == 0 {
				continue
			}
			at := all.crossover(p, t, just.cost())
			if math.IsNaN(at) {
				continue
			}
			ratios = append(ratios, at/predicted)
			if math.Abs(at/predicted-1) <= hierarchyPercent/100. {
				within++
			}
			if math.Abs(at/half-1) <= hierarchyPercent/100. {
				whole++
			}
			table.Add(m, t, just.M/m, just.looks(), float64(just.Moves)/float64(just.Timers), just.cost()/float64(m), at, predicted, half)
		}
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, all.costs(p, c7))
	n, mean := len(ratios), stat.Mean(ratios)
	out.Claim(experiments.Claim{Name: "crossover", Class: experiments.OfOthers, Text: "Scheme 7 costs less than Scheme 6 above T/M = m·c7/c6", Published: "T/M = m·c7/c6", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d of %d crossovers within, %s of the law in the mean", within, n, experiments.Number(mean)),
		Expected: experiments.Whether(n > 0 && within == n, "each within %d %%", hierarchyPercent).OrDiffersIf(n > 0 && mean > 0.5 && mean < 1.5, "a mean within 50 %%"), Basis: "set for this project: the costs are fitted",
		Otherwise: "a timer is visited T/M + ½ times in the mean, and not T/M: whole visits round up. With few levels the half counts"})
	out.Claim(experiments.Claim{Name: "crossover-whole", Class: experiments.Law, Basis: "set for this project: the costs are fitted", Text: "the same with whole visits: T/M = m·c7/c6 - ½", Source: "mean of ⌊(j-1)/M⌋+1, computed", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%d of %d crossovers within", whole, n), Expected: experiments.Whether(n > 0 && whole == n, "each within %d %%", hierarchyPercent),
		Otherwise: "c7 depends on T: on the share of timers on lower levels, and of those beyond the last"})
}

func (all hierarchyResults) costs(p *hierarchyPlan, c7 []float64) figure.Figure {
	fig := figure.Figure{
		Name: "cost", Title: "Work per timer: Scheme 6 by T/M, Scheme 7 by its levels",
		X: figure.Axis{Label: "T/M", Log: true}, Y: figure.Axis{Label: "visits and moves per timer", Log: true},
		Caption: "Scheme 6 follows the line c6·(T/M + ½), and never costs less than one visit. Each hierarchy, dashed, costs m·c7 at any M.",
	}
	var rotations []float64
	for _, t := range p.Intervals {
		s := figure.Series{Name: fmt.Sprintf("Scheme 6, T = %s", experiments.Number(t)), Kind: figure.Points, Group: 1}
		for i := range p.Slots {
			r := all.six(t, i)
			s.Add(r.rotations(), r.cost())
		}
		fig.Series, rotations = append(fig.Series, s), append(rotations, s.X...)
	}
	ends := []float64{slices.Min(rotations), slices.Max(rotations)}
	for k, m := range p.Levels {
		cost := float64(m) * c7[k]
		fig.Series = append(fig.Series, figure.Series{Name: fmt.Sprintf("Scheme 7, m = %d", m), Kind: figure.Line, Dashed: true, X: ends, Y: []float64{cost, cost}})
	}
	return fig
}

// maps draws the winner where both schemes have as many slots, and the cost of Scheme 6.
func (all hierarchyResults) maps(p *hierarchyPlan, out *experiments.Outcome) {
	winner := figure.Figure{
		Name: "winner", Title: "The scheme with less work, with as many slots in all",
		X: figure.Axis{Label: "mean interval T, ticks"}, Y: figure.Axis{Label: "slots in all, M"},
		Map: &figure.Map{Classes: []string{"Scheme 6", "Scheme 6: no hierarchy of so few slots reaches 2T"}},
		Caption: "The number in a cell is the cost of Scheme 6 divided by that of the best hierarchy: below 1, Scheme 6 is better. The border is at a " +
			"T/M of about 2 to 4, where two levels are enough. More levels pay only where the slots are too few for two.",
	}
	work := figure.Figure{
		Name: "work-six", Title: "The cost of a timer in Scheme 6",
		X: winner.X, Y: winner.Y, Map: &figure.Map{Log: true}, Caption: "Visits per timer: T/M along each diagonal.",
	}
	table := experiments.Table{Name: "map", Title: "Cost per timer by T and M", Data: true, Columns: []string{"T, ticks", "slots", "Scheme 6"}}
	for _, m := range p.Levels {
		name := fmt.Sprintf("Scheme 7, m = %d", m)
		winner.Map.Classes, table.Columns = append(winner.Map.Classes, name), append(table.Columns, name)
	}
	for _, t := range p.Intervals {
		winner.Map.Columns = append(winner.Map.Columns, experiments.Number(t))
	}
	for i, slots := range p.Slots {
		var class []int
		var text, looks []string
		var value []float64
		for _, t := range p.Intervals {
			s := all.six(t, i)
			costs, best, least := all.hierarchies(p, t, i)
			table.Add(append([]any{t, slots, s.cost()}, costs...)...)
			ratio := ""
			if !math.IsInf(least, 1) {
				ratio = experiments.Number(math.Round(100*s.cost()/least) / 100)
			}
			switch {
			case math.IsInf(least, 1):
				best = 1
			case s.cost() <= least:
				best = 0
			}
			class, text = append(class, best), append(text, ratio)
			value, looks = append(value, s.looks()), append(looks, experiments.Number(s.looks()))
		}
		winner.Map.Rows = append(winner.Map.Rows, experiments.Number(slots))
		winner.Map.Class, winner.Map.Text = append(winner.Map.Class, class), append(winner.Map.Text, text)
		work.Map.Value, work.Map.Text = append(work.Map.Value, value), append(work.Map.Text, looks)
	}
	work.Map.Columns, work.Map.Rows = winner.Map.Columns, winner.Map.Rows
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, winner, work)
}

// hierarchies returns the costs of Scheme 7 with the i-th number of slots, "" if it does not reach
// 2T, and the class and cost of the best.
func (all hierarchyResults) hierarchies(p *hierarchyPlan, t, i int) (costs []any, best int, least float64) {
	least = math.Inf(1)
	for k := range p.Levels {
		r := all.sum(t, func(c *hierarchyCell) hierarchyRun { return c.Seven[i*len(p.Levels)+k] })
		if r.Timers == 0 {
			costs = append(costs, "")
			continue
		}
		costs = append(costs, r.cost())
		if r.cost() < least {
			best, least = k+2, r.cost()
		}
	}
	return costs, best, least
}
