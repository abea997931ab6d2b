package wheels

import (
	"tcpwheel/experiments"
)

// hierarchyPlan is the plan of the study.
type hierarchyPlan struct {
	Intervals []int `plan:"intervals" min:"2" max:"1000000000" order:"rising"`
	Slots     []int `plan:"slots" min:"8" max:"16777216" power:"two" order:"rising"`
	Levels    []int `plan:"levels" min:"2" max:"8" order:"rising"`
	Timers    int   `plan:"timers" min:"20" max:"1000000"`
	Looks     int   `plan:"looks" min:"1000" max:"1000000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// hierarchyCell is what was counted for one mean interval under one seed.
type hierarchyCell struct {
	T     int            `json:"t"`
	Seed  int            `json:"seed"`
	Six   []hierarchyRun `json:"six"`   // by number of slots
	Seven []hierarchyRun `json:"seven"` // by slots in all and levels
	// Just are hierarchies that just reach 2T, by levels.
	Just []hierarchyRun `json:"just"`
	// Example are exponential intervals in Scheme 6, for the slots of the examples.
	Example []hierarchyRun `json:"example,omitempty"`
}

// hierarchyRun is what a number of timers took one after another.
type hierarchyRun struct {
	M          int    `json:"m"`                // slots in all
	Levels     int    `json:"levels,omitempty"` // 0 is Scheme 6
	Timers     int    `json:"timers"`           // that ran; 0 if the hierarchy does not reach far enough
	Ticks      uint64 `json:"ticks"`            // of all intervals
	Looks      uint64 `json:"looks"`            // at records
	Moves      uint64 `json:"moves"`            // of records
	Most       uint64 `json:"most"`             // migrations of one timer
	Miscounted int    `json:"miscounted"`       // timers that Scheme 6 did not look at as often as the law says
}

// looks returns how often a timer was looked at in the mean, and cost what it cost.
func (r *hierarchyRun) looks() float64 { return float64(r.Looks) / float64(r.Timers) }
func (r *hierarchyRun) cost() float64  { return float64(r.Looks+r.Moves) / float64(r.Timers) }

// rotations returns the mean interval in units of M.
func (r *hierarchyRun) rotations() float64 {
	return float64(r.Ticks) / float64(r.Timers) / float64(r.M)
}

// Hierarchy is the study.
var Hierarchy = experiments.Define(experiments.Spec[hierarchyPlan, hierarchyCell]{
	ID: "E3", Name: "hierarchy", Class: experiments.Exact, Folder: "wheels/hierarchy", Files: files,
	Question: "When does a hierarchy of wheels beat a hashed wheel?",
	Cells:    hierarchyCells,
	Judge:    hierarchyJudge,
	Live:     []experiments.LivePart[hierarchyPlan]{{Name: "clock", Run: hierarchyClock}},
})
