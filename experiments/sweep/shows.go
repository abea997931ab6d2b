package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/judge"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

var says = experiments.Words{
	Question: "What do your timers do to your work over your path?",
	Found:    "The study of a user's own plan; its own compares policies, ticks and floors over one path.",
}

// What a page shows at most; programs have the rest.
const (
	mostCombinations = 40
	mostPanels       = 6
	mostLines        = 12
)

// combined is a combination under all seeds.
type combined struct{ rows []Row }

func timeOf(r *Row) float64   { return judge.Ms(r.Time) }
func lost(r *Row) float64     { return float64(r.Lost) }
func timeouts(r *Row) float64 { return float64(r.Timeouts) }
func probes(r *Row) float64   { return float64(r.Probes) }

func (c *combined) mean(of func(*Row) float64) float64 { return judge.Mean(c.rows, of) }

// interval returns the mean with its interval over seeds.
func (c *combined) interval(of func(*Row) float64) stat.Interval {
	return judge.Student(judge.Values(c.rows, of))
}

// pooled returns a quantile of the samples of all seeds together, in ms, with its interval.
func (c *combined) pooled(of func(*Row) []time.Duration, q float64) stat.Interval {
	samples := make([][]time.Duration, len(c.rows))
	for i := range c.rows {
		samples[i] = of(&c.rows[i])
	}
	in := stat.BootstrapQuantile(samples, 3, q)
	return stat.Interval{Value: in.Value / 1e6, Lo: in.Lo / 1e6, Hi: in.Hi / 1e6}
}

func (c *combined) times(q float64) stat.Interval {
	return c.pooled(func(r *Row) []time.Duration { return r.Times }, q)
}

// wait returns the mean wait for a repair, in ms, NaN without repairs.
func (c *combined) wait() float64 {
	var all time.Duration
	repaired := 0
	for i := range c.rows {
		all, repaired = all+c.rows[i].WaitSum, repaired+c.rows[i].Repaired
	}
	return judge.Ms(all) / float64(repaired)
}

func (c *combined) ratio() float64 {
	return c.mean(timeOf) / c.mean(func(r *Row) float64 { return judge.Ms(r.FirstTime) })
}

func (c *combined) unfinished() float64 {
	return c.mean(func(r *Row) float64 { return float64(r.Unfinished) })
}

// known returns a number for a table, nothing for one that is unknown.
func known(x float64) any {
	if math.IsNaN(x) {
		return ""
	}
	return x
}

// outcome shows the rows: tables of combinations, and figures along the plan's longest list, in
// panels by the others. It claims nothing.
func (p *Plan) outcome(rows []Row) *experiments.Outcome {
	var all []combined
	for _, g := range judge.By(rows, func(r *Row) int { return r.Combination }) {
		all = append(all, combined{g.Rows})
	}
	out := &experiments.Outcome{Records: experiments.RecordsOf(rows)}
	senders := judge.Keys(judge.By(rows, func(r *Row) string { return r.Sender }))
	if len(senders) > 1 && len(all) > len(senders) {
		out.Tables = append(out.Tables, bestTable(senders, all))
	}
	out.Tables = append(out.Tables, timesTable(all), repairsTable(all))
	if len(senders) > 1 {
		out.Tables = append(out.Tables, differencesTable(all))
	}
	out.Figures = figures(all)
	if len(all) > mostCombinations {
		out.Notes = append(out.Notes, fmt.Sprintf("The tables of all %d combinations are in files. The table here counts "+
			"how often each sender was best.", len(all)))
	}
	var cut []string
	for i := range all {
		if all[i].unfinished() > 0 {
			cut = append(cut, strings.TrimSpace(all[i].rows[0].Sender+" "+all[i].rows[0].Condition))
		}
	}
	if n := len(cut); n > 0 {
		others := ""
		if n > 5 {
			cut, others = cut[:5], fmt.Sprintf(" and %d others", n-5)
		}
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d of %d combinations hit the limit of %v: %s%s. Their unfinished "+
			"objects count with their age, so their times are lower bounds. Raise `limit`, or make the work less.", n,
			len(all), p.Limit, strings.Join(cut, ", "), others))
	}
	return out
}

