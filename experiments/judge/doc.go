// Package judge is what studies need to judge their rows in Go: choose rows, compare them, put an
// interval around what they say, and turn it into claims.
//
// # Usage
//
//	var rules = []judge.Rule[Plan, Row]{{
//		Claim: experiments.Claim{Name: "hide", Text: "the tick alone buys little", …},
//		Measure: func(p *Plan, rows []Row) (experiments.Measure, experiments.Band) {
//			old := judge.Where(rows, func(r *Row) bool { return r.Tick == coarse })
//			…
//			return experiments.MeasuredWithin(judge.Ratio(gain, before), "%"), experiments.Between(10, 30, "%")
//		},
//	}}
//
//	out.Claims = judge.Claims(rules, p, rows)
//
// The texts of a claim, its source and its quote are data next to the function that measures it. A
// band depends on the plan alone, so it is fixed before the run.
//
// # Intervals
//
// All intervals are of 95 %, over independent values: one for each seed. Student and Ratio are for
// means that are about normally distributed, such as those of many objects. From 20 values on they
// cover the truth as often as they say, which a test checks. The percentile bootstrap of package
// stat covers less: 88 % of 8 values.
package judge
