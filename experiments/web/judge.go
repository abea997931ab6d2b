package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/experiments/internal/stat"
)

// The bands.
const (
	leastShare, mostShare = 0.6, 0.8 // of what is sent again: after timeouts
	wrongShare            = 0.4      // below which it is not as published
	leastRatio, mostRatio = 3, 7     // of the mean time of answers with losses to that of those without
	leastTail, mostTail   = 5, 15    // % that probes take off the 99th percentile
	// Of the two other figures of probes, half of what was published to twice that.
	publishedMean, publishedTimeouts = 7, 15
)

// group is the cells of timers and a length of bursts, a seed each.
type group [][]Cell

type key struct {
	timers string
	burst  time.Duration
}

// total adds up what is counted.
func total(cells []Cell) (sum Cell) {
	for _, c := range cells {
		sum.Flows, sum.Took = sum.Flows+c.Flows, sum.Took+c.Took
		sum.Lossy, sum.LossyTook, sum.Inflation = sum.Lossy+c.Lossy, sum.LossyTook+c.LossyTook, sum.Inflation+c.Inflation
		sum.Lost, sum.Sent = sum.Lost+c.Lost, sum.Sent+c.Sent
		sum.Fast, sum.Late, sum.Probes = sum.Fast+c.Fast, sum.Late+c.Late, sum.Probes+c.Probes
		sum.Timeouts, sum.Spurious = sum.Timeouts+c.Timeouts, sum.Spurious+c.Spurious
	}
	return sum
}

// late is the share of what is sent again that is so after a timeout.
func late(cells []Cell) float64 {
	c := total(cells)
	return float64(c.Late) / float64(max(c.Late+c.Fast+c.Probes, 1))
}

// ratio is the mean time of answers with losses to that of those without.
func ratio(cells []Cell) float64 {
	c := total(cells)
	lossy, clean := c.LossyTook.Seconds()/float64(c.Lossy), (c.Took-c.LossyTook).Seconds()/float64(c.Flows-c.Lossy)
	return lossy / clean
}

// mean is the mean time of an answer, in ms.
func mean(cells []Cell) float64 {
	c := total(cells)
	return 1e3 * c.Took.Seconds() / float64(c.Flows)
}

// tail is the 99th percentile of all answers, of which the greatest twentieth of each seed are at hand.
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

// of is a statistic of a group with its interval by seeds.
func (g group) of(f func([]Cell) float64) stat.Interval { return stat.Bootstrap(g, 1, f) }

func (g group) all() (cells []Cell) {
	for _, seed := range g {
		cells = append(cells, seed...)
	}
	return cells
}

// gain is by how many percent a statistic of b is below that of a, with its interval by seeds.
func gain(a, b group, f func([]Cell) float64) stat.Interval {
	type pair struct{ a, b Cell }
	seeds := make([][]pair, len(a))
	for i := range a {
		seeds[i] = []pair{{a[i][0], b[i][0]}}
	}
	return stat.Bootstrap(seeds, 1, func(pairs []pair) float64 {
		var x, y []Cell
		for _, p := range pairs {
			x, y = append(x, p.a), append(y, p.b)
		}
		return 100 * (1 - f(y)/f(x))
	})
}

// lossyMean is the mean time of an answer with losses, in s.
func lossyMean(cells []Cell) float64 {
	c := total(cells)
	return c.LossyTook.Seconds() / float64(c.Lossy)
}

func timeouts(cells []Cell) float64 { return float64(total(cells).Timeouts) }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	all := map[key]group{}
	for _, c := range cells {
		k := key{c.Timers, c.Burst}
		all[k] = append(all[k], []Cell{c})
	}
	first := p.Timers[0].Text
	fit, far := p.Bursts[0], math.Inf(1)
	for _, burst := range p.Bursts {
		if total(all[key{first, burst}].all()).Lossy == 0 {
			return nil, fmt.Errorf("web: no answer lost anything with bursts of %v: more flows are wanted", burst)
		}
		if d := math.Abs(late(all[key{first, burst}].all()) - p.Share); d < far {
			fit, far = burst, d
		}
	}
	out := &experiments.Outcome{}
	p.tables(out, all, fit)
	p.figures(out, all, fit)
	p.claims(out, all, fit)
	out.Notes = append(out.Notes,
		fmt.Sprintf("The length of bursts is fitted, among those of the plan, to the share of retransmissions after timeouts of the first timers: %v. No other figure is.", fit),
		"Losses are keyed by time, and not by place in the stream: a burst is over when its time is, however many segments were sent meanwhile. By place, a long "+
			"burst would take away whole flights again and again, for as long as a small window needs to pass it.")
	return out, nil
}

