package counterfactual

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

var words = experiments.Words{
	Question: "What would the losses of real captures have cost with other timers?",
	Found: "On the sample captures, whose losses are emulated, a timer for each segment saves {per-segment-saves}; " +
		"4.4BSD's timers save {bsd-costs}. Where the keys disagree on the sign, the captures do not decide.",
}

// keys are the keys of fates as claims name them.
var keys = [replay.Keys]string{"range", "time", "index"}

// replayedLoss is a loss under a policy.
type replayedLoss struct {
	conn string // of one capture
	*Loss
	by [replay.Keys]time.Duration
}

// share returns the part of the control's recovery times that a policy saves where a key has a
// verdict; 0 if these have none.
func share(rows []replayedLoss, key replay.Key) float64 {
	var less, was float64
	for _, r := range decided(rows, key) {
		less += float64(r.Took - r.by[key])
		was += float64(r.Took)
	}
	if was == 0 {
		return 0
	}
	return less / was
}

func decided(rows []replayedLoss, key replay.Key) []replayedLoss {
	return judge.Where(rows, func(r *replayedLoss) bool { return r.by[key] >= 0 })
}

// saving is what a policy saves by each key, in %, with intervals over connections.
type saving [replay.Keys]stat.Interval

func savingOf(rows []replayedLoss) (s saving) {
	for k := range s {
		key := replay.Key(k)
		s[k] = judge.Resampled(decided(rows, key), func(r *replayedLoss) string { return r.conn },
			func(rows []replayedLoss) float64 { return 100 * share(rows, key) })
	}
	return s
}

func (s saving) String() (text string) {
	for k, x := range s {
		if k > 0 {
			text += ", "
		}
		text += judge.Say("by %s %v %% (%v to %v)", keys[k], x, x.Lo, x.Hi)
	}
	return text
}

// every reports whether the rule holds by all keys.
func (s saving) every(holds func(x stat.Interval) bool) bool {
	return !slices.ContainsFunc(s[:], func(x stat.Interval) bool { return !holds(x) })
}

// lossesAt returns the losses of captures at a point that count under a policy.
func lossesAt(cells []Cell, policy int, of func(c *Cell) bool) (all []replayedLoss) {
	for i := range cells {
		c := &cells[i]
		if !of(c) {
			continue
		}
		for k := range c.Losses {
			if l := &c.Losses[k]; l.Count {
				all = append(all, replayedLoss{fmt.Sprintf("%s %s %d", c.Sample, c.Point, l.Conn), l, l.By[policy]})
			}
		}
	}
	return all
}

func atSender(c *Cell) bool { return c.Point == "sender" }

func judgeSamples(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	out := &experiments.Outcome{}
	out.Judge(
		claimOnSaving(p, cells, "per-segment-saves", "per-segment@1ms", "a timer for each segment on a tick of 1 ms saves "+
			"recovery time over the kernels' own"),
		claimOnSaving(p, cells, "bsd-costs", "bsd", "4.4BSD's timers would have cost recovery time"))
	if len(lossesAt(cells, 0, atSender)) == 0 {
		out.Notes = []string{"No loss of these samples counts: none was necessary and repaired."}
		return out, nil
	}
	out.Tables = append(out.Tables, policiesTable(p, cells))
	out.Figures = append(out.Figures, savingsFigure(p, cells))
	return out, nil
}

func claimOnSaving(p *Plan, cells []Cell, name, policy, text string) experiments.Claim {
	c := experiments.Claim{
		Name: name, Class: experiments.Law, Tag: experiments.Computed, Source: "aim of this project", Text: text,
		Unless: "the plan has no policy " + policy,
	}
	at := slices.IndexFunc(p.Policies, func(c choice) bool { return c.Text == policy })
	if at < 0 {
		return c
	}
	rows := lossesAt(cells, at, atSender)
	if c.Unless = ""; len(rows) == 0 {
		c.Unless = "no loss counts"
		return c
	}
	s := savingOf(rows)
	c.Measured = judge.Said("%v", s.String())
	conns := len(judge.By(rows, func(r *replayedLoss) string { return r.conn }))
	if !s.every(func(x stat.Interval) bool { return x.Lo > 0 || x.Hi < 0 }) && conns < judge.Seeds {
		c.Needs = fmt.Sprintf("an interval over %d connections includes 0: replay at least %d", conns, judge.Seeds)
	}
	if policy == "bsd" {
		c.Expected = experiments.Whether(s.every(func(x stat.Interval) bool { return x.Hi < 0 }),
			"below 0 by each key, with its interval").OrDiffers(experiments.Whether(s[replay.ByRange].Value < 0,
			"below 0 by range"))
	} else {
		c.Expected = experiments.Whether(s.every(func(x stat.Interval) bool { return x.Lo > 0 }),
			"above 0 by each key, with its interval").OrDiffers(experiments.Whether(s[replay.ByRange].Value > 0,
			"above 0 by range"))
	}
	return c
}

func policiesTable(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{Name: "policies", Title: "Recovery times at the senders, and each policy's saving over the " +
		"control, by three keys of fates", Columns: []string{"policy", "losses", "median, ms", "p95, ms",
		"saved by range, %", "95 % from", "to", "saved by time, %", "saved by index, %"}}
	ms := func(all []replayedLoss, of func(r *replayedLoss) time.Duration) []float64 {
		return judge.Values(all, func(r *replayedLoss) float64 { return judge.Ms(of(r)) })
	}
	captured := ms(lossesAt(cells, 0, atSender), func(r *replayedLoss) time.Duration { return r.Captured })
	t.Add("(as captured)", len(captured), stat.Median(captured), stat.Quantile(captured, 0.95), "", "", "", "", "")
	for i, policy := range p.Policies {
		all := lossesAt(cells, i, atSender)
		known := decided(all, replay.ByRange)
		took := ms(known, func(r *replayedLoss) time.Duration { return r.by[replay.ByRange] })
		if len(took) == 0 {
			t.Add(policy.Text, 0, "", "", "", "", "", "", "")
			continue
		}
		s := savingOf(all)
		t.Add(policy.Text, len(took), stat.Median(took), stat.Quantile(took, 0.95), s[replay.ByRange].Value,
			s[replay.ByRange].Lo, s[replay.ByRange].Hi, s[replay.ByTime].Value, s[replay.ByIndex].Value)
	}
	return t
}

func savingsFigure(p *Plan, cells []Cell) figure.Figure {
	s := figure.Series{Name: "all losses at the senders", Kind: figure.Points}
	f := figure.Figure{
		Name: "savings", Title: "Recovery times under each policy, relative to the captured ones",
		Caption: "The point is by range. The bar is from the least to the greatest of the three keys: where it crosses 1 " +
			"the captures do not decide.",
		X: figure.Axis{Label: "policy"}, Y: figure.Axis{Label: "recovery times / captured times", Log: true},
		Marks: []figure.Mark{{Label: "as captured", At: 1}},
	}
	for i, policy := range p.Policies {
		rows := lossesAt(cells, i, atSender)
		var left [replay.Keys]float64
		for k := range left {
			left[k] = max(0.001, 1-share(rows, replay.Key(k)))
		}
		f.X.Ticks = append(f.X.Ticks, policy.Text)
		s.AddInterval(float64(i), stat.Interval{Value: left[replay.ByRange], Lo: slices.Min(left[:]),
			Hi: slices.Max(left[:])})
	}
	f.Series = []figure.Series{s}
	return f
}
