package vegas

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "How long does a loss wait for timers of 500 ms, and for fine timers?",
	Found: "A loss that only a timer can repair waits {coarse-mean} under 4.4BSD's 500 ms clocks (published: 1100 ms) " +
		"and at most {fine-mean} under a timer per segment, at round trips up to 150 ms, a limit of this project. 4.4BSD's " +
		"estimator rests at 3 ticks, so such a loss waits {mean-at-rest} however short the round trip is. Where the " +
		"published mean comes from cannot be told: it lies between the rules of 4.3BSD-Tahoe and of 4.4BSD, {between}.",
}

// The published means, in ms, and the longest round trip with a band, set before the run.
const (
	publishedCoarse = 1100
	publishedFine   = 300
	atMost          = 150 * time.Millisecond
)

// gVisor's MinRTO, and the longest round trip at which SRTT + 4·RTTVAR is far below it.
const (
	gvisorFloor = 200 * time.Millisecond
	gvisorNear  = gvisorFloor / 8
)

func wait(r *Row) float64      { return r.Wait }
func seed(r *Row) int          { return r.Seed }
func rtt(r *Row) time.Duration { return r.RTT }
func byTimer(r *Row) bool      { return r.Repair == "timer" }

// waited returns the mean wait for a timer, with its interval over the seeds.
func waited(rows []Row) stat.Interval { return judge.MeanOver(judge.Where(rows, byTimer), seed, wait) }

// short returns the losses of timers at round trips that have a band.
func short(rows []Row, role string) []Row {
	return judge.Where(rows, func(r *Row) bool { return r.Kind == "loss" && r.RTT <= atMost && r.Role == role })
}

func ofKind(rows []Row, kind string) []Row {
	return judge.Where(rows, func(r *Row) bool { return r.Kind == kind })
}

// judgeLosses judges the losses, and shows them.
func judgeLosses(p *Plan, rows []Row) *experiments.Outcome {
	out := &experiments.Outcome{}
	out.Judge(append(claimsAtRest(p, rows), claimsOnWaits(p, rows)...)...)
	out.Tables = append(out.Tables, waitsTable(rows))
	out.Figures = append(out.Figures, meanFigure(p, rows))
	out.Notes = notes(rows)
	return out
}

func claimsAtRest(p *Plan, rows []Row) []experiments.Claim {
	still := judge.Where(ofKind(rows, "still"), byTimer)
	within := judge.All(still, func(r *Row) bool { return r.Wait > 1000 && r.Wait <= 1500 })
	_, even := stat.KolmogorovSmirnov(judge.Values(still, wait), func(x float64) float64 {
		return min(max((x-1000)/500, 0), 1)
	})
	return []experiments.Claim{
		{
			Name: "mean-at-rest", Class: experiments.Law, Tag: experiments.Computed, Basis: "2 % of the mean",
			Text: fmt.Sprintf("at the fixed point waits are even over (1000 ms, 1500 ms], 1250 ms in the mean, at round trips "+
				"up to %v", slices.Max(p.StillRTTs)),
			Published: "U(1000 ms, 1500 ms]", Source: "recurrence of 4.4BSD's tcp_xmit_timer, counted down by tcp_slowtimo",
			Measured: experiments.MeasuredWithin(judge.MeanOver(still, seed, wait), "ms"),
			Expected: experiments.Within(1250, 25, "ms").Also(within && even > 0.01, "%s", judge.Say(
				"all within, even at p > 0.01 (Kolmogorov-Smirnov: %v)", even)),
		},
	}
}

