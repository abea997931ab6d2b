// Package nichols is study E5: the precision of hierarchies of wheels without full migration.
package nichols

import (
	"embed"

	"tcpwheel/experiments"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Slots  []int `plan:"slots" min:"4" max:"1024" power:"two"`
	Stride int   `plan:"stride" min:"1" max:"1024"`
}

// Cell is what was seen in one facility.
type Cell struct {
	Scheme   string `json:"scheme"`
	Rounding string `json:"rounding"`
	M        int    `json:"m"` // slots of each level, and the width of the slots that are rounded to

	Boundary Errors `json:"boundary"` // started on a slot boundary
	Any      Errors `json:"any"`      // started anywhere in a slot

	// Late are the errors of the first intervals from M ticks up, from a boundary, in ticks.
	Late []int `json:"late,omitempty"`
}

// Errors describe how far expiries were from what was asked for.
type Errors struct {
	Timers      int     `json:"timers"`
	Early       int     `json:"early"`
	Late        int     `json:"late"`
	OfRequested float64 `json:"of_requested"` // greatest error, as a share of the interval requested
	OfSet       float64 `json:"of_set"`       // and of the interval that it came to
	Mean        float64 `json:"mean"`         // error without sign, as a share of the interval requested
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E5", Name: "nichols", Class: experiments.Exact, Files: files,
	Question: "How much precision does a hierarchy lose that rounds, and of what are 50 % a share?",
	Cells:    cells,
	Judge:    judge,
})

// schemes are the facilities.
var schemes = []struct {
	name, about string
	level       int // of the intervals that run: those of the first level that is rounded
}{
	{"scheme7-nomigration", "no migration", 1},
	{"scheme7-onemigration", "one migration", 2},
}

// loss is what a direction of rounding loses at worst without migration, of the interval requested and of the one set.
type loss struct{ ofRequested, ofSet float64 }

// minutes are the losses for slots of 60 ticks that were computed beforehand; of returns them for slots of any width.
var minutes = map[string]loss{"nearest": {0.333, 0.483}, "down": {0.496, 0.983}, "up": {0.967, 0.492}}

func of(rounding string, m int) loss {
	g := float64(m)
	switch rounding {
	case "nearest":
		return loss{1. / 3, (float64(g/2) - 1) / g}
	case "down":
		return loss{(g - 1) / (g + g - 1), (g - 1) / g}
	}
	return loss{(g - 1) / (g + 1), (g - 1) / (2 * g)}
}
