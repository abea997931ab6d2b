// Package experiments is the frame of the studies: what timer granularity does to TCP, and what timing wheels cost, beside
// what was published.
//
// # Usage
//
// A study is a folder below this one. It has README.md, plan.yaml, and a package with
//
//	//go:embed README.md plan.yaml
//	var files embed.FS
//
//	var Study = experiments.Define(experiments.Spec[Plan, Cell]{
//		ID: "E12", Name: "expiry", Question: "…", Class: experiments.Exact, Files: files,
//		Cells: func(p *Plan) []experiments.Cell[Cell] { … },
//		Judge: func(p *Plan, cells []Cell) (*experiments.Outcome, error) { … },
//	})
//
// Package experiments/all lists the studies.
//
// # How a study runs
//
// The plan is data (package plan). It is cut into cells: the smallest parts that can run anywhere by themselves, each a
// function of the plan alone, most often one combination of parameters under one seed. All cells of all studies share the
// processors; the cells of a run may be split over machines, as shards. What a cell returns is kept as JSON, which holds the
// same numbers after it is read back, and Judge makes tables, figures and claims of the results of all cells, whoever
// ran them. So the same plan and seed give the same octets, in one run or merged from shards.
//
// What only this machine can tell, such as nanoseconds or what its kernel does, is no cell. It is a Live part, which runs
// when it is asked for, one at a time, and is reported by itself.
//
// # Claims
//
// A Claim stands for a published figure, or a law that follows from the definition of a scheme, beside what was measured. What
// is tagged as recalled and not checked is never shown as published.
//
// # References
//
//   - G. Varghese and A. Lauck, "Hashed and Hierarchical Timing Wheels", IEEE/ACM Transactions on Networking 5(6), 1997.
package experiments
