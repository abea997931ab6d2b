package web

import (
	"fmt"
	"math"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
)

var words = experiments.Words{
	Question: "What do a sender's timers cost the answers of a web server over lossy paths?",
	Found: "Answers with losses take {loss-ratio} as long as those without. Probes avoid {probes-timeouts} of the " +
		"timeouts, not the published 15 %, and shorten the mean answer by {probes-mean} and the 99th percentile by " +
		"{probes-p99}; outages do not explain the difference.",
}

// The published shares of retransmissions that follow a timeout, and of timeouts that probes avoid,
// in %; and how many times as long answers with losses take.
const (
	avoided = 15
	longer  = 5
	tlp     = "draft of tail loss probes, as quoted on the bloat list"
	flach   = "Flach et al., SIGCOMM 2013, abstract"
)

func seed(c *Cell) int            { return c.Seed }
func burst(c *Cell) time.Duration { return c.Burst }
func lossyTook(c *Cell) float64   { return c.LossyTook.Seconds() }
func cleanTook(c *Cell) float64   { return (c.Took - c.LossyTook).Seconds() }
func timeouts(c *Cell) float64    { return float64(c.Timeouts) }
func lossy(c *Cell) float64       { return float64(c.Lossy) }
func answers(cells []Cell) int    { return judge.Sum(cells, func(c *Cell) int { return c.Flows }) }
func rank99(n int) int            { return n - (99*n+99)/100 } // from 0, the greatest first
func mean(cells []Cell) float64   { return 1000 * judge.Sum(cells, took) / float64(answers(cells)) }
func took(c *Cell) float64        { return c.Took.Seconds() }
func slowest(cells []Cell) float64 {
	return percentile99(cells, func(c *Cell) []int64 { return c.Tail }) / 1000
}

func inflated(cells []Cell) float64 {
	return percentile99(cells, func(c *Cell) []float64 { return c.Worst })
}

// percentile99 returns the 99th percentile of all answers from the greatest twentieth of each cell.
func percentile99[T int64 | float64](cells []Cell, of func(*Cell) []T) float64 {
	var all []T
	for i := range cells {
		all = append(all, of(&cells[i])...)
	}
	slices.Sort(all)
	slices.Reverse(all)
	return float64(all[rank99(answers(cells))])
}

// late returns the share of retransmissions that follow a timeout.
func late(cells []Cell) float64 {
	of := judge.Sum(cells, func(c *Cell) int { return int(c.Late) })
	return float64(of) / float64(max(of+judge.Sum(cells, func(c *Cell) int { return int(c.Fast + c.Probes) }), 1))
}

// slower returns the time of an answer with losses relative to one without.
func slower(cells []Cell) float64 {
	n := judge.Sum(cells, lossy)
	return judge.Sum(cells, lossyTook) / n / (judge.Sum(cells, cleanTook) / (float64(answers(cells)) - n))
}

// judged is the cells by what is compared.
type judged struct {
	*Plan
	drawn  []Cell        // under the assumptions of the plan
	fitted []Cell        // of these, those with the chosen bursts
	fit    time.Duration // the bursts with which the sender without probes is nearest to the published share
}

func (j *judged) of(cells []Cell, timers string) []Cell {
	return judge.Where(cells, func(c *Cell) bool { return c.Timers == timers })
}

func (j *judged) before(cells []Cell) []Cell { return j.of(cells, j.Without.Text) }

// shorter returns by how many % probes shorten a measure.
func (j *judged) shorter(measure func(cells []Cell) float64) func(cells []Cell) float64 {
	return func(cells []Cell) float64 {
		return 100 * (1 - measure(j.of(cells, j.With.Text))/measure(j.before(cells)))
	}
}

func allTimeouts(cells []Cell) float64 { return judge.Sum(cells, timeouts) }

func judgeWeb(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	j := &judged{Plan: p, drawn: judge.Where(cells, func(c *Cell) bool { return c.Varied == "" })}
	nearest := math.Inf(1)
	for _, g := range judge.Along(j.before(j.drawn), burst) {
		off := math.Abs(late(g.Rows) - p.Share)
		if slices.Contains(p.Bursts, g.Key) && off < nearest {
			nearest, j.fit = off, g.Key
		}
	}
	j.fitted = judge.Where(j.drawn, func(c *Cell) bool { return c.Burst == j.fit })
	out := &experiments.Outcome{}
	out.Judge(j.claims()...)
	out.Judge(j.claimOnOutages())
	out.Tables = append(out.Tables, j.timersTable(), j.burstsTable(), j.variedTable(cells))
	out.Figures = append(out.Figures, j.figure())
	return out, nil
}