func (p *Plan) tables(out *experiments.Outcome, all map[key]group, fit time.Duration) {
	fitting := experiments.Table{
		Name: "bursts", Title: fmt.Sprintf("What %q sends again, by the mean length of bursts", p.Timers[0].Text),
		Columns: []string{"bursts, ms", "segments lost, %", "answers with losses, %", "after timeouts, %", "95 % from", "to", "times as long with losses", "chosen"},
	}
	for _, burst := range p.Bursts {
		g := all[key{p.Timers[0].Text, burst}]
		c, in := total(g.all()), g.of(late)
		fitting.Add(float64(burst)/1e6, 100*float64(c.Lost)/float64(c.Sent), 100*float64(c.Lossy)/float64(c.Flows), 100*in.Value, 100*in.Lo, 100*in.Hi, ratio(g.all()), burst == fit)
	}
	base := all[key{p.Timers[0].Text, fit}]
	shown := experiments.Table{
		Name: "timers", Title: fmt.Sprintf("Answers by timers, bursts of %v", fit),
		Columns: []string{"timers", "after timeouts, %", "timeouts", "probes", "mean, ms", "p99, ms", "p99 shorter, %", "p99, times the lossless", "times as long with losses"},
	}
	data := experiments.Table{
		Name: "answers", Title: "Answers by timers and bursts", Data: true,
		Columns: []string{"timers", "bursts, ms", "answers", "with losses", "mean, ms", "95 % from", "to", "p99, ms", "after timeouts", "in fast recovery", "probes", "timeouts", "duplicates reported", "mean inflation with losses"},
	}
	for i, t := range p.Timers {
		g := all[key{t.Text, fit}]
		c := total(g.all())
		shown.Add(t.Text, 100*late(g.all()), int(c.Timeouts), int(c.Probes), mean(g.all()), times(g.all()), gain(base, g, times).Value, worst(g.all()), ratio(g.all()))
		for _, burst := range p.burstsOf(i) {
			g := all[key{t.Text, burst}]
			c, in := total(g.all()), g.of(mean)
			data.Add(t.Text, float64(burst)/1e6, c.Flows, c.Lossy, in.Value, in.Lo, in.Hi, times(g.all()), int(c.Late), int(c.Fast), int(c.Probes), int(c.Timeouts), int(c.Spurious), c.Inflation/float64(max(c.Lossy, 1)))
		}
	}
	for _, burst := range p.gvisor() {
		g := all[key{gvisor, burst}]
		c, in := total(g.all()), g.of(mean)
		if burst == fit {
			shown.Add(gvisor, "", int(c.Timeouts), "", in.Value, times(g.all()), gain(base, g, times).Value, worst(g.all()), ratio(g.all()))
		}
		data.Add(gvisor, float64(burst)/1e6, c.Flows, c.Lossy, in.Value, in.Lo, in.Hi, times(g.all()), "", "", "", int(c.Timeouts), "", c.Inflation/float64(max(c.Lossy, 1)))
	}
	out.Tables = append(out.Tables, shown, fitting, data)
}

func (p *Plan) figures(out *experiments.Outcome, all map[key]group, fit time.Duration) {
	curve := func(text string, kind figure.Kind, bursts []time.Duration, f func([]Cell) float64) figure.Series {
		s := figure.Series{Name: text, Kind: kind}
		for _, burst := range bursts {
			in := all[key{text, burst}].of(f)
			s.X, s.Y = append(s.X, float64(burst)/1e6), append(s.Y, in.Value)
			s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
		}
		return s
	}
	x := figure.Axis{Label: "mean length of bursts, ms", Log: true}
	chosen := figure.Mark{Label: "chosen", At: float64(fit) / 1e6, Vertical: true}
	shares := figure.Figure{
		Name: "timeout-share", Title: "How much of what is sent again is left to timeouts", X: x,
		Y:       figure.Axis{Label: "share after timeouts", Lo: 0, Hi: 1},
		Marks:   []figure.Mark{{Label: "70 %, published", At: 0.7}, chosen},
		Caption: "The longer the bursts, the more tails are lost whole. Probes leave little to timeouts at any length.",
	}
	inflation := figure.Figure{
		Name: "tail-inflation", Title: "The longest answers, against the same answers without losses", X: x,
		Y:       figure.Axis{Label: "99th percentile of the time, in that without losses", Log: true},
		Marks:   []figure.Mark{chosen},
		Caption: "Sizes and round trips are taken out: what is left is what the losses cost. Fine floors, timers for each segment and probes each take a part of it away.",
	}
	for _, t := range p.Timers {
		shares.Series = append(shares.Series, curve(t.Text, figure.Line, p.Bursts, late))
		inflation.Series = append(inflation.Series, curve(t.Text, figure.Line, p.Bursts, worst))
	}
	if len(p.gvisor()) > 0 {
		inflation.Series = append(inflation.Series, curve(gvisor, figure.Points, p.gvisor(), worst))
	}
	out.Figures = append(out.Figures, shares, inflation)
}

