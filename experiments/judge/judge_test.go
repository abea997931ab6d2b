package judge

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/pcaps/figure"
	"tcpwheel/wheel/stat"
)

// TestCoverage draws 20 values of a known mean many times: an interval of 95 % has it in 93 to 97 %.
func TestCoverage(t *testing.T) {
	const n, rounds = 20, 4000
	rng := rand.New(rand.NewPCG(1, 39))
	for name, c := range map[string]struct {
		draw     func() float64
		mean     float64
		interval func([]float64) stat.Interval
	}{
		"Student, normal":         {func() float64 { return 5 + stat.Normal(rng) }, 5, Student},
		"Student, uniform":        {rng.Float64, 0.5, Student},
		"ratio of dependent ones": {func() float64 { return 10 + stat.Normal(rng) }, 0.5, halves(rng)},
	} {
		held := 0
		for range rounds {
			values := make([]float64, n)
			for i := range values {
				values[i] = c.draw()
			}
			if in := c.interval(values); in.Lo <= c.mean && c.mean <= in.Hi {
				held++
			}
		}
		if share := float64(held) / rounds; share < 0.93 || share > 0.97 {
			t.Errorf("%s: %.1f %% of the intervals of 95 %% have the mean, want 93 to 97", name, 100*share)
		}
	}
}

// halves returns the interval of a ratio whose top is about half of the bottom.
func halves(rng *rand.Rand) func(bottom []float64) stat.Interval {
	return func(bottom []float64) stat.Interval {
		top := make([]float64, len(bottom))
		for i, b := range bottom {
			top[i] = b/2 + stat.Normal(rng)
		}
		return Ratio(top, bottom)
	}
}

func TestQuantile(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 19: 2.093, 30: 2.042, 31: 2.0395, 60: 2.0003, 1000: 1.9623} {
		if got := quantile(freedom); math.Abs(got-want) > 0.0005 {
			t.Errorf("quantile(%d) = %v, want %v", freedom, got, want)
		}
	}
}

func TestIntervals(t *testing.T) {
	if in := Student([]float64{3}); in != (stat.Interval{Value: 3, Lo: 3, Hi: 3}) {
		t.Errorf("one value: %v", in)
	}
	if in := Ratio([]float64{1, 2}, []float64{2, 4}); in != (stat.Interval{Value: 0.5, Lo: 0.5, Hi: 0.5}) {
		t.Errorf("equal ratios: %v", in)
	}
}

// TestContributions checks values that add up to the whole difference, whatever the interactions,
// and those of two changes that hide each other.
func TestContributions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	results := make([]float64, 1<<6)
	for i := range results {
		results[i] = 100 * rng.Float64()
	}
	sum := 0.0
	for i, c := range Contributions(6, func(set uint) float64 { return results[set] }) {
		sum += c.Value
		if first := results[0] - results[1<<i]; c.First != first {
			t.Errorf("change %d first: %v, want %v", i, c.First, first)
		}
		if last := results[63^1<<i] - results[63]; c.Last != last {
			t.Errorf("change %d last: %v, want %v", i, c.Last, last)
		}
	}
	if whole := results[0] - results[63]; math.Abs(sum-whole) > 1e-9 {
		t.Errorf("the values add up to %v, want %v", sum, whole)
	}
	hiding := Contributions(2, func(set uint) float64 { return map[uint]float64{0: 100, 1: 90, 2: 80, 3: 30}[set] })
	if hiding[0] != (Shapley{30, 10, 50}) || hiding[1] != (Shapley{40, 20, 60}) {
		t.Errorf("two that hide each other: %+v", hiding)
	}
	if one := Contributions(1, func(set uint) float64 { return 5 - float64(set) }); one[0] != (Shapley{1, 1, 1}) {
		t.Errorf("one change: %+v", one)
	}
}

type row struct {
	group string
	x     float64
}

func TestRows(t *testing.T) {
	rows := []row{{"b", 1}, {"a", 2}, {"b", 5}}
	x := func(r *row) float64 { return r.x }
	groups := By(rows, func(r *row) string { return r.group })
	if len(groups) != 2 || groups[0].Key != "b" || Mean(groups[0].Rows, x) != 3 {
		t.Errorf("groups %v", groups)
	}
	if kept := Where(rows, func(r *row) bool { return r.x > 1 }); len(kept) != 2 || kept[1].x != 5 {
		t.Errorf("kept %v", kept)
	}
}

// TestResampled compares the short forms with the general one.
func TestResampled(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	var rows []row
	for i := range 60 {
		rows = append(rows, row{string(rune('a' + i%7)), 1 + rng.Float64()})
	}
	group, x := func(r *row) string { return r.group }, func(r *row) float64 { return r.x }
	mean := Resampled(rows, group, func(rows []row) float64 { return Mean(rows, x) })
	if got := MeanOver(rows, group, x); got != mean || got.Lo >= got.Value || got.Value >= got.Hi {
		t.Errorf("mean over groups %v, want %v", got, mean)
	}
}

func TestShows(t *testing.T) {
	rows := []row{{"b", 2}, {"a", 1}, {"b", 3}}
	x := func(r *row) float64 { return r.x }
	groups := Along(rows, func(r *row) string { return r.group })
	text := Listing(groups, func(g *Group[string, row]) string { return Say("%s %v", g.Key, Mean(g.Rows, x)) })
	if text != "a 1, b 2.5" || Most(rows, x).x != 3 || Sum(rows, x) != 6 {
		t.Errorf("listing %q", text)
	}
	if got := Say("%v of %d at %v: %v, %v", 12345.0, 12345, time.Millisecond, true, []string{"a", "b"}); got !=
		"12,345 of 12345 at 1ms: yes, a, b" {
		t.Errorf("say %q", got)
	}
	c := Curve("c", figure.Line, rows, x, func(rows []row) float64 {
		if rows[0].x == 2 {
			return math.NaN()
		}
		return Mean(rows, x)
	})
	if len(c.X) != 2 || c.X[0] != 1 || c.Y[1] != 3 {
		t.Errorf("curve %+v", c)
	}
}

func TestClaims(t *testing.T) {
	rule := func(name string, class experiments.ClaimClass) Rule[int, row] {
		return Rule[int, row]{
			Claim: experiments.Claim{Name: name, Text: "the mean is small", Source: "a test", Tag: experiments.FromPrint,
				Class: class, Otherwise: "it is not"},
			Measure: func(p *int, rows []row) (experiments.Measure, experiments.Band) {
				in := Student(Values(rows, func(r *row) float64 { return r.x }))
				return experiments.MeasuredWithin(in, "ms"), experiments.AtMost(float64(*p), "ms")
			},
		}
	}
	most, rows := 3, []row{{"a", 1}, {"a", 2}}
	never := rule("never", experiments.Law)
	never.Applies = func(*int, []row) string { return "no such row" }
	rules := []Rule[int, row]{rule("law", experiments.Law), rule("others", experiments.OfOthers), never}
	for i, want := range []experiments.Verdict{experiments.Reproduced, experiments.TooFew, experiments.NotApplicable} {
		if c := Claims(rules, &most, rows, 2)[i]; c.Verdict != want {
			t.Errorf("%s: %s, want %s", c.Name, c.Verdict, want)
		}
	}
	most = 1
	if c := Claims(rules, &most, rows, Seeds); c[0].Verdict != experiments.NotReproduced || c[0].Why != "it is not" ||
		c[1].Verdict != experiments.NotReproduced {
		t.Errorf("%+v", c[:2])
	}
}
