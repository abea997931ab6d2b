package sweep

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
)

// mostPanels is the most figures of one kind, mostCurves the most series in one.
const (
	mostPanels = 6
	mostCurves = 12
)

// figures chooses figures by the lists with several values: heat maps over the two longest numeric
// lists; lines over the longest one, else bars, with a panel for each combination of the others, up
// to mostPanels, all of one scale; a map of winners over two.
func (p *Plan) figures(rows []*row) (all []figure.Figure) {
	axes := p.axes()
	x := -1
	if numeric := p.varying((*axis).numeric); len(numeric) > 0 {
		x = numeric[0]
	} else if other := p.varying(func(a *axis) bool { return !a.sender }); len(other) > 0 {
		x = other[0]
	}
	without := []string{}
	if x >= 0 {
		without = append(without, axes[x].key)
	}
	var panels []string
	for _, r := range rows {
		if w := p.condition(r.at, without...); !slices.Contains(panels, w) {
			panels = append(panels, w)
		}
	}
	all = append(all, p.heat(rows)...)
	first := len(all)
	for i, panel := range panels[:min(len(panels), mostPanels)] {
		var of []*row
		for _, r := range rows {
			if p.condition(r.at, without...) == panel {
				of = append(of, r)
			}
		}
		for _, m := range []struct{ name, file, title string }{
			{"mean", "mean", "Mean time of an object"}, {"p99", "p99", "Time that 99 % of the objects keep"},
			{"spurious", "spurious", "Spurious retransmissions in a run"},
		} {
			if m.name == "spurious" && !slices.ContainsFunc(of,
				func(r *row) bool { return r.metrics["spurious"] > 0 }) {
				continue
			}
			f := figure.Figure{Name: m.file, Title: m.title}
			if len(panels) > 1 {
				f.Name, f.Title = fmt.Sprintf("%s-%d", m.file, i+1), m.title+": "+panel
			}
			p.curves(&f, of, x, m.name)
			if len(panels) > mostPanels {
				f.Caption += fmt.Sprintf(" The first %d of %d conditions are drawn.", mostPanels, len(panels))
			}
			all = append(all, f)
		}
	}
	sameScale(all[first:])
	all = append(all, p.distribution(rows))
	if f, ok := p.map2(rows); ok {
		all = append(all, f)
	}
	return all
}

// curves draws a metric over an axis, -1 for none, with a series for each sender.
func (p *Plan) curves(f *figure.Figure, rows []*row, x int, metric string) {
	f.Y.Label = metric + ", ms"
	if metric == "spurious" {
		f.Y.Label = "segments"
	}
	f.Caption = "Means over seeds with 95 % intervals. All senders meet the same losses."
	if x < 0 || !p.axes()[x].numeric() {
		p.bars(f, rows, x, metric)
		return
	}
	a := p.axes()[x]
	f.X = figure.Axis{Label: strings.TrimSuffix(a.key+", "+a.unit, ", "), Log: logarithmic(a.values)}
	var names []string
	series := map[string]*figure.Series{}
	lo, hi := math.Inf(1), 0.0
	for _, r := range rows {
		name := p.sender(r.at, a.key)
		s := series[name]
		if s == nil {
			s = &figure.Series{Name: name, Kind: figure.Line}
			series[name], names = s, append(names, name)
		}
		s.X = append(s.X, a.values[r.at[x]])
		add(s, r, metric)
		lo, hi = min(lo, r.metrics[metric]), max(hi, r.metrics[metric])
	}
	f.Y.Log = lo > 0 && hi/lo >= 20
	if len(names) > mostCurves {
		f.Caption += fmt.Sprintf(" The first %d of %d senders are drawn.", mostCurves, len(names))
		names = names[:mostCurves]
	}
	for _, name := range names {
		s := series[name]
		sort.Stable(byX{s})
		if len(s.X) == 1 && len(a.values) > 1 { // it has no such knob: draw the same value everywhere
			least, most := slices.Min(a.values), slices.Max(a.values)
			s.X, s.Y, s.Lo, s.Hi, s.Dashed = []float64{least, most}, []float64{s.Y[0], s.Y[0]}, nil, nil, true
		}
		if f.Y.Log && slices.ContainsFunc(s.Lo, func(x float64) bool { return x <= 0 }) {
			s.Lo, s.Hi = nil, nil
		}
		f.Series = append(f.Series, *s)
	}
}

