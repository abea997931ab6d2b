package vegas

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/wheel/stat"
)

// Table IV: KB/s, coarse timeouts, and KB retransmitted.
var tableivPaper = []struct {
	name                          string
	rate, timeouts, retransmitted float64
}{{"paper: Reno", 58.30, 5.60, 55.40}, {"paper: Vegas-1,3", 89.40, 0.90, 27.10}, {"paper: Vegas-2,4", 91.80, 0.90,
	29.40}}

// tableivResults are the results of the cells.
type tableivResults []tableivCell

// at returns those in a setting; 0 buffers are all.
func (r tableivResults) at(s setting, buffers int) tableivResults {
	return experiments.Select(r, func(c *tableivCell) bool {
		return c.setting == s && (buffers == 0 ||
			c.Buffers == buffers)
	})
}

// bySeed returns a value of each run of a sender, by seed.
func (r tableivResults) bySeed(sender string, value func(*tableivCell) float64) [][]float64 {
	of := experiments.Select(r, func(c *tableivCell) bool { return c.Sender == sender })
	return experiments.SamplesBySeed(of, func(c *tableivCell) int { return c.Seed },
		func(c *tableivCell) []float64 { return []float64{value(c)} })
}

func (r tableivResults) mean(sender string, value func(*tableivCell) float64) stat.Interval {
	return stat.Bootstrap(r.bySeed(sender, value), 1, stat.Mean[float64])
}

// ratio returns the mean of a sender's values divided by another's, under the seeds of both.
func (r tableivResults) ratio(over, under string, value func(*tableivCell) float64) stat.Interval {
	a, b := r.bySeed(over, value), r.bySeed(under, value)
	n := min(len(a), len(b))
	return stat.BootstrapPair(a[:n], b[:n], 1, func(over, under []float64) float64 {
		return stat.Mean(over) / max(stat.Mean(under), math.SmallestNonzeroFloat64)
	})
}

func tableivRate(c *tableivCell) float64          { return float64(c.Bytes) / kb / c.Seconds }
func tableivTimeouts(c *tableivCell) float64      { return c.timeouts() }
func tableivRetransmitted(c *tableivCell) float64 { return c.retransmitted() }
func tableivSilence(c *tableivCell) float64       { return c.silent() }

// senderName returns the text of a sender without the options that are off.
func senderName(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool { return w[0] == '-' || w == "control=newreno" })
	return strings.Join(words, " ")
}

func tableivJudge(p *tableivPlan, cells []tableivCell) (*experiments.Outcome, error) {
	all := tableivResults(cells)
	r := all.at(p.claimedSetting(), 0)
	out := &experiments.Outcome{Notes: []string{
		"The load is fitted: at it, Reno's throughput is nearest to that of Table IV, among the loads that were " +
			"tried. So Reno's throughput is no claim, and the others are.",
		"A timeout of a row with a timer per segment is not coarse: it comes after the round trip and its " +
			"variation. Such rows have " +
			"more of them, some spurious, as the receiver may delay an ACK by up to 200 ms. The last column shows " +
			"the cost of timeouts: " +
			"the seconds of silence before them.",
		"Without +reno the sender is NewReno (RFC 6582), which already repairs the case of Vegas's check: several " +
			"losses in one flight.",
	}}
	r.claims(p, out)
	r.transfers(p, out)
	all.settings(p, out)
	all.sizes(p, out)
	r.figures(p, out)
	return out, nil
}

func (r tableivResults) claims(p *tableivPlan, out *experiments.Outcome) {
	claim := func(name, text, published string, measured stat.Interval, unit string, band experiments.Band,
		otherwise string) {
		out.Claim(experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published,
			Source: paper, Tag: experiments.FromPrint,
			Measured: experiments.MeasuredWithin(measured, unit), Expected: band, Otherwise: otherwise})
	}
	reno, vegas := p.Reno.Text, p.Vegas.Text
	const losses = "the rest depends on how many losses leave no ACK that a check could use, and on the delay and " +
		"the load, which are not the paper's"
	fewer := experiments.Below(1, "")
	claim("timers-gain", "a timer per segment, and nothing else, gives Reno more throughput",
		"at least 19 % by doing away with the dependence on coarse timeouts",
		percent(r.ratio(p.Fine.Text, reno, tableivRate)), "%", experiments.Printed(19,
			"%").OrDiffers(experiments.Above(0, "%")),
		"19 % is the least that the paper expects; its delay, load and traffic are not known")
	claim("check-timeouts", "Vegas's check, and nothing else, removes half of Reno's coarse timeouts",
		"more than half of the timeouts that fast retransmit leaves",
		r.ratio(p.Check.Text, reno, tableivTimeouts), "of them left",
		experiments.PrintedBound(experiments.Below(0.5, "of them")).OrDiffers(fewer), losses)
	claim("vegas-timeouts", "Vegas as a whole leaves a sixth of Reno's coarse timeouts", "0.90 of 5.60",
		r.ratio(vegas, reno, tableivTimeouts), "of them left", experiments.Printed(0.90/5.60, "").OrDiffers(fewer),
		losses)
	claim("reno-timeouts", "a transfer of Reno has several coarse timeouts", "5.60",
		r.mean(reno, tableivTimeouts), "in a transfer", experiments.Printed(5.60,
			"").OrDiffers(experiments.Above(1, "")), losses)
	claim("vegas-rate", "the throughput of Vegas where Reno has that of Table IV", "89.40 KB/s",
		r.mean(vegas, tableivRate), "KB/s", experiments.Printed(89.40, "KB/s").OrDiffers(experiments.Above(58.30,
			"KB/s")),
		"the delay and the load are not the paper's, and leave the transfer another part of the bottleneck")
	claim("vegas-resent", "Vegas retransmits less than Reno", "0.49 of it",
		r.ratio(vegas, reno, tableivRetransmitted), "of it", experiments.Printed(0.49,
			"").OrDiffers(experiments.AtMost(1, "")),
		"the traffic decides most of the losses, at any window")
}

