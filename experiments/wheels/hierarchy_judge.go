package wheels

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel/stat"
)

var hierarchyWords = experiments.Words{
	Question: "When does a hierarchy of wheels beat a hashed wheel?",
	Found: "A timer costs Scheme 6 T/M + ½ visits, not T/M, and never less than one. So a hierarchy wins above m·c7/c6 " +
		"- ½ rotations: {crossover-whole}.",
}

// hierarchyTolerance is how far a crossover may be from the one that the fitted costs predict.
const hierarchyTolerance = 0.15

// hierarchySum is the mean work for a timer, over all seeds.
type hierarchySum struct {
	t, slots, levels              int
	looks, moves, cost, rotations float64
}

// hierarchySums returns the sums of runs, in the order of t, slots and levels.
func hierarchySums(cells []hierarchyCell, runs func(*hierarchyCell) []hierarchyRun) (all []hierarchySum) {
	type place struct{ t, slots, levels int }
	sums := map[place]hierarchyRun{}
	for i := range cells {
		for _, r := range runs(&cells[i]) {
			at := place{cells[i].T, r.M, r.Levels}
			s := sums[at]
			sums[at] = hierarchyRun{Timers: s.Timers + r.Timers, Ticks: s.Ticks + r.Ticks, Looks: s.Looks + r.Looks,
				Moves: s.Moves + r.Moves}
		}
	}
	for at, s := range sums {
		if n := float64(s.Timers); n > 0 {
			all = append(all, hierarchySum{at.t, at.slots, at.levels, float64(s.Looks) / n, float64(s.Moves) / n,
				float64(s.Looks+s.Moves) / n, float64(s.Ticks) / n / float64(at.slots)})
		}
	}
	slices.SortFunc(all, func(a, b hierarchySum) int {
		return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.slots, b.slots), cmp.Compare(a.levels, b.levels))
	})
	return all
}

// hierarchyCrossing is the T/M at which Scheme 6 costs as much as the smallest hierarchy that
// reaches 2T.
type hierarchyCrossing struct {
	hierarchySum
	at, law float64 // law is that of the fitted costs
}

// near reports whether a crossing is where the law has it, less some rotations.
func (c *hierarchyCrossing) near(less float64) bool {
	return math.Abs(c.at/(c.law-less)-1) <= hierarchyTolerance
}

// hierarchyCrossings returns the crossings that have numbers of slots on either side, by levels.
func hierarchyCrossings(six, just []hierarchySum, c6 float64) (all []hierarchyCrossing) {
	for _, g := range judge.Along(just, func(s *hierarchySum) int { return s.levels }) {
		c7 := judge.Mean(g.Rows, func(s *hierarchySum) float64 { return s.cost / float64(s.levels) })
		for _, s := range g.Rows {
			at, last := math.NaN(), (*hierarchySum)(nil)
			for i := range six {
				x := &six[i]
				if x.t != s.t {
					continue
				}
				if last != nil && last.cost >= s.cost && x.cost < s.cost {
					at = last.rotations + float64((last.cost-s.cost)/(last.cost-x.cost)*(x.rotations-last.rotations))
				}
				last = x
			}
			if at >= 0 {
				all = append(all, hierarchyCrossing{s, at, float64(g.Key) * c7 / c6})
			}
		}
	}
	return all
}

