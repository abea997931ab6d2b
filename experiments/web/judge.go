package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// The bands.
const (
	leastShare, mostShare = 60, 80 // % of retransmissions that follow timeouts
	wrongShare            = 40     // below it the claim is not reproduced

	publishedRatio    = 5  // mean time of answers with losses, relative to those without
	publishedTail     = 10 // % that probes shorten the 99th percentile
	publishedMean     = 7  // % that they shorten the mean
	publishedTimeouts = 15 // % of timeouts that they avoid
)

// group is the cells of timers and a length of bursts, by seed.
type group [][]Cell

type key struct {
	timers string
	burst  time.Duration
}

// total adds the counts of cells.
func total(cells []Cell) (sum Cell) {
	for _, c := range cells {
		sum.Flows, sum.Took = sum.Flows+c.Flows, sum.Took+c.Took
		sum.Lossy, sum.LossyTook, sum.Inflation = sum.Lossy+c.Lossy, sum.LossyTook+c.LossyTook,
			sum.Inflation+c.Inflation
		sum.Lost, sum.Sent = sum.Lost+c.Lost, sum.Sent+c.Sent
		sum.Fast, sum.Late, sum.Probes = sum.Fast+c.Fast, sum.Late+c.Late, sum.Probes+c.Probes
		sum.Timeouts, sum.Spurious = sum.Timeouts+c.Timeouts, sum.Spurious+c.Spurious
	}
	return sum
}

// late returns the share of retransmissions that follow a timeout.
func late(cells []Cell) float64 {
	c := total(cells)
	return float64(c.Late) / float64(max(c.Late+c.Fast+c.Probes, 1))
}

// ratio returns the mean time of answers with losses, relative to those without.
func ratio(cells []Cell) float64 {
	c := total(cells)
	lossy, clean := c.LossyTook.Seconds()/float64(c.Lossy), (c.Took-c.LossyTook).Seconds()/float64(c.Flows-c.Lossy)
	return lossy / clean
}

// mean returns the mean time of an answer, in ms.
func mean(cells []Cell) float64 {
	c := total(cells)
	return 1e3 * c.Took.Seconds() / float64(c.Flows)
}

// tail returns the 99th percentile of all answers. of returns the greatest twentieth of a cell.
func tail[T cmp.Ordered](cells []Cell, of func(Cell) []T) T {
	var all []T
	for _, c := range cells {
		all = append(all, of(c)...)
	}
	slices.Sort(all)
	slices.Reverse(all)
	n := total(cells).Flows
	return all[n-int(math.Ceil(0.99*float64(n)))]
}

func times(cells []Cell) float64 {
	return float64(tail(cells, func(c Cell) []int64 { return c.Tail })) / 1e3
}
func worst(cells []Cell) float64 {
	return tail(cells, func(c Cell) []float64 { return c.Worst })
}

// of returns a statistic of a group with its interval over seeds.
func (g group) of(f func([]Cell) float64) stat.Interval { return stat.Bootstrap(g, 1, f) }

func (g group) all() (cells []Cell) {
	for _, seed := range g {
		cells = append(cells, seed...)
	}
	return cells
}

// gain returns by how many percent a statistic of b is below that of a.
func gain(a, b group, f func([]Cell) float64) stat.Interval {
	return stat.BootstrapPair(a, b, 1, func(a, b []Cell) float64 { return 100 * (1 - f(b)/f(a)) })
}

// lossyMean returns the mean time of an answer with losses, in s.
func lossyMean(cells []Cell) float64 {
	c := total(cells)
	return c.LossyTook.Seconds() / float64(c.Lossy)
}

func timeouts(cells []Cell) float64 { return float64(total(cells).Timeouts) }

// results are the groups of a run.
type results struct {
	*Plan
	groups map[key]group
	fit    time.Duration // the fitted length of bursts
}

func (r *results) at(timers string, burst time.Duration) group { return r.groups[key{timers, burst}] }

