package wheels

import (
	"math/rand/v2"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/stat"
)

// orderedlistPlan is the plan of the study.
type orderedlistPlan struct {
	Intervals   []string `plan:"intervals" oneof:"exponential uniform narrow constant"`
	Mean        float64  `plan:"mean" min:"1000" max:"1e12"`
	Outstanding []int    `plan:"outstanding" min:"10" max:"100000" order:"rising"`
	Insertions  int      `plan:"insertions" min:"1000" max:"100000000"`
	WarmUp      int      `plan:"warm_up" min:"5" max:"1000"`
	Seeds       int      `plan:"seeds" min:"2" max:"1000"`
}

// orderedlistCell is what was counted of one distribution and number of timers under one seed.
type orderedlistCell struct {
	Intervals string `json:"intervals"`
	N         int    `json:"n"` // timers outstanding on the average
	Seed      int    `json:"seed"`

	Insertions int    `json:"insertions"`
	Seen       uint64 `json:"seen"` // timers outstanding, summed over the insertions
	Head       uint64 `json:"head"` // records passed from the head
	Rear       uint64 `json:"rear"` // and from the rear
}

// OrderedList is the study.
var OrderedList = experiments.Define(experiments.Spec[orderedlistPlan, orderedlistCell]{
	ID: "E1", Name: "orderedlist", Class: experiments.Exact, Folder: "wheels/orderedlist", Files: files,
	Question: "How far does START search an ordered list, and which of the paper's two figures is whose?",
	Cells:    orderedlistCells,
	Judge:    orderedlistJudge,
})

// orderedlistDistribution is a distribution of intervals, and what the model says of the search: the share of the list that is
// passed from the head, which is the probability that what is left of an interval is less than a new one.
type orderedlistDistribution struct {
	name, about string
	draw        func(r *rand.Rand) float64 // in units of the mean
	head        float64

	// What the paper has in its place, 0 if it says nothing, and how it is printed.
	paperHead, paperRear         float64
	paperHeadText, paperRearText string
}

var orderedlistDistributions = []orderedlistDistribution{
	{
		name: "exponential", about: "negative exponential", draw: stat.Exponential, head: 1. / 2,
		paperHead: 2. / 3, paperHeadText: "2 + 2n/3", paperRear: 1. / 3, paperRearText: "2 + n/3",
	},
	{
		name: "uniform", about: "uniform, 0 to 2 means", draw: func(r *rand.Rand) float64 { return 2 * float64(r.Float64()) }, head: 2. / 3,
		paperHead: 1. / 2, paperHeadText: "2 + n/2",
	},
	// For a uniform distribution of mean 1 from 1-w to 1+w it is 1 - w/3: a new interval y is longer than what is left of
	// another with the probability that the integral of 1-F from 0 to y gives, and the mean of that over y is 1 - w/3.
	{name: "narrow", about: "uniform, 0.9 to 1.1 means", draw: func(r *rand.Rand) float64 { return 0.9 + float64(0.2*float64(r.Float64())) }, head: 1 - 0.1/3},
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
