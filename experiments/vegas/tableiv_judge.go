package vegas

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

const tableivPaper = "L. Brakmo and L. Peterson, IEEE JSAC 13(8), 1995"

// tableivKb are the octets of the paper's KB.
const tableivKb = 1024

// tableivResults are the cells.
type tableivResults []tableivCell

// at returns those at a load.
func (r tableivResults) at(load float64) (some tableivResults) {
	for _, c := range r {
		if c.Load == load {
			some = append(some, c)
		}
	}
	return some
}

// bySeed returns a value of each run of a sender, in groups of a seed. Without buffers it is of all of them.
func (r tableivResults) bySeed(sender string, buffers int, value func(*tableivCell) float64) (groups [][]float64) {
	index := map[int]int{}
	for i := range r {
		c := &r[i]
		if c.Sender != sender || buffers != 0 && c.Buffers != buffers {
			continue
		}
		k, ok := index[c.Seed]
		if !ok {
			k = len(groups)
			index[c.Seed], groups = k, append(groups, nil)
		}
		groups[k] = append(groups[k], value(c))
	}
	return groups
}

func (r tableivResults) mean(sender string, buffers int, value func(*tableivCell) float64) stat.Interval {
	return stat.Bootstrap(r.bySeed(sender, buffers, value), 1, stat.Mean[float64])
}

// ratio returns the mean of a sender's values over that of another's, with both drawn by the same seeds.
func (r tableivResults) ratio(over, under string, buffers int, value func(*tableivCell) float64) stat.Interval {
	type pair struct {
		above bool
		value float64
	}
	a, b := r.bySeed(over, buffers, value), r.bySeed(under, buffers, value)
	groups := make([][]pair, len(a))
	for i := range a {
		for _, v := range a[i] {
			groups[i] = append(groups[i], pair{true, v})
		}
		for _, v := range b[i] {
			groups[i] = append(groups[i], pair{false, v})
		}
	}
	return stat.Bootstrap(groups, 1, func(all []pair) float64 {
		var above, below float64
		for _, p := range all {
			if p.above {
				above += p.value
			} else {
				below += p.value
			}
		}
		return above / max(below, math.SmallestNonzeroFloat64)
	})
}

func (p *tableivPlan) rate(c *tableivCell) float64 { return float64(p.Octets) / tableivKb / c.Seconds }
func tableivTimeouts(c *tableivCell) float64       { return float64(c.Timeouts) }
func tableivResent(c *tableivCell) float64         { return float64(c.Resent) / tableivKb }
func tableivSilence(c *tableivCell) float64        { return c.Silence }

// tableivName returns the text of a sender without what is off.
func tableivName(t string) string {
	words := slices.DeleteFunc(strings.Fields(t), func(w string) bool { return w[0] == '-' || w == "control=newreno" })
	return strings.Join(words, " ")
}

func tableivJudge(p *tableivPlan, cells []tableivCell) (*experiments.Outcome, error) {
	r := tableivResults(cells).at(p.Load)
	out := &experiments.Outcome{}
	r.claims(p, out)
	r.tables(p, out)
	tableivByLoad(p, cells, out)
	r.figures(p, out)
	out.Notes = append(out.Notes,
		"The short flows are not tcplib's, and their load is a choice: so the throughputs need not be those of 1995. The claims are about "+
			"ratios between rows that differ in one thing.",
		"A timeout of a row with a timer for each segment is not a coarse one: it comes after the round trip and its variation. Such rows have "+
			"more of them, some needless, as the receiver may put off an ACK by up to 200 ms. What timeouts cost is told by the last column: "+
			"the seconds in which nothing was sent before one.",
		"Without +reno the sender is NewReno (RFC 6582), which repairs what Vegas's check was made for: several losses in one flight.")
	return out, nil
}