// base and probes are the senders without tail loss probes and with them.
func (r *results) base(burst time.Duration) group   { return r.at(r.Timers[0].Text, burst) }
func (r *results) probes(burst time.Duration) group { return r.at(r.Timers[1].Text, burst) }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	r := &results{p, map[key]group{}, p.Bursts[0]}
	for _, c := range cells {
		k := key{c.Timers, c.Burst}
		r.groups[k] = append(r.groups[k], []Cell{c})
	}
	far := math.Inf(1)
	for _, burst := range p.Bursts {
		of := r.base(burst).all()
		if total(of).Lossy == 0 {
			return nil, fmt.Errorf("web: no answer lost a segment with bursts of %v: want more flows", burst)
		}
		if d := math.Abs(late(of) - p.Share); d < far {
			r.fit, far = burst, d
		}
	}
	out := &experiments.Outcome{Tables: r.tables(), Figures: r.figures()}
	r.claims(out)
	r.probeClaims(out)
	out.Notes = append(out.Notes,
		fmt.Sprintf("Only the length of bursts is fitted, among those of the plan, to the share of retransmissions "+
			"after timeouts of the first timers: %v.", r.fit),
		"Losses depend on time, and not on the place in the stream: a burst ends after its time, with any number "+
			"of segments sent. By place, a long "+
			"burst would lose whole flights repeatedly, until a small window has passed it.")
	return out, nil
}

func (r *results) tables() []experiments.Table {
	shown := experiments.Table{
		Name: "timers", Title: fmt.Sprintf("Answers by timers, bursts of %v", r.fit),
		Columns: []string{"timers", "retransmissions after timeouts, %", "timeouts", "probes", "mean, ms", "p99, ms",
			"p99 shorter, %", "p99 relative to lossless", "mean with losses, relative to without"},
	}
	data := experiments.Table{
		Name: "answers", Title: "Answers by timers and bursts", Data: true,
		Columns: []string{"timers", "bursts, ms", "answers", "with losses", "mean, ms", "95 % from", "to", "p99, ms",
			"after timeouts", "in fast recovery", "probes", "timeouts", "duplicates reported",
			"mean inflation with losses"},
	}
	add := func(text string, burst time.Duration, gvisor bool) {
		g := r.at(text, burst)
		c, in := total(g.all()), g.of(mean)
		cause := func(n any) any { // gVisor does not report causes
			if gvisor {
				return ""
			}
			return n
		}
		if burst == r.fit {
			shown.Add(text, cause(100*late(g.all())), int(c.Timeouts), cause(int(c.Probes)), in.Value, times(g.all()),
				gain(r.base(burst), g, times).Value, worst(g.all()), ratio(g.all()))
		}
		data.Add(text, float64(burst)/1e6, c.Flows, c.Lossy, in.Value, in.Lo, in.Hi, times(g.all()),
			cause(int(c.Late)), cause(int(c.Fast)), cause(int(c.Probes)), int(c.Timeouts), cause(int(c.Spurious)),
			c.Inflation/float64(max(c.Lossy, 1)))
	}
	for i, t := range r.Timers {
		for _, burst := range r.burstsOf(i) {
			add(t.Text, burst, false)
		}
	}
	for _, burst := range r.gvisor() {
		add(gvisor, burst, true)
	}
	return []experiments.Table{shown, r.fitting(), data}
}

// fitting shows the choice of the length of bursts.
func (r *results) fitting() experiments.Table {
	t := experiments.Table{
		Name: "bursts", Title: fmt.Sprintf("Retransmissions of %q, by the mean length of bursts", r.Timers[0].Text),
		Columns: []string{"bursts, ms", "segments lost, %", "answers with losses, %",
			"retransmissions after timeouts, %", "95 % from", "to", "mean with losses, relative to without", "chosen"},
	}
	for _, burst := range r.Bursts {
		g := r.base(burst)
		c, in := total(g.all()), g.of(late).Times(100)
		t.Add(float64(burst)/1e6, 100*float64(c.Lost)/float64(c.Sent), 100*float64(c.Lossy)/float64(c.Flows),
			in.Value, in.Lo, in.Hi, ratio(g.all()), burst == r.fit)
	}
	return t
}

func (r *results) figures() []figure.Figure {
	curve := func(text string, kind figure.Kind, bursts []time.Duration, f func([]Cell) float64) figure.Series {
		s := figure.Series{Name: text, Kind: kind}
		for _, burst := range bursts {
			s.AddInterval(float64(burst)/1e6, r.at(text, burst).of(f))
		}
		return s
	}
	x := figure.Axis{Label: "mean length of bursts, ms", Log: true}
	chosen := figure.Mark{Label: "chosen", At: float64(r.fit) / 1e6, Vertical: true}
	shares := figure.Figure{
		Name: "timeout-share", Title: "Retransmissions left to timeouts", X: x,
		Y:       figure.Axis{Label: "share after timeouts", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "70 %, published", At: 0.7}, chosen},
		Caption: "The longer the bursts, the more tails are lost whole. Probes leave little to timeouts at any length.",
	}
	inflation := figure.Figure{
		Name: "tail-inflation", Title: "The longest answers, relative to the same answers without losses", X: x,
		Y:     figure.Axis{Label: "99th percentile of the time, relative to lossless", Log: true},
		Marks: []figure.Mark{chosen},
		Caption: "The effect of sizes and round trips is removed: only the cost of losses remains. Fine floors, " +
			"timers per segment and probes each remove a part of it.",
	}
	for _, t := range r.Timers {
		shares.Series = append(shares.Series, curve(t.Text, figure.Line, r.Bursts, late))
		inflation.Series = append(inflation.Series, curve(t.Text, figure.Line, r.Bursts, worst))
	}
	if len(r.gvisor()) > 0 {
		inflation.Series = append(inflation.Series, curve(gvisor, figure.Points, r.gvisor(), worst))
	}
	return []figure.Figure{shares, inflation}
}

