package vegas

import (
	"fmt"
	"math"
	"slices"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var tableivWords = experiments.Words{
	Question: "How much do fine timers gain for a transfer of 1 MB that competes with tcplib's traffic, and how much " +
		"does Vegas's window?",
	Found: "With a timer per segment and nothing else changed, transfers of 1 MB gain {timers-gain} in throughput under " +
		"the recovery of 1990; 19 % was published. With later recoveries the same timers gain nothing: {recovery}. No load " +
		"gives both 19 % and the published 5.60 timeouts: {one-load}. Vegas's check alone leaves {check-timeouts#} of " +
		"Reno's coarse timeouts. Vegas has {vegas-rate}; 89.40 KB/s was published.",
}

// paper1995 is the source of all published claims of these studies.
const paper1995 = "L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995"

// Table IV, and the gain of fine timers in the text: KB/s, coarse timeouts, KB retransmitted, %.
const (
	publishedGain         = 19
	publishedRenoRate     = 58.30
	publishedVegasRate    = 89.40
	publishedRenoTimeouts = 5.60
	publishedVegasLeft    = 0.90 / 5.60
	publishedVegasResent  = 0.49
)

func seedOf(r *tableivRow) int           { return r.Seed }
func rateOf(r *tableivRow) float64       { return r.Rate }
func resentOf(r *tableivRow) float64     { return r.Resent }
func timeoutsOf(r *tableivRow) float64   { return float64(r.Timeouts) }
func renoRate(r *tableivRow) float64     { return r.Reno.Rate }
func renoResent(r *tableivRow) float64   { return r.Reno.Resent }
func renoTimeouts(r *tableivRow) float64 { return float64(r.Reno.Timeouts) }

// toReno returns the mean of something relative to that of Reno in the same places.
func toReno(of, reno func(*tableivRow) float64) func(rows []tableivRow) float64 {
	return func(rows []tableivRow) float64 {
		return judge.Mean(rows, of) / max(judge.Mean(rows, reno), math.SmallestNonzeroFloat64)
	}
}

var (
	ofRate   = toReno(rateOf, renoRate)
	left     = toReno(timeoutsOf, renoTimeouts)
	ofResent = toReno(resentOf, renoResent)
)

func gain(rows []tableivRow) float64 { return 100 * (ofRate(rows) - 1) }

// roleRows returns the rows of a role, next to Reno's where it is another one.
func roleRows(rows []tableivRow, role string) []tableivRow {
	return judge.Where(rows, func(r *tableivRow) bool { return r.Role == role && r.Reno != nil })
}

func tableivJudge(p *tableivPlan, rows []tableivRow) *experiments.Outcome {
	out := &experiments.Outcome{}
	claimed := judge.Where(rows, func(r *tableivRow) bool { return r.setting == p.claimedSetting() })
	out.Judge(p.printedClaims(claimed)...)
	out.Judge(p.loadClaim(rows), p.recoveryClaim(claimed), p.oneLoadClaim(rows), p.sizeClaim(rows))
	out.Tables = append(out.Tables, transfersTable(claimed))
	out.Figures = append(out.Figures, throughputFigure(claimed))
	out.Notes = append(out.Notes, "The load is fitted: at it, Reno's throughput is nearest to that of Table IV, among "+
		"the loads that were tried. So Reno's throughput is no claim, and the others are.")
	return out
}

// printedClaims compare transfers of 1 MB next to the traffic whose load was fitted.
func (p *tableivPlan) printedClaims(claimed []tableivRow) []experiments.Claim {
	const section = "the section on retransmission"
	of := func(role string, measure func(rows []tableivRow) float64) stat.Interval {
		return judge.Resampled(roleRows(claimed, role), seedOf, measure)
	}
	mean := func(role string, of func(*tableivRow) float64) stat.Interval {
		return judge.MeanOver(roleRows(claimed, role), seedOf, of)
	}
	claim := func(name, text, published string, measured experiments.Measure, expected experiments.Band, at, turns,
		otherwise string) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published, Source: paper1995,
			Tag: experiments.FromPrint, Measured: measured, Expected: expected, Otherwise: otherwise,
			Look: experiments.Look{Read: experiments.ReadPaper, At: at, Turns: turns}}
	}
	const rest = "the rest depends on how many losses leave no ACK that a check could use, and on the delay and the " +
		"load, which are not the paper's"
	return []experiments.Claim{
		claim("timers-gain", "a timer per segment, and nothing else, gives Reno of 1990 more throughput",
			"at least 19 % by doing away with the dependence on coarse timeouts",
			experiments.MeasuredWithin(of("fine", gain), "%"),
			experiments.Printed(publishedGain, "%").OrDiffers(experiments.Above(0, "%")), section,
			"the recovery: with NewReno fine timers gain nothing, with SACK they lose",
			"19 % is the least that the paper expects; its delay, load and traffic are not known"),
		claim("check-timeouts", "Vegas's check, and nothing else, removes half of Reno's coarse timeouts",
			"more than half of the timeouts that fast retransmit leaves",
			experiments.MeasuredWithin(of("check", left), "of them left"),
			experiments.PrintedBound(experiments.Below(0.5, "of them")).OrDiffers(experiments.Below(1, "")), section,
			"nothing that was tried", rest),
		claim("vegas-timeouts", "Vegas as a whole leaves a sixth of Reno's coarse timeouts", "0.90 of 5.60",
			experiments.MeasuredWithin(of("vegas", left), "of them left"),
			experiments.Printed(publishedVegasLeft, "").OrDiffers(experiments.Below(1, "")), section,
			"nothing that was tried", rest),
		claim("reno-timeouts", "a transfer of Reno has several coarse timeouts", "5.60",
			experiments.MeasuredWithin(mean("reno", timeoutsOf), "in a transfer"),
			experiments.Printed(publishedRenoTimeouts, "").OrDiffers(experiments.Above(1, "")), section,
			"nothing that was tried", rest),
		claim("vegas-rate", "the throughput of Vegas where Reno has that of Table IV", "89.40 KB/s",
			experiments.MeasuredWithin(mean("vegas", rateOf), "KB/s"),
			experiments.Printed(publishedVegasRate, "KB/s").OrDiffers(experiments.Above(publishedRenoRate, "KB/s")),
			"Table IV", "the load", "the delay and the load are not the paper's, and leave the transfer another part of the "+
				"bottleneck"),
		claim("vegas-resent", "Vegas retransmits less than Reno", "0.49 of it",
			experiments.MeasuredWithin(of("vegas", ofResent), "of it"),
			experiments.Printed(publishedVegasResent, "").OrDiffers(experiments.AtMost(1, "")), "Table IV", "the load",
			"the traffic decides most of the losses, at any window"),
	}
}

