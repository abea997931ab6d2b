// Package locks is study E7: for how long timer routines hold a lock, and what that costs several processors.
package locks

import (
	"embed"
	"fmt"

	"tcpwheel/experiments"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Timers     []int    `plan:"timers" min:"0" max:"1000000" order:"rising"`
	Schemes    []string `plan:"schemes" oneof:"scheme1 scheme2 scheme2-rear scheme3 scheme5 scheme6 scheme6-eager scheme6-list scheme7"`
	Processors []int    `plan:"processors" min:"1" max:"256" order:"rising"`
	Running    int      `plan:"running" min:"1" max:"1000000"`
	Operations int      `plan:"operations" min:"10" max:"1000000"`
	Work       int      `plan:"work" min:"0" max:"1000000"`
	Longest    int      `plan:"longest" min:"1" max:"1000000000"`
	Seeds      int      `plan:"seeds" min:"1" max:"1000"`
}

// Cell is what was counted in one scheme: holds for seed 0, a schedule for others.
type Cell struct {
	Scheme string `json:"scheme"`
	Seed   int    `json:"seed"`

	Holds     []Hold     `json:"holds,omitempty"`
	Schedules []Schedule `json:"schedules,omitempty"`
}

// Hold is for how many steps the lock is held beside n timers.
type Hold struct {
	N     int    `json:"n"`
	Start uint64 `json:"start"` // of a timer later than all others
	Stop  uint64 `json:"stop"`  // of that timer
	Tick  uint64 `json:"tick"`  // on which one timer expires
}

// Schedule is the work of several processors.
type Schedule struct {
	Processors int     `json:"processors"`
	Shards     int     `json:"shards"`
	Steps      uint64  `json:"steps"`   // until the last has done
	Waited     uint64  `json:"waited"`  // of all processors together
	Held       uint64  `json:"held"`    // of all
	Longest    uint64  `json:"longest"` // of one operation
	Rate       float64 `json:"rate"`    // operations per 1000 steps
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E7", Name: "locks", Class: experiments.Exact, Files: files,
	Question: "For how long does a processor lock the timers that others wait for?",
	Check: func(p *Plan) error {
		if p.Processors[0] != 1 {
			return fmt.Errorf("processors: %v, want 1 first", p.Processors)
		}
		if p.Timers[len(p.Timers)-1] == 0 {
			return fmt.Errorf("timers: %v, want some that run", p.Timers)
		}
		return nil
	},
	Cells: cells,
	Judge: judge,
	Live:  []experiments.LivePart[Plan]{{Name: "clock", Run: clock}},
})