func (j *judged) claims() []experiments.Claim {
	path := fmt.Sprintf("over %v Mbit/s", experiments.Number(float64(j.Rate)/1e6))
	of := func(cells []Cell, measure func(cells []Cell) float64, unit string) experiments.Measure {
		return experiments.MeasuredWithin(judge.Resampled(cells, seed, measure), unit)
	}
	before := j.before(j.fitted)
	look := func(turns string) experiments.Look {
		return experiments.Look{Read: experiments.ReadSummary, At: "the draft, as quoted on the bloat list", Turns: turns}
	}
	const unprinted = "sizes, paths and parallel connections: none is printed"
	blind := look("the length of bursts")
	blind.Quote = "96 % of the timeout episodes occur without any preceding duplicate ACKs or other indication of " +
		"losses at the sender"
	claims := []experiments.Claim{
		{
			Name: "timeout-share", Class: experiments.Check, Source: tlp,
			Text: fmt.Sprintf("the length of bursts is fitted, to %v, so that about the 70 %% of the source follow a timeout",
				j.fit),
			Measured: of(before, func(cells []Cell) float64 { return 100 * late(cells) }, "%"),
			Expected: experiments.Between(60, 80, "% at some length of bursts").OrDiffers(
				experiments.AtLeast(40, "%")),
			Otherwise: "no length of bursts loses as many tails",
		},
		{
			Name: "loss-ratio", Class: experiments.OfOthers, Source: flach, Published: "5 times",
			Text:     "answers with losses take several times as long as those without, " + path,
			Measured: of(before, slower, "times"),
			Expected: experiments.Printed(longer, "times").OrDiffers(experiments.Between(1.5, 15, "times")),
			Look: experiments.Look{Read: experiments.ReadAbstract, Quote: "while connections with no loss complete close to " +
				"the ideal latency of one round-trip time, TCP's timeout-driven recovery causes transfers with loss to take " +
				"five times longer on average", Turns: "nothing that was tried"},
			Otherwise: "sizes and round trips are assumed, and decide how long an answer takes without losses",
		},
		{
			Name: "blind", Class: experiments.Check, Source: tlp, Published: blind.Quote, Look: blind,
			Text: "nearly all timeouts come without a sign of the loss at the sender: bursts that lose whole tails give none",
			Measured: of(before, func(cells []Cell) float64 {
				of := func(count func(*Cell) uint64) float64 {
					return judge.Sum(cells, func(c *Cell) float64 { return float64(count(c)) })
				}
				return 100 * of(func(c *Cell) uint64 { return c.Blind }) / of(func(c *Cell) uint64 { return c.Episodes })
			}, "% of the timeouts"),
			Expected:  experiments.Printed(96, "%").OrDiffers(experiments.Above(50, "%")),
			Otherwise: "ACKs of later segments come before the timeout",
		},
		{
			Name: "probes-p99", Class: experiments.OfOthers, Source: tlp, Look: look(unprinted),
			Text:      "probes shorten the longest answers, " + path,
			Published: "99th percentile of the response time -5, -10 and -10 % at three services",
			Measured:  of(j.fitted, j.shorter(slowest), "%"),
			Expected:  experiments.PrintedRange(5, 10, "% shorter").OrDiffers(experiments.Above(0, "%")),
			Otherwise: "sizes and paths are assumed",
		},
		{
			Name: "probes-mean", Class: experiments.OfOthers, Source: tlp, Look: look(unprinted),
			Text:      "probes shorten the mean answer, " + path,
			Published: "mean response time -3, -5 and -7 % at three services",
			Measured:  of(j.fitted, j.shorter(mean), "%"),
			Expected:  experiments.PrintedRange(3, 7, "% shorter").OrDiffers(experiments.Above(0, "%")),
			Otherwise: "sizes and paths are assumed",
		},
		{
			Name: "probes-timeouts", Class: experiments.OfOthers, Source: tlp, Published: "timeouts -15 %",
			Text:     "probes avoid a small part of the timeouts",
			Look:     look("the length of bursts: the longer, the fewer timeouts are avoided"),
			Measured: of(j.fitted, j.shorter(allTimeouts), "%"),
			Expected: experiments.Printed(avoided, "% fewer").OrDiffers(
				experiments.Between(avoided/2.0, 2*avoided, "% fewer")),
			Otherwise: "a burst ends before the probe, which then begins a recovery",
		},
	}
	for i := range claims {
		claims[i].Tag = experiments.FromPrint
	}
	return claims
}

