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

// tableivKb is the bytes of the paper's KB.
const tableivKb = 1024

// tableivResults are the results of the cells.
type tableivResults []tableivCell

// at returns those at a load.
func (r tableivResults) at(load float64) tableivResults {
	return experiments.Select(r, func(c *tableivCell) bool { return c.Load == load })
}

// bySeed returns a value of each run of a sender, by seed; 0 buffers are all.
func (r tableivResults) bySeed(sender string, buffers int, value func(*tableivCell) float64) [][]float64 {
	of := experiments.Select(r, func(c *tableivCell) bool { return c.Sender == sender && (buffers == 0 || c.Buffers == buffers) })
	return experiments.SamplesBySeed(of, func(c *tableivCell) int { return c.Seed }, func(c *tableivCell) []float64 { return []float64{value(c)} })
}

func (r tableivResults) mean(sender string, buffers int, value func(*tableivCell) float64) stat.Interval {
	return stat.Bootstrap(r.bySeed(sender, buffers, value), 1, stat.Mean[float64])
}

// ratio returns the mean of a sender's values divided by another's, under the same seeds.
func (r tableivResults) ratio(over, under string, buffers int, value func(*tableivCell) float64) stat.Interval {
	sum := func(all []float64) (sum float64) {
		for _, x := range all {
			sum += x
		}
		return sum
	}
	return stat.BootstrapPair(r.bySeed(over, buffers, value), r.bySeed(under, buffers, value), 1, func(over, under []float64) float64 {
		return sum(over) / max(sum(under), math.SmallestNonzeroFloat64)
	})
}

func (p *tableivPlan) rate(c *tableivCell) float64 { return float64(p.Bytes) / tableivKb / c.Seconds }
func tableivTimeouts(c *tableivCell) float64       { return float64(c.Timeouts) }
func tableivRetransmitted(c *tableivCell) float64  { return float64(c.Retransmitted) / tableivKb }
func tableivSilence(c *tableivCell) float64        { return c.Silence }

// tableivName returns the text of a sender without the options that are off.
func tableivName(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool { return w[0] == '-' || w == "control=newreno" })
	return strings.Join(words, " ")
}

func tableivJudge(p *tableivPlan, cells []tableivCell) (*experiments.Outcome, error) {
	r := tableivResults(cells).at(p.Load)
	out := &experiments.Outcome{}
	r.claims(p, out)
	r.tables(p, out)
	if len(p.Loads) > 0 {
		tableivByLoad(p, cells, out)
	}
	r.figures(p, out)
	out.Notes = append(out.Notes,
		"The short flows are not tcplib's, and their load is a choice: so the throughputs need not be those of 1995. The claims are "+
			"ratios between rows that differ in one thing.",
		"A timeout of a row with a timer per segment is not coarse: it comes after the round trip and its variation. Such rows have "+
			"more of them, some spurious, as the receiver may delay an ACK by up to 200 ms. The last column shows the cost of timeouts: "+
			"the seconds of silence before them.",
		"Without +reno the sender is NewReno (RFC 6582), which already repairs the case of Vegas's check: several losses in one flight.")
	return out, nil
}

func (r tableivResults) claims(p *tableivPlan, out *experiments.Outcome) {
	gain := tableivPercent(r.ratio(p.Fine.Text, p.Reno.Text, 0, p.rate))
	out.Claim(experiments.Claim{Name: "timers-gain", Class: experiments.OfOthers, Text: "a timer per segment, and nothing else, gives Reno more throughput",
		Published: "at least 19 % by doing away with the dependence on coarse timeouts", Source: paper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(gain, "%"), Expected: tableivGain(), Otherwise: "the short flows are not tcplib's. At a load with the paper's timeouts the transfer has less than its throughput, so each timeout weighs more: no load of the table fits both"})
	timeouts := func(name, text, sender, published string, band experiments.Band) {
		out.Claim(experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published, Source: paper, Tag: experiments.FromPrint,
			Measured:  experiments.MeasuredWithin(r.ratio(sender, p.Reno.Text, 0, tableivTimeouts), "of them left"),
			Expected:  band.OrDiffers(experiments.Below(1, "")),
			Otherwise: "the rest depends on how many losses leave no ACK that a check could use, and on the short flows, which are not tcplib's"})
	}
	timeouts("check-timeouts", "Vegas's check, and nothing else, removes half of Reno's coarse timeouts", p.Check.Text, "more than half of the timeouts that fast retransmit leaves",
		experiments.PrintedBound(experiments.Below(0.5, "of them")))
	timeouts("vegas-timeouts", "Vegas as a whole leaves a sixth of Reno's coarse timeouts", p.Vegas.Text, "0.90 of 5.60", experiments.Printed(0.90/5.60, ""))
	out.Claim(experiments.Claim{Name: "vegas-gain", Class: experiments.OfOthers, Text: "Vegas as a whole has more throughput than Reno", Published: "1.53 and 1.58 times", Source: paper, Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredWithin(r.ratio(p.Vegas.Text, p.Reno.Text, 0, p.rate), "times"),
		Expected:  experiments.PrintedRange(1.53, 1.58, "times").OrDiffers(experiments.Above(1, "times")),
		Otherwise: "the short flows are not tcplib's, and leave the transfer another part of the bottleneck"})
	out.Claim(experiments.Claim{Name: "vegas-resent", Class: experiments.OfOthers, Text: "Vegas retransmits less than Reno", Published: "0.49 and 0.53 of it", Source: paper, Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredWithin(r.ratio(p.Vegas.Text, p.Reno.Text, 0, tableivRetransmitted), "of it"),
		Expected:  experiments.PrintedRange(0.49, 0.53, "").OrDiffers(experiments.AtMost(1, "")),
		Otherwise: "the short flows decide most of the losses, at any window"})
}

