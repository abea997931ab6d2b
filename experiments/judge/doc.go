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
//	out.Claims = judge.Claims(rules, p, rows, p.Seeds)
//
// The texts of a claim, its source and its quote are data next to the function that measures it. A
// band depends on the plan alone, so it is fixed before the run.
//
// # Intervals
//
// All intervals are of 95 %, over independent values: one for each seed. Student, Ratio and
// Jackknife, which is Student for any measure, are for values that are about normally distributed,
// such as means of many objects: they cover the truth as often as they say from 5 values on, which
// a test checks. The percentile bootstrap of package stat covers less: 84 % of 5 values, and 88 %
// of 8.
package judge
