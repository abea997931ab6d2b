package counterfactual

import (
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

// pair is the recovery time of a loss in the capture and under a policy.
type pair struct{ was, is time.Duration }

// pairs returns the losses that count under a policy by a key, grouped by connection, in the cells
// that keep accepts.
func pairs(cells []Cell, policy int, key replay.Key, keep func(*Cell) bool) (groups [][]pair) {
	for i := range cells {
		c := &cells[i]
		if c.Check != "" || !keep(c) {
			continue
		}
		counted := experiments.Select(c.Losses, func(l *Loss) bool { return l.Count && l.By[policy][key] >= 0 })
		for _, conn := range experiments.GroupBy(counted, func(l *Loss) int { return l.Conn }) {
			var group []pair
			for _, l := range conn.Items {
				group = append(group, pair{l.Took, l.By[policy][key]})
			}
			groups = append(groups, group)
		}
	}
	return groups
}

func atSender(c *Cell) bool { return c.Point == "sender" }

// saved returns the share of the captured recovery times that a policy saves.
func saved(all []pair) float64 {
	was, less := time.Duration(0), time.Duration(0)
	for _, p := range all {
		was, less = was+p.was, less+p.was-p.is
	}
	if was == 0 {
		return 0
	}
	return float64(less) / float64(was)
}

// savings returns the savings of a policy by each key, with intervals over connections. ok is false
// if a key covers no losses.
func savings(cells []Cell, policy int, keep func(*Cell) bool) (by [replay.Keys]stat.Interval, ok bool) {
	ok = true
	for k := range by {
		groups := pairs(cells, policy, replay.Key(k), keep)
		if len(groups) == 0 {
			return by, false
		}
		by[k] = stat.Bootstrap(groups, uint64(k+1), saved)
	}
	return by, ok
}

// times returns the recovery times of a policy by range.
func times(cells []Cell, policy int, keep func(*Cell) bool) (all []time.Duration) {
	for _, g := range pairs(cells, policy, replay.ByRange, keep) {
		for _, p := range g {
			all = append(all, p.is)
		}
	}
	return all
}

// captured returns the recovery times of the captured losses that count.
func captured(cells []Cell, keep func(*Cell) bool) (all []time.Duration) {
	for i := range cells {
		if cells[i].Check != "" || !keep(&cells[i]) {
			continue
		}
		for _, l := range cells[i].Losses {
			if l.Count {
				all = append(all, l.Captured)
			}
		}
	}
	return all
}

func ms[T time.Duration | float64](d T) float64 { return float64(d) / 1e6 }

func judge(p *Plan, cells []Cell) (*experiments.Outcome, error) {
	if len(captured(cells, atSender)) == 0 {
		return &experiments.Outcome{Notes: []string{"No loss of these samples counts: none was necessary and " +
			"repaired."}}, nil
	}
	out := &experiments.Outcome{
		Tables:  []experiments.Table{policies(p, cells), refusals(p, cells), scenarios(p, cells), validations(cells)},
		Figures: []figure.Figure{distribution(p, cells), spread(p, cells), byScenario(p, cells)},
		Notes: []string{"By range, the n-th transmission of a range has the fate of the n-th one in the capture. " +
			"This favours a policy that retransmits sooner, if the " +
			"cause of the first losses would have lost more. By time, a transmission has the fate of the captured " +
			"one at that time. A range that another policy sends at " +
			"another time may then escape its loss, and a slow policy seem to save. By number is between them. " +
			"Where the three keys do not " +
			"agree on the sign, the captures do not decide."},
	}
	if len(p.Points) > 1 {
		out.Tables = append(out.Tables, points(p, cells))
	}
	out.Tables = append(out.Tables, everything(p, cells))
	for _, c := range claims(p, cells) {
		out.Claim(c)
	}
	return out, nil
}

// policies compares the recovery times of the policies.
func policies(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "policies", Title: "Recovery times at the senders, and each policy's saving over the oracle, by " +
			"three keys of fates",
		Columns: []string{"policy", "losses", "median, ms", "p95, ms", "saved by range, %", "95 % from", "to",
			"saved by time, %", "saved by number, %"},
	}
	all := captured(cells, atSender)
	t.Add("(as captured)", len(all), ms(stat.Median(all)), ms(stat.Quantile(all, 0.95)), "", "", "", "", "")
	for i, c := range p.Policies {
		took := times(cells, i, atSender)
		by, ok := savings(cells, i, atSender)
		if !ok {
			t.Add(c.Text, len(took), "", "", "", "", "", "", "")
			continue
		}
		t.Add(c.Text, len(took), ms(stat.Median(took)), ms(stat.Quantile(took, 0.95)), 100*by[replay.ByRange].Value,
			100*by[replay.ByRange].Lo,
			100*by[replay.ByRange].Hi, 100*by[replay.ByTime].Value, 100*by[replay.ByIndex].Value)
	}
	return t
}