const draft = "draft of tail loss probes, as quoted on the bloat list"

func (r *results) claims(out *experiments.Outcome) {
	base := r.base(r.fit)
	out.Claim(experiments.Claim{Name: "timeout-share", Class: experiments.Check,
		Text: fmt.Sprintf("the length of bursts is fitted, to %v, so that about the 70 %% of the source follow a "+
			"timeout", r.fit),
		Source: draft, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(base.of(late).Times(100), "%"),
		Expected: experiments.Between(leastShare, mostShare,
			"% at some length of bursts").OrDiffers(experiments.AtLeast(wrongShare, "%")),
		Otherwise: "no length of bursts loses as many tails"})
	out.Claim(experiments.Claim{Name: "loss-ratio", Class: experiments.OfOthers,
		Text: "answers with losses take several times as long as those without", Published: "5 times",
		Source: "Flach et al., SIGCOMM 2013, abstract", Tag: experiments.FromPrint,
		Measured:  experiments.MeasuredWithin(base.of(ratio), "times"),
		Expected:  experiments.Printed(publishedRatio, "times").OrDiffers(experiments.Between(1.5, 15, "times")),
		Otherwise: "sizes and round trips are assumed, and decide how long an answer takes without losses"})
}

// probeClaims compares the sender with tail loss probes with the one without.
func (r *results) probeClaims(out *experiments.Outcome) {
	base, probes := r.base(r.fit), r.probes(r.fit)
	sum := total(base.all())
	claim := func(name, text, published string, of func([]Cell) float64, printed float64, unit, why string) {
		out.Claim(experiments.Claim{Name: name, Class: experiments.OfOthers, Text: text, Published: published,
			Source: draft, Tag: experiments.FromPrint,
			Measured: experiments.MeasuredWithin(gain(base, probes, of), "%"), Expected: experiments.Printed(printed,
				unit).OrDiffers(experiments.Above(0, "%")), Otherwise: why})
	}
	claim("probes-p99", "probes shorten the longest answers", "99th percentile of the response time -10 %", times,
		publishedTail, "% shorter",
		fmt.Sprintf("the longest answers here are the largest over the longest paths, with losses or without. The "+
			"99th percentile of the time relative to that of the same "+
			"answer without losses falls by %s %%. Sizes and paths, which are assumed here, decide how much of "+
			"that shows", experiments.Number(gain(base, probes, worst).Value)))
	claim("probes-mean", "probes shorten the mean answer", "mean response time -7 %", mean, publishedMean, "% shorter",
		fmt.Sprintf("only answers with losses can gain, and they do by %s %% in the mean: %s %% of the answers, "+
			"which take %s %% of the time. The share of answers "+
			"with losses there, and the answers behind the published mean, are not known",
			experiments.Number(gain(base, probes, lossyMean).Value),
			experiments.Number(100*float64(sum.Lossy)/float64(sum.Flows)),
			experiments.Number(100*sum.LossyTook.Seconds()/sum.Took.Seconds())))
	claim("probes-timeouts", "probes avoid timeouts", "timeouts -15 %", timeouts, publishedTimeouts, "% fewer",
		r.timeoutsWhy())
}

// timeoutsWhy explains why probes avoid more timeouts.
func (r *results) timeoutsWhy() string {
	why := "nearly each probe here meets the path good again, as bursts are short compared with two round trips, " +
		"and one SACK then begins a recovery. The longer the bursts, the fewer timeouts it avoids"
	for i, burst := range slices.Concat(slices.Compact([]time.Duration{r.Bursts[0], r.Bursts[len(r.Bursts)-1]}),
		r.Longer) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		why += fmt.Sprintf("%s%s %% at bursts of %v", sep,
			experiments.Number(gain(r.base(burst), r.probes(burst), timeouts).Value), burst)
	}
	return why + ". The lengths behind the published figure are not known"
}
