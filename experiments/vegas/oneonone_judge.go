package vegas

import (
	"fmt"
	"math"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
)

var oneOnOneWords = experiments.Words{
	Question: "What do a transfer of Reno and one of Vegas do to each other?",
	Found: "Throughputs of the paper's Table III are met in {rates}. Two transfers of Vegas retransmit {both-vegas#} of " +
		"what two of Reno do; 0.4 of 52 KB was published. Reno's throughputs are nearer with the timeout of 4.3BSD-Tahoe: " +
		"{other-reno}.",
}

const (
	smallOne = "small"
	largeOne = "large"
	twoRenos = "Reno/Reno"
	twoVegas = "Vegas/Vegas"
	vegasIn  = "Vegas/Reno" // a small Vegas within a large Reno
	tahoe    = "bsd estimator=tahoe +reno"
)

// printed is a transfer of Table III.
type printed struct{ rate, resent float64 } // KB/s, KB retransmitted

// tableIII is by pair and size. 1.8 KB is from the row of ratios: the scan that was read has
// "43/13".
var tableIII = map[string]map[string]printed{
	twoRenos:     {smallOne: {60, 30}, largeOne: {109, 22}},
	"Reno/Vegas": {smallOne: {61, 43}, largeOne: {123, 1.8}},
	vegasIn:      {smallOne: {66, 1.5}, largeOne: {119, 18}},
	twoVegas:     {smallOne: {74, 0.3}, largeOne: {131, 0.1}},
}

// printedBoth returns the KB that both transfers of a pair retransmit in the paper.
func printedBoth(pair string) float64 {
	return tableIII[pair][smallOne].resent + tableIII[pair][largeOne].resent
}

func seedOfTransfer(r *transferRow) int     { return r.Seed }
func rateOfTransfer(r *transferRow) float64 { return r.Rate }

func ofPair(rows []transferRow, pair string) []transferRow {
	return judge.Where(rows, func(r *transferRow) bool { return r.Pair == pair })
}

func ofSize(rows []transferRow, size string) []transferRow {
	return judge.Where(rows, func(r *transferRow) bool { return r.Size == size })
}

// both returns the mean KB that both transfers of a pair retransmit.
func both(rows []transferRow, pair string) float64 {
	rows = ofPair(rows, pair)
	return judge.Sum(rows, func(r *transferRow) float64 { return r.Resent }) / (float64(len(rows)) / 2)
}

// throughput is a mean throughput relative to the printed one.
type throughput struct {
	pair, size string
	ofPrinted  float64
}

// met reports whether it is within 10 %, the rule of all studies for a printed number.
func (t *throughput) met() bool { return t.ofPrinted >= 0.9 && t.ofPrinted <= 1.1 }

// throughputs returns those of Table III with one Reno, and the one that is farthest from 1.
func throughputs(rows []transferRow) (all []throughput, farthest float64) {
	farthest = 1
	type which struct{ pair, size string }
	for _, g := range judge.By(rows, func(r *transferRow) which { return which{r.Pair, r.Size} }) {
		x := judge.Mean(g.Rows, rateOfTransfer) / tableIII[g.Key.pair][g.Key.size].rate
		all = append(all, throughput{g.Key.pair, g.Key.size, x})
		if math.Abs(x-1) > math.Abs(farthest-1) {
			farthest = x
		}
	}
	return all, farthest
}

