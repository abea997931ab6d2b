package experiments

import (
	"slices"
	"testing"

	"tcpwheel/wheel/stat"
)

// TestSettleVerdicts checks the procedure of Benjamini and Yekutieli on four claims. Its bounds at
// 5 % are i/4 · 0.05 / (1 + 1/2 + 1/3 + 1/4): 0.006, 0.012, 0.018, 0.024.
func TestSettleVerdicts(t *testing.T) {
	o := &Outcome{}
	for _, p := range []float64{0.0175, 0.001, 0.3, 0.013} {
		o.Claims = append(o.Claims, Claim{P: &p})
	}
	o.Claims = append(o.Claims, Claim{})
	SettleVerdicts(o)
	// The second smallest exceeds its own bound, but the third does not.
	for i, want := range []bool{false, false, true, false, false} {
		if o.Claims[i].Unsettled != want {
			t.Errorf("claim %d: unsettled %v, want %v", i, o.Claims[i].Unsettled, want)
		}
	}
}

func TestChance(t *testing.T) {
	band := Between(10, 20, "").OrDiffers(AtLeast(5, ""))
	for _, c := range []struct {
		lo, x, hi float64
		from, to  float64
	}{
		{12.04, 14, 15.96, 3e-5, 4e-5}, // 4 standard errors from 10
		{10, 10, 10, 1, 1},             // on the edge, without width
		{15, 15, 15, 0, 0},             // certain
		{6, 8, 10, 0.02, 0.06},         // differs: 10 is 2 away, about 1.96 standard errors
	} {
		p := band.chance(MeasuredWithin(stat.Interval{Value: c.x, Lo: c.lo, Hi: c.hi}, ""))
		if p == nil || *p < c.from || *p > c.to {
			t.Errorf("%v (%v to %v): p = %v, want %v to %v", c.x, c.lo, c.hi, *p, c.from, c.to)
		}
	}
	if p := band.chance(Measured(12, "")); p != nil {
		t.Errorf("without an interval: p = %v", *p)
	}
}

func TestPrinted(t *testing.T) {
	for _, c := range []struct {
		band Band
		x    float64
		want bool
	}{
		{Printed(1100, "ms"), 1210, true}, {Printed(1100, "ms"), 1211, false}, {Printed(-10, "%"), -9.5, true},
		{PrintedRange(1.53, 1.58, ""), 1.72, true}, {PrintedRange(1.53, 1.58, ""), 1.75, false},
		{Between(0, 2, "").Also(false, "and more"), 1, false},
	} {
		if got := c.band.Has(c.x); got != c.want {
			t.Errorf("%v has %v: %v, want %v", c.band, c.x, got, c.want)
		}
	}
}

// TestDoubtQuick checks that a quick run does not judge a number whose interval reaches a border.
func TestDoubtQuick(t *testing.T) {
	o := &Outcome{}
	for _, in := range []stat.Interval{{Value: 9, Lo: 8, Hi: 9.5}, {Value: 9, Lo: 8, Hi: 10}, {Value: 9, Lo: 9,
		Hi: 9}} {
		o.Claim(Claim{Measured: MeasuredWithin(in, "ms"), Expected: AtMost(10, "ms")})
	}
	o.Claim(Claim{Measured: Measured(9, "ms"), Expected: AtMost(9, "ms")})
	o.DoubtQuick()
	var got []Verdict
	for _, c := range o.Claims {
		got = append(got, c.Verdict)
	}
	if want := []Verdict{Reproduced, TooFew, Reproduced, Reproduced}; !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
}
