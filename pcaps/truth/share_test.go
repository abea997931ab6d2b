package truth

import (
	"math"
	"testing"
)

// TestShare checks intervals of independent flows, and of flows that are all right or all wrong,
// which count as one observation each.
func TestShare(t *testing.T) {
	kinds := func(f *FlowShares) Part { return f.Kinds }
	flows := func(parts ...Part) *Tally {
		s := &Tally{}
		for _, p := range parts {
			s.Flows = append(s.Flows, FlowShares{Kinds: p})
		}
		return s
	}
	repeat := func(n int, parts ...Part) (out []Part) {
		for range n {
			out = append(out, parts...)
		}
		return out
	}
	for _, test := range []struct {
		name string
		of   *Tally
		want Share
	}{
		{"nothing", flows(), Share{100, 0, 100}},
		// Wilson's interval for 81 of 263 is 0.2553 to 0.3662 (R. G. Newcombe, Statistics in
		// Medicine 17, 1998, table I).
		{"81 of 263", flows(append(repeat(81, Part{1, 1}), repeat(182, Part{0, 1})...)...), Share{30.80, 25.5, 36.6}},
		{"all or nothing", flows(append(repeat(81, Part{10, 10}), repeat(182, Part{0, 10})...)...), Share{30.80, 25.5, 36.6}},
		{"all of 100", flows(repeat(100, Part{1, 1})...), Share{100, 96.3, 100}},
		{"one flow", flows(Part{100, 100}), Share{100, 20.7, 100}},
	} {
		got := test.of.Share(kinds)
		if math.Abs(got.Percent-test.want.Percent) > 0.01 || math.Abs(got.Low-test.want.Low) > 0.1 || math.Abs(got.High-test.want.High) > 0.1 {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
}