// place is the traffic and the load of others.
type place struct {
	traffic string
	load    float64
}

func placeOf(r *tableivRow) place { return place{r.Traffic, r.Load} }

const oneLoad = "the plan has one load"

// unlessLoads returns why a claim on several loads does not apply.
func (p *tableivPlan) unlessLoads() string {
	if len(p.Loads) > 0 {
		return ""
	}
	return oneLoad
}

func (p *tableivPlan) loadClaim(rows []tableivRow) experiments.Claim {
	rows = judge.Where(rows, func(r *tableivRow) bool { return r.Bytes == p.Bytes })
	leastGain, mostLeft := math.Inf(1), math.Inf(-1)
	for _, g := range judge.By(roleRows(rows, "fine"), placeOf) {
		leastGain = min(leastGain, gain(g.Rows))
	}
	for _, g := range judge.By(roleRows(rows, "check"), placeOf) {
		mostLeft = max(mostLeft, left(g.Rows))
	}
	loads := append([]float64{p.Load}, p.Loads...)
	return experiments.Claim{
		Name: "any-load", Class: experiments.Law, Tag: experiments.Computed, Unless: p.unlessLoads(),
		Text: judge.Say("the timers gain, and Vegas's check leaves at most half of the timeouts, at each load from %v to "+
			"%v, next to tcplib's conversations and next to log-normal ones", slices.Min(loads), slices.Max(loads)),
		Source:    "sensitivity of the claims above to the load and the traffic, which are choices",
		Basis:     "the direction of the published effects",
		Measured:  judge.Said("a gain of %v %% and more, %v of the timeouts left and less", leastGain, mostLeft),
		Expected:  experiments.Whether(leastGain > 0 && mostLeft < 0.5, "a gain, and less than half"),
		Otherwise: "in some setting there are few losses, or the transfer gets little of the bottleneck under any timers",
	}
}