// refusals counts the losses that do not count, and the imputed fates.
func refusals(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "refusals", Title: "Losses at the senders: those through the gate, and fates that the captures do " +
			"not show",
		Columns: []string{"policy", "connections", "not replayable", "needed losses", "through the gate",
			"segments sent", "imputed fates, %", "retransmissions", "spurious"},
	}
	for i, c := range p.Policies {
		conns, not, needed, passed := 0, 0, 0, 0
		var o Overall
		for j := range cells {
			x := &cells[j]
			if x.Check != "" || !atSender(x) {
				continue
			}
			of := x.Policies[i]
			conns, not, needed = conns+x.Conns, not+len(x.Refuse), needed+x.Needed
			passed += len(experiments.Select(x.Losses, func(l *Loss) bool { return l.Count }))
			o.Transmissions += of.Transmissions
			o.FilledIn += of.FilledIn
			o.Retransmissions += of.Retransmissions
			o.Spurious += of.Spurious
		}
		t.Add(c.Text, conns, not, needed, passed, o.Transmissions,
			100*float64(o.FilledIn)/float64(max(1, o.Transmissions)), o.Retransmissions, o.Spurious)
	}
	return t
}

// scenarios shows the savings of the policies in each sample.
func scenarios(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "scenarios", Title: "Saving over the oracle in each sample, in percent, by range",
		Columns: []string{"sample", "losses", "median, ms"},
	}
	shown := p.shown()
	for _, i := range shown {
		t.Columns = append(t.Columns, p.Policies[i].Text)
	}
	for _, s := range p.Samples {
		keep := func(c *Cell) bool { return atSender(c) && c.Sample == s }
		all := captured(cells, keep)
		if len(all) == 0 {
			continue
		}
		row := []any{s, len(all), ms(stat.Median(all))}
		for _, i := range shown {
			var all []pair
			for _, g := range pairs(cells, i, replay.ByRange, keep) {
				all = append(all, g...)
			}
			if len(all) > 0 {
				row = append(row, 100*saved(all))
			} else {
				row = append(row, "")
			}
		}
		t.Add(row...)
	}
	return t
}

// shown returns the policies for tables and figures with room for few.
func (p *Plan) shown() (all []int) {
	for _, name := range []string{"linux-jiffies", "rfc6298", "per-segment@1ms", "per-segment@100ms",
		"per-segment@500ms", "bsd"} {
		if i := p.index(name); i >= 0 {
			all = append(all, i)
		}
	}
	for i := range p.Policies {
		if len(all) < 4 && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	return all
}

// index returns the place of a policy in the plan, -1 if it is not there.
func (p *Plan) index(name string) int {
	return slices.IndexFunc(p.Policies, func(c choice) bool { return c.Text == name })
}

func validations(cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "validation", Title: "Replays against their captures: correct detections, and errors of recovery times",
		Columns: []string{"check", "losses", "timeouts", "probes", "by ACKs", "first transmissions, %",
			"median error, %", "p95 error, %", "passes"},
	}
	for i := range cells {
		c := &cells[i]
		if v := c.Validation; v != nil {
			t.Add(c.Check, v.Recoveries, of(v.TimeoutsRight, v.Timeouts), of(v.ProbesRight, v.Probes),
				of(v.FastRight+v.ReordersRight, v.Fast+v.Reorders),
				100*float64(v.FirstRight)/float64(max(1, v.First)), 100*v.Median, 100*v.P95, v.Passes())
		}
	}
	return t
}

func of(right, all int) string { return fmt.Sprintf("%d of %d", right, all) }

// points compares the savings by the point of capture.
func points(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "points", Title: "Savings for the same losses by the point of capture, in percent, by range",
		Columns: []string{"policy", "point", "losses", "saved, %", "95 % from", "to"},
	}
	for _, i := range p.shown() {
		for _, point := range p.Points {
			// The same samples at all points.
			keep := func(c *Cell) bool { return c.Point == point && has(c.Sample, "middle") }
			if by, ok := savings(cells, i, keep); ok {
				in := by[replay.ByRange]
				t.Add(p.Policies[i].Text, point, len(times(cells, i, keep)), 100*in.Value, 100*in.Lo, 100*in.Hi)
			}
		}
	}
	return t
}

