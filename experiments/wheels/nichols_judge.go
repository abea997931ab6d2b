package wheels

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
)

const nicholsPaper = "Varghese & Lauck, §VI-B"

// nicholsBand is how far a loss may be from that for slots of 60 ticks, relative to it.
const nicholsBand = 0.005

func nicholsJudge(p *nicholsPlan, cells []nicholsCell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	table := experiments.Table{
		Name: "losses", Title: "Errors of timers that are rounded to the slots of their level, at worst, in per cent",
		Columns: []string{"hierarchy", "rounding", "slots", "of requested", "of set", "of requested, anywhere", "of set, anywhere", "mean of requested", "early, % of timers"},
	}
	fig := figure.Figure{
		Name: "errors", Title: "How far a timer is from what was asked for, without migration",
		X:     figure.Axis{Label: fmt.Sprintf("interval requested, in slots of %d ticks", p.Slots[0])},
		Y:     figure.Axis{Label: "error, % of the interval requested"},
		Marks: []figure.Mark{{Label: "“up to 50 %”", At: -50}},
		Caption: "Started on a slot boundary. Up is never early, and nearly a slot late at worst: all but the interval itself, for one just " +
			"above a slot. Down is early by up to half of the interval, nearest by up to a third.",
	}
	early, never := 0, 0
	oneMigration, bound := 0.0, 0.0
	exact := true
	byRounding := map[string]nicholsCell{}
	for _, s := range nicholsSchemes {
		for _, c := range cells {
			if c.Scheme != s.name {
				continue
			}
			share := float64(c.Any.Early) / float64(c.Any.Timers)
			table.Add(s.about, c.Rounding, c.M, 100*c.Boundary.OfRequested, 100*c.Boundary.OfSet, 100*c.Any.OfRequested, 100*c.Any.OfSet,
				100*c.Any.Mean, 100*share)
			if c.Rounding == "up" {
				early += c.Any.Early + c.Boundary.Early
				never += c.Any.Timers + c.Boundary.Timers
			}
			if s.level == 2 {
				if x := c.Any.OfRequested * float64(c.M); x > oneMigration {
					oneMigration, bound = x, c.Any.OfRequested
				}
				continue
			}
			want := nicholsOf(c.Rounding, c.M)
			exact = exact && math.Abs(c.Boundary.OfRequested-want.ofRequested) < 1e-9 && math.Abs(c.Boundary.OfSet-want.ofSet) < 1e-9
			if c.M != p.Slots[0] {
				continue
			}
			byRounding[c.Rounding] = c
			line := figure.Series{Name: c.Rounding, Kind: figure.Line, Group: len(fig.Series) + 1}
			for i, late := range c.Late {
				line.X = append(line.X, float64(c.M+i)/float64(c.M))
				line.Y = append(line.Y, 100*float64(late)/float64(c.M+i))
			}
			fig.Series = append(fig.Series, line)
		}
	}
	out.Tables, out.Figures = append(out.Tables, table), append(out.Figures, fig)

	for _, rounding := range []string{"nearest", "down", "up"} {
		c, want := byRounding[rounding], nicholsMinutes[rounding]
		got := c.Boundary
		out.Claim(experiments.Claim{
			Name: "loss-" + rounding, Text: fmt.Sprintf("rounding %s loses %.1f %% of the interval requested at worst, or %.1f %% of the one set", rounding, 100*want.ofRequested, 100*want.ofSet),
			Source: "slots of 60 ticks, computed", Tag: experiments.Computed,
			Measured:  experiments.MeasuredText("%.1f %% and %.1f %%, slots of %d", 100*got.OfRequested, 100*got.OfSet, c.M),
			Expected:  experiments.Whether(math.Abs(got.OfRequested/want.ofRequested-1) <= nicholsBand && math.Abs(got.OfSet/want.ofSet-1) <= nicholsBand, "each ± 0.5 %%"),
			Otherwise: "slots of this plan are not about 60 ticks wide, or the facility rounds otherwise",
		})
	}
	out.Claim(experiments.Claim{
		Name: "formulas", Text: "the losses are (g-1)/(g+1), 1/3 and (g-1)/(2g-1) of the interval requested, for slots of g ticks", Source: "computed", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%v", exact), Expected: experiments.Whether(exact, "for each width and direction, exactly"),
		Otherwise: "the facility rounds otherwise",
	})
	down := byRounding["down"].Boundary
	verdict := experiments.NotReproduced
	switch {
	case math.Abs(down.OfSet-0.5) <= 0.01:
		verdict = experiments.Reproduced
	case math.Abs(down.OfRequested-0.5) <= 0.01:
		verdict = experiments.Differs
	}
	out.Claim(experiments.Claim{
		Name: "printed", Text: "“a loss in precision of up to 50%”, as when 1 min 30 s becomes 1 min", Published: "50 %", Source: nicholsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("down: %.1f %% of the interval requested, %.1f %% of the one set", 100*down.OfRequested, 100*down.OfSet),
		Expected: experiments.Decided(verdict, "50 ± 1 % by the measure of the example, which is of the interval set"),
		Otherwise: "30 s are 50 % of the minute set and 33 % of what was requested. By the measure of the example the bound is nearly 100 %; 50 % bounds " +
			"the loss of the interval requested, where it is rounded down",
	})
	out.Claim(experiments.Claim{
		Name: "up-never-early", Text: "rounded up, no timer expires early", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured: experiments.MeasuredText("%d early of %s", early, experiments.Number(float64(never))), Expected: experiments.Whether(early == 0 && never > 0, "none"),
		Otherwise: "rounding up does not round up",
	})
	nearest, lowest := byRounding["nearest"].Any.Early, byRounding["down"].Any.Early
	out.Claim(experiments.Claim{
		Name: "others-early", Text: "rounded to the nearest or down, timers expire early, which RFC 6298 forbids to retransmission", Source: "RFC 6298 §5", Tag: experiments.Standard,
		Measured:  experiments.MeasuredText("%.0f %% and %.0f %% early", nicholsPercent(nearest, byRounding["nearest"]), nicholsPercent(lowest, byRounding["down"])),
		Expected:  experiments.Whether(nearest > 0 && lowest > 0, "some in either"),
		Otherwise: "no interval needed to be rounded",
	})
	out.Claim(experiments.Claim{
		Name: "one-migration", Text: "with one migration less than 1/M of the interval requested is lost", Published: "improved by one migration", Source: nicholsPaper, Tag: experiments.FromSource,
		Measured: experiments.MeasuredText("at most %.4f %%, %.3f of 1/M", 100*bound, oneMigration), Expected: experiments.Whether(oneMigration > 0 && oneMigration < 1, "below 1/M"),
		Otherwise: "a timer is rounded to the coarser of the two levels",
	})
	return out, nil
}

func nicholsPercent(n int, c nicholsCell) float64 {
	return 100 * float64(n) / float64(max(c.Any.Timers, 1))
}
