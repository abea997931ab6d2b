package judge

import (
	"fmt"
	"math"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// Rule is a claim next to the function that measures it in the rows of type R of a plan P.
type Rule[P, R any] struct {
	experiments.Claim // without a measure, band or verdict

	// Applies returns why a plan leaves the claim without meaning, or ""; nil always applies.
	Applies func(p *P, rows []R) (why string)
	// Measure returns the measure, and the band that was fixed before: it depends on the plan alone.
	Measure func(p *P, rows []R) (experiments.Measure, experiments.Band)
}

// Claims judges the rows by all rules. seeds is how many independent values an interval rests on:
// with fewer than Seeds no published claim with an interval has a verdict.
func Claims[P, R any](rules []Rule[P, R], p *P, rows []R, seeds int) []experiments.Claim {
	out := &experiments.Outcome{}
	for _, r := range rules {
		c := r.Claim
		if r.Applies != nil {
			if why := r.Applies(p, rows); why != "" {
				out.NotApplicable(c, why)
				continue
			}
		}
		c.Measured, c.Expected = r.Measure(p, rows)
		if c.Class == experiments.OfOthers && c.Measured.Lo != nil && seeds < Seeds {
			c.Needs = fmt.Sprintf("an interval over %d seeds is too narrow: run at least %d", seeds, Seeds)
		}
		out.Claim(c)
	}
	return out.Claims
}

// Say is fmt.Sprintf with numbers as tables show them: float64s and intervals with four digits,
// lists with commas, and yes or no. Whole numbers and durations are as fmt has them.
func Say(format string, values ...any) string {
	shown := make([]any, len(values))
	for i, v := range values {
		shown[i] = show(v)
	}
	return fmt.Sprintf(format, shown...)
}

// Said is a measure in words, as Say has them.
func Said(format string, values ...any) experiments.Measure {
	return experiments.MeasuredText("%s", Say(format, values...))
}

// Known is Said for numbers that a plan may lack: without one of them the claim does not apply.
func Known(format string, values ...any) experiments.Measure {
	for _, v := range values {
		x := 0.0
		switch v := v.(type) {
		case float64:
			x = v
		case stat.Interval:
			x = v.Value
		}
		if x != x {
			return experiments.Measured(math.NaN(), "")
		}
	}
	return Said(format, values...)
}

func show(v any) any {
	switch v := v.(type) {
	case float64:
		return experiments.Number(v)
	case stat.Interval:
		return experiments.Number(v.Value)
	case bool:
		return experiments.Text(v)
	case []string:
		return strings.Join(v, ", ")
	}
	return v
}

// Listing returns a text for each group, joined by commas.
func Listing[K comparable, R any](groups []Group[K, R], text func(g *Group[K, R]) string) string {
	var all []string
	for i := range groups {
		all = append(all, text(&groups[i]))
	}
	return strings.Join(all, ", ")
}

// Curve returns a series with a point for each x of the rows, rising: what y measures of the rows
// there. A point whose y is NaN is left out.
func Curve[R any, Y float64 | stat.Interval](name string, kind figure.Kind, rows []R, x func(*R) float64,
	y func(rows []R) Y) figure.Series {
	s := figure.Series{Name: name, Kind: kind}
	for _, g := range Along(rows, x) {
		switch y := any(y(g.Rows)).(type) {
		case float64:
			if y == y {
				s.Add(g.Key, y)
			}
		case stat.Interval:
			if y.Value == y.Value {
				s.AddInterval(g.Key, y)
			}
		}
	}
	return s
}