func (r tableivResults) claims(p *tableivPlan, out *experiments.Outcome) {
	gain := r.ratio(p.Fine.Text, p.Reno.Text, 0, p.rate)
	out.Claim(experiments.Claim{
		Name: "timers-gain", Text: "a timer for each segment, and nothing else, gives Reno more throughput",
		Published: "at least 19 % by doing away with the dependence on coarse timeouts", Source: tableivPaper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(tableivPercent(gain), "%").Judging(tableivPercent(gain).Value), Expected: experiments.Between(10, math.Inf(1), "").OrDiffers(experiments.Between(math.SmallestNonzeroFloat64, math.Inf(1), "")).Saying("at least 10 %%; none is not reproduced"),

		Otherwise: "the transfer has few timeouts, or as many needless ones as there were coarse ones",
	})
	half := func(name, text, sender, published string) {
		left := r.ratio(sender, p.Reno.Text, 0, tableivTimeouts)
		out.Claim(experiments.Claim{
			Name: name, Text: text, Published: published, Source: tableivPaper, Tag: experiments.FromPrint,
			Measured: experiments.MeasuredWithin(left, "of them left").Judging(left.Value), Expected: experiments.Between(0, 0.5, "").OrDiffers(experiments.Between(0, 1, "")).Saying("at most half; more than all is not reproduced"),

			Otherwise: "what is left are timeouts after which no ACK comes that a check could go by, and losses of so small a window",
		})
	}
	half("check-timeouts", "Vegas's check, and nothing else, removes half of Reno's coarse timeouts", p.Check.Text, "more than half of those that fast retransmit leaves")
	half("vegas-timeouts", "Vegas has at most half of Reno's coarse timeouts", p.Vegas.Text, "0.90 of 5.60")
	vegas := r.ratio(p.Vegas.Text, p.Reno.Text, 0, p.rate)
	out.Claim(experiments.Claim{
		Name: "vegas-gain", Text: "Vegas as a whole has more throughput than Reno", Published: "1.53 and 1.58 times", Source: tableivPaper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(vegas, "times").Judging(vegas.Value), Expected: experiments.Between(1.2, 2, "").OrDiffers(experiments.Between(math.Nextafter(1, 2), math.Inf(1), "")).Saying("1.2 to 2 times; not above 1 is not reproduced"),

		Otherwise: "the short flows are not tcplib's, and leave the transfer another part of the bottleneck",
	})
	less := r.ratio(p.Vegas.Text, p.Reno.Text, 0, tableivResent)
	out.Claim(experiments.Claim{
		Name: "vegas-resent", Text: "Vegas sends less again than Reno", Published: "0.49 and 0.53 of it", Source: tableivPaper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredWithin(less, "of it").Judging(less.Value), Expected: experiments.Between(0, 0.7, "").OrDiffers(experiments.Between(0, 1, "")).Saying("at most 0.7; more than all is not reproduced"),

		Otherwise: "most of what is lost beside short flows is theirs to decide, whatever the window",
	})
}

// tableivPercent turns a ratio into what it is more than one.
func tableivPercent(in stat.Interval) stat.Interval {
	return stat.Interval{Value: 100 * (in.Value - 1), Lo: 100 * (in.Lo - 1), Hi: 100 * (in.Hi - 1)}
}

func (r tableivResults) tables(p *tableivPlan, out *experiments.Outcome) {
	table := experiments.Table{
		Name: "transfers", Title: "Transfers of 1 MB by sender, all buffers; beside them Table IV",
		Columns: []string{"sender", "runs", "KB/s", "95 % from", "to", "times Reno", "timeouts", "KB sent again", "silent, s"},
	}
	for _, t := range []struct {
		name                   string
		rate, timeouts, resent float64
	}{{"paper: Reno", 58.30, 5.60, 55.40}, {"paper: Vegas-1,3", 89.40, 0.90, 27.10}, {"paper: Vegas-2,4", 91.80, 0.90, 29.40}} {
		table.Add(t.name, 57, t.rate, "", "", t.rate/58.30, t.timeouts, t.resent, "")
	}
	each := experiments.Table{
		Name: "by-buffers", Title: "The same by the bottleneck's buffers",
		Columns: []string{"sender", "buffers", "KB/s", "95 % from", "to", "times Reno", "timeouts", "KB sent again", "silent, s"},
	}
	for _, row := range p.rows() {
		all := r.mean(row.Text, 0, p.rate)
		n := len(slices.Concat(r.bySeed(row.Text, 0, p.rate)...))
		table.Add(tableivName(row.Text), n, all.Value, all.Lo, all.Hi, r.ratio(row.Text, p.Reno.Text, 0, p.rate).Value, r.mean(row.Text, 0, tableivTimeouts).Value,
			r.mean(row.Text, 0, tableivResent).Value, r.mean(row.Text, 0, tableivSilence).Value)
		for _, buffers := range p.Buffers {
			in := r.mean(row.Text, buffers, p.rate)
			each.Add(tableivName(row.Text), buffers, in.Value, in.Lo, in.Hi, r.ratio(row.Text, p.Reno.Text, buffers, p.rate).Value,
				r.mean(row.Text, buffers, tableivTimeouts).Value, r.mean(row.Text, buffers, tableivResent).Value, r.mean(row.Text, buffers, tableivSilence).Value)
		}
	}
	out.Tables = append(out.Tables, table, each)
}