// percent returns the gain of a ratio, in %.
func percent(in stat.Interval) stat.Interval {
	return stat.Interval{Value: 100 * (in.Value - 1), Lo: 100 * (in.Lo - 1), Hi: 100 * (in.Hi - 1)}
}

// tableivColumns are what values returns.
var tableivColumns = []string{"KB/s", "95 % from", "to", "relative to Reno", "timeouts", "share of Reno's",
	"KB retransmitted", "silent before timeouts, s"}

// values returns the row of a sender.
func (r tableivResults) values(p *tableivPlan, sender string) []any {
	in := r.mean(sender, tableivRate)
	return []any{in.Value, in.Lo, in.Hi, r.ratio(sender, p.Reno.Text, tableivRate).Value, r.mean(sender,
		tableivTimeouts).Value,
		r.ratio(sender, p.Reno.Text, tableivTimeouts).Value, r.mean(sender, tableivRetransmitted).Value,
		r.mean(sender, tableivSilence).Value}
}

// transfers shows all senders in the setting of the claims.
func (r tableivResults) transfers(p *tableivPlan, out *experiments.Outcome) {
	table := experiments.Table{Name: "transfers", Title: "Transfers of 1 MB by sender, all buffers, and Table IV " +
		"of the paper", Columns: append([]string{"sender", "runs"}, tableivColumns...)}
	each := experiments.Table{Name: "by-buffers", Title: "The same by the bottleneck's buffers",
		Columns: append([]string{"sender", "buffers"}, tableivColumns...)}
	reno := &tableivPaper[0]
	for _, t := range tableivPaper {
		table.Add(t.name, 57, t.rate, "", "", t.rate/reno.rate, t.timeouts, t.timeouts/reno.timeouts, t.retransmitted,
			"")
	}
	for _, row := range p.rows() {
		table.Add(append([]any{senderName(row.Text), len(slices.Concat(r.bySeed(row.Text, tableivRate)...))},
			r.values(p, row.Text)...)...)
		for _, buffers := range p.Buffers {
			each.Add(append([]any{senderName(row.Text), buffers}, r.at(p.claimedSetting(), buffers).values(p,
				row.Text)...)...)
		}
	}
	out.Tables = append(out.Tables, table, each)
}

// settings checks that the claims do not depend on the load and the traffic, which are choices.
func (r tableivResults) settings(p *tableivPlan, out *experiments.Outcome) {
	if len(p.Loads) == 0 {
		return
	}
	table := experiments.Table{Name: "loads", Title: "The same by the traffic and its load, all buffers",
		Columns: append([]string{"sender", "traffic", "load"}, tableivColumns...)}
	gain, left := math.Inf(1), 0.0
	for _, row := range p.claimed() {
		for _, s := range p.settings() {
			if s.Bytes != p.Bytes {
				continue
			}
			of := r.at(s, 0)
			table.Add(append([]any{senderName(row.Text), s.Traffic, s.Load}, of.values(p, row.Text)...)...)
			gain = min(gain, percent(of.ratio(p.Fine.Text, p.Reno.Text, tableivRate)).Value)
			left = max(left, of.ratio(p.Check.Text, p.Reno.Text, tableivTimeouts).Value)
		}
	}
	out.Tables = append(out.Tables, table)
	out.Claim(experiments.Claim{Name: "any-load", Class: experiments.Law,
		Text: fmt.Sprintf("the timers gain, and Vegas's check leaves at most half of the timeouts, at each load "+
			"from %v to %v, next to tcplib's conversations and next to log-normal ones",
			min(p.Load, slices.Min(p.Loads)), max(p.Load, slices.Max(p.Loads))),
		Source: "sensitivity of the claims above to the load and the traffic, which are choices",
		Tag:    experiments.Computed,
		Measured: experiments.MeasuredText("a gain of %s %% and more, %s of the timeouts left and less",
			experiments.Number(gain), experiments.Number(left)),
		Expected: experiments.Whether(gain > 0 && left < 0.5, "a gain, and less than half"),
		Basis:    "the direction of the published effects",
		Otherwise: "in some setting there are few losses, or the transfer gets little of the bottleneck under any " +
			"timers"})
}

