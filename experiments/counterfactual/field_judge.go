package counterfactual

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

// The result is that of public captures, which are not the project's to distribute. A test judges
// them again where they are at hand.
const (
	publicLosses = "92 captures, 6589 connections: 329 repaired losses held data back for 732.6 s; 81.66 % of that was " +
		"waiting for timers. In the median of the 39 captures with such losses it was 56.69 % (32.65 to 82.41)."
	publicSaves = "by range -3.642 % (-37.37 to 21.23), by time 22.55 % (12.44 to 34.67), by index -5.247 % (-41.85 to " +
		"21.24)"
)

var fieldWords = experiments.Words{
	Question: "How much time do connections lose to their timers, and what would finer timers have saved?",
	Found: "Public captures, collected for their losses: " + publicLosses + " What a timer for each segment would have " +
		"saved cannot be told: " + publicSaves + ", and the keys of fates disagree on the sign. The samples of this " +
		"project, whose losses are emulated, show the method only.",
}

// sum adds the kinds of losses of captures that a rule keeps.
func sum(cells []fieldCell, keep func(k *fieldKind) bool) (all fieldKind) {
	for _, c := range cells {
		for _, k := range judge.Where(c.Kinds, keep) {
			all.Losses, all.Held, all.Spurious = all.Losses+k.Losses, all.Held+k.Held, all.Spurious+k.Spurious
			all.Lost, all.Waited, all.Tax = all.Lost+k.Lost, all.Waited+k.Waited, all.Tax+k.Tax
			all.Dead, all.DeadFor = all.Dead+k.Dead, all.DeadFor+k.DeadFor
		}
	}
	return all
}

func counts(k *fieldKind) bool { return k.Class == counted }

// waitedShare returns the part of the time lost of a capture that senders waited for timers, in %.
func waitedShare(c *fieldCell) float64 {
	all := sum([]fieldCell{*c}, counts)
	return 100 * float64(all.Waited) / float64(all.Lost)
}

// field returns the losses of all captures that count under a policy.
func field(cells []fieldCell, policy int) (all []replayedLoss) {
	for i := range cells {
		c := &cells[i]
		for k := range c.Losses {
			if l := &c.Losses[k]; l.Count {
				all = append(all, replayedLoss{fmt.Sprintf("%s %d", c.File, l.Conn), l, l.By[policy]})
			}
		}
	}
	return all
}

func judgeField(p *fieldPlan, cells []fieldCell) (*experiments.Outcome, error) {
	all := sum(cells, counts)
	lossy := judge.Where(cells, func(c *fieldCell) bool { return sum([]fieldCell{*c}, counts).Lost > 0 })
	lived := judge.Sum(cells, func(c *fieldCell) float64 { return c.Lifetime.Seconds() })
	conns := judge.Sum(cells, func(c *fieldCell) int { return c.All })
	var shares [][]float64
	for i := range lossy {
		shares = append(shares, []float64{waitedShare(&lossy[i])})
	}
	median := stat.Bootstrap(shares, 1, stat.Median[float64])
	saves := savingOf(field(cells, 0))
	samples := ""
	if p.Captures == "" {
		samples = "the losses of the samples are emulated: give captures of others with --captures"
	}
	out := &experiments.Outcome{}
	out.Judge(
		experiments.Claim{
			Name: "lost", Class: experiments.Check, Tag: experiments.Computed, Source: "definition of the times",
			Text: "the time that timers took is a part of the time lost, and that a part of the connections' lives",
			Measured: judge.Said("%v s of %v s of %v s, in %d connections of %d captures", all.Waited.Seconds(),
				all.Lost.Seconds(), lived, conns, len(cells)),
			Expected:  experiments.Whether(all.Waited <= all.Lost && all.Lost.Seconds() <= lived, "each at most the next"),
			Otherwise: "losses of one connection overlap",
		},
		experiments.Claim{
			Name: "waited", Class: experiments.Law, Tag: experiments.Computed, Unless: samples,
			Text:   "where repaired losses held data back, senders waited for timers most of the time",
			Source: "set for this project: what timers can save at most", Basis: "a majority",
			Measured:  experiments.MeasuredWithin(median, "%"),
			Expected:  experiments.Above(50, "% in the median capture"),
			Otherwise: "losses that ACKs reveal, and repeated losses, cost more in these captures",
		},
		experiments.Claim{
			Name: "saves", Class: experiments.Law, Tag: experiments.Computed, Source: "aim of this project",
			Text: p.Policies[0].Text + " saves recovery time over the captured timers", Unless: samples,
			Measured: judge.Said("%v", saves.String()),
			Expected: experiments.Whether(saves.every(func(x stat.Interval) bool { return x.Lo > 0 }),
				"above 0 by each key, with its interval").OrDiffers(experiments.Whether(saves[replay.ByRange].Lo > 0,
				"above 0 by range")),
			Otherwise: "the keys of fates do not agree, or too few losses pass the gate",
		})
	out.Notes = []string{judge.Say("%d captures, %d connections: %d repaired losses held data back for %v s; %v %% of "+
		"that was waiting for timers. In the median of the %d captures with such losses it was %v %% (%v to %v).", len(cells),
		conns, all.Held, all.Lost.Seconds(), 100*float64(all.Waited)/float64(max(all.Lost, 1)), len(lossy), median,
		median.Lo, median.Hi) + apart(cells)}
	kinds := byKind(cells)
	out.Tables = append(out.Tables, kindsTable(kinds, all), savingsTable(p, cells))
	out.Figures = append(out.Figures, kindsFigure(kinds))
	return out, nil
}

