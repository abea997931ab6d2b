package wheels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel"
	"tcpwheel/wheel/stat"
)

// orderedlistPlan is the plan of the study.
type orderedlistPlan struct {
	Intervals   []string `plan:"intervals" oneof:"exponential uniform narrow constant"`
	Mean        float64  `plan:"mean" min:"1000" max:"1e12"`
	Outstanding []int    `plan:"outstanding" min:"10" max:"100000" order:"rising"`
	Insertions  int      `plan:"insertions" min:"1000" max:"100000000"`
	WarmUp      int      `plan:"warm_up" min:"5" max:"1000"`
	FirstSeed   int      `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int      `plan:"seeds" min:"2" max:"1000"`
}

// orderedlistCell is the counts of one distribution and number of timers under one seed.
type orderedlistCell struct {
	Intervals string `json:"intervals"`
	N         int    `json:"n"` // timers outstanding in the mean
	Seed      int    `json:"seed"`

	Insertions int    `json:"insertions"`
	Seen       uint64 `json:"seen"` // timers outstanding, summed over the insertions
	Head       uint64 `json:"head"` // records that searches from the head pass
	Rear       uint64 `json:"rear"` // records that searches from the rear pass
}

// OrderedList is the study.
var OrderedList = experiments.Define(experiments.Spec[orderedlistPlan, orderedlistCell]{
	ID: "E1", Name: "orderedlist", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/orderedlist", Files: files,
	Words: func() experiments.Words { return orderedlistWords },
	Cells: orderedlistCells, Judge: orderedlistJudge,
})

// orderedlistDistribution is a distribution of intervals with the model of its search. head is the
// share of the list that a search from the head passes: the probability that the rest of an
// interval is shorter than a new interval.
type orderedlistDistribution struct {
	name, about string
	draw        func(r *rand.Rand) float64 // in units of the mean
	head        float64

	// The paper's share, 0 if it has none, and its text.
	paperHead, paperRear         float64
	paperHeadText, paperRearText string
}

var orderedlistDistributions = []orderedlistDistribution{
	{
		name: "exponential", about: "negative exponential", draw: stat.Exponential, head: 1. / 2,
		paperHead: 2. / 3, paperHeadText: "2 + 2n/3", paperRear: 1. / 3, paperRearText: "2 + n/3",
	},
	{
		name: "uniform", about: "uniform, 0 to 2 means", head: 2. / 3,
		draw:      func(r *rand.Rand) float64 { return 2 * float64(r.Float64()) },
		paperHead: 1. / 2, paperHeadText: "2 + n/2",
	},
	// For a uniform distribution of mean 1 from 1-w to 1+w it is 1 - w/3: a new interval y is longer
	// than the rest of another with the probability ∫(1-F) from 0 to y, whose mean over y is 1 - w/3.
	{
		name: "narrow", about: "uniform, 0.9 to 1.1 means", head: 1 - 0.1/3,
		draw: func(r *rand.Rand) float64 { return 0.9 + float64(0.2*float64(r.Float64())) },
	},
	{name: "constant", about: "constant", draw: func(*rand.Rand) float64 { return 1 }, head: 1},
}

func orderedlistFind(name string) *orderedlistDistribution {
	for i := range orderedlistDistributions {
		if orderedlistDistributions[i].name == name {
			return &orderedlistDistributions[i]
		}
	}
	panic("BUG: the plan was not checked: " + name)
}

func orderedlistCells(p *orderedlistPlan) (all []experiments.Cell[orderedlistCell]) {
	for _, name := range p.Intervals {
		for _, n := range p.Outstanding {
			starts := p.Insertions + p.WarmUp*n
			all = append(all, experiments.Seeded(p.FirstSeed, p.Seeds, fmt.Sprintf("intervals=%s n=%d", name, n),
				1e-7*float64(starts)*(3+float64(n)/50), func(seed int) (orderedlistCell, error) {
					return orderedlistRun(p, orderedlistFind(name), n, seed)
				})...)
		}
	}
	return all
}

// orderedlistRun runs the same timers in two lists, one searched from the head and one from the
// rear.
func orderedlistRun(p *orderedlistPlan, d *orderedlistDistribution, n, seed int) (orderedlistCell, error) {
	c := orderedlistCell{Intervals: d.name, N: n, Seed: seed, Insertions: p.Insertions}
	head, err := wheel.New("scheme2", wheel.Config{Tick: 1, Count: true})
	if err != nil {
		return c, err
	}
	rear, err := wheel.New("scheme2-rear", wheel.Config{Tick: 1, Count: true})
	if err != nil {
		return c, err
	}
	r := rand.New(rand.NewPCG(uint64(seed), 1987))
	var idle []wheel.Timer // the same records in both lists
	expire := func(t wheel.Timer) { idle = append(idle, t) }
	now, warmUp := 0., p.WarmUp*n
	for i := range warmUp + p.Insertions {
		if i == warmUp {
			head.ResetCounts()
			rear.ResetCounts()
			c.Seen = 0
		}
		now += float64(p.Mean / float64(n) * stat.Exponential(r))
		head.Advance(wheel.Time(now), 0, expire)
		rear.Advance(wheel.Time(now), 0, func(wheel.Timer) {})
		if len(idle) == 0 {
			idle = append(idle, head.New(0))
			rear.New(0)
		}
		t := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		c.Seen += uint64(head.Len())
		at := wheel.Time(now + max(1, float64(p.Mean*d.draw(r))))
		head.Schedule(t, at)
		rear.Schedule(t, at)
	}
	c.Head, c.Rear = head.Counts().StartVisits, rear.Counts().StartVisits
	return c, nil
}

var orderedlistWords = experiments.Words{
	Question: "How far does START search an ordered list, and which of the paper's two figures belongs to which " +
		"distribution?",
	Found: "The printed labels of two distributions are interchanged: a search passes {printed}.",
}

// orderedlistBand is how far a share may be from the model or from what is printed, in parts of the
// list.
const orderedlistBand = 0.01

// orderedlistEnd is the searches from one end of the list under one distribution of intervals: the
// share of the list that they pass, over seeds and numbers of timers.
type orderedlistEnd struct {
	intervals, end        string
	share, model, printed float64 // printed is 0 if the paper prints none
	printedAs             string
}

func (c *orderedlistCell) head() float64 { return float64(c.Head) / float64(c.Seen) }
func (c *orderedlistCell) rear() float64 { return float64(c.Rear) / float64(c.Seen) }

func orderedlistEnds(cells []orderedlistCell) (ends []orderedlistEnd) {
	for _, g := range judge.By(cells, func(c *orderedlistCell) string { return c.Intervals }) {
		d, seeds := orderedlistFind(g.Key), judge.By(g.Rows, func(c *orderedlistCell) int { return c.Seed })
		share := func(of func(*orderedlistCell) float64) float64 {
			return judge.Mean(seeds, func(s *judge.Group[int, orderedlistCell]) float64 { return judge.Mean(s.Rows, of) })
		}
		ends = append(ends,
			orderedlistEnd{d.name, "head", share((*orderedlistCell).head), d.head, d.paperHead, d.paperHeadText},
			orderedlistEnd{d.name, "rear", share((*orderedlistCell).rear), 1 - d.head, d.paperRear, d.paperRearText})
	}
	return ends
}

// orderedlistJudge judges the searches from both ends.
func orderedlistJudge(_ *orderedlistPlan, cells []orderedlistCell) (*experiments.Outcome, error) {
	ends := orderedlistEnds(cells)
	list := func(text func(e *orderedlistEnd) string) string {
		var all []string
		for i := range ends {
			if ends[i].printed > 0 {
				all = append(all, fmt.Sprintf("%s from the %s %s", ends[i].intervals, ends[i].end, text(&ends[i])))
			}
		}
		return strings.Join(all, ", ")
	}
	near := func(got, want float64) bool { return math.Abs(got-want) <= orderedlistBand }
	of := func(intervals, end string) float64 {
		rows := judge.Where(ends, func(e *orderedlistEnd) bool { return e.intervals == intervals && e.end == end })
		return judge.Mean(rows, func(e *orderedlistEnd) float64 { return e.share })
	}
	distance := func(e *orderedlistEnd) float64 { return math.Abs(e.share - e.model) }
	off := judge.Most(ends, distance)
	whole := judge.Count(cells, func(c *orderedlistCell) bool { return c.Head+c.Rear == c.Seen })
	uniform, exponential, rear := of("uniform", "head"), of("exponential", "head"), of("uniform", "rear")
	const paper = "Varghese & Lauck, §III-B"
	each := judge.Say("each within %v n", orderedlistBand)
	printed := experiments.Claim{
		Name: "printed", Class: experiments.OfOthers, Source: paper, Tag: experiments.FromSource, Doubted: true,
		Text:      "the mean cost of an insertion is that printed for the distribution of intervals",
		Published: list(func(e *orderedlistEnd) string { return e.printedAs }),
		Basis:     "the printed formulas",
		Look: experiments.Look{Read: experiments.ReadPaper, At: "§III-B",
			Quote: "2 + 2n/3 negative exponential; 2 + n/2 uniform … For a negative exponential distribution we can reduce " +
				"the average cost to 2 + n/3 by searching the list from the rear",
			Turns: "no distribution of the plan and no number of timers"},
		Measured: judge.Said("%s", list(func(e *orderedlistEnd) string { return judge.Say("%v n", e.share) })),
		Expected: experiments.Whether(judge.All(ends, func(e *orderedlistEnd) bool {
			return e.printed == 0 || near(e.share, e.printed)
		}), "%s, besides a constant", each),
	}
	if printed.Published == "" {
		printed.Unless = "the plan has no distribution of intervals for which the paper prints a share"
	}
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "model", Class: experiments.Law, Source: "the paper's model, computed", Tag: experiments.Computed,
			Text: "a search passes the share of the list that the model gives for the distribution of intervals, from " +
				"either end",
			Basis: "1 % of a whole list",
			Measured: judge.Said("farthest: %v n for %s intervals from the %s, model %v n", off.share, off.intervals, off.end,
				off.model).Judging(distance(off)),
			Expected: experiments.AtMost(orderedlistBand, "").Saying("%s", each),
		},
		printed,
		experiments.Claim{
			Name: "interchanged", Class: experiments.Law, Source: paper, Tag: experiments.FromSource,
			Text:      "with the labels interchanged, all three figures of the paper fit",
			Published: "2n/3, n/2; n/3 from the rear",
			Measured: judge.Said("uniform %v n, exponential %v n; uniform from the rear %v n", uniform, exponential,
				rear),
			Expected: experiments.Whether(near(uniform, 2./3) && near(exponential, 0.5) && near(rear, 1./3), "%s", each),
		},
		experiments.Claim{
			Name: "both-ends", Class: experiments.Check, Source: "definition of an ordered list", Tag: experiments.Computed,
			Text:     "a search from the head and one from the rear together pass the whole list",
			Measured: judge.Said("%d of %d runs", whole, len(cells)),
			Expected: experiments.Whether(whole == len(cells), "in each run, exactly"),
		},
	)
	out.Figures = append(out.Figures, orderedlistFigure(cells))
	return out, nil
}

func orderedlistFigure(cells []orderedlistCell) figure.Figure {
	f := figure.Figure{
		Name: "passed-by-n", Title: "Records that START passes in an ordered list, searched from the head",
		Caption: "Exponential intervals pass half of the list, and uniform ones two thirds: the reverse of what the paper " +
			"prints. Constant intervals pass the whole list from the head, and nothing from the rear.",
		X: figure.Axis{Label: "timers outstanding, n", Log: true},
		Y: figure.Axis{Label: "records passed / n", Hi: 1.05},
		Marks: []figure.Mark{{Label: "printed for exponential: 2n/3", At: 2. / 3},
			{Label: "printed for uniform: n/2", At: 1. / 2}},
	}
	for i, g := range judge.By(cells, func(c *orderedlistCell) string { return c.Intervals }) {
		s := judge.Curve(orderedlistFind(g.Key).about, figure.Line, g.Rows,
			func(c *orderedlistCell) float64 { return float64(c.N) },
			func(rows []orderedlistCell) stat.Interval {
				return judge.Student(judge.Values(rows, (*orderedlistCell).head))
			})
		s.Group = i + 1
		f.Series = append(f.Series, s)
	}
	return f
}
