package experiments

import (
	"math"
	"strings"
	"testing"

	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

func TestOutcomesAreWhole(t *testing.T) {
	good := func() *Outcome {
		return &Outcome{
			Claims: []Claim{{
				Name: "mean", Text: "the mean is 1", Source: "arithmetic", Tag: Computed, Class: Law,
				Expected: Exactly(1, "ms"), Measured: Measured(1, "ms"), Verdict: Reproduced,
			}},
			Tables: []Table{{Name: "t", Columns: []string{"a", "b"}, Rows: [][]any{{1, 2}}}},
			Figures: []figure.Figure{{
				Name: "f", Title: "f", X: figure.Axis{Label: "x"}, Y: figure.Axis{Label: "y"},
				Series: []figure.Series{{Name: "s", Kind: figure.Line, X: []float64{1, 2}, Y: []float64{3, 4}}},
			}},
		}
	}
	if err := good().Check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(o *Outcome){
		`claim "": want a name of its own`: func(o *Outcome) { o.Claims[0].Name = "" },
		`claim "mean": want a name of its own`: func(o *Outcome) {
			o.Claims = append(o.Claims, o.Claims[0])
		},
		"claim mean: want text, source and what was expected":             func(o *Outcome) { o.Claims[0].Source = "" },
		`claim mean: class ""`:                                            func(o *Outcome) { o.Claims[0].Class = "" },
		"claim mean: a figure of this project is not published by others": func(o *Outcome) { o.Claims[0].Class = OfOthers },
		`claim mean: tag "recalled"`:                                      func(o *Outcome) { o.Claims[0].Tag = "recalled" },
		`claim mean: verdict "perhaps"`: func(o *Outcome) {
			o.Claims[0].Verdict = "perhaps"
		},
		"claim mean: measured NaN":                      func(o *Outcome) { o.Claims[0].Measured.Value = math.NaN() },
		`table "": want a name of its own, and columns`: func(o *Outcome) { o.Tables[0].Name = "" },
		"table t, row 2: 1 values in 2 columns":         func(o *Outcome) { o.Tables[0].Add(3) },
		"figure f appears twice": func(o *Outcome) {
			o.Figures = append(o.Figures, o.Figures[0])
		},
		`figure "F": want a name of lower case letters`:        func(o *Outcome) { o.Figures[0].Name = "F" },
		`figure "f": want a title and the labels of both axes`: func(o *Outcome) { o.Figures[0].X.Label = "" },
		`figure "f": want series or a map`:                     func(o *Outcome) { o.Figures[0].Series = nil },
		`figure "f": series "s": kind "pie"`:                   func(o *Outcome) { o.Figures[0].Series[0].Kind = "pie" },
		`figure "f": series "s": 2 x, 1 y, 0 lo, 0 hi`: func(o *Outcome) {
			o.Figures[0].Series[0].Y = []float64{1}
		},
		`figure "f": series "s": x falls from 1 to 0`: func(o *Outcome) { o.Figures[0].Series[0].X[1] = 0 },
		`figure "f": series "s": point 0 at 1, -3 cannot be drawn`: func(o *Outcome) {
			o.Figures[0].Y.Log = true
			o.Figures[0].Series[0].Y[0] = -3
		},
		`figure "f": want values or classes of 1 rows and 2 columns`: func(o *Outcome) {
			o.Figures[0].Series, o.Figures[0].Map = nil, &figure.Map{Columns: []string{"a", "b"}, Rows: []string{"c"},
				Value: [][]float64{{1}}}
		},
		`figure "f": class 1 of 1`: func(o *Outcome) {
			o.Figures[0].Series, o.Figures[0].Map = nil, &figure.Map{Columns: []string{"a"}, Rows: []string{"c"},
				Class: [][]int{{1}}, Classes: []string{"x"}}
		},
		`figure "f": value 0 cannot be drawn`: func(o *Outcome) {
			o.Figures[0].Series, o.Figures[0].Map = nil, &figure.Map{Columns: []string{"a"}, Rows: []string{"c"},
				Value: [][]float64{{0}}, Log: true}
		},
	} {
		o := good()
		spoil(o)
		if err := o.Check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestMeasures(t *testing.T) {
	for _, c := range []struct {
		m              Measure
		text, interval string
	}{
		{Measured(20000000, "visits"), "20,000,000 visits", ""},
		{Measure{Value: 2, Unit: "visits", Exact: true}, "2 visits", "exact"},
		{MeasuredWithin(stat.Interval{Value: 1253.2, Lo: 1240, Hi: 1266.66}, "ms"), "1253 ms", "1240 to 1267"},
		{MeasuredText("%d of %d", 3, 4), "3 of 4", ""},
	} {
		if c.m.String() != c.text || c.m.Interval() != c.interval {
			t.Errorf("%+v: %q, %q; want %q, %q", c.m, c.m.String(), c.m.Interval(), c.text, c.interval)
		}
	}
}
