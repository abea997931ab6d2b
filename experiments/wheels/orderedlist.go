package wheels

import (
	"context"
	"fmt"
	"math/rand/v2"

	"tcpwheel/experiments"
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
			for seed := p.FirstSeed; seed < p.FirstSeed+p.Seeds; seed++ {
				starts := p.Insertions + p.WarmUp*n
				all = append(all, experiments.Cell[orderedlistCell]{
					Name: fmt.Sprintf("intervals=%s n=%d seed=%d", name, n, seed),
					Cost: 1e-7 * float64(starts) * (3 + float64(n)/50),
					Run: func(context.Context) (orderedlistCell, error) {
						return orderedlistRun(p, orderedlistFind(name), n, seed)
					},
				})
			}
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