// apart says what does not count: connections of one host with itself, packets of a tool, and losses
// that were never repaired, from the loss to the end.
func apart(cells []fieldCell) string {
	var all []string
	add := func(what string, lost time.Duration) {
		if lost > 0 {
			all = append(all, judge.Say("%s %v s", what, lost.Seconds()))
		}
	}
	for _, class := range []string{ofLoopback, ofTool} {
		add(class, sum(cells, func(k *fieldKind) bool { return k.Class == class }).Lost)
	}
	if add("never repaired", sum(cells, counts).DeadFor); len(all) == 0 {
		return ""
	}
	return " Apart: " + strings.Join(all, ", ") + "."
}

// byKind returns the kinds of losses that count, the one that lost most first.
func byKind(cells []fieldCell) (kinds []fieldKind) {
	for _, c := range cells {
		for _, k := range c.Kinds {
			if counts(&k) && !slices.ContainsFunc(kinds, func(o fieldKind) bool { return o.Kind == k.Kind }) {
				of := sum(cells, func(o *fieldKind) bool { return counts(o) && o.Kind == k.Kind })
				of.Kind = k.Kind
				kinds = append(kinds, of)
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b fieldKind) int { return cmp.Compare(b.Lost, a.Lost) })
	return kinds
}

func kindsTable(kinds []fieldKind, all fieldKind) experiments.Table {
	t := experiments.Table{Name: "kinds", Title: "Time lost by what repaired the loss: the receiver's application got " +
		"nothing that the path could have brought. Loopback, tools and losses that were never repaired are apart",
		Columns: []string{"kind", "losses", "held data back", "lost, s", "share, %", "waited for timers, s",
			"detection beyond the least, s", "unnecessary retransmissions"}}
	whole := float64(max(all.Lost, 1))
	all.Kind = "all"
	for _, k := range append(slices.Clone(kinds), all) {
		t.Add(k.Kind, k.Losses, k.Held, k.Lost.Seconds(), 100*float64(k.Lost)/whole, k.Waited.Seconds(), k.Tax.Seconds(),
			k.Spurious)
	}
	return t
}

func savingsTable(p *fieldPlan, cells []fieldCell) experiments.Table {
	passed, needed := len(field(cells, 0)), judge.Sum(cells, func(c *fieldCell) int { return c.Needed })
	t := experiments.Table{Name: "policies", Title: fmt.Sprintf("Recovery time that other timers would have saved, in "+
		"%%: %d of %d necessary losses pass the gate", passed, needed), Columns: []string{"policy"}}
	for _, key := range keys {
		t.Columns = append(t.Columns, "by "+key, "by "+key+", from", "to by "+key)
	}
	for i, policy := range p.Policies {
		row := []any{policy.Text}
		for _, x := range savingOf(field(cells, i)) {
			row = append(row, x.Value, x.Lo, x.Hi)
		}
		t.Add(row...)
	}
	return t
}

func kindsFigure(kinds []fieldKind) figure.Figure {
	f := figure.Figure{
		Name: "kinds", Title: "Time lost, by what repaired the loss",
		Caption: "Waiting for timers is a part of the time lost. The rest passed after the first retransmission, or while " +
			"ACKs revealed the loss.",
		X: figure.Axis{Label: "kind"}, Y: figure.Axis{Label: "seconds, all connections"},
	}
	lost, waited := figure.Series{Name: "time lost", Kind: figure.Bars},
		figure.Series{Name: "of it, waited for timers", Kind: figure.Bars}
	for i, k := range kinds {
		f.X.Ticks = append(f.X.Ticks, k.Kind)
		lost.Add(float64(i), k.Lost.Seconds())
		waited.Add(float64(i), k.Waited.Seconds())
	}
	f.Series = []figure.Series{lost, waited}
	return f
}