// everything lists each loss under each policy by each key.
func everything(p *Plan, cells []Cell) experiments.Table {
	t := experiments.Table{
		Name: "losses", Title: "Each loss under each policy; empty where there is no verdict", Data: true,
		Columns: []string{"sample", "point", "connection", "kind", "rtt, ms", "counts", "captured, ms", "policy",
			"by range, ms", "by time, ms", "by number, ms"},
	}
	show := func(d time.Duration) any {
		if d < 0 {
			return ""
		}
		return ms(d)
	}
	for i := range cells {
		c := &cells[i]
		for _, l := range c.Losses {
			for n, by := range l.By {
				t.Add(c.Sample, c.Point, l.Conn, l.Kind, ms(l.RTT), l.Count, ms(l.Captured), p.Policies[n].Text,
					show(by[replay.ByRange]),
					show(by[replay.ByTime]), show(by[replay.ByIndex]))
			}
		}
	}
	return t
}

// distribution draws the recovery times of all policies.
func distribution(p *Plan, cells []Cell) figure.Figure {
	f := figure.Figure{
		Name: "recovery-times", Title: "Recovery times of the captured losses, by policy",
		X:       figure.Axis{Label: "recovery time, from the loss to its ACK, ms", Log: true},
		Y:       figure.Axis{Label: "share of losses", Lo: 0, Hi: 1},
		Caption: "By range, at the senders. Dashed: as captured.",
	}
	draw := func(name string, all []time.Duration, dashed bool) {
		all = slices.DeleteFunc(slices.Clone(all), func(d time.Duration) bool { return d <= 0 })
		if len(all) == 0 {
			return
		}
		slices.Sort(all)
		s := figure.Series{Name: name, Kind: figure.Steps, Dashed: dashed}
		for i, d := range all {
			s.X, s.Y = append(s.X, ms(d)), append(s.Y, float64(i+1)/float64(len(all)))
		}
		f.Series = append(f.Series, s)
	}
	draw("as captured", captured(cells, atSender), true)
	for _, i := range p.shown() {
		draw(p.Policies[i].Text, times(cells, i, atSender), false)
	}
	return f
}

// spread draws the recovery times under each policy, with the spread of the keys.
func spread(p *Plan, cells []Cell) figure.Figure {
	f := figure.Figure{
		Name: "savings", Title: "Recovery times under each policy, relative to the captured ones",
		X:     figure.Axis{Label: "policy"},
		Y:     figure.Axis{Label: "recovery times / captured times", Log: true},
		Marks: []figure.Mark{{Label: "as captured", At: 1}},
		Caption: "The point is by range. The bar is from the least to the greatest of the three keys: where it " +
			"crosses 1 the " +
			"captures do not decide.",
	}
	s := figure.Series{Name: "all losses at the senders", Kind: figure.Points}
	for i, c := range p.Policies {
		f.X.Ticks = append(f.X.Ticks, c.Text)
		by, ok := savings(cells, i, atSender)
		if !ok {
			continue
		}
		ratio := func(k replay.Key) float64 { return max(0.001, 1-by[k].Value) }
		s.X, s.Y = append(s.X, float64(i)), append(s.Y, ratio(replay.ByRange))
		s.Lo = append(s.Lo, min(ratio(replay.ByRange), ratio(replay.ByTime), ratio(replay.ByIndex)))
		s.Hi = append(s.Hi, max(ratio(replay.ByRange), ratio(replay.ByTime), ratio(replay.ByIndex)))
	}
	f.Series = []figure.Series{s}
	return f
}

// byScenario draws the recovery times of each sample in bars.
func byScenario(p *Plan, cells []Cell) figure.Figure {
	f := figure.Figure{
		Name: "by-scenario", Title: "Median recovery time in each sample, by policy", X: figure.Axis{Label: "sample",
			Ticks: p.Samples},
		Y:       figure.Axis{Label: "recovery time, from the loss to its ACK, ms", Log: true},
		Caption: "By range, at the senders.",
	}
	draw := func(name string, of func(keep func(*Cell) bool) []time.Duration) {
		s := figure.Series{Name: name, Kind: figure.Bars}
		for i, sample := range p.Samples {
			if all := of(func(c *Cell) bool { return atSender(c) && c.Sample == sample }); len(all) > 0 &&
				stat.Median(all) > 0 {
				s.X, s.Y = append(s.X, float64(i)), append(s.Y, stat.Median(all)/1e6)
			}
		}
		if len(s.X) > 0 {
			f.Series = append(f.Series, s)
		}
	}
	draw("as captured", func(keep func(*Cell) bool) []time.Duration { return captured(cells, keep) })
	for _, i := range p.shown() {
		draw(p.Policies[i].Text, func(keep func(*Cell) bool) []time.Duration { return times(cells, i, keep) })
	}
	return f
}