func claimsOnWaits(p *Plan, rows []Row) []experiments.Claim {
	coarse, tahoe := judge.Along(judge.Where(short(rows, "coarse"), byTimer), rtt), map[time.Duration]float64{}
	for _, g := range judge.By(judge.Where(short(rows, "tahoe"), byTimer), rtt) {
		tahoe[g.Key] = judge.Mean(g.Rows, wait)
	}
	fine := stat.Interval{Value: math.NaN()}
	for _, g := range judge.Along(short(rows, "fine"), rtt) {
		if in := waited(g.Rows); !(in.Value <= fine.Value) {
			fine = in
		}
	}
	isBetween := func(g *judge.Group[time.Duration, Row]) bool {
		return tahoe[g.Key] < publishedCoarse && publishedCoarse < judge.Mean(g.Rows, wait)
	}
	claims := []experiments.Claim{
		{
			Name: "coarse-mean", Class: experiments.OfOthers, Tag: experiments.FromPrint, Source: paper1995,
			Text: fmt.Sprintf("under clocks of 500 ms a loss that needs a timeout waits more than a second, at round trips up "+
				"to %v", atMost),
			Published: "1100 ms",
			Measured:  experiments.MeasuredWithin(waited(short(rows, "coarse")), "ms"),
			Expected:  experiments.Printed(publishedCoarse, "ms").OrDiffers(experiments.AtLeast(900, "ms")),
			Look: experiments.Look{Read: experiments.ReadPaper, At: "the section on retransmission",
				Quote: "less than 300 ms would have been the correct timeout interval",
				Turns: "rtts, and the rule of the timeout: that of 4.3BSD-Tahoe waits less"},
		},
		{
			Name: "fine-mean", Class: experiments.Law, Tag: experiments.Computed,
			Text: fmt.Sprintf("a timer per segment retransmits in less than 300 ms in the mean, at each round trip up to %v",
				atMost),
			Published: "less than 300 ms would have been the correct timeout interval",
			Source:    paper1995 + ", whose round trips are not known",
			Basis: "300 ms are the paper's. But 150 ms are this project's: the greatest round trip at which the recurrence of " +
				"fine timers stays below 300 ms. So this compares nothing with the paper",
			Measured: experiments.MeasuredWithin(fine, "ms"),
			Expected: experiments.Below(publishedFine, "ms").OrDiffers(experiments.AtMost(400, "ms")),
		},
		{
			Name: "between", Class: experiments.Law, Tag: experiments.Computed,
			Text: fmt.Sprintf("the published 1100 ms lie between the means under SRTT + 2·RTTVAR, 4.3BSD-Tahoe's timeout, and "+
				"under SRTT + 4·RTTVAR, 4.4BSD's, at each round trip up to %v", atMost),
			Source: "V. Jacobson, SIGCOMM 1988, and the arithmetic of both systems' tcp_input.c",
			Measured: judge.Said("%s", judge.Listing(coarse, func(g *judge.Group[time.Duration, Row]) string {
				return fmt.Sprintf("%.0f and %.0f ms at %v", whole(tahoe[g.Key]), whole(judge.Mean(g.Rows, wait)), g.Key)
			})),
			Expected: experiments.Whether(judge.All(coarse, isBetween), "below and above 1100 ms"),
		},
		claimOnGVisor(p, rows),
	}
	return claims
}

// whole rounds to the nearest whole number.
func whole(x float64) float64 { return math.Floor(x + 0.5) }

func claimOnGVisor(p *Plan, rows []Row) experiments.Claim {
	alone := judge.Where(ofKind(rows, "loss"), func(r *Row) bool {
		return r.Role == "gvisor" && r.Lost == "alone" && byTimer(r)
	})
	near := judge.Where(alone, func(r *Row) bool { return r.RTT <= gvisorNear })
	early := judge.Count(alone, func(r *Row) bool { return r.Wait < judge.Ms(gvisorFloor) })
	then := judge.Count(near, func(r *Row) bool { return r.Wait < judge.Ms(gvisorFloor)+1 })
	text := fmt.Sprintf("gVisor's own TCP retransmits a lone segment no sooner than its floor of %v", gvisorFloor)
	measured, expected := fmt.Sprintf("%d of %d sooner", early, len(alone)), "none"
	if len(near) > 0 {
		text += fmt.Sprintf(", and at round trips up to %v just then", gvisorNear)
		measured += fmt.Sprintf(", %d of %d just then", then, len(near))
		expected += "; all within 1 ms"
	}
	c := experiments.Claim{
		Name: "gvisor", Class: experiments.Law, Tag: experiments.FromPrint, Text: text, Published: "MinRTO = 200 ms",
		Source: "gVisor, pkg/tcpip/transport/tcp/snd.go", Measured: judge.Said("%s", measured),
		Expected: experiments.Whether(early == 0 && then == len(near) && len(alone) > 0, "%s", expected),
	}
	if p.GVisorSeeds == 0 {
		c.Unless = "the plan has no runs of gVisor's TCP"
	}
	return c
}