// claimOnOutages takes bursts so long that probes avoid no more timeouts than the published share.
func (j *judged) claimOnOutages() experiments.Claim {
	c := experiments.Claim{
		Name: "outages", Class: experiments.Law, Tag: experiments.FromPrint, Source: tlp + ", and " + flach,
		Text: fmt.Sprintf("outages explain the published share of avoided timeouts: where bursts are so long that probes "+
			"avoid %d %% of the timeouts, answers with losses still take %d times as long", avoided, longer),
		Otherwise: "where outages leave so many timeouts, the answers that they hit take far longer",
		Unless:    fmt.Sprintf("no burst of the plan has probes avoid as little as %d %% of the timeouts", avoided),
	}
	for _, g := range judge.Along(j.drawn, burst) {
		fewer := j.shorter(allTimeouts)(g.Rows)
		if fewer > avoided || fewer != fewer {
			continue
		}
		ratio := judge.Resampled(j.before(g.Rows), seed, slower)
		c.Measured = judge.Said("%v times, with bursts of %v, where probes avoid %v %%", ratio, g.Key, fewer).Judging(
			ratio.Value)
		c.Expected = experiments.Printed(longer, "times")
		c.Unless = ""
		break
	}
	return c
}

// unlessGVisor returns a value, and nothing for gVisor's TCP, which does not report it.
func unlessGVisor(timers string, v any) any {
	if timers == gvisor {
		return ""
	}
	return v
}

func (j *judged) timersTable() experiments.Table {
	t := experiments.Table{Name: "timers", Title: fmt.Sprintf("Answers by timers, bursts of %v", j.fit), Columns: []string{
		"timers", "retransmissions after timeouts, %", "timeouts", "probes", "mean, ms", "p99, ms", "p99 shorter, %",
		"p99 relative to lossless", "mean with losses, relative to without"}}
	first := slowest(j.before(j.fitted))
	for _, g := range judge.By(j.fitted, func(c *Cell) string { return c.Timers }) {
		t.Add(g.Key, unlessGVisor(g.Key, 100*late(g.Rows)), allTimeouts(g.Rows), unlessGVisor(g.Key, judge.Sum(g.Rows,
			func(c *Cell) int { return int(c.Probes) })), mean(g.Rows), slowest(g.Rows), 100*(1-slowest(g.Rows)/first),
			inflated(g.Rows), slower(g.Rows))
	}
	return t
}

func (j *judged) burstsTable() experiments.Table {
	t := experiments.Table{Name: "bursts", Title: fmt.Sprintf("Retransmissions of %q, and what probes avoid, by the mean "+
		"length of bursts", j.Without.Text), Columns: []string{"bursts, ms", "answers with losses, %",
		"retransmissions after timeouts, %", "mean with losses, relative to without", "timeouts fewer with probes, %",
		"chosen"}}
	for _, g := range judge.Along(j.drawn, burst) {
		before := j.before(g.Rows)
		t.Add(g.Key, 100*judge.Sum(before, lossy)/float64(answers(before)), 100*late(before), slower(before),
			j.shorter(allTimeouts)(g.Rows), g.Key == j.fit)
	}
	return t
}

func (j *judged) variedTable(cells []Cell) experiments.Table {
	t := experiments.Table{Name: "varied", Title: fmt.Sprintf("Effect of probes if one assumption is changed, bursts "+
		"of %v",
		j.VariedBurst), Columns: []string{"changed", "answers with losses, %", "mean shorter, %", "95 % from", "to",
		"p99 shorter, %", "timeouts fewer, %"}}
	compared := judge.Where(cells, func(c *Cell) bool {
		return c.Burst == j.VariedBurst && (c.Timers == j.Without.Text || c.Timers == j.With.Text)
	})
	for _, g := range judge.By(compared, func(c *Cell) string { return c.Varied }) {
		name, before, shorter := g.Key, j.before(g.Rows), judge.Resampled(g.Rows, seed, j.shorter(mean))
		if name == "" {
			name = "nothing changed"
		}
		t.Add(name, 100*judge.Sum(before, lossy)/float64(answers(before)), shorter.Value, shorter.Lo, shorter.Hi,
			j.shorter(slowest)(g.Rows), j.shorter(allTimeouts)(g.Rows))
	}
	return t
}

func (j *judged) figure() figure.Figure {
	f := figure.Figure{
		Name: "tail-inflation", Title: "The longest answers, relative to the same answers without losses",
		Caption: "The effect of sizes and round trips is removed: only the cost of losses remains. Fine floors, timers per " +
			"segment and probes each remove a part of it.",
		X:     figure.Axis{Label: "mean length of bursts, ms", Log: true},
		Y:     figure.Axis{Label: "99th percentile of the time, relative to lossless", Log: true},
		Marks: []figure.Mark{{Label: "chosen", At: judge.Ms(j.fit), Vertical: true}},
	}
	short := judge.Where(j.drawn, func(c *Cell) bool { return slices.Contains(j.Bursts, c.Burst) })
	for _, g := range judge.By(short, func(c *Cell) string { return c.Timers }) {
		kind := figure.Line
		if g.Key == gvisor {
			kind = figure.Points
		}
		f.Series = append(f.Series, judge.Curve(g.Key, kind, g.Rows, func(c *Cell) float64 { return judge.Ms(c.Burst) },
			inflated))
	}
	return f
}
