package wheels

import (
	"tcpwheel/experiments"
)

// hashingPlan is the plan of the study.
type hashingPlan struct {
	Timers    int      `plan:"timers" min:"100" max:"10000000"`
	Slots     []int    `plan:"slots" min:"2" max:"16777216" power:"two" order:"rising"`
	Spreads   []string `plan:"spreads" oneof:"random even one heartbeat"`
	Heartbeat int      `plan:"heartbeat" min:"1" max:"1000000"`
	Rotations int      `plan:"rotations" min:"1" max:"100"`
	Schemes   []string `plan:"schemes" oneof:"scheme6-list scheme6-eager scheme6"`
	Seeds     int      `plan:"seeds" min:"1" max:"1000"`
}

// hashingCell is what ticks cost under one spread and seed.
type hashingCell struct {
	Spread string `json:"spread"`
	M      int    `json:"m"`
	Seed   int    `json:"seed"`

	// Costs are how many ticks cost so many looks, by rising looks.
	Costs  []hashingCost `json:"costs"`
	Differ []string      `json:"differ,omitempty"` // schemes in which a tick costs something else than in the first
}

// hashingCost is a number of looks at timer records in a tick, and how many ticks had it.
type hashingCost struct {
	Looks int `json:"looks"`
	Ticks int `json:"ticks"`
}

// Hashing is the study.
var Hashing = experiments.Define(experiments.Spec[hashingPlan, hashingCell]{
	ID: "E4", Name: "hashing", Class: experiments.Exact, Folder: "wheels/hashing", Files: files,
	Question: "What does the hash of a hashed wheel control: the mean of a tick's cost, or its variance?",
	Cells:    hashingCells,
	Judge:    hashingJudge,
})