// add appends the value of a metric to a series, with its interval if it has one.
func add(s *figure.Series, r *row, metric string) {
	s.Y = append(s.Y, r.metrics[metric])
	if in := r.interval(metric); in != nil {
		s.Lo, s.Hi = append(s.Lo, in.Lo), append(s.Hi, in.Hi)
	}
}

// bars draws a metric over the labels of an axis, or over the senders without one.
func (p *Plan) bars(f *figure.Figure, rows []*row, x int, metric string) {
	if x < 0 {
		f.X = figure.Axis{Label: "timers"}
		s := figure.Series{Name: "all objects", Kind: figure.Bars}
		for i, r := range rows {
			f.X.Ticks = append(f.X.Ticks, r.sender)
			s.X = append(s.X, float64(i))
			add(&s, r, metric)
		}
		f.Series = []figure.Series{s}
		return
	}
	a := p.axes()[x]
	f.X = figure.Axis{Label: a.key, Ticks: a.labels}
	for _, r := range rows {
		i := slices.IndexFunc(f.Series, func(s figure.Series) bool { return s.Name == r.sender })
		if i < 0 {
			if len(f.Series) == mostCurves {
				continue
			}
			i = len(f.Series)
			f.Series = append(f.Series, figure.Series{Name: r.sender, Kind: figure.Bars})
		}
		f.Series[i].X = append(f.Series[i].X, float64(r.at[x]))
		add(&f.Series[i], r, metric)
	}
	for i := range f.Series {
		sort.Stable(byX{&f.Series[i]})
	}
}

// distribution draws the distribution of the times under the first condition.
func (p *Plan) distribution(rows []*row) figure.Figure {
	f := figure.Figure{
		Name: "distribution", Title: "Times of objects", X: figure.Axis{Label: "time of an object, ms"},
		Y:       figure.Axis{Label: "share of objects, cumulative", Lo: 0, Hi: 1},
		Caption: "All seeds together. A step on the right is the cost of an expired timer.",
	}
	if where := rows[0].where; where != "" {
		f.Title += ": " + where
	}
	lo, hi := math.Inf(1), 0.0
	for _, r := range rows {
		if r.where != rows[0].where || len(f.Series) == mostCurves {
			continue
		}
		var times []time.Duration
		for i := range r.seeds {
			times = append(times, r.seeds[i].Times...)
		}
		slices.Sort(times)
		s := figure.Series{Name: r.sender, Kind: figure.Steps}
		const points = 200
		for i := range points + 1 {
			k := i * (len(times) - 1) / points
			if i > 0 && k == (i-1)*(len(times)-1)/points {
				continue
			}
			s.X, s.Y = append(s.X, ms(times[k])), append(s.Y, float64(k+1)/float64(len(times)))
		}
		lo, hi = min(lo, s.X[0]), max(hi, s.X[len(s.X)-1])
		f.Series = append(f.Series, s)
	}
	f.X.Log = lo > 0 && hi/lo >= 20
	return f
}

// map2 draws the sender with the least mean over the two conditions with the most values.
func (p *Plan) map2(rows []*row) (f figure.Figure, ok bool) {
	two := p.varying(func(a *axis) bool { return !a.sender })
	senders := p.senders(rows)
	if len(two) < 2 || len(senders) < 2 {
		return f, false
	}
	axes := p.axes()
	x, y := axes[two[0]], axes[two[1]]
	m := &figure.Map{Columns: x.labels, Rows: y.labels, Classes: senders}
	for range y.labels {
		m.Class = append(m.Class, make([]int, len(x.labels)))
		m.Text = append(m.Text, make([]string, len(x.labels)))
	}
	least := map[[2]int]*row{}
	for _, r := range rows {
		at := [2]int{r.at[two[0]], r.at[two[1]]}
		others := false
		for i, a := range axes {
			others = others || !a.sender && i != two[0] && i != two[1] && r.at[i] != 0
		}
		if b := least[at]; !others && (b == nil || r.mean.Value < b.mean.Value) {
			least[at] = r
		}
	}
	for i := range y.labels {
		for j := range x.labels {
			r := least[[2]int{j, i}]
			m.Class[i][j] = slices.Index(senders, r.sender)
			m.Text[i][j] = experiments.Number(r.mean.Value)
		}
	}
	f = figure.Figure{
		Name: "least", Title: "Sender with the least mean time, and that time in ms", Map: m,
		X: figure.Axis{Label: x.key}, Y: figure.Axis{Label: y.key},
		Caption: "Ties show the plan's first sender.",
	}
	if len(two) > 2 {
		f.Caption += " Other lists are at their first value."
	}
	return f, true
}