func (p *Plan) claims(out *experiments.Outcome, all map[key]group, fit time.Duration) {
	const draft = "draft of tail loss probes, as quoted on the bloat list"
	base, probes := all[key{p.Timers[0].Text, fit}], all[key{p.Timers[1].Text, fit}]
	share, sum := base.of(late), total(base.all())
	byBurst := func(burst time.Duration) float64 {
		return gain(all[key{p.Timers[0].Text, burst}], all[key{p.Timers[1].Text, burst}], timeouts).Value
	}
	out.Claim(experiments.Claim{
		Name: "timeout-share", Text: fmt.Sprintf("without probes, most of what is sent again is so after a timeout (fitted: bursts of %v)", fit), Published: "about 70 %",
		Source: draft, Tag: experiments.FromPrint, Measured: percent(share).Judging(share.Value), Expected: experiments.Between(leastShare, mostShare, "").OrDiffers(experiments.Between(wrongShare, 1, "")).Saying("60 to 80 %% at some length of bursts"),

		Otherwise: "no length of bursts loses as many tails",
	})
	times5 := base.of(ratio)
	out.Claim(experiments.Claim{
		Name: "loss-ratio", Text: "answers with losses take several times as long as those without", Published: "5 times",
		Source: "Flach et al., SIGCOMM 2013, abstract", Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(times5, "times").Judging(times5.Value), Expected: experiments.Between(leastRatio, mostRatio, "").OrDiffers(experiments.Between(1.5, 15, "")).Saying("3 to 7 times"),

		Otherwise: "sizes and round trips are assumed, and decide how long an answer takes without losses",
	})
	for _, c := range []struct {
		name, text, published, expected string
		of                              func([]Cell) float64
		least, most                     float64
		why                             string
	}{
		{
			"probes-p99", "probes shorten the longest answers", "99th percentile of the response time -10 %", "5 to 15 % shorter", times, leastTail, mostTail,
			fmt.Sprintf("the longest answers here are the largest over the longest paths, with losses or without; the 99th percentile of the time over that of the same "+
				"answer without losses falls by %s %%. Sizes and paths, which are assumed here, decide how much of that shows", experiments.Number(gain(base, probes, worst).Value)),
		},
		{
			"probes-mean", "probes shorten the mean answer", "mean response time -7 %", "3.5 to 14 % shorter", mean, publishedMean / 2.0, publishedMean * 2,
			fmt.Sprintf("only answers with losses can gain, and they do by %s %% in the mean: %s %% of the answers, which take %s %% of the time. What share had losses "+
				"there, and of which answers the mean is, is not known", experiments.Number(gain(base, probes, lossyMean).Value),
				experiments.Number(100*float64(sum.Lossy)/float64(sum.Flows)), experiments.Number(100*sum.LossyTook.Seconds()/sum.Took.Seconds())),
		},
		{
			"probes-timeouts", "probes take timeouts away", "timeouts -15 %", "7.5 to 30 % fewer", timeouts, publishedTimeouts / 2.0, publishedTimeouts * 2,
			p.timeoutsWhy(byBurst),
		},
	} {
		in := gain(base, probes, c.of)
		out.Claim(experiments.Claim{
			Name: c.name, Text: c.text, Published: c.published, Source: draft, Tag: experiments.FromPrint, Measured: experiments.MeasuredWithin(in, "%").Judging(in.Value),
			Expected:  experiments.Between(c.least, c.most, "").OrDiffers(experiments.Between(math.SmallestNonzeroFloat64, 100, "")).Saying("%s", c.expected),
			Otherwise: c.why,
		})
	}
}

// timeoutsWhy says why probes take more timeouts away; less is how many, in percent, by the length of bursts.
func (p *Plan) timeoutsWhy(less func(burst time.Duration) float64) string {
	why := "nearly each probe here finds the path good again, as bursts are short against two round trips, and one SACK then begins a recovery. The longer they are, the fewer timeouts go"
	for i, burst := range slices.Concat(slices.Compact([]time.Duration{p.Bursts[0], p.Bursts[len(p.Bursts)-1]}), p.Longer) {
		sep := ", "
		if i == 0 {
			sep = ": "
		}
		why += fmt.Sprintf("%s%s %% at bursts of %v", sep, experiments.Number(less(burst)), burst)
	}
	return why + ". How long those were that the published figure is of is not known"
}

func percent(in stat.Interval) experiments.Measure {
	return experiments.MeasuredWithin(stat.Interval{Value: 100 * in.Value, Lo: 100 * in.Lo, Hi: 100 * in.Hi}, "%")
}
