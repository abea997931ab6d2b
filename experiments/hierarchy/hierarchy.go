// Package hierarchy is study E3: the work per timer of Scheme 6 and of Scheme 7, and where they cross.
package hierarchy

import (
	"embed"

	"tcpwheel/experiments"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Intervals []int `plan:"intervals" min:"2" max:"1000000000" order:"rising"`
	Slots     []int `plan:"slots" min:"8" max:"16777216" power:"two" order:"rising"`
	Levels    []int `plan:"levels" min:"2" max:"8" order:"rising"`
	Timers    int   `plan:"timers" min:"20" max:"1000000"`
	Looks     int   `plan:"looks" min:"1000" max:"1000000000"`
	Seeds     int   `plan:"seeds" min:"1" max:"1000"`
}

// Cell is what was counted for one mean interval under one seed.
type Cell struct {
	T     int   `json:"t"`
	Seed  int   `json:"seed"`
	Six   []Run `json:"six"`   // by number of slots
	Seven []Run `json:"seven"` // by slots in all and levels
	// Just are hierarchies that just reach 2T, by levels.
	Just []Run `json:"just"`
	// Example are exponential intervals in Scheme 6, for the slots of the examples.
	Example []Run `json:"example,omitempty"`
}

// Run is what a number of timers took one after another.
type Run struct {
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
func (r *Run) looks() float64 { return float64(r.Looks) / float64(r.Timers) }
func (r *Run) cost() float64  { return float64(r.Looks+r.Moves) / float64(r.Timers) }

// rotations returns the mean interval in units of M.
func (r *Run) rotations() float64 { return float64(r.Ticks) / float64(r.Timers) / float64(r.M) }

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E3", Name: "hierarchy", Class: experiments.Exact, Files: files,
	Question: "When does a hierarchy of wheels beat a hashed wheel?",
	Cells:    cells,
	Judge:    judge,
	Live:     []experiments.LivePart[Plan]{{Name: "clock", Run: clock}},
})