func notes(rows []Row) []string {
	fine := judge.Where(ofKind(rows, "loss"), func(r *Row) bool { return r.Role == "fine" })
	repaired := func(by string) int { return judge.Count(fine, func(r *Row) bool { return r.Repair == by }) }
	worst := 0.0
	for _, g := range judge.By(short(rows, "fine"), rtt) {
		worst = max(worst, judge.Mean(judge.Where(g.Rows, func(r *Row) bool { return r.Repair != "other" }), wait))
	}
	all := []string{judge.Say("The waits leave out losses of a retransmission that a timeout caused, since they wait for "+
		"a backed-off timer, and losses that other means repaired: with a timer per segment, %d and %d. With the former, "+
		"its greatest mean at round trips up to %v is %v ms.", repaired("backed off"), repaired("other"), atMost, worst)}
	of := func(role string, ticks float64) float64 { // the share of timeouts of so many ticks, in %
		timeouts := judge.Where(short(rows, role), byTimer)
		return 100 * float64(judge.Count(timeouts, func(r *Row) bool { return math.Ceil(r.Wait/500) == ticks })) /
			float64(len(timeouts))
	}
	return append(all, judge.Say("A timeout of n ticks waits 500·n - 250 ms in the mean, so 30 %% of two ticks and 70 %% "+
		"of three would give the published 1100 ms. At round trips up to %v, %v %% of the timeouts under 4.4BSD's rule have "+
		"two ticks and %v %% three; under 4.3BSD-Tahoe's rule %v %% have two and %v %% three. The intervals here cover "+
		"seeds only: the round trips were chosen.", atMost, of("coarse", 2), of("coarse", 3), of("tahoe", 2), of("tahoe", 3)))
}

type sender struct {
	text string
	rtt  time.Duration
}

func waitsTable(rows []Row) experiments.Table {
	t := experiments.Table{Name: "waits", Title: "Wait from a lost transmission to the next, by timers and round trip; " +
		"all kinds of loss", Columns: []string{"timers", "round trip, ms", "losses", "mean wait, ms", "95 % from", "to",
		"least, ms", "p95, ms", "others"}}
	for _, g := range judge.By(ofKind(rows, "loss"), func(r *Row) sender { return sender{r.Text, r.RTT} }) {
		waits := judge.Values(judge.Where(g.Rows, byTimer), wait)
		if len(waits) == 0 {
			continue
		}
		in := waited(g.Rows)
		t.Add(name(g.Key.text), g.Key.rtt, len(waits), in.Value, in.Lo, in.Hi, slices.Min(waits), stat.Quantile(waits, 0.95),
			len(g.Rows)-len(waits))
	}
	return t
}

func meanFigure(p *Plan, rows []Row) figure.Figure {
	f := figure.Figure{
		Name: "mean-by-rtt", Title: "The mean wait by the round trip",
		Caption: "All kinds of loss, with 95 % intervals over seeds.",
		X:       figure.Axis{Label: "round trip, ms"}, Y: figure.Axis{Label: "mean wait, ms", Hi: 2200},
		Marks: []figure.Mark{{Label: "1100 ms, measured in 1995", At: publishedCoarse},
			{Label: "300 ms would have been enough", At: publishedFine}},
	}
	ms := func(r *Row) float64 { return 1000 * r.RTT.Seconds() }
	for _, g := range judge.By(ofKind(rows, "loss"), func(r *Row) string { return r.Text }) {
		f.Series = append(f.Series, judge.Curve(name(g.Key), figure.Line, g.Rows, ms, waited))
	}
	return f
}