func (p *tableivPlan) recoveryClaim(claimed []tableivRow) experiments.Claim {
	over := func(fine, coarse string) stat.Interval { // the gain of fine timers in %
		of := func(rows []tableivRow, sender string) float64 {
			return judge.Mean(judge.Where(rows, func(r *tableivRow) bool { return r.Sender == sender }), rateOf)
		}
		both := judge.Where(claimed, func(r *tableivRow) bool { return r.Sender == fine || r.Sender == coarse })
		return judge.Resampled(both, seedOf, func(rows []tableivRow) float64 {
			return 100 * (of(rows, fine)/of(rows, coarse) - 1)
		})
	}
	newReno, sack := over("per-segment", "bsd"), over("per-segment +sack", "bsd +sack")
	c := experiments.Claim{
		Name: "recovery", Class: experiments.Law, Source: "rows of the table with other recoveries",
		Tag:   experiments.Computed,
		Text:  "with the recovery of NewReno, or with SACK, a timer per segment gains nothing",
		Basis: "set after the first run, which showed it",
		Measured: judge.Said("%v %% (%v to %v) with NewReno, %v %% (%v to %v) with SACK", newReno, newReno.Lo, newReno.Hi,
			sack, sack.Lo, sack.Hi),
		Expected:  experiments.Whether(newReno.Lo <= 0 && sack.Lo <= 0, "no gain outside the intervals"),
		Otherwise: "later recoveries leave losses that only a timer repairs, too",
	}
	if math.IsNaN(newReno.Value) || math.IsNaN(sack.Value) {
		c.Unless = "the plan has no NewReno or no SACK under both timers"
	}
	return c
}

func (p *tableivPlan) oneLoadClaim(rows []tableivRow) experiments.Claim {
	type atLoad struct {
		place
		gain, timeouts float64
	}
	near := func(x, printed float64) bool { return x >= printed*0.9 && x <= printed*1.1 }
	var gains, timeouts atLoad // the nearest
	both := 0
	rows = judge.Where(rows, func(r *tableivRow) bool {
		return r.Bytes == p.Bytes && (r.Role == "fine" && r.Reno != nil || r.Role == "reno")
	})
	for i, g := range judge.By(rows, placeOf) {
		reno := judge.Where(g.Rows, func(r *tableivRow) bool { return r.Role == "reno" })
		x := atLoad{g.Key, 100 * (judge.Mean(roleRows(g.Rows, "fine"), rateOf)/judge.Mean(reno, rateOf) - 1),
			judge.Mean(reno, timeoutsOf)}
		if i == 0 || math.Abs(x.gain-publishedGain) < math.Abs(gains.gain-publishedGain) {
			gains = x
		}
		if i == 0 || math.Abs(x.timeouts-publishedRenoTimeouts) < math.Abs(timeouts.timeouts-publishedRenoTimeouts) {
			timeouts = x
		}
		if near(x.gain, publishedGain) && near(x.timeouts, publishedRenoTimeouts) {
			both++
		}
	}
	return experiments.Claim{
		Name: "one-load", Class: experiments.Law, Tag: experiments.Computed, Unless: p.unlessLoads(),
		Text:   "no load gives both the published gain of 19 % and the published 5.60 timeouts of Reno",
		Source: paper1995 + ", which does not give the load of Table IV in our excerpt",
		Basis:  "both printed numbers ± 10 %; set after the first run",
		Measured: judge.Said("the nearest gain is %v %%, at a load of %v of %s, where Reno has %v timeouts; the nearest "+
			"timeouts are %v, at %v of %s, where the gain is %v %%", gains.gain, gains.load, gains.traffic, gains.timeouts,
			timeouts.timeouts, timeouts.load, timeouts.traffic, timeouts.gain),
		Expected:  experiments.Whether(both == 0, "none"),
		Otherwise: "that load is the paper's, or one like it",
	}
}

