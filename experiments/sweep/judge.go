package sweep

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
	"tcpwheel/wheel/stat"
)

// mostShown is the most rows of a table for people.
const mostShown = 40

func judge(p *Plan, results []testbed.Result) (*experiments.Outcome, error) {
	rows := p.rows(results)
	out := &experiments.Outcome{}
	data := len(rows) > mostShown
	senders := p.senders(rows)
	if len(senders) > 1 && len(rows) > len(senders) {
		out.Tables = append(out.Tables, p.winners(rows, senders))
	}
	out.Tables = append(out.Tables, times(rows, data), repairs(rows, data))
	if len(senders) > 1 {
		out.Tables = append(out.Tables, differences(rows, data))
	}
	if rows[0].seeds[0].Wheel != nil || slices.ContainsFunc(rows,
		func(r *row) bool { return r.seeds[0].Wheel != nil }) {
		out.Tables = append(out.Tables, wheels(rows, data))
	}
	if !slices.ContainsFunc(rows, func(r *row) bool { return r.where != "" }) {
		for i := range out.Tables {
			withoutWhere(&out.Tables[i])
		}
	}
	out.Tables = append(out.Tables, p.everything(rows))
	out.Figures = p.figures(rows)
	p.claims(out, rows)
	if data {
		out.Notes = append(out.Notes, fmt.Sprintf("The tables of all %d combinations are in files. The table here "+
			"counts how often each sender was best.", len(rows)))
	}
	out.Warnings = p.limited(rows)
	return out, nil
}

// limited warns of combinations with objects that the limit cut off.
func (p *Plan) limited(rows []*row) []string {
	var names []string
	for _, r := range rows {
		if r.metrics["unfinished"] > 0 {
			names = append(names, strings.TrimSpace(r.sender+" "+r.where))
		}
	}
	if len(names) == 0 {
		return nil
	}
	const named = 5
	text := strings.Join(names[:min(len(names), named)], ", ")
	if len(names) > named {
		text += fmt.Sprintf(" and %d others", len(names)-named)
	}
	return []string{fmt.Sprintf("%d of %d combinations hit the limit of %v: %s. Their unfinished objects count "+
		"with their age, so their times are lower bounds. "+
		"Raise `limit`, or make the work less.", len(names), len(rows), p.Limit, text)}
}

// withoutWhere removes an empty column.
func withoutWhere(t *experiments.Table) {
	if i := slices.Index(t.Columns, "where"); i >= 0 {
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for j := range t.Rows {
			t.Rows[j] = slices.Delete(t.Rows[j], i, i+1)
		}
	}
}

// interval returns the interval of a metric, nil if there is none.
func (r *row) interval(metric string) *stat.Interval {
	switch metric {
	case "mean":
		return &r.mean
	case "median":
		return &r.median
	case "p95":
		return &r.p95
	case "p99":
		return &r.p99
	case "difference":
		return &r.difference
	case "spurious":
		return &r.spurious
	}
	return nil
}

// value returns a metric as a value of a table, "" if it is missing.
func (r *row) value(metric string) any {
	if x, ok := r.metrics[metric]; ok {
		return x
	}
	return ""
}

// senders returns the labels of the senders, in the order of the plan.
func (p *Plan) senders(rows []*row) (labels []string) {
	for _, r := range rows {
		if !slices.Contains(labels, r.sender) {
			labels = append(labels, r.sender)
		}
	}
	return labels
}

// winners lists how often each sender's mean was the least, and how it compares with the first.
func (p *Plan) winners(rows []*row, senders []string) experiments.Table {
	t := experiments.Table{
		Name: "best", Title: "How often a sender's mean time was the least, and its ratio to the first sender's",
		Columns: []string{"timers", "conditions", "least", "geometric mean of ratios", "least ratio", "greatest ratio"},
	}
	least := map[string]float64{}
	for _, r := range rows {
		if x, ok := least[r.where]; !ok || r.mean.Value < x {
			least[r.where] = r.mean.Value
		}
	}
	for _, s := range senders {
		n, best, logs := 0, 0, 0.0
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, r := range rows {
			if r.sender != s {
				continue
			}
			n++
			logs += stat.Log(r.ratio)
			lo, hi = min(lo, r.ratio), max(hi, r.ratio)
			if r.mean.Value == least[r.where] {
				best++
			}
		}
		t.Add(s, n, best, stat.Exp(logs/float64(n)), lo, hi)
	}
	return t
}

