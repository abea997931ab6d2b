package counterfactual

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/pcaps/replay"
	"tcpwheel/wheel/stat"
)

// anywhere accepts each point of capture: the gate decides loss by loss.
func anywhere(*Cell) bool { return true }

// plain returns the replays of the cells.
func plain(cells []fieldCell) (all []Cell) {
	for i := range cells {
		all = append(all, cells[i].Cell)
	}
	return all
}

// fieldKinds sums the kinds of all captures, the one that lost most first.
func fieldKinds(cells []fieldCell) (kinds []fieldKind, sum fieldKind) {
	for _, c := range cells {
		for _, k := range c.Kinds {
			at := slices.IndexFunc(kinds, func(o fieldKind) bool { return o.Kind == k.Kind })
			if at < 0 {
				at = len(kinds)
				kinds = append(kinds, fieldKind{Kind: k.Kind})
			}
			for _, to := range []*fieldKind{&kinds[at], &sum} {
				to.Losses, to.Spurious = to.Losses+k.Losses, to.Spurious+k.Spurious
				to.Lost, to.Waited, to.Tax = to.Lost+k.Lost, to.Waited+k.Waited, to.Tax+k.Tax
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b fieldKind) int { return int((b.Lost - a.Lost) / time.Nanosecond) })
	return kinds, sum
}

// fieldShare returns the share of a span in another over the captures, with its interval over them.
func fieldShare(cells []fieldCell, of, in func(*fieldKind) time.Duration) stat.Interval {
	groups := make([][]fieldKind, len(cells))
	for i := range cells {
		groups[i] = cells[i].Kinds
	}
	return stat.Bootstrap(groups, 1, func(all []fieldKind) float64 {
		a, b := time.Duration(0), time.Duration(0)
		for i := range all {
			a, b = a+of(&all[i]), b+in(&all[i])
		}
		return 100 * float64(a) / float64(max(b, 1))
	})
}

func fieldJudge(p *fieldPlan, cells []fieldCell) (*experiments.Outcome, error) {
	kinds, sum := fieldKinds(cells)
	out := &experiments.Outcome{Tables: []experiments.Table{fieldKindTable(kinds, sum), fieldPolicies(p, cells),
		fieldFiles(cells)}}
	if len(kinds) > 0 {
		out.Figures = append(out.Figures, fieldFigure(kinds))
	}
	conns, lifetime := 0, time.Duration(0)
	for _, c := range cells {
		conns, lifetime = conns+c.All, lifetime+c.Lifetime
	}
	lost, waited := func(k *fieldKind) time.Duration { return k.Lost },
		func(k *fieldKind) time.Duration { return k.Waited }
	share := fieldShare(cells, waited, lost)
	out.Claim(experiments.Claim{Name: "lost", Class: experiments.Check,
		Text:   "the time that timers took is a part of the time lost, and that a part of the connections' lives",
		Source: "definition of the times", Tag: experiments.Computed,
		Measured: experiments.MeasuredText("%s of %s s in %d connections of %d captures", span(sum.Lost),
			experiments.Number(lifetime.Seconds()), conns, len(cells)),
		Expected: experiments.Whether(sum.Waited <= sum.Lost, "parts"), Otherwise: "losses of one connection overlap"})
	out.Claim(experiments.Claim{Name: "waited", Class: experiments.Law,
		Text:   "most of the time lost is waiting for timers",
		Source: "set for this project: what timers can save at most", Tag: experiments.Computed,
		Measured: experiments.MeasuredWithin(share, "% of the time lost"), Expected: experiments.Above(50, "%"),
		Basis:     "a majority",
		Otherwise: "losses that ACKs reveal, and repeated losses, cost more here"})
	out.Claim(fieldSaves(p, cells))
	return out, nil
}

func span(d time.Duration) string { return experiments.Number(d.Seconds()) + " s" }

// fieldSaves judges the first policy against the captured retransmissions.
func fieldSaves(p *fieldPlan, cells []fieldCell) experiments.Claim {
	c := experiments.Claim{Name: "saves", Class: experiments.Law,
		Text:   fmt.Sprintf("%s saves recovery time over the captured timers", p.Policies[0].Text),
		Source: "aim of this project", Tag: experiments.Computed,
		Otherwise: "the keys of fates do not agree, or too few losses pass the gate: the captures do not show " +
			"whether retransmissions at other times would have arrived"}
	by, ok := savings(plain(cells), 0, anywhere)
	if !ok {
		c.Measured, c.Expected = experiments.MeasuredText("nothing that can be told: no loss passes the gate"),
			experiments.Whether(false, "above 0 by each key, with its interval")
		return c
	}
	sure, range0 := true, by[replay.ByRange].Lo > 0
	var texts []string
	for k, in := range by {
		sure = sure && in.Lo > 0
		texts = append(texts, fmt.Sprintf("by %s %s", replay.Key(k), percent(in)))
	}
	c.Measured = experiments.MeasuredText("%s", strings.Join(texts, ", "))
	c.Expected = experiments.Whether(sure, "above 0 by each key, with its interval").OrDiffersIf(range0,
		"above 0 by range")
	return c
}

func fieldKindTable(kinds []fieldKind, sum fieldKind) experiments.Table {
	t := experiments.Table{Name: "kinds", Title: "Time lost by what repaired the loss: the receiver's application " +
		"got nothing that the path could have brought",
		Columns: []string{"kind", "losses", "lost, s", "share, %", "waited for timers, s",
			"detection beyond the least, s", "unnecessary retransmissions"}}
	for _, k := range append(kinds, sum) {
		if k.Kind == "" {
			k.Kind = "all"
		}
		t.Add(k.Kind, k.Losses, k.Lost.Seconds(), 100*float64(k.Lost)/float64(max(sum.Lost, 1)), k.Waited.Seconds(),
			k.Tax.Seconds(), k.Spurious)
	}
	return t
}

// fieldPolicies shows what other timers would have saved of the losses that pass the gate.
func fieldPolicies(p *fieldPlan, cells []fieldCell) experiments.Table {
	all := plain(cells)
	needed, passed := 0, 0
	for i := range all {
		needed += all[i].Needed
		passed += len(experiments.Select(all[i].Losses, func(l *Loss) bool { return l.Count }))
	}
	t := experiments.Table{Name: "policies", Title: fmt.Sprintf("Recovery time that other timers would have saved, "+
		"in %%: %d of %d necessary losses pass the gate", passed, needed),
		Columns: []string{"policy"}}
	for k := range replay.Keys {
		t.Columns = append(t.Columns, "by "+replay.Key(k).String(), "95 %"+strings.Repeat(" ", int(k)))
	}
	for i, c := range p.Policies {
		row := []any{c.Text}
		by, ok := savings(all, i, anywhere)
		for _, in := range by {
			if !ok {
				row = append(row, "", "")
				continue
			}
			row = append(row, 100*in.Value, fmt.Sprintf("%s to %s", experiments.Number(100*in.Lo),
				experiments.Number(100*in.Hi)))
		}
		t.Add(row...)
	}
	return t
}

func fieldFiles(cells []fieldCell) experiments.Table {
	t := experiments.Table{Name: "captures", Title: "The captures", Columns: []string{"capture", "connections",
		"with losses", "lives, s", "lost, s", "waited for timers, s", "losses through the gate", "of"}}
	for _, c := range cells {
		var lost, waited time.Duration
		for _, k := range c.Kinds {
			lost, waited = lost+k.Lost, waited+k.Waited
		}
		t.Add(c.File, c.All, c.Conns, c.Lifetime.Seconds(), lost.Seconds(), waited.Seconds(),
			len(experiments.Select(c.Losses, func(l *Loss) bool { return l.Count })), c.Needed)
	}
	return t
}

func fieldFigure(kinds []fieldKind) figure.Figure {
	f := figure.Figure{Name: "kinds", Title: "Time lost, by what repaired the loss", X: figure.Axis{Label: "kind"},
		Y: figure.Axis{Label: "seconds, all connections"},
		Caption: "Waiting for timers is a part of the time lost. The rest passed after the first retransmission, " +
			"or while ACKs revealed the loss."}
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