func hierarchyJudge(_ *hierarchyPlan, cells []hierarchyCell) (*experiments.Outcome, error) {
	six := hierarchySums(cells, func(c *hierarchyCell) []hierarchyRun { return c.Six })
	examples := hierarchySums(cells, func(c *hierarchyCell) []hierarchyRun { return c.Example })
	just := hierarchySums(cells, func(c *hierarchyCell) []hierarchyRun { return c.Just })
	// c6 is what Scheme 6 costs for each T/M, where a timer stays for a rotation or more.
	turned := judge.Where(six, func(s *hierarchySum) bool { return s.rotations >= 1 })
	c6, _, fit := stat.Line(judge.Values(turned, func(s *hierarchySum) float64 { return s.rotations }),
		judge.Values(turned, func(s *hierarchySum) float64 { return s.cost }))
	crossings := hierarchyCrossings(six, just, c6)
	out := &experiments.Outcome{}
	out.Judge(hierarchyExact(cells)...)
	out.Judge(hierarchyOfExamples(examples)...)
	out.Judge(hierarchyLawSix(examples, c6, fit))
	out.Judge(hierarchyOfCrossings(crossings)...)
	t := experiments.Table{Name: "crossovers", Title: "The T/M above which Scheme 7 is better, by cost of visits and " +
		"moves",
		Columns: []string{"levels m", "T, ticks", "slots per level", "visits per timer", "moves per timer", "c7",
			"crossover T/M", "m·c7/c6", "m·c7/c6 - ½"}}
	for _, c := range crossings {
		t.Add(c.levels, c.t, c.slots/c.levels, c.looks, c.moves, c.cost/float64(c.levels), c.at, c.law, c.law-0.5)
	}
	out.Tables = append(out.Tables, t)
	return out, nil
}

// hierarchyExact are the laws of single timers.
func hierarchyExact(cells []hierarchyCell) []experiments.Claim {
	var hashed, layered []hierarchyRun
	for _, c := range cells {
		hashed = slices.Concat(hashed, c.Six, c.Example)
		layered = slices.Concat(layered, c.Seven, c.Just)
	}
	timers := func(r *hierarchyRun) int { return r.Timers }
	miscounted := judge.Sum(hashed, func(r *hierarchyRun) int { return r.Miscounted })
	many := judge.Count(layered, func(r *hierarchyRun) bool { return r.Most >= uint64(r.Levels) })
	return []experiments.Claim{
		{
			Name: "looks", Class: experiments.Law, Source: "whole visits, computed", Tag: experiments.Computed,
			Text: "Scheme 6 visits a timer of j ticks ⌊(j-1)/M⌋+1 times",
			Measured: judge.Said("%d of %v timers otherwise", miscounted, float64(judge.Sum(hashed, timers))).
				Judging(float64(miscounted)),
			Expected:  experiments.Exactly(0, "").Saying("none"),
			Otherwise: "a rotation skips a timer, or visits it twice",
		},
		{
			Name: "migrations", Class: experiments.Law, Source: "Varghese & Lauck, §VI-B", Tag: experiments.FromSource,
			Text: "a timer of Scheme 7 migrates less than m times", Published: "m lists to migrate between",
			Basis: "the bound as printed",
			Measured: judge.Said("at most %s, in %v timers", judge.Listing(judge.Along(layered,
				func(r *hierarchyRun) int { return r.Levels }), func(g *judge.Group[int, hierarchyRun]) string {
				most := judge.Most(g.Rows, func(r *hierarchyRun) float64 { return float64(r.Most) }).Most
				return fmt.Sprintf("%d of %d levels", most, g.Key)
			}), float64(judge.Sum(layered, timers))),
			Expected:  experiments.Whether(many == 0 && judge.Sum(layered, timers) > 0, "m-1 at most"),
			Otherwise: "a timer migrates to a coarser wheel, or within one",
		},
	}
}

func hierarchyOfExamples(examples []hierarchySum) (all []experiments.Claim) {
	for _, s := range examples {
		law := hierarchyExamples[s.t].looks
		all = append(all, experiments.Claim{
			Name: fmt.Sprintf("exponential-%d", s.t), Class: experiments.Law, Source: "1/(1-exp(-M/T)), computed",
			Text: fmt.Sprintf("exponential intervals of mean T = %d, M = %d", s.t, s.slots), Tag: experiments.Computed,
			Basis: "1 %, and the rounding of intervals to ticks", Measured: experiments.Measured(s.looks, "visits per timer"),
			Expected:  experiments.Within(law, float64(0.01*law)+0.005, ""),
			Otherwise: "the intervals are not exponential, or are rounded otherwise",
		})
	}
	return all
}

