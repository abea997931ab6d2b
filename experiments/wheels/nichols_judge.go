package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

const nicholsPaper = "Varghese & Lauck, §VI-B"

// nicholsBand is how far a loss may be from that of slots of 60 ticks, relative to it.
const nicholsBand = 0.005

func nicholsJudge(p *nicholsPlan, cells []nicholsCell) (*experiments.Outcome, error) {
	// By rounding, of the first number of slots without migration.
	byRounding := map[string]nicholsCell{}
	for _, c := range cells {
		if c.Scheme == nicholsSchemes[0].name && c.M == p.Slots[0] {
			byRounding[c.Rounding] = c
		}
	}
	out := &experiments.Outcome{}
	nicholsShow(p, cells, out)
	nicholsLossClaims(cells, byRounding, out)
	nicholsEarlyClaims(cells, byRounding, out)
	most := nicholsCell{M: 1}
	for _, c := range cells {
		if c.Scheme == nicholsSchemes[1].name && c.Any.OfRequested*float64(c.M) > most.Any.OfRequested*float64(most.M) {
			most = c
		}
	}
	lost := most.Any.OfRequested
	slots := lost * float64(most.M)
	out.Claim(experiments.Claim{Name: "one-migration", Class: experiments.Law, Text: "with one migration a timer loses less than 1/M of the interval requested", Published: "improved by one migration", Source: nicholsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("at most %.4f %%, %.3f of 1/M", 100*lost, slots), Expected: experiments.Whether(slots > 0 && slots < 1, "below 1/M"),
		Otherwise: "a timer is rounded to the coarser of the two levels"})
	return out, nil
}

func nicholsShow(p *nicholsPlan, cells []nicholsCell, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "losses", Title: "Errors of timers that are rounded to the slots of their level, at worst, in per cent",
		Columns: []string{"hierarchy", "rounding", "slots", "of interval requested", "of interval set", "of requested, anywhere", "of set, anywhere", "mean of requested", "early, % of timers"},
	}
	fig := figure.Figure{
		Name: "errors", Title: "Error of a timer without migration",
		X:     figure.Axis{Label: fmt.Sprintf("interval requested, in slots of %d ticks", p.Slots[0])},
		Y:     figure.Axis{Label: "error, % of the interval requested"},
		Marks: []figure.Mark{{Label: "“up to 50 %”", At: -50}},
		Caption: "Started on a slot boundary. Rounded up, a timer is never early, and at worst nearly a slot late: nearly the whole interval, for one just " +
			"above a slot. Rounded down, it is early by up to half of the interval; to the nearest, by up to a third.",
	}
	for _, s := range nicholsSchemes {
		for _, c := range cells {
			if c.Scheme != s.name {
				continue
			}
			table.Add(s.about, c.Rounding, c.M, 100*c.Boundary.OfRequested, 100*c.Boundary.OfSet, 100*c.Any.OfRequested, 100*c.Any.OfSet,
				100*c.Any.Mean, 100*(float64(c.Any.Early)/float64(c.Any.Timers)))
			if s.level != 1 || c.M != p.Slots[0] {
				continue
			}
			line := figure.Series{Name: c.Rounding, Kind: figure.Line, Group: len(fig.Series) + 1}
			for i, late := range c.Late {
				line.Add(float64(c.M+i)/float64(c.M), 100*float64(late)/float64(c.M+i))
			}
			fig.Series = append(fig.Series, line)
		}
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)
}

// nicholsLossClaims compares the losses with those computed, and with the printed one.
func nicholsLossClaims(cells []nicholsCell, byRounding map[string]nicholsCell, out *experiments.Outcome) {
	within, text := true, ""
	for i, rounding := range []string{"nearest", "down", "up"} {
		c, want := byRounding[rounding], nicholsMinutes[rounding]
		got := c.Boundary
		within = within && math.Abs(got.OfRequested/want.ofRequested-1) <= nicholsBand && math.Abs(got.OfSet/want.ofSet-1) <= nicholsBand
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %.1f (%.1f) %% and %.1f (%.1f) %%", rounding, 100*got.OfRequested, 100*want.ofRequested, 100*got.OfSet, 100*want.ofSet)
	}
	out.Claim(experiments.Claim{Name: "losses", Class: experiments.Law, Text: "rounding loses, of the interval requested and of the one set, what slots of 60 ticks (in brackets) make it lose",
		Source: "slots of 60 ticks, computed", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s", text), Expected: experiments.Whether(within, "each ± %v %%", 100*nicholsBand), Basis: "slots of 64 ticks in the place of 60",
		Otherwise: "slots of this plan are not about 60 ticks wide, or the facility rounds otherwise"})
	exact := true
	for _, c := range cells {
		if c.Scheme == nicholsSchemes[0].name {
			want := nicholsOf(c.Rounding, c.M)
			exact = exact && math.Abs(c.Boundary.OfRequested-want.ofRequested) < 1e-9 && math.Abs(c.Boundary.OfSet-want.ofSet) < 1e-9
		}
	}
	out.Claim(experiments.Claim{Name: "formulas", Class: experiments.Law, Text: "the losses are (g-1)/(g+1), 1/3 and (g-1)/(2g-1) of the interval requested, for slots of g ticks", Source: "computed", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%v", exact), Expected: experiments.Whether(exact, "for each width and direction, exactly"), Otherwise: "the facility rounds otherwise"})
	down, half := byRounding["down"].Boundary, experiments.Within(0.5, 0.01, "")
	out.Claim(experiments.Claim{Name: "printed", Class: experiments.OfOthers, Text: "“a loss in precision of up to 50%”, as when 1 min 30 s becomes 1 min", Published: "50 %", Source: nicholsPaper, Tag: experiments.FromSource,
		Measured:  experiments.MeasuredText("down: %.1f %% of the interval requested, %.1f %% of the one set", 100*down.OfRequested, 100*down.OfSet),
		Expected:  experiments.Whether(half.Has(down.OfSet), "50 ± 1 %% of the interval set, as in the example").OrDiffersIf(half.Has(down.OfRequested), "50 ± 1 %% of the one requested"),
		Basis:     "the printed 50 %, in either meaning",
		Otherwise: "30 s are 50 % of the minute set and 33 % of the interval requested. As in the example, the bound is nearly 100 %; 50 % bounds the loss of the interval requested, rounded down"})
}

// nicholsEarlyClaims judges the timers that expire early.
func nicholsEarlyClaims(cells []nicholsCell, byRounding map[string]nicholsCell, out *experiments.Outcome) {
	early, timers := 0, 0
	for _, c := range cells {
		if c.Rounding == "up" {
			early += c.Any.Early + c.Boundary.Early
			timers += c.Any.Timers + c.Boundary.Timers
		}
	}
	out.Claim(experiments.Claim{Name: "up-never-early", Class: experiments.Check, Text: "rounded up, no timer expires early", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d early of %s", early, experiments.Number(timers)), Expected: experiments.Whether(early == 0 && timers > 0, "none"), Otherwise: "rounding up does not round up"})
	nearest, down := byRounding["nearest"].Any, byRounding["down"].Any
	percent := func(e nicholsErrors) float64 { return 100 * float64(e.Early) / float64(max(e.Timers, 1)) }
	out.Claim(experiments.Claim{Name: "others-early", Class: experiments.Law, Text: "rounded to the nearest or down, timers expire early, which RFC 6298 forbids to retransmission timers", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%.0f %% and %.0f %% early", percent(nearest), percent(down)),
		Expected: experiments.Whether(nearest.Early > 0 && down.Early > 0, "some of each"), Otherwise: "no interval needed rounding"})
}
