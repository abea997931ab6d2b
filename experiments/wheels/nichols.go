package wheels

import (
	"tcpwheel/experiments"
)

// nicholsPlan is the plan of the study.
type nicholsPlan struct {
	Slots  []int `plan:"slots" min:"4" max:"1024" power:"two"`
	Stride int   `plan:"stride" min:"1" max:"1024"`
}

// nicholsCell is what was seen in one facility.
type nicholsCell struct {
	Scheme   string `json:"scheme"`
	Rounding string `json:"rounding"`
	M        int    `json:"m"` // slots of each level, and the width of the slots that are rounded to

	Boundary nicholsErrors `json:"boundary"` // started on a slot boundary
	Any      nicholsErrors `json:"any"`      // started anywhere in a slot

	// Late are the errors of the first intervals from M ticks up, from a boundary, in ticks.
	Late []int `json:"late,omitempty"`
}

// nicholsErrors describe how far expiries were from what was asked for.
type nicholsErrors struct {
	Timers      int     `json:"timers"`
	Early       int     `json:"early"`
	Late        int     `json:"late"`
	OfRequested float64 `json:"of_requested"` // greatest error, as a share of the interval requested
	OfSet       float64 `json:"of_set"`       // and of the interval that it came to
	Mean        float64 `json:"mean"`         // error without sign, as a share of the interval requested
}

// Nichols is the study.
var Nichols = experiments.Define(experiments.Spec[nicholsPlan, nicholsCell]{
	ID: "E5", Name: "nichols", Class: experiments.Exact, Folder: "wheels/nichols", Files: files,
	Question: "How much precision does a hierarchy lose that rounds, and of what are 50 % a share?",
	Cells:    nicholsCells,
	Judge:    nicholsJudge,
})

// nicholsSchemes are the facilities.
var nicholsSchemes = []struct {
	name, about string
	level       int // of the intervals that run: those of the first level that is rounded
}{
	{"scheme7-nomigration", "no migration", 1},
	{"scheme7-onemigration", "one migration", 2},
}

// nicholsLoss is what a direction of rounding loses at worst without migration, of the interval requested and of the one set.
type nicholsLoss struct{ ofRequested, ofSet float64 }

// nicholsMinutes are the losses for slots of 60 ticks that were computed beforehand; of returns them for slots of any width.
var nicholsMinutes = map[string]nicholsLoss{"nearest": {0.333, 0.483}, "down": {0.496, 0.983}, "up": {0.967, 0.492}}

func nicholsOf(rounding string, m int) nicholsLoss {
	g := float64(m)
	switch rounding {
	case "nearest":
		return nicholsLoss{1. / 3, (float64(g/2) - 1) / g}
	case "down":
		return nicholsLoss{(g - 1) / (g + g - 1), (g - 1) / g}
	}
	return nicholsLoss{(g - 1) / (g + 1), (g - 1) / (2 * g)}
}
