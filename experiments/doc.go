// Package experiments defines, runs and judges studies: what timer granularity does to TCP and what
// timing wheels cost, compared with published results.
//
// # Usage
//
// A study is a folder below this one. It has README.md, plan.yaml, and a package with
//
//	//go:embed README.md plan.yaml
//	var files embed.FS
//
//	var Study = experiments.Define(experiments.Spec[Plan, Cell]{
//		ID: "E13", Name: "delack", Class: experiments.Exact, Files: files,
//		Words: func() experiments.Words { return words },
//		Cells: func(p *Plan) []experiments.Cell[Cell] { … },
//		Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { … },
//	})
//
// The judge has each claim as data next to what measures it, and hands them to Outcome.Judge;
// package judge helps.
//
// Package experiments/all lists the studies.
//
// # Runs
//
// The plan is data (package plan). A study cuts it into cells, the smallest independent parts: each
// depends on the plan alone, most often on one combination of parameters and one seed. The cells of
// all studies share the processors, and a run may be split over machines as shards. A cell's result
// is JSON, which keeps every number exactly. Judge makes tables, figures and claims from the
// results of all cells. So the same plan and seed give the same bytes, in one run or merged from
// shards.
//
// Tests of this machine's kernel, in real time, are not cells but Live parts. They run on request,
// one at a time, and are reported apart.
//
// # Claims
//
// A Claim compares a measured value with a result that somebody else published, with a law that
// this project set, or with a definition. Only the first count in the headline. One finding is one
// claim. A band says where its numbers come from: Printed for a number without an interval,
// otherwise the claim's Basis. A figure that was recalled and not checked is never shown as
// published.
//
// # References
//
//   - G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels", IEEE/ACM Transactions on
//     Networking 5(6), 1997.
package experiments