// bestTable says how often each sender was best.
func bestTable(senders []string, all []combined) experiments.Table {
	t := experiments.Table{Name: "best", Title: "How often a sender's mean time was the least, and its ratio to the " +
		"first sender's", Columns: []string{"timers", "conditions", "least", "geometric mean of ratios", "least ratio",
		"greatest ratio"}}
	best := map[string]*combined{} // by condition
	for i := range all {
		at := all[i].rows[0].Condition
		if best[at] == nil || all[i].mean(timeOf) < best[at].mean(timeOf) {
			best[at] = &all[i]
		}
	}
	for _, sender := range senders {
		n, logs, least, greatest := 0, 0.0, math.Inf(1), math.Inf(-1)
		for i := range all {
			if all[i].rows[0].Sender == sender {
				ratio := all[i].ratio()
				n, logs, least, greatest = n+1, logs+stat.Log(ratio), min(least, ratio), max(greatest, ratio)
			}
		}
		wins := 0
		for _, c := range best {
			if c.rows[0].Sender == sender {
				wins++
			}
		}
		t.Add(sender, n, wins, stat.Exp(logs/float64(n)), least, greatest)
	}
	return t
}

// tableOf returns a table with a line for each combination. Beyond what a page shows it is data.
func tableOf(all []combined, name, title string, columns []string, line func(c *combined) []any) experiments.Table {
	t := experiments.Table{Name: name, Title: title, Data: len(all) > mostCombinations, Columns: []string{"timers"}}
	where := all[0].rows[0].Condition != ""
	if where {
		t.Columns = append(t.Columns, "where")
	}
	t.Columns = append(t.Columns, columns...)
	for i := range all {
		values := line(&all[i])
		if values == nil {
			continue
		}
		row := []any{all[i].rows[0].Sender}
		if where {
			row = append(row, all[i].rows[0].Condition)
		}
		t.Add(append(row, values...)...)
	}
	return t
}

func timesTable(all []combined) experiments.Table {
	columns := []string{"mean", "from", "to", "median", "p95", "p99", "p99 from", "p99 to"}
	cut := slices.ContainsFunc(all, func(c combined) bool { return c.unfinished() > 0 })
	if cut {
		columns = append(columns, "unfinished")
	}
	return tableOf(all, "times", "Time of objects, ms, with the 95 % intervals of the mean and of p99", columns,
		func(c *combined) []any {
			mean, p99 := c.interval(timeOf), c.times(0.99)
			row := []any{mean.Value, mean.Lo, mean.Hi, known(c.times(0.5).Value), known(c.times(0.95).Value),
				known(p99.Value), known(p99.Lo), known(p99.Hi)}
			if cut {
				row = append(row, c.unfinished())
			}
			return row
		})
}

func repairsTable(all []combined) experiments.Table {
	return tableOf(all, "repairs", "Losses and retransmissions in a run, and the wait for a retransmission",
		[]string{"lost", "retransmissions", "spurious", "timeouts", "probes", "wait, ms", "wait p95, ms"},
		func(c *combined) []any {
			return []any{c.mean(lost), c.mean(func(r *Row) float64 { return float64(r.Retransmissions) }),
				c.mean(func(r *Row) float64 { return float64(r.Spurious) }), c.mean(timeouts), c.mean(probes), known(c.wait()),
				known(c.pooled(func(r *Row) []time.Duration { return r.Waits }, 0.95).Value)}
		})
}

func differencesTable(all []combined) experiments.Table {
	return tableOf(all, "differences", "Mean difference from the first sender, object by object, and shares of objects "+
		"beyond 1 %", []string{"difference, ms", "95 % from", "to", "ratio", "sooner, %", "later, %"},
		func(c *combined) []any {
			if c.rows[0].First {
				return nil
			}
			in := c.interval(func(r *Row) float64 { return judge.Ms(r.Difference) })
			objects := float64(judge.Sum(c.rows, func(r *Row) int { return r.Objects }))
			of := func(count func(*Row) int) float64 { return 100 * (float64(judge.Sum(c.rows, count)) / objects) }
			return []any{in.Value, in.Lo, in.Hi, c.ratio(), of(func(r *Row) int { return r.Sooner }),
				of(func(r *Row) int { return r.Later })}
		})
}

