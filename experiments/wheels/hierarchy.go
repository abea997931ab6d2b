package wheels

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// hierarchyPlan is the plan of the study.
type hierarchyPlan struct {
	Intervals []int `plan:"intervals" min:"2" max:"1000000000" order:"rising"`
	Slots     []int `plan:"slots" min:"8" max:"16777216" power:"two" order:"rising"`
	Levels    []int `plan:"levels" min:"2" max:"8" order:"rising"`
	Timers    int   `plan:"timers" min:"20" max:"1000000"`
	Looks     int   `plan:"looks" min:"1000" max:"1000000000"`
	FirstSeed int   `plan:"first_seed" min:"1" max:"1000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// hierarchyCell is the counts for one mean interval under one seed.
type hierarchyCell struct {
	T     int            `json:"t"`
	Seed  int            `json:"seed"`
	Six   []hierarchyRun `json:"six"`   // by number of slots
	Seven []hierarchyRun `json:"seven"` // by slots in all and levels
	// Just are the smallest hierarchies that reach 2T, by levels.
	Just []hierarchyRun `json:"just"`
	// Example has exponential intervals in Scheme 6, with the slots of the examples.
	Example []hierarchyRun `json:"example,omitempty"`
}

// hierarchyRun is the work of timers that run one after another.
type hierarchyRun struct {
	M          int    `json:"m"`                // in all
	Levels     int    `json:"levels,omitempty"` // 0 is Scheme 6
	Timers     int    `json:"timers"`           // 0 if the hierarchy does not reach far enough
	Ticks      uint64 `json:"ticks"`            // of all intervals
	Looks      uint64 `json:"looks"`            // visits to timers
	Moves      uint64 `json:"moves"`            // of timers
	Most       uint64 `json:"most"`             // of one timer
	Miscounted int    `json:"miscounted"`       // whose visits break the law of Scheme 6
}

// Hierarchy is the study.
var Hierarchy = experiments.Define(experiments.Spec[hierarchyPlan, hierarchyCell]{
	ID: "E3", Name: "hierarchy", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/hierarchy", Files: files,
	Words: func() experiments.Words { return hierarchyWords },
	Cells: hierarchyCells, Judge: hierarchyJudge,
})

func hierarchyCells(p *hierarchyPlan) (all []experiments.Cell[hierarchyCell]) {
	for _, t := range p.Intervals {
		cost := 1e-3
		for _, m := range p.Slots {
			cost += float64(1e-7*float64(p.timers(t, m))*float64(2+t/m)) + float64(1e-8*float64(m*len(p.Levels)))
		}
		all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("T=%d", t), cost,
			func(seed int) (hierarchyCell, error) { return runHierarchy(p, t, seed) })...)
	}
	return all
}

// timers returns how many timers of mean interval t run in Scheme 6 with m slots.
func (p *hierarchyPlan) timers(t, m int) int {
	return max(20, min(p.Timers, int(float64(p.Looks)*float64(m)/float64(t))))
}

// hierarchyExamples are the examples of the README: slots and mean visits, by mean interval.
var hierarchyExamples = map[int]struct {
	slots int
	looks float64
}{1000: {256, 4.43}, 100: {1024, 1.00}}

// hierarchyExampleTimers is the timers of an example, enough for a mean within 1 %.
const hierarchyExampleTimers = 400_000

func runHierarchy(p *hierarchyPlan, t, seed int) (hierarchyCell, error) {
	c := hierarchyCell{T: t, Seed: seed}
	for _, m := range p.Slots {
		r, err := hierarchySix(m, p.timers(t, m), seed, hierarchyEvenly(t))
		if err != nil {
			return c, err
		}
		c.Six = append(c.Six, r)
		for _, levels := range p.Levels {
			if r, err = hierarchySeven(m, hierarchyShare(m, levels), levels, p.Timers, seed, t); err != nil {
				return c, err
			}
			c.Seven = append(c.Seven, r)
		}
	}
	for _, levels := range p.Levels {
		per := 2
		for hierarchyReach(per, levels) < float64(2*t) {
			per *= 2
		}
		timers := p.Timers
		if hierarchyReach(per, levels-1) >= float64(2*t) {
			timers = 0 // fewer levels reach 2T
		}
		r, err := hierarchySeven(per*levels, per, levels, timers, seed, t)
		if err != nil {
			return c, err
		}
		c.Just = append(c.Just, r)
	}
	if e, ok := hierarchyExamples[t]; ok {
		r, err := hierarchySix(e.slots, hierarchyExampleTimers/p.Seeds, seed, func(r *rand.Rand) uint64 {
			return 1 + uint64(stat.Exponential(r)*float64(t))
		})
		if err != nil {
			return c, err
		}
		c.Example = append(c.Example, r)
	}
	return c, nil
}

// hierarchyEvenly draws intervals from 1 to 2t-1 ticks.
func hierarchyEvenly(t int) func(r *rand.Rand) uint64 {
	return func(r *rand.Rand) uint64 { return 1 + r.Uint64N(uint64(2*t-1)) }
}

func hierarchyIgnore(wheel.Timer) {}

// hierarchySix runs timers one after another in Scheme 6. Time passes in steps of half a rotation,
// because an Advance over a longer gap may skip rotations.
func hierarchySix(slots, timers, seed int, draw func(r *rand.Rand) uint64) (hierarchyRun, error) {
	c := hierarchyRun{M: slots, Timers: timers}
	f, err := wheel.New("scheme6-list", wheel.Config{Tick: 1, Slots: slots, Count: true})
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 6))
	t := f.New(0)
	for range timers {
		j := draw(r)
		c.Ticks += j
		before := f.Counts()
		deadline := f.Now() + wheel.Time(j)
		f.Schedule(t, deadline)
		for now := f.Now(); now < deadline; {
			now = min(now+wheel.Time(slots/2), deadline)
			f.Advance(now, 0, hierarchyIgnore)
		}
		got := f.Counts().Sub(before)
		if got.Expiries != 1 {
			return c, fmt.Errorf("a timer of %d ticks expired %d times", j, got.Expiries)
		}
		c.Looks += got.TickVisits
		c.Moves += got.Moves
		if got.TickVisits != (j-1)/uint64(slots)+1 {
			c.Miscounted++
		}
		// The next one starts at another phase.
		f.Advance(f.Now()+wheel.Time(r.IntN(slots)), 0, hierarchyIgnore)
	}
	return c, nil
}

// hierarchyShare returns the slots of each level of a hierarchy with so many slots in all: a power
// of two, at most 2^16.
func hierarchyShare(slots, levels int) int {
	return min(1<<(bits.Len(uint(slots/levels))-1), 1<<16)
}

// hierarchyReach returns how many ticks a hierarchy covers.
func hierarchyReach(per, levels int) float64 { return stat.Power(float64(per), levels) }

// hierarchySeven runs timers of mean interval t one after another in Scheme 7, if it reaches 2t.
func hierarchySeven(slots, per, levels, timers, seed, t int) (hierarchyRun, error) {
	c := hierarchyRun{M: slots, Levels: levels}
	if all := hierarchyReach(per, levels); per < 2 || all < float64(2*t) {
		return c, nil
	}
	f, err := wheel.New("scheme7", wheel.Config{Tick: 1, Slots: per, Levels: levels, Count: true})
	if err != nil {
		return c, err
	}
	c.Timers = timers
	phases := uint64(min(hierarchyReach(per, levels), 1<<40))
	r, draw := rand.New(rand.NewPCG(uint64(seed), 7)), hierarchyEvenly(t)
	timer := f.New(0)
	for range timers {
		j := draw(r)
		c.Ticks += j
		f.Advance(f.Now()+wheel.Time(r.Uint64N(phases)), 0, hierarchyIgnore)
		before := f.Counts()
		deadline := f.Now() + wheel.Time(j)
		f.Schedule(timer, deadline)
		f.Advance(deadline, 0, hierarchyIgnore)
		got := f.Counts().Sub(before)
		if got.Expiries != 1 {
			return c, fmt.Errorf("a timer of %d ticks expired %d times", j, got.Expiries)
		}
		c.Looks += got.TickVisits
		c.Moves += got.Moves
		c.Most = max(c.Most, got.Migrations)
	}
	return c, nil
}

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
			Expected: experiments.Exactly(0, "").Saying("none"),
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
			Expected: experiments.Whether(many == 0 && judge.Sum(layered, timers) > 0, "m-1 at most"),
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
			Expected: experiments.Within(law, float64(0.01*law)+0.005, ""),
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
	whole := experiments.Claim{
		Name: "crossover-whole", Class: experiments.Law, Text: "the same with whole visits: T/M = m·c7/c6 - ½",
		Source: "mean of ⌊(j-1)/M⌋+1, computed", Tag: experiments.Computed, Basis: printed.Basis,
		Measured: judge.Said("%d of %d crossovers within", near(0.5), len(all)),
		Expected: experiments.Whether(near(0.5) == len(all), "each within 15 %%"),
	}
	if len(all) == 0 {
		printed.Unless = "no number of slots costs Scheme 6 more than a hierarchy, and another one less"
		whole.Unless = printed.Unless
	}
	return []experiments.Claim{printed, whole}
}