// sizes shows transfers of other sizes next to Tables I and II, which were measured over the
// Internet: the path is not known, so only the order is a claim.
func (r tableivResults) sizes(p *tableivPlan, out *experiments.Outcome) {
	if len(p.Sizes) == 0 {
		return
	}
	table := experiments.Table{Name: "sizes", Title: "Vegas relative to Reno by the size of the transfer, and " +
		"Tables I and II, from Arizona to Maryland in January 1994",
		Columns: []string{"KB", "throughput", "95 % from", "to", "KB retransmitted, of Reno's", "Reno's timeouts",
			"Vegas's", "paper: throughput", "of Reno's KB", "Reno's timeouts there", "Vegas's there"}}
	published := map[int][]any{1 << 20: {1.37, 0.51, 3.3, 0.8}, 1 << 19: {"", "", 1.7, 0.2}, 1 << 17: {1.71, 0.17,
		1.1, 0.2}}
	for _, bytes := range append(slices.Clone(p.Sizes), p.Bytes) {
		of := r.at(setting{p.Traffic, p.Load, bytes}, 0)
		in := of.ratio(p.Vegas.Text, p.Reno.Text, tableivRate)
		row := []any{bytes / kb, in.Value, in.Lo, in.Hi, of.ratio(p.Vegas.Text, p.Reno.Text,
			tableivRetransmitted).Value,
			of.mean(p.Reno.Text, tableivTimeouts).Value, of.mean(p.Vegas.Text, tableivTimeouts).Value}
		if published[bytes] == nil {
			published[bytes] = make([]any, 4)
		}
		table.Add(append(row, published[bytes]...)...)
	}
	out.Tables = append(out.Tables, table)
	out.Claim(experiments.Claim{Name: "shorter-gain", Class: experiments.OfOthers,
		Text: fmt.Sprintf("the shorter the transfer, the more Vegas gains: %d KB against %d KB", p.Sizes[0]/kb,
			p.Bytes/kb),
		Published: "71 % against 37 %, over the Internet", Source: paper + ", Table II", Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(r.shorter(p), "times the ratio of the long one"),
		Expected: experiments.Above(1, "times").OrDiffers(experiments.Above(0.9, "times")),
		Basis:    "the order as printed; the path, and so the numbers, are not known",
		Otherwise: "through this bottleneck, a short transfer loses less in its slow start, and a long one meets " +
			"more timeouts"})
}

// shorter returns Vegas's throughput relative to Reno's for the shortest transfer, divided by that
// for the one of the claims, under the same seeds.
func (r tableivResults) shorter(p *tableivPlan) stat.Interval {
	short, long := r.at(setting{p.Traffic, p.Load, p.Sizes[0]}, 0), r.at(p.claimedSetting(), 0)
	reno := long.bySeed(p.Reno.Text, tableivRate)
	vegas := long.bySeed(p.Vegas.Text, tableivRate)
	renoShort := short.bySeed(p.Reno.Text, tableivRate)
	var seeds [][][4]float64
	for i, of := range short.bySeed(p.Vegas.Text, tableivRate)[:min(len(reno), len(renoShort))] {
		var runs [][4]float64
		for k := range of {
			runs = append(runs, [4]float64{of[k], renoShort[i][k], reno[i][k], vegas[i][k]})
		}
		seeds = append(seeds, runs)
	}
	return stat.Bootstrap(seeds, 1, func(all [][4]float64) float64 {
		var sum [4]float64
		for _, run := range all {
			for i, x := range run {
				sum[i] += x
			}
		}
		return sum[0] / sum[1] * sum[2] / sum[3]
	})
}

func (r tableivResults) figures(p *tableivPlan, out *experiments.Outcome) {
	fig := figure.Figure{
		Name: "throughput", Title: "Throughput of 1 MB, by sender and buffers",
		X: figure.Axis{Label: "buffers of the bottleneck"}, Y: figure.Axis{Label: "KB/s", Lo: 0, Hi: 145},
		Marks: []figure.Mark{{Label: "Reno, 1995", At: 58.30}, {Label: "Vegas-1,3, 1995", At: 89.40}},
		Caption: "Bars with 95 % intervals over seeds. The first and the second sender differ only in their " +
			"timers, the first and the third only in Vegas's check.",
	}
	for _, b := range p.Buffers {
		fig.X.Ticks = append(fig.X.Ticks, fmt.Sprint(b))
	}
	for _, row := range p.rows() {
		s := figure.Series{Name: senderName(row.Text), Kind: figure.Bars}
		for i, b := range p.Buffers {
			s.AddInterval(float64(i), r.at(p.claimedSetting(), b).mean(row.Text, tableivRate))
		}
		fig.Series = append(fig.Series, s)
	}
	out.Figures = append(out.Figures, fig)
}