// tableivByLoad shows that what the claims are about does not hang on the load, which is a choice.
func tableivByLoad(p *tableivPlan, all tableivResults, out *experiments.Outcome) {
	if len(p.Loads) == 0 {
		return
	}
	loads := append([]float64{p.Load}, p.Loads...)
	slices.Sort(loads)
	table := experiments.Table{
		Name: "loads", Title: "The same by the load of the short flows, all buffers",
		Columns: []string{"sender", "load", "KB/s", "times Reno", "95 % from", "to", "timeouts", "of Reno's", "KB sent again"},
	}
	gain, left := math.Inf(1), 0.0
	for _, row := range p.claimed() {
		for _, load := range loads {
			r := all.at(load)
			in, part := r.ratio(row.Text, p.Reno.Text, 0, p.rate), r.ratio(row.Text, p.Reno.Text, 0, tableivTimeouts).Value
			table.Add(tableivName(row.Text), load, r.mean(row.Text, 0, p.rate).Value, in.Value, in.Lo, in.Hi, r.mean(row.Text, 0, tableivTimeouts).Value, part,
				r.mean(row.Text, 0, tableivResent).Value)
			switch row.Text {
			case p.Fine.Text:
				gain = min(gain, tableivPercent(in).Value)
			case p.Check.Text:
				left = max(left, part)
			}
		}
	}
	out.Tables = append(out.Tables, table)
	verdict := experiments.Judged(gain, 10, math.Inf(1), math.SmallestNonzeroFloat64, math.Inf(1))
	if verdict == experiments.Reproduced {
		verdict = experiments.Judged(left, 0, 0.5, 0, 1)
	}
	out.Claim(experiments.Claim{
		Name: "any-load", Text: fmt.Sprintf("the gain of the timers and the effect of Vegas's check are there at each load from %v to %v", loads[0], loads[len(loads)-1]),
		Published: "at least 19 %, more than half", Source: tableivPaper, Tag: experiments.FromPrint,
		Measured: experiments.MeasuredText("a gain of %s %% and more, %s of the timeouts left and less", experiments.Number(gain), experiments.Number(left)),
		Expected: experiments.Decided(verdict, "at least 10 %, and at most half; no gain is not reproduced"),

		Otherwise: "at some load there are few losses, or the transfer gets little of the bottleneck whatever its timers are",
	})
}

func (r tableivResults) figures(p *tableivPlan, out *experiments.Outcome) {
	fig := figure.Figure{
		Name: "throughput", Title: "Throughput of 1 MB, by sender and buffers",
		X: figure.Axis{Label: "buffers of the bottleneck"}, Y: figure.Axis{Label: "KB/s", Lo: 0, Hi: 110},
		Marks:   []figure.Mark{{Label: "Reno, 1995", At: 58.30}, {Label: "Vegas-1,3, 1995", At: 89.40}},
		Caption: "Bars with 95 % intervals over seeds. From the first sender to the second only the timers change, from the first to the third only Vegas's check is new.",
	}
	for _, b := range p.Buffers {
		fig.X.Ticks = append(fig.X.Ticks, fmt.Sprint(b))
	}
	for _, row := range p.rows() {
		s := figure.Series{Name: tableivName(row.Text), Kind: figure.Bars}
		for i, b := range p.Buffers {
			in := r.mean(row.Text, b, p.rate)
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		fig.Series = append(fig.Series, s)
	}
	out.Figures = append(out.Figures, fig)
}
