package wheels

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/wheel"
)

// nicholsPlan is the plan of the study.
type nicholsPlan struct {
	Slots   []int `plan:"slots" min:"4" max:"1024" power:"two"`
	Minutes int   `plan:"minutes" min:"4" max:"1024"`
	Stride  int   `plan:"stride" min:"1" max:"1024"`
}

// nicholsCell is the errors of one facility.
type nicholsCell struct {
	Scheme   string `json:"scheme"`
	Rounding string `json:"rounding"`
	M        int    `json:"m"` // slots of each level; a level-2 slot is M ticks wide

	Boundary nicholsErrors `json:"boundary"` // of timers started on a slot boundary
	Any      nicholsErrors `json:"any"`      // of timers started anywhere in a slot

	// Late is the errors in ticks of the first intervals from M ticks up, started on a boundary.
	Late []int `json:"late,omitempty"`
}

// nicholsErrors describes the difference between requested and actual expiries.
type nicholsErrors struct {
	Timers      int     `json:"timers"`
	Early       int     `json:"early"`        // timers that expire before the interval requested
	Late        int     `json:"late"`         // timers that expire after it
	OfRequested float64 `json:"of_requested"` // greatest error, relative to the interval requested
	OfSet       float64 `json:"of_set"`       // greatest error, relative to the interval set
	Mean        float64 `json:"mean"`         // mean absolute error, relative to that requested
}

// Nichols is the study.
var Nichols = experiments.Define(experiments.Spec[nicholsPlan, nicholsCell]{
	ID: "E5", Name: "nichols", Bed: "wheel", Class: experiments.Exact, Folder: "wheels/nichols", Files: files,
	Words: func() experiments.Words { return nicholsWords },
	Check: func(p *nicholsPlan) error {
		if !slices.Contains(p.Slots, p.Minutes) {
			return fmt.Errorf("minutes: %d, want one of slots, %v: set both", p.Minutes, p.Slots)
		}
		return nil
	},
	Cells: nicholsCells, Judge: nicholsJudge,
})

// nicholsSchemes are the facilities.
var nicholsSchemes = []struct {
	name, about string
	level       int // of the intervals that run: the first level that is rounded
}{
	{"scheme7-nomigration", "no migration", 1},
	{"scheme7-onemigration", "one migration", 2},
}

// nicholsShown is the longest interval of the figure, in slots.
const nicholsShown = 10

func nicholsCells(p *nicholsPlan) (all []experiments.Cell[nicholsCell]) {
	for _, m := range p.Slots {
		for _, s := range nicholsSchemes {
			for r := wheel.RoundUp; r <= wheel.RoundDown; r++ {
				all = append(all, experiments.Cell[nicholsCell]{
					Name: fmt.Sprintf("scheme=%s rounding=%v M=%d", s.name, r, m),
					Cost: 2e-7 * float64(m*m) * (2 + float64(m/p.Stride)),
					Run:  func(context.Context) (nicholsCell, error) { return nicholsRun(p, s.name, s.level, r, m) },
				})
			}
		}
	}
	return all
}

func nicholsRun(p *nicholsPlan, scheme string, level int, rounding wheel.Rounding, m int) (nicholsCell, error) {
	c := nicholsCell{Scheme: scheme, Rounding: rounding.String(), M: m}
	f, err := wheel.New(scheme, wheel.Config{Tick: 1, Slots: m, Rounding: rounding})
	if err != nil {
		return c, err
	}
	// For intervals from M to M², or from M² over as many, the error is less than M ticks.
	first := 1
	for range level {
		first *= m
	}
	intervals := m*m - m
	t := f.New(0)
	origin := wheel.Time(first * m) // slot boundaries of all levels meet at its multiples
	one := func(position, interval int, e *nicholsErrors) (late int) {
		start := (f.Now()/origin+1)*origin + wheel.Time(position)
		f.Advance(start, 0, func(wheel.Timer) {})
		f.Schedule(t, start+wheel.Time(interval))
		var set int
		f.Advance(start+wheel.Time(interval+2*first), 0, func(wheel.Timer) { set = int(f.Now() - start) })
		late = set - interval
		e.Timers++
		switch {
		case late < 0:
			e.Early++
		case late > 0:
			e.Late++
		}
		lost := math.Abs(float64(late))
		e.OfRequested = max(e.OfRequested, lost/float64(interval))
		e.OfSet = max(e.OfSet, lost/float64(set))
		e.Mean += lost / float64(interval)
		return late
	}
	for i := range intervals {
		late := one(0, first+i, &c.Boundary)
		if level == 1 && i < nicholsShown*m && m == p.Minutes {
			c.Late = append(c.Late, late)
		}
	}
	// The worst positions are next to a boundary, and next to the middle.
	for position := 0; position < m; position++ {
		if position > 1 && position < m-1 && position%p.Stride != 0 && (position < m/2-1 || position > m/2+1) {
			continue
		}
		for i := range intervals {
			one(position, first+i, &c.Any)
		}
	}
	c.Boundary.Mean /= float64(c.Boundary.Timers)
	c.Any.Mean /= float64(c.Any.Timers)
	return c, nil
}