// heat draws the mean time over the two longest numeric lists, a map for each combination of the
// others, up to mostPanels. Their colours mean the same.
func (p *Plan) heat(rows []*row) (all []figure.Figure) {
	two := p.varying((*axis).numeric)
	if len(two) < 2 {
		return nil
	}
	axes := p.axes()
	x, y := axes[two[0]], axes[two[1]]
	index, n := map[string]int{}, 0
	lo, hi := math.Inf(1), 0.0
	for _, r := range rows {
		name := strings.TrimSpace(p.sender(r.at, x.key, y.key) + " " + p.condition(r.at, x.key, y.key))
		i, ok := index[name]
		if !ok {
			i, n = n, n+1
			index[name] = i
		}
		if i >= mostPanels {
			continue
		}
		if i == len(all) {
			all = append(all, heatMap(name, i, &x, &y))
		}
		m := all[i].Map
		m.Value[r.at[two[1]]][r.at[two[0]]] = r.mean.Value
		m.Text[r.at[two[1]]][r.at[two[0]]] = experiments.Number(r.mean.Value)
		lo, hi = min(lo, r.mean.Value), max(hi, r.mean.Value)
	}
	for i := range all {
		m := all[i].Map
		m.Lo, m.Hi, m.Log = lo, hi, lo > 0 && hi/lo >= 8
		if n > len(all) {
			all[i].Caption += fmt.Sprintf(" The first %d of %d combinations of the other lists are drawn.", len(all), n)
		}
		for row := range m.Text { // senders without such a knob leave cells empty
			for column, text := range m.Text[row] {
				if text == "" {
					m.Value[row][column] = lo
				}
			}
		}
	}
	return all
}

// heatMap makes an empty map over two axes.
func heatMap(name string, i int, x, y *axis) figure.Figure {
	m := &figure.Map{Columns: x.labels, Rows: y.labels}
	for range y.labels {
		m.Value = append(m.Value, make([]float64, len(x.labels)))
		m.Text = append(m.Text, make([]string, len(x.labels)))
	}
	return figure.Figure{
		Name: fmt.Sprintf("heat-%d", i+1), Title: "Mean time of an object, ms: " + name, Map: m,
		X: figure.Axis{Label: x.key}, Y: figure.Axis{Label: y.key},
		Caption: "Means over seeds; the darker, the longer. The colours of all maps mean the same.",
	}
}

// sameScale gives the panels of each metric the same vertical axis.
func sameScale(panels []figure.Figure) {
	type span struct {
		lo, hi float64
		log    bool
		n      int
	}
	spans := map[string]*span{}
	for i := range panels {
		f := &panels[i]
		s := spans[f.Y.Label]
		if s == nil {
			s = &span{lo: math.Inf(1), log: true}
			spans[f.Y.Label] = s
		}
		s.n++
		s.log = s.log && f.Y.Log
		for _, series := range f.Series {
			for _, values := range [][]float64{series.Y, series.Lo, series.Hi} {
				for _, v := range values {
					s.lo, s.hi = min(s.lo, v), max(s.hi, v)
				}
			}
		}
	}
	for i := range panels {
		f := &panels[i]
		s := spans[f.Y.Label]
		if s.n == 1 || s.hi <= 0 || math.IsInf(s.lo, 0) {
			continue
		}
		if f.Y.Log = s.log && s.lo > 0; f.Y.Log {
			f.Y.Lo, f.Y.Hi = s.lo, s.hi
		} else {
			f.Y.Lo, f.Y.Hi = 0, s.hi
		}
	}
}

// logarithmic reports whether values spread too far for a linear axis.
func logarithmic(values []float64) bool {
	lo, hi := slices.Min(values), slices.Max(values)
	return lo > 0 && hi/lo >= 8
}

// byX sorts a series by X.
type byX struct{ *figure.Series }

func (s byX) Len() int           { return len(s.X) }
func (s byX) Less(i, j int) bool { return s.X[i] < s.X[j] }
func (s byX) Swap(i, j int) {
	for _, v := range [][]float64{s.X, s.Y, s.Lo, s.Hi} {
		if v != nil {
			v[i], v[j] = v[j], v[i]
		}
	}
}
