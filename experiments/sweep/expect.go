package sweep

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/wheel/base/quantity"

	"tcpwheel/netstack/sim"
)

// Expectation is a claim of the user: a metric is within bounds in all combinations that Where
// names.
type Expectation struct {
	Text      string   `plan:"text" about:"the claim, one line; by default made from the rest"`
	Metric    string   `plan:"metric" about:"one of those below"`
	Where     Where    `plan:"where" about:"values of the lists above, by label; timers by name if they have one. A list that is not named may have any value"`
	Lo        *float64 `plan:"lo" about:"the least, in the metric's unit"`
	Hi        *float64 `plan:"hi" about:"the most"`
	Published string   `plan:"published" about:"the published figure, as in its source"`
	Source    string   `plan:"source" about:"the source; by default the plan"`
	Why       string   `plan:"why" about:"why it may fail; shown if it does"`
}

// Where names values of the axes by their labels in tables.
type Where struct {
	Workload   string `plan:"workload"`
	Octets     string `plan:"bytes"`
	Flows      string `plan:"flows"`
	RTT        string `plan:"rtt"`
	Rate       string `plan:"rate"`
	Queue      string `plan:"queue"`
	Jitter     string `plan:"jitter"`
	Reorder    string `plan:"reorder"`
	Loss       string `plan:"loss"`
	AckLoss    string `plan:"ack_loss"`
	Peer       string `plan:"peer"`
	Control    string `plan:"control"`
	SACK       string `plan:"sack"`
	Timestamps string `plan:"timestamps"`
	Subject    string `plan:"subject"`
	Timers     string `plan:"timers"`
	Tick       string `plan:"tick"`
	Floor      string `plan:"floor"`
	RTTTick    string `plan:"rtt_tick"`
	Wheel      string `plan:"wheel"`
}

// labels returns the labels in the order of the axes, "" for axes that are not named.
func (w *Where) labels() (all []string) {
	v := reflect.ValueOf(w).Elem()
	for _, key := range axisKeys {
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("plan") == key {
				all = append(all, asLabel(key, v.Field(i).String()))
			}
		}
	}
	return all
}

// asLabel formats a quantity as labels do: 200us is 200µs, and the rate 1e7 is 10Mbit.
func asLabel(key, text string) string {
	switch key {
	case "rate":
		if r, err := sim.ParseLinkRate(text); err == nil {
			return r.String()
		}
	case "bytes":
		if n, err := quantity.ParseSize(text); err == nil {
			return fmt.Sprint(uint64(n))
		}
	case "reorder":
		if p, err := quantity.ParseProbability(text); err == nil {
			return fmt.Sprint(p)
		}
	default:
		if d, err := quantity.ParseDuration(text); err == nil && text != "0" {
			return d.String()
		}
	}
	return text
}

// String returns the named values, such as "timers=linux rtt=20ms".
func (w *Where) String() string {
	var parts []string
	for i, l := range w.labels() {
		if l != "" {
			parts = append(parts, axisKeys[i]+"="+l)
		}
	}
	return strings.Join(parts, " ")
}

// has reports whether w names a combination.
func (p *Plan) has(w *Where, c combination) bool {
	for i, l := range w.labels() {
		if a := p.axes()[i]; l != "" && a.labels[c[i]] != l {
			return false
		}
	}
	return true
}

// checkExpectations finds expectations that no result can answer.
func (p *Plan) checkExpectations() error {
	axes := p.axes()
	for i := range p.Expect {
		e := &p.Expect[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("expect, number %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		if !slices.Contains(metricNames(), e.Metric) {
			return fail("metric %q, want one of %s", e.Metric, strings.Join(metricNames(), ", "))
		}
		if e.Lo == nil && e.Hi == nil {
			return fail("neither lo nor hi, want a bound at least")
		}
		if e.Lo != nil && e.Hi != nil && *e.Lo > *e.Hi {
			return fail("lo %v above hi %v", *e.Lo, *e.Hi)
		}
		for j, l := range e.Where.labels() {
			if l != "" && !slices.Contains(axes[j].labels, l) {
				return fail("where %s: %q, want one of %s", axisKeys[j], l, strings.Join(axes[j].labels, ", "))
			}
		}
		if !slices.ContainsFunc(p.combinations(), func(c combination) bool { return p.has(&e.Where, c) }) {
			return fail("where %s: the plan has no such combination", &e.Where)
		}
	}
	return nil
}

// claims judges what the user expects. An expectation is reproduced if all combinations keep its
// bounds, and differs if some do.
func (p *Plan) claims(out *experiments.Outcome, rows []*row) {
	for i := range p.Expect {
		e := &p.Expect[i]
		out.Claim(e.claim(fmt.Sprintf("expect-%d", i+1), experiments.Select(rows,
			func(r **row) bool { return p.has(&e.Where, (*r).at) })))
	}
}

func (e *Expectation) claim(name string, rows []*row) experiments.Claim {
	m := metricsOf[slices.IndexFunc(metricsOf, func(m metric) bool { return m.name == e.Metric })]
	c := experiments.Claim{
		Name: name, Text: e.Text, Published: e.Published, Source: e.Source, Tag: experiments.Computed,
		Class: experiments.Law, Basis: "the plan", Otherwise: e.Why,
	}
	if c.Text == "" {
		c.Text = strings.TrimSuffix(strings.TrimSpace(fmt.Sprintf("%s, %s", e.Metric, &e.Where)), ",")
	}
	if c.Source == "" {
		c.Source = "the plan"
	}
	if c.Otherwise == "" {
		c.Otherwise = "the plan gives no reason"
	}
	if e.Published != "" {
		c.Tag, c.Class = experiments.FromPrint, experiments.OfOthers
	}
	c.Measured, c.Expected = e.judge(m, rows)
	return c
}

// judge returns the metric of one combination with its bounds, or how many of several keep them.
func (e *Expectation) judge(m metric, rows []*row) (experiments.Measure, experiments.Band) {
	band := e.band(m.unit)
	kept := 0
	lo, hi := math.Inf(1), math.Inf(-1)
	var only *row
	for _, r := range rows {
		if x, ok := r.metrics[e.Metric]; ok {
			only, lo, hi = r, min(lo, x), max(hi, x)
			if band.Has(x) {
				kept++
			}
		}
	}
	if only == nil {
		return experiments.MeasuredText("nothing: no run has it"), band
	}
	if len(rows) == 1 {
		if in := only.interval(e.Metric); in != nil {
			return experiments.MeasuredWithin(*in, m.unit), band
		}
		return experiments.Measured(lo, m.unit), band
	}
	span := strings.TrimSpace(experiments.Number(lo) + " to " + experiments.Number(hi) + " " + m.unit)
	return experiments.MeasuredText("%s, in %d of %d within", span, kept, len(rows)),
		experiments.Whether(kept == len(rows), "%s", band).OrDiffersIf(kept > 0, "part of them within")
}

func (e *Expectation) band(unit string) experiments.Band {
	switch {
	case e.Lo == nil:
		return experiments.AtMost(*e.Hi, unit)
	case e.Hi == nil:
		return experiments.AtLeast(*e.Lo, unit)
	}
	return experiments.Between(*e.Lo, *e.Hi, unit)
}
