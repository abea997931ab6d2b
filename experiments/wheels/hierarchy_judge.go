package wheels

import (
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const (
	hierarchyPaper = "Varghese & Lauck, §VI-B"

	// hierarchyBand is how far a crossover may be from where the fitted costs put it, relative to that.
	hierarchyBand = 0.15
)

// hierarchySum returns the runs of all seeds with a mean interval together that choose takes from their cells.
func hierarchySum(cells []hierarchyCell, t int, choose func(c *hierarchyCell) hierarchyRun) (all hierarchyRun) {
	for i := range cells {
		if cells[i].T != t {
			continue
		}
		r := choose(&cells[i])
		all.M, all.Levels = r.M, r.Levels
		all.Timers += r.Timers
		all.Ticks += r.Ticks
		all.Looks += r.Looks
		all.Moves += r.Moves
		all.Most = max(all.Most, r.Most)
		all.Miscounted += r.Miscounted
	}
	return all
}

func hierarchyJudge(p *hierarchyPlan, cells []hierarchyCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}

	// What each timer took.
	timers, miscounted, excess, hierarchies := 0, 0, 0, 0
	most := map[int]uint64{}
	for _, c := range cells {
		for _, r := range append(append([]hierarchyRun(nil), c.Six...), c.Example...) {
			timers, miscounted = timers+r.Timers, miscounted+r.Miscounted
		}
		for _, r := range append(append([]hierarchyRun(nil), c.Seven...), c.Just...) {
			hierarchies += r.Timers
			most[r.Levels] = max(most[r.Levels], r.Most)
			if r.Most >= uint64(r.Levels) {
				excess++
			}
		}
	}
	out.Claim(experiments.Claim{
		Name: "looks", Text: "Scheme 6 looks at a timer of j ticks ⌊(j-1)/M⌋+1 times", Published: "T/M", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("%d of %s timers otherwise", miscounted, experiments.Number(float64(timers))), Expected: experiments.Whether(miscounted == 0, "each timer, exactly"),

		Otherwise: "a rotation leaves a timer out, or looks at it twice",
	})
	text := ""
	for _, m := range p.Levels {
		text += fmt.Sprintf("%d of %d levels, ", most[m], m)
	}
	out.Claim(experiments.Claim{
		Name: "migrations", Text: "a timer of Scheme 7 migrates less than m times", Published: "m lists to migrate between", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured:  experiments.MeasuredText("at most %sin %s timers", text, experiments.Number(float64(hierarchies))),
		Expected:  experiments.Whether(excess == 0 && hierarchies > 0, "m-1 at most"),
		Otherwise: "a timer goes to a coarser wheel, or to one of the same",
	})
	for _, t := range p.Intervals {
		e, ok := hierarchyExamples[t]
		if !ok {
			continue
		}
		r := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Example[0] })
		out.Claim(experiments.Claim{
			Name: fmt.Sprintf("exponential-%d", t), Source: "1/(1-exp(-M/T)), computed", Tag: experiments.Computed,
			Text:     fmt.Sprintf("exponential intervals of mean T = %d, M = %d", t, e.slots),
			Measured: experiments.Measured(r.looks(), "looks per timer"), Expected: experiments.Whether(math.Abs(r.looks()-e.looks) <= float64(0.01*e.looks)+0.005, "%.2f ± 1 %%", e.looks),

			Otherwise: "the intervals are not exponential, or are rounded otherwise",
		})
	}

	// The costs, fitted: c6 over T/M, c7 per level.
	var x, y []float64
	for _, t := range p.Intervals {
		for i := range p.Slots {
			if r := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Six[i] }); r.rotations() >= 1 {
				x, y = append(x, r.rotations()), append(y, r.cost())
			}
		}
	}
	c6, _, r2 := stat.Line(x, y)
	c7 := make([]float64, len(p.Levels))
	for k, m := range p.Levels {
		n := 0
		for _, t := range p.Intervals {
			if r := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Just[k] }); r.Timers > 0 {
				c7[k] += r.cost() / float64(m)
				n++
			}
		}
		c7[k] /= float64(max(n, 1))
	}
	out.Claim(experiments.Claim{
		Name: "law-six", Text: "the work of Scheme 6 per timer is a line in T/M", Published: "c6·T/M", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("c6 = %s looks, R² %.6f", experiments.Number(c6), r2), Expected: experiments.Whether(math.Abs(c6-1) <= 0.01 && r2 > 0.999, "slope 1 ± 1 %%, R² above 0.999"),

		Otherwise: "a look costs otherwise",
	})
	hierarchyCrossovers(p, out, cells, c6, c7)
	hierarchyMaps(p, out, cells)
	return out, nil
}