// tableivGain is the band of the timers' gain.
func tableivGain() experiments.Band {
	return experiments.Printed(19, "%").OrDiffers(experiments.Above(0, "%"))
}

// tableivPercent returns the gain of a ratio, in %.
func tableivPercent(in stat.Interval) stat.Interval {
	return stat.Interval{Value: 100 * (in.Value - 1), Lo: 100 * (in.Lo - 1), Hi: 100 * (in.Hi - 1)}
}

func (r tableivResults) tables(p *tableivPlan, out *experiments.Outcome) {
	columns := []string{"KB/s", "95 % from", "to", "relative to Reno", "timeouts", "KB retransmitted", "silent before timeouts, s"}
	table := experiments.Table{
		Name: "transfers", Title: "Transfers of 1 MB by sender, all buffers, and Table IV of the paper",
		Columns: append([]string{"sender", "runs"}, columns...),
	}
	for _, t := range []struct {
		name                          string
		rate, timeouts, retransmitted float64
	}{{"paper: Reno", 58.30, 5.60, 55.40}, {"paper: Vegas-1,3", 89.40, 0.90, 27.10}, {"paper: Vegas-2,4", 91.80, 0.90, 29.40}} {
		table.Add(t.name, 57, t.rate, "", "", t.rate/58.30, t.timeouts, t.retransmitted, "")
	}
	each := experiments.Table{Name: "by-buffers", Title: "The same by the bottleneck's buffers", Columns: append([]string{"sender", "buffers"}, columns...)}
	values := func(sender string, buffers int) []any {
		in := r.mean(sender, buffers, p.rate)
		return []any{in.Value, in.Lo, in.Hi, r.ratio(sender, p.Reno.Text, buffers, p.rate).Value, r.mean(sender, buffers, tableivTimeouts).Value,
			r.mean(sender, buffers, tableivRetransmitted).Value, r.mean(sender, buffers, tableivSilence).Value}
	}
	for _, row := range p.rows() {
		runs := len(experiments.Select(r, func(c *tableivCell) bool { return c.Sender == row.Text }))
		table.Add(append([]any{tableivName(row.Text), runs}, values(row.Text, 0)...)...)
		for _, buffers := range p.Buffers {
			each.Add(append([]any{tableivName(row.Text), buffers}, values(row.Text, buffers)...)...)
		}
	}
	out.Tables = append(out.Tables, table, each)
}

// tableivByLoad checks that the claims do not depend on the load, which is a choice.
func tableivByLoad(p *tableivPlan, all tableivResults, out *experiments.Outcome) {
	loads := append([]float64{p.Load}, p.Loads...)
	slices.Sort(loads)
	table := experiments.Table{
		Name: "loads", Title: "The same by the load of the short flows, all buffers",
		Columns: []string{"sender", "load", "KB/s", "relative to Reno", "95 % from", "to", "timeouts", "share of Reno's", "KB retransmitted"},
	}
	gain, left := math.Inf(1), 0.0
	for _, row := range p.claimed() {
		for _, load := range loads {
			r := all.at(load)
			in, part := r.ratio(row.Text, p.Reno.Text, 0, p.rate), r.ratio(row.Text, p.Reno.Text, 0, tableivTimeouts).Value
			table.Add(tableivName(row.Text), load, r.mean(row.Text, 0, p.rate).Value, in.Value, in.Lo, in.Hi, r.mean(row.Text, 0, tableivTimeouts).Value, part,
				r.mean(row.Text, 0, tableivRetransmitted).Value)
			switch row.Text {
			case p.Fine.Text:
				gain = min(gain, tableivPercent(in).Value)
			case p.Check.Text:
				left = max(left, part)
			}
		}
	}
	out.Tables = append(out.Tables, table)
	out.Claim(experiments.Claim{Name: "any-load", Class: experiments.Law, Text: fmt.Sprintf("the timers gain, and Vegas's check leaves at most half of the timeouts, at each load from %v to %v", loads[0], loads[len(loads)-1]),
		Source: "sensitivity of the claims above to the load, which is a choice", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("a gain of %s %% and more, %s of the timeouts left and less", experiments.Number(gain), experiments.Number(left)),
		Expected: experiments.Whether(gain > 0 && left < 0.5, "a gain, and less than half"), Basis: "the direction of the published effects",
		Otherwise: "at some load there are few losses, or the transfer gets little of the bottleneck under any timers"})
}

func (r tableivResults) figures(p *tableivPlan, out *experiments.Outcome) {
	fig := figure.Figure{
		Name: "throughput", Title: "Throughput of 1 MB, by sender and buffers",
		X: figure.Axis{Label: "buffers of the bottleneck"}, Y: figure.Axis{Label: "KB/s", Lo: 0, Hi: 110},
		Marks:   []figure.Mark{{Label: "Reno, 1995", At: 58.30}, {Label: "Vegas-1,3, 1995", At: 89.40}},
		Caption: "Bars with 95 % intervals over seeds. The first and the second sender differ only in their timers, the first and the third only in Vegas's check.",
	}
	for _, b := range p.Buffers {
		fig.X.Ticks = append(fig.X.Ticks, fmt.Sprint(b))
	}
	for _, row := range p.rows() {
		s := figure.Series{Name: tableivName(row.Text), Kind: figure.Bars}
		for i, b := range p.Buffers {
			s.AddInterval(float64(i), r.mean(row.Text, b, p.rate))
		}
		fig.Series = append(fig.Series, s)
	}
	out.Figures = append(out.Figures, fig)
}