func times(rows []*row, data bool) experiments.Table {
	t := experiments.Table{
		Name: "times", Title: "Time of objects, ms, with the 95 % intervals of the mean and of p99", Data: data,
		Columns: []string{"timers", "where", "mean", "from", "to", "median", "p95", "p99", "p99 from", "p99 to"},
	}
	unfinished := slices.ContainsFunc(rows, func(r *row) bool { return r.metrics["unfinished"] > 0 })
	if unfinished {
		t.Columns = append(t.Columns, "unfinished")
	}
	for _, r := range rows {
		values := []any{r.sender, r.where, r.mean.Value, r.mean.Lo, r.mean.Hi, r.median.Value, r.p95.Value,
			r.p99.Value, r.p99.Lo, r.p99.Hi}
		if unfinished {
			values = append(values, r.metrics["unfinished"])
		}
		t.Add(values...)
	}
	return t
}

func repairs(rows []*row, data bool) experiments.Table {
	t := experiments.Table{
		Name: "repairs", Title: "Losses and retransmissions in a run, and the wait for a retransmission", Data: data,
		Columns: []string{"timers", "where", "lost", "retransmissions", "spurious", "timeouts", "probes", "wait, ms",
			"wait p95, ms"},
	}
	for _, r := range rows {
		t.Add(r.sender, r.where, r.metrics["lost"], r.metrics["retransmissions"], r.metrics["spurious"],
			r.metrics["timeouts"], r.metrics["probes"],
			r.value("wait"), r.value("wait_p95"))
	}
	return t
}

func differences(rows []*row, data bool) experiments.Table {
	t := experiments.Table{
		Name: "differences", Title: "Mean difference from the first sender, object by object, and shares of " +
			"objects beyond 1 %", Data: data,
		Columns: []string{"timers", "where", "difference, ms", "95 % from", "to", "ratio", "sooner, %", "later, %"},
	}
	for _, r := range rows {
		if r.first != r {
			t.Add(r.sender, r.where, r.difference.Value, r.difference.Lo, r.difference.Hi, r.ratio, 100*r.better,
				100*r.worse)
		}
	}
	return t
}

func wheels(rows []*row, data bool) experiments.Table {
	t := experiments.Table{
		Name: "wheels", Title: "Operations of the senders' timing wheels per data segment", Data: data,
		Columns: []string{"timers", "where", "starts", "stops", "expiries", "visits", "wake-ups", "goodput, Mbit/s"},
	}
	for _, r := range rows {
		t.Add(r.sender, r.where, r.value("starts"), r.value("stops"), r.value("expiries"), r.value("visits"),
			r.value("wakeups"), r.metrics["goodput"])
	}
	return t
}

// everything returns all lists and all metrics, for other programs.
func (p *Plan) everything(rows []*row) experiments.Table {
	t := experiments.Table{Name: "all", Title: "All lists and all metrics", Data: true, Columns: slices.Clone(axisKeys)}
	axes := p.axes()
	for _, m := range metricsOf {
		name := m.name
		if m.unit != "" {
			name += ", " + m.unit
		}
		t.Columns = append(t.Columns, name)
		if (&row{}).interval(m.name) != nil {
			t.Columns = append(t.Columns, name+", from", name+", to")
		}
	}
	for _, r := range rows {
		var values []any
		for i := range axes {
			values = append(values, axes[i].labels[r.at[i]])
		}
		for _, m := range metricsOf {
			values = append(values, r.value(m.name))
			if in := r.interval(m.name); in != nil {
				values = append(values, in.Lo, in.Hi)
			}
		}
		t.Add(values...)
	}
	return t
}

// varying returns the axes with several values, longest first.
func (p *Plan) varying(keep func(*axis) bool) (all []int) {
	axes := p.axes()
	for i := range axes {
		if axes[i].varies() && keep(&axes[i]) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(i, j int) int { return cmp.Compare(len(axes[j].labels), len(axes[i].labels)) })
	return all
}
