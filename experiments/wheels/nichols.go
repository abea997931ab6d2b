package wheels

import (
	"context"
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
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

var nicholsWords = experiments.Words{
	Question: "How much precision does a hierarchy lose by rounding, and what is the paper's 50 % relative to?",
	Found: "The paper's 50 % bounds the loss of the interval requested, rounded down ({printed}). Only rounding up is " +
		"never early.",
}

// nicholsLaw returns what slots of g ticks lose of the interval requested, and of the one set.
func nicholsLaw(rounding string, g float64) (requested, set float64) {
	switch rounding {
	case "nearest":
		return 1. / 3, (g/2 - 1) / g
	case "down":
		return (g - 1) / (g + g - 1), (g - 1) / g
	}
	return (g - 1) / (g + 1), (g - 1) / (2 * g)
}

// asLaw reports whether timers that start on a boundary lose what the law says.
func (c *nicholsCell) asLaw() bool {
	requested, set := nicholsLaw(c.Rounding, float64(c.M))
	return math.Abs(c.Boundary.OfRequested-requested) < 1e-9 && math.Abs(c.Boundary.OfSet-set) < 1e-9
}

// nicholsJudge judges the losses. Claims are about the slots of 64 ticks that are nearest to the
// paper's 60.
func nicholsJudge(p *nicholsPlan, cells []nicholsCell) (*experiments.Outcome, error) {
	none := judge.Where(cells, func(c *nicholsCell) bool { return c.Scheme == nicholsSchemes[0].name })
	one := judge.Where(cells, func(c *nicholsCell) bool { return c.Scheme == nicholsSchemes[1].name })
	minutes := func(rounding string) *nicholsCell {
		i := slices.IndexFunc(none, func(c nicholsCell) bool { return c.M == p.Minutes && c.Rounding == rounding })
		return &none[i]
	}
	nearest, down, up := minutes("nearest"), minutes("down"), minutes("up")
	const half, band = 0.5, 0.005
	near := func(c *nicholsCell, requested, set float64) bool {
		return math.Abs(c.Boundary.OfRequested/requested-1) <= band && math.Abs(c.Boundary.OfSet/set-1) <= band
	}
	requested := func(c *nicholsCell) float64 { return 100 * c.Boundary.OfRequested }
	set := func(c *nicholsCell) float64 { return 100 * c.Boundary.OfSet }
	early := func(c *nicholsCell) float64 { return 100 * float64(c.Any.Early) / float64(c.Any.Timers) }
	all := judge.Where(cells, func(c *nicholsCell) bool { return c.Rounding == "up" })
	tooEarly := judge.Sum(all, func(c *nicholsCell) int { return c.Boundary.Early + c.Any.Early })
	timers := judge.Sum(all, func(c *nicholsCell) int { return c.Boundary.Timers + c.Any.Timers })
	lawful := judge.Count(none, (*nicholsCell).asLaw)
	part := func(c *nicholsCell) float64 { return c.Any.OfRequested * float64(c.M) } // of 1/M
	worst := judge.Most(one, part)
	const paper, rfc = "Varghese & Lauck, §VI-B", "RFC 6298 §5"
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "losses", Class: experiments.Law, Source: "slots of 60 ticks, computed", Tag: experiments.Computed,
			Text: "rounding loses, of the interval requested and of the one set, what slots of 60 ticks (in brackets) make " +
				"it lose",
			Basis: "slots of 64 ticks in the place of 60",
			Measured: experiments.MeasuredText("nearest %.1f (33.3) %% and %.1f (48.3) %%; down %.1f (49.6) %% and %.1f "+
				"(98.3) %%; up %.1f (96.7) %% and %.1f (49.2) %%", requested(nearest), set(nearest), requested(down), set(down),
				requested(up), set(up)),
			Expected: experiments.Whether(near(nearest, 0.333, 0.483) && near(down, 0.496, 0.983) && near(up, 0.967, 0.492),
				"each ± %v %%", 100*band),
		},
		experiments.Claim{
			Name: "formulas", Class: experiments.Law, Source: "computed", Tag: experiments.Computed,
			Text:     "the losses are (g-1)/(g+1), 1/3 and (g-1)/(2g-1) of the interval requested, for slots of g ticks",
			Measured: judge.Said("%d of %d widths and directions", lawful, len(none)),
			Expected: experiments.Whether(lawful == len(none), "for each width and direction, exactly"),
		},
		experiments.Claim{
			Name: "printed", Class: experiments.OfOthers, Source: paper, Tag: experiments.FromSource, Published: "50 %",
			Text:  "“a loss in precision of up to 50%”, as when 1 min 30 s becomes 1 min",
			Basis: "the printed 50 %, in either meaning",
			Look: experiments.Look{Read: experiments.ReadPaper, At: "§VI-B",
				Quote: "This reduces PERTICKBOOKKEEPING overhead further at the cost of a loss in precision of up to 50 % " +
					"(e.g., a 1 min and 30 s timer that is rounded to 1 min)",
				Turns: "the direction of rounding, and whether the loss is of the interval requested or of the one set"},
			Measured: experiments.MeasuredText("down: %.1f %% of the interval requested, %.1f %% of the one set",
				requested(down), set(down)),
			Expected: experiments.Whether(math.Abs(down.Boundary.OfSet-half) <= 0.01,
				"50 ± 1 %% of the interval set, as in the example").OrDiffers(
				experiments.Whether(math.Abs(down.Boundary.OfRequested-half) <= 0.01, "50 ± 1 %% of the one requested")),
		},
		experiments.Claim{
			Name: "up-never-early", Class: experiments.Check, Source: rfc, Tag: experiments.Standard,
			Text:     "rounded up, no timer expires early",
			Measured: judge.Said("%d early of %v", tooEarly, float64(timers)),
			Expected: experiments.Whether(tooEarly == 0, "none"),
		},
		experiments.Claim{
			Name: "others-early", Class: experiments.Law, Source: rfc, Tag: experiments.Standard,
			Text: "rounded to the nearest or down, timers expire early, which RFC 6298 forbids to retransmission " +
				"timers",
			Measured: experiments.MeasuredText("%.0f %% and %.0f %% early", early(nearest), early(down)),
			Expected: experiments.Whether(early(nearest) > 0 && early(down) > 0, "some of each"),
		},
		experiments.Claim{
			Name: "one-migration", Class: experiments.Law, Source: paper, Tag: experiments.FromSource,
			Text:      "with one migration a timer loses less than 1/M of the interval requested",
			Published: "improved by one migration",
			Measured:  experiments.MeasuredText("at most %.4f %%, %.3f of 1/M", 100*worst.Any.OfRequested, part(worst)),
			Expected:  experiments.Whether(part(worst) > 0 && part(worst) < 1, "below 1/M"),
		},
	)
	out.Tables = append(out.Tables, nicholsTable(cells))
	return out, nil
}

func nicholsTable(cells []nicholsCell) experiments.Table {
	t := experiments.Table{Name: "losses",
		Title: "Errors of timers that are rounded to the slots of their level, at worst, in per cent",
		Columns: []string{"hierarchy", "rounding", "slots", "of interval requested", "of interval set",
			"of requested, anywhere", "of set, anywhere", "mean of requested", "early, % of timers"}}
	for _, s := range nicholsSchemes {
		for _, c := range judge.Where(cells, func(c *nicholsCell) bool { return c.Scheme == s.name }) {
			t.Add(s.about, c.Rounding, c.M, 100*c.Boundary.OfRequested, 100*c.Boundary.OfSet, 100*c.Any.OfRequested,
				100*c.Any.OfSet, 100*c.Any.Mean, 100*(float64(c.Any.Early)/float64(c.Any.Timers)))
		}
	}
	return t
}