// hierarchyCrossovers finds for each T and m the T/M at which Scheme 6 costs what Scheme 7 with levels just enough does.
func hierarchyCrossovers(p *hierarchyPlan, out *experiments.Outcome, cells []hierarchyCell, c6 float64, c7 []float64) {
	table := experiments.Table{
		Name: "crossovers", Title: "Where Scheme 7 begins to be better: T/M, by cost of looks and moves",
		Columns: []string{"levels m", "T, ticks", "slots per level", "looks", "moves", "c7", "crossover T/M", "m·c7/c6", "with the half look"},
	}
	law := figure.Figure{
		Name: "cost", Title: "Work per timer: Scheme 6 by T/M, Scheme 7 by its levels",
		X: figure.Axis{Label: "T/M", Log: true}, Y: figure.Axis{Label: "looks and moves per timer", Log: true},
		Caption: "Scheme 6 lies on the line c6·(T/M + ½), and never costs less than one look. Each hierarchy, dashed, costs m·c7 at any M.",
	}
	for _, t := range p.Intervals {
		s := figure.Series{Name: fmt.Sprintf("Scheme 6, T = %s", experiments.Number(float64(t))), Kind: figure.Points, Group: 1}
		for i := range p.Slots {
			r := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Six[i] })
			s.X, s.Y = append(s.X, r.rotations()), append(s.Y, r.cost())
		}
		law.Series = append(law.Series, s)
	}
	var ends []float64 // of the axis, between which the cost of a hierarchy is a level line
	for _, s := range law.Series {
		ends = append(ends, s.X...)
	}
	ends = []float64{slices.Min(ends), slices.Max(ends)}
	n, within, corrected := 0, 0, 0
	var ratios []float64
	for k, m := range p.Levels {
		for _, t := range p.Intervals {
			just := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Just[k] })
			if just.Timers == 0 {
				continue
			}
			want := just.cost()
			at := math.NaN()
			// From few slots to many, that is from a high T/M to a low one.
			for i := 1; i < len(p.Slots); i++ {
				a, b := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Six[i-1] }), hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Six[i] })
				if a.cost() >= want && b.cost() < want {
					share := (a.cost() - want) / (a.cost() - b.cost())
					at = a.rotations() + float64(share*(b.rotations()-a.rotations()))
				}
			}
			predicted := float64(m) * c7[k] / c6
			if math.IsNaN(at) {
				continue // not within the numbers of slots of the plan
			}
			n++
			ratios = append(ratios, at/predicted)
			if math.Abs(at/predicted-1) <= hierarchyBand {
				within++
			}
			if half := predicted - 0.5; math.Abs(at/half-1) <= hierarchyBand {
				corrected++
			}
			table.Add(m, t, just.M/m, just.looks(), float64(just.Moves)/float64(just.Timers), just.cost()/float64(m), at, predicted, predicted-0.5)
		}
		cost := float64(m) * c7[k]
		law.Series = append(law.Series, figure.Series{Name: fmt.Sprintf("Scheme 7, m = %d", m), Kind: figure.Line, Dashed: true, X: ends, Y: []float64{cost, cost}})
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, law)
	verdict := experiments.NotReproduced
	switch mean := stat.Mean(ratios); {
	case n > 0 && within == n:
		verdict = experiments.Reproduced
	case n > 0 && mean > 0.5 && mean < 1.5:
		verdict = experiments.Differs
	}
	out.Claim(experiments.Claim{
		Name: "crossover", Text: "Scheme 7 costs less than Scheme 6 from T/M = m·c7/c6 on", Published: "T/M = m·c7/c6", Source: hierarchyPaper, Tag: experiments.FromSource,
		Measured:  experiments.MeasuredText("%d of %d crossovers within, %s of the law in the mean", within, n, experiments.Number(stat.Mean(ratios))),
		Expected:  experiments.Decided(verdict, "each within 15 %"),
		Otherwise: "a timer is looked at T/M + ½ times in the mean, and not T/M: whole visits round up. With few levels the half counts",
	})
	out.Claim(experiments.Claim{
		Name: "crossover-whole", Text: "the same with whole visits: T/M = m·c7/c6 - ½", Source: "mean of ⌊(j-1)/M⌋+1, computed", Tag: experiments.Computed,
		Measured:  experiments.MeasuredText("%d of %d crossovers within", corrected, n),
		Expected:  experiments.Whether(n > 0 && corrected == n, "each within 15 %%"),
		Otherwise: "c7 depends on T: on the share of timers that stand on lower levels, and of those that lie beyond the last",
	})
}