// hierarchyPrinted returns a claim of the paper.
func hierarchyPrinted(name, text, published, basis, turns string) experiments.Claim {
	return experiments.Claim{
		Name: name, Class: experiments.OfOthers, Text: text, Published: published, Source: "Varghese & Lauck, §VI-B",
		Tag: experiments.FromSource, Basis: basis,
		Look: experiments.Look{Read: experiments.ReadPaper, At: "§VI-B",
			Quote: "The average cost per unit time for an average of n timers then becomes n·c(6)/M (Scheme 6), n·c(7)·m/T " +
				"(Scheme 7)", Turns: turns},
	}
}

func hierarchyLawSix(examples []hierarchySum, c6, fit float64) experiments.Claim {
	c := hierarchyPrinted("law-six", "a timer of T ticks costs Scheme 6 c6·T/M", "c6·T/M",
		"the printed formula ± 10 %, the rule of all studies",
		"the ratio T/M: from 5 up the half of a visit is within 10 %")
	text := judge.Say("a line of slope c6 = %v visits, R² ", c6) + fmt.Sprintf("%.6f", fit)
	near := true
	for _, s := range examples {
		ratio := float64(s.t) / float64(s.slots)
		text += judge.Say("; %v visits at T/M = %v", s.looks, ratio)
		near = near && math.Abs(s.looks-ratio) <= float64(ratio*0.1)
	}
	line := c6 >= 0.99 && c6 <= 1.01 && fit > 0.999
	c.Measured = judge.Said("%s", text)
	c.Expected = experiments.Whether(line && near, "T/M ± 10 %% at each example").OrDiffers(
		experiments.Whether(line, "a line with slope 1 ± 1 %%, R² above 0.999"))
	c.Otherwise = "visits are whole: T/M + ½ in the mean, and never less than one. The formula holds for T far above M"
	return c
}

func hierarchyOfCrossings(all []hierarchyCrossing) []experiments.Claim {
	ofLaw := judge.Mean(all, func(c *hierarchyCrossing) float64 { return c.at / c.law })
	near := func(less float64) int {
		return judge.Count(all, func(c *hierarchyCrossing) bool { return c.near(less) })
	}
	printed := hierarchyPrinted("crossover", "Scheme 7 costs less than Scheme 6 above T/M = m·c7/c6", "T/M = m·c7/c6",
		"set for this project: the costs are fitted", "the number of levels: with few of them the half of a visit counts")
	printed.Measured = judge.Said("%d of %d crossovers within, %v of the law in the mean", near(0), len(all), ofLaw)
	printed.Expected = experiments.Whether(near(0) == len(all), "each within 15 %%").OrDiffers(
		experiments.Whether(ofLaw > 0.5 && ofLaw < 1.5, "a mean within 50 %%"))
	printed.Otherwise = "a timer is visited T/M + ½ times in the mean, and not T/M: whole visits round up. With few " +
		"levels the half counts"
	whole := experiments.Claim{
		Name: "crossover-whole", Class: experiments.Law, Text: "the same with whole visits: T/M = m·c7/c6 - ½",
		Source: "mean of ⌊(j-1)/M⌋+1, computed", Tag: experiments.Computed, Basis: printed.Basis,
		Measured:  judge.Said("%d of %d crossovers within", near(0.5), len(all)),
		Expected:  experiments.Whether(near(0.5) == len(all), "each within 15 %%"),
		Otherwise: "c7 depends on T: on the share of timers on lower levels, and of those beyond the last",
	}
	if len(all) == 0 {
		printed.Unless = "no number of slots costs Scheme 6 more than a hierarchy, and another one less"
		whole.Unless = printed.Unless
	}
	return []experiments.Claim{printed, whole}
}
