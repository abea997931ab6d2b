package judge

import (
	"fmt"
	"strings"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

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
