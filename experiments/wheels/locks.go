package wheels

import (
	"fmt"

	"tcpwheel/experiments"
)

// locksPlan is the plan of the study.
type locksPlan struct {
	Timers     []int    `plan:"timers" min:"0" max:"1000000" order:"rising"`
	Schemes    []string `plan:"schemes" oneof:"scheme1 scheme2 scheme2-rear scheme3 scheme5 scheme6 scheme6-eager scheme6-list scheme7"`
	Processors []int    `plan:"processors" min:"1" max:"256" order:"rising"`
	Running    int      `plan:"running" min:"1" max:"1000000"`
	Operations int      `plan:"operations" min:"10" max:"1000000"`
	Work       int      `plan:"work" min:"0" max:"1000000"`
	Longest    int      `plan:"longest" min:"1" max:"1000000000"`
	Seeds      int      `plan:"seeds" min:"1" max:"1000"`
}

// locksCell is what was counted in one scheme: holds for seed 0, a schedule for others.
type locksCell struct {
	Scheme string `json:"scheme"`
	Seed   int    `json:"seed"`

	Holds     []locksHold     `json:"holds,omitempty"`
	Schedules []locksSchedule `json:"schedules,omitempty"`
}

// locksHold is for how many steps the lock is held beside n timers.
type locksHold struct {
	N     int    `json:"n"`
	Start uint64 `json:"start"` // of a timer later than all others
	Stop  uint64 `json:"stop"`  // of that timer
	Tick  uint64 `json:"tick"`  // on which one timer expires
}

// locksSchedule is the work of several processors.
type locksSchedule struct {
	Processors int     `json:"processors"`
	Shards     int     `json:"shards"`
	Steps      uint64  `json:"steps"`   // until the last has done
	Waited     uint64  `json:"waited"`  // of all processors together
	Held       uint64  `json:"held"`    // of all
	Longest    uint64  `json:"longest"` // of one operation
	Rate       float64 `json:"rate"`    // operations per 1000 steps
}

// Locks is the study.
var Locks = experiments.Define(experiments.Spec[locksPlan, locksCell]{
	ID: "E7", Name: "locks", Class: experiments.Exact, Folder: "wheels/locks", Files: files,
	Question: "For how long does a processor lock the timers that others wait for?",
	Check: func(p *locksPlan) error {
		if p.Processors[0] != 1 {
			return fmt.Errorf("processors: %v, want 1 first", p.Processors)
		}
		if p.Timers[len(p.Timers)-1] == 0 {
			return fmt.Errorf("timers: %v, want some that run", p.Timers)
		}
		return nil
	},
	Cells: locksCells,
	Judge: locksJudge,
	Live:  []experiments.LivePart[locksPlan]{{Name: "clock", Run: locksClock}},
})