func (p *oneOnOnePlan) judge(rows []transferRow) *experiments.Outcome {
	out := &experiments.Outcome{}
	own := judge.Where(rows, func(r *transferRow) bool { return r.Reno == senderName(p.Reno.Text) })
	all, farthest := throughputs(own)
	out.Judge(tahoeClaim(rows, farthest))
	met := judge.Count(all, (*throughput).met)
	const beginnings = "the delay and the times of the beginnings, which are not printed"
	claim := func(name, text, published string, measured experiments.Measure, expected experiments.Band,
		turns string) experiments.Claim {
		return experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published,
			Source: paper1995 + ", Table III", Tag: experiments.FromPrint, Measured: measured, Expected: expected,
			Look: experiments.Look{Read: experiments.ReadPaper, At: "Table III", Turns: turns}}
	}
	ofReno := func(pair string) experiments.Measure {
		return experiments.MeasuredWithin(judge.Resampled(own, seedOfTransfer, func(rows []transferRow) float64 {
			return both(rows, pair) / max(both(rows, twoRenos), 1e-9)
		}), "of what two of Reno do")
	}
	ofRenoPrinted := func(pair string) experiments.Band {
		return experiments.Printed(printedBoth(pair)/printedBoth(twoRenos), "").OrDiffers(experiments.Below(1, ""))
	}
	rates := claim("rates", "the eight throughputs of Table III, in KB/s", "60/109, 61/123, 66/119, 74/131 KB/s",
		judge.Said("%d of 8 within 10 %%, the farthest %v times the printed one", met, farthest).Judging(float64(met)),
		experiments.AtLeast(8, "of 8").OrDiffers(experiments.AtLeast(1, "")), beginnings)
	rates.Basis = "each printed number ± 10 %, the rule of all studies for a number without an interval"
	large := ofSize(own, largeOne)
	harmless := claim("harmless", "a large transfer of Reno is faster next to Vegas than next to Reno",
		"119 against 109 KB/s",
		experiments.MeasuredWithin(judge.Resampled(large, seedOfTransfer, func(rows []transferRow) float64 {
			return 100 * (judge.Mean(ofPair(rows, vegasIn), rateOfTransfer)/judge.Mean(ofPair(rows, twoRenos),
				rateOfTransfer) - 1)
		}), "% faster"),
		experiments.Printed(100*(tableIII[vegasIn][largeOne].rate/tableIII[twoRenos][largeOne].rate-1), "%").OrDiffers(
			experiments.Above(0, "%")), beginnings)
	harmless.Basis = "the printed gain of 9.2 % ± 10 % of itself. A band on the ratio would contain 1, which is no gain"
	out.Judge(rates, harmless,
		claim("both-vegas", "two transfers of Vegas retransmit next to nothing",
			judge.Say("%v of %v KB", printedBoth(twoVegas), printedBoth(twoRenos)), ofReno(twoVegas), ofRenoPrinted(twoVegas),
			"nothing that was tried"),
		claim("small-vegas", "a small transfer of Vegas lets both retransmit less",
			judge.Say("%v of %v KB", printedBoth(vegasIn), printedBoth(twoRenos)), ofReno(vegasIn), ofRenoPrinted(vegasIn),
			beginnings))
	out.Tables = append(out.Tables, p.pairsTable(rows))
	return out
}

// tahoeClaim takes another Reno, with the timeout of 4.3BSD-Tahoe.
func tahoeClaim(rows []transferRow, before float64) experiments.Claim {
	all, farthest := throughputs(judge.Where(rows, func(r *transferRow) bool { return r.Reno == tahoe }))
	c := experiments.Claim{
		Name: "other-reno", Class: experiments.Law, Tag: experiments.Computed,
		Text:   fmt.Sprintf("with %s for Reno, the throughputs of Table III are nearer", tahoe),
		Source: paper1995 + ", Table III, which does not say which timeout its Reno had",
		Measured: judge.Said("%d of %d within 10 %%, the farthest %v times; before %v times",
			judge.Count(all, (*throughput).met), len(all), farthest, before),
		Expected: experiments.Whether(math.Abs(farthest-1) < math.Abs(before-1), "nearer"),
	}
	if len(all) == 0 {
		c.Unless = "the plan has no Reno with the timeout of 4.3BSD-Tahoe"
	}
	return c
}

func (p *oneOnOnePlan) pairsTable(rows []transferRow) experiments.Table {
	t := experiments.Table{Name: "pairs", Title: fmt.Sprintf("A transfer of %d KB within one of %d KB, and Table III of "+
		"the paper", p.Small/1024, p.Large/1024), Columns: []string{"small/large", "small, KB/s", "95 %", "paper",
		"large, KB/s", "95 %", "paper", "small, KB retransmitted", "paper", "large, KB retransmitted", "paper",
		"small, timeouts", "large, timeouts"}}
	type which struct{ reno, pair, first, second string }
	for _, g := range judge.By(rows, func(r *transferRow) which { return which{r.Reno, r.Pair, r.First, r.Second} }) {
		name := g.Key.pair
		if g.Key.reno != senderName(p.Reno.Text) {
			name = g.Key.first + " / " + g.Key.second
		}
		row, resent, timeouts := []any{name}, []any{}, []any{}
		for _, size := range []string{smallOne, largeOne} {
			of, paper := ofSize(g.Rows, size), tableIII[g.Key.pair][size]
			rate := judge.MeanOver(of, seedOfTransfer, rateOfTransfer)
			row = append(row, rate.Value, judge.Say("%v to %v", rate.Lo, rate.Hi), paper.rate)
			resent = append(resent, judge.Mean(of, func(r *transferRow) float64 { return r.Resent }), paper.resent)
			timeouts = append(timeouts, judge.Mean(of, func(r *transferRow) float64 { return float64(r.Timeouts) }))
		}
		t.Add(append(append(row, resent...), timeouts...)...)
	}
	return t
}