// figures draws the mean and p99 of the combinations, along a list of numbers or of labels.
func figures(all []combined) (made []figure.Figure) {
	for _, m := range []struct {
		name, title, label string
		of                 func(c *combined) stat.Interval
	}{
		{"mean", "Mean time of an object", "mean, ms", func(c *combined) stat.Interval { return c.interval(timeOf) }},
		{"p99", "Time that 99 % of the objects keep", "p99, ms", func(c *combined) stat.Interval { return c.times(0.99) }},
	} {
		points := make([]point, 0, len(all))
		for i := range all {
			if y := m.of(&all[i]); !math.IsNaN(y.Value) {
				points = append(points, point{all[i].rows[0].shown, y})
			}
		}
		panels := judge.By(points, func(o *point) string { return o.Panel })
		for i, g := range panels[:min(len(panels), mostPanels)] {
			f := panel(m.name, g.Rows)
			f.Title, f.Y.Label = m.title, m.label
			f.Caption = "Means over seeds with 95 % intervals. All senders meet the same losses."
			if len(panels) > 1 {
				f.Name, f.Title = fmt.Sprintf("%s-%d", f.Name, i+1), f.Title+": "+g.Key
				scale(&f.Y, points)
			} else if f.X.Ticks == nil {
				f.Y.Log = tall(points)
			}
			if len(panels) > mostPanels {
				f.Caption += fmt.Sprintf(" The first %d of %d conditions are drawn.", mostPanels, len(panels))
			}
			made = append(made, f)
		}
	}
	return made
}

// point is a combination in a figure.
type point struct {
	shown
	y stat.Interval
}

func lows(points []point) []float64 {
	return judge.Values(points, func(o *point) float64 { return o.y.Lo })
}
func highs(points []point) []float64 {
	return judge.Values(points, func(o *point) float64 { return o.y.Hi })
}

// tall reports whether values spread too far for a linear axis.
func tall(points []point) bool {
	least := slices.Min(lows(points))
	return least > 0 && slices.Max(highs(points))/least >= 20
}

// scale gives the axes of several panels one scale.
func scale(y *figure.Axis, points []point) {
	y.Hi = slices.Max(highs(points))
	if points[0].Numeric && tall(points) {
		y.Log, y.Lo = true, slices.Min(lows(points))
	}
}

// panel draws the combinations of one condition: lines along numbers, or bars along labels. A sender
// that has no such number is a dashed line.
func panel(name string, points []point) figure.Figure {
	lines := judge.By(points, func(o *point) string { return o.Line })
	lines = lines[:min(len(lines), mostLines)]
	first := points[0]
	f := figure.Figure{Name: name, X: figure.Axis{Label: "timers"}}
	if !first.Numeric {
		f.X.Ticks = judge.Keys(judge.By(points, func(o *point) string { return o.XLabel }))
		if first.Along != "" {
			f.X.Label = first.Along
		}
		for _, g := range lines {
			f.Series = append(f.Series, judge.Curve(g.Key, figure.Bars, g.Rows,
				func(o *point) float64 { return float64(slices.Index(f.X.Ticks, o.XLabel)) }, value))
		}
		return f
	}
	f.Name += "-by-" + first.Along
	f.X.Label = strings.TrimSuffix(first.Along+", "+first.Unit, ", ")
	xs := judge.Values(points, func(o *point) float64 { return o.X })
	least, greatest := slices.Min(xs), slices.Max(xs)
	f.X.Log = least > 0 && greatest/least >= 8
	for _, g := range lines {
		if g.Rows[0].Everywhere {
			s := figure.Series{Name: g.Key, Kind: figure.Line, Dashed: true}
			s.Add(least, g.Rows[0].y.Value)
			s.Add(greatest, g.Rows[0].y.Value)
			f.Series = append(f.Series, s)
			continue
		}
		f.Series = append(f.Series, judge.Curve(g.Key, figure.Line, g.Rows, func(o *point) float64 { return o.X }, value))
	}
	return f
}

func value(points []point) stat.Interval { return points[0].y }