// hierarchyMaps draws who wins where both have as many slots.
func hierarchyMaps(p *hierarchyPlan, out *experiments.Outcome, cells []hierarchyCell) {
	winner := figure.Figure{
		Name: "winner", Title: "Who has less work with as many slots in all",
		X: figure.Axis{Label: "mean interval T, ticks"}, Y: figure.Axis{Label: "slots in all, M"},
		Map: &figure.Map{Classes: []string{"Scheme 6", "Scheme 6: no hierarchy of so few slots reaches 2T"}},
		Caption: "The number in a cell is by how much the best hierarchy beats Scheme 6: below 1, Scheme 6 is better. The border is at a T/M of " +
			"about 2 to 4: there two levels are enough. More levels pay only where the slots are too few for two.",
	}
	work := figure.Figure{
		Name: "work-six", Title: "What a timer costs in Scheme 6",
		X: winner.X, Y: winner.Y, Map: &figure.Map{Log: true}, Caption: "Looks per timer: T/M along each diagonal.",
	}
	table := experiments.Table{
		Name: "map", Title: "Cost per timer by T and M", Data: true,
		Columns: []string{"T, ticks", "slots", "Scheme 6"},
	}
	for _, m := range p.Levels {
		winner.Map.Classes = append(winner.Map.Classes, fmt.Sprintf("Scheme 7, m = %d", m))
		table.Columns = append(table.Columns, fmt.Sprintf("Scheme 7, m = %d", m))
	}
	for _, t := range p.Intervals {
		winner.Map.Columns = append(winner.Map.Columns, experiments.Number(float64(t)))
	}
	for i, slots := range p.Slots {
		var class []int
		var text, looks []string
		var value []float64
		for _, t := range p.Intervals {
			s := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Six[i] })
			row := []any{t, slots, s.cost()}
			best, of := 0, math.Inf(1)
			for k := range p.Levels {
				r := hierarchySum(cells, t, func(c *hierarchyCell) hierarchyRun { return c.Seven[i*len(p.Levels)+k] })
				if r.Timers == 0 {
					row = append(row, "")
					continue
				}
				row = append(row, r.cost())
				if r.cost() < of {
					best, of = k+2, r.cost()
				}
			}
			table.Add(row...)
			switch {
			case math.IsInf(of, 1):
				best = 1
			case s.cost() <= of:
				best = 0
			}
			class, value, looks = append(class, best), append(value, s.looks()), append(looks, experiments.Number(s.looks()))
			if math.IsInf(of, 1) {
				text = append(text, "")
			} else {
				text = append(text, experiments.Number(math.Round(100*s.cost()/of)/100))
			}
		}
		winner.Map.Rows = append(winner.Map.Rows, experiments.Number(float64(slots)))
		winner.Map.Class, winner.Map.Text = append(winner.Map.Class, class), append(winner.Map.Text, text)
		work.Map.Value, work.Map.Text = append(work.Map.Value, value), append(work.Map.Text, looks)
	}
	work.Map.Columns, work.Map.Rows = winner.Map.Columns, winner.Map.Rows
	out.Figures = append(out.Figures, winner, work)
	out.Tables = append(out.Tables, table)
}