// sizeClaim compares the shortest transfers with those of the claims. Over the Internet the path is
// not known, so only the order is a claim.
func (p *tableivPlan) sizeClaim(rows []tableivRow) experiments.Claim {
	c := experiments.Claim{
		Name: "shorter-gain", Class: experiments.OfOthers, Source: paper1995 + ", Table II", Tag: experiments.FromPrint,
		Published: "71 % against 37 %, over the Internet",
		Look: experiments.Look{Read: experiments.ReadPaper, At: "Table II",
			Turns: "the path: that of the table is the Internet of 1994"},
		Basis:    "the order as printed; the path, and so the numbers, are not known",
		Expected: experiments.Above(1, "times"),
		Otherwise: "through this bottleneck, a short transfer loses less in its slow start, and a long one meets more " +
			"timeouts",
	}
	shortest := p.Bytes
	if len(p.Sizes) > 0 {
		shortest = p.Sizes[0]
	} else {
		c.Unless = "the plan has one size"
	}
	c.Text = fmt.Sprintf("the shorter the transfer, the more Vegas gains: %d KB against %d KB", shortest/1024,
		p.Bytes/1024)
	of := func(bytes int) setting { return setting{p.Traffic, p.Load, bytes} }
	pairs := judge.Where(roleRows(rows, "vegas"), func(r *tableivRow) bool {
		return r.Seed <= min(p.Seeds, p.OtherSeeds) && (r.setting == of(shortest) || r.setting == of(p.Bytes))
	})
	c.Measured = experiments.MeasuredWithin(judge.Resampled(pairs, seedOf, func(rows []tableivRow) float64 {
		short := judge.Where(rows, func(r *tableivRow) bool { return r.setting == of(shortest) })
		long := judge.Where(rows, func(r *tableivRow) bool { return r.setting == of(p.Bytes) })
		return judge.Sum(short, rateOf) / judge.Sum(short, renoRate) * judge.Sum(long, renoRate) / judge.Sum(long, rateOf)
	}), "times the ratio of the long one")
	return c
}

func transfersTable(claimed []tableivRow) experiments.Table {
	t := experiments.Table{Name: "transfers", Title: "Transfers of 1 MB by sender, all buffers, and Table IV of the paper",
		Columns: []string{"sender", "runs", "KB/s", "95 % from", "to", "relative to Reno", "timeouts", "share of Reno's",
			"KB retransmitted", "silent before timeouts, s"}}
	const reno = publishedRenoRate
	t.Add("paper: Reno", 57, reno, "", "", 1, publishedRenoTimeouts, 1, 55.40, "")
	t.Add("paper: Vegas-1,3", 57, publishedVegasRate, "", "", publishedVegasRate/reno, 0.90, publishedVegasLeft, 27.10, "")
	t.Add("paper: Vegas-2,4", 57, 91.80, "", "", 91.80/reno, 0.90, publishedVegasLeft, 29.40, "")
	for _, g := range judge.By(claimed, func(r *tableivRow) string { return r.Sender }) {
		in := judge.MeanOver(g.Rows, seedOf, rateOf)
		paired := judge.Where(g.Rows, func(r *tableivRow) bool { return r.Reno != nil })
		t.Add(g.Key, len(g.Rows), in.Value, in.Lo, in.Hi, ofRate(paired), judge.Mean(g.Rows, timeoutsOf), left(paired),
			judge.Mean(g.Rows, resentOf), judge.Mean(g.Rows, func(r *tableivRow) float64 { return r.Silent }))
	}
	return t
}

func throughputFigure(claimed []tableivRow) figure.Figure {
	f := figure.Figure{
		Name: "throughput", Title: "Throughput of 1 MB, by sender and buffers",
		Caption: "Bars with 95 % intervals over seeds. The first and the second sender differ only in their timers, the " +
			"first and the third only in Vegas's check.",
		X: figure.Axis{Label: "buffers of the bottleneck"},
		Y: figure.Axis{Label: "KB/s", Hi: 145},
		Marks: []figure.Mark{{Label: "Reno, 1995", At: publishedRenoRate}, {Label: "Vegas-1,3, 1995",
			At: publishedVegasRate}},
	}
	buffers := judge.Keys(judge.Along(claimed, func(r *tableivRow) int { return r.Buffers }))
	for _, n := range buffers {
		f.X.Ticks = append(f.X.Ticks, fmt.Sprint(n))
	}
	for _, g := range judge.By(claimed, func(r *tableivRow) string { return r.Sender }) {
		f.Series = append(f.Series, judge.Curve(g.Key, figure.Bars, g.Rows,
			func(r *tableivRow) float64 { return float64(slices.Index(buffers, r.Buffers)) },
			func(rows []tableivRow) stat.Interval { return judge.MeanOver(rows, seedOf, rateOf) }))
	}
	return f
}
