package outage

import (
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/declared"
)

// deadPlan is the plan of the study.
type deadPlan struct {
	RTT          time.Duration   `plan:"rtt" min:"1ms" max:"1s"`
	FastIdle     time.Duration   `plan:"fast_idle" min:"1s" max:"2h"`
	FastInterval time.Duration   `plan:"fast_interval" min:"500ms" max:"75s"`
	FastCount    int             `plan:"fast_count" min:"1" max:"255"`
	Ticks        []time.Duration `plan:"ticks" min:"1us" max:"500ms"`
	UserTimeouts []time.Duration `plan:"user_timeouts" min:"100ms" max:"1h"`
	Phases       int             `plan:"phases" min:"1" max:"10000"`
	Seeds        int             `plan:"seeds" min:"1" max:"1000"`
}

// deadCell is the connections of one case under one seed.
type deadCell struct {
	Case string        `json:"case"`
	Seed int           `json:"seed"`
	Tick time.Duration `json:"tick_ns"`
	Rule time.Duration `json:"rule_ns"` // sum of the timers; for R2 the mean over phases

	Off      int       `json:"off"`   // connections that ended outside the rule
	Least    float64   `json:"least"` // end minus rule, in ticks
	Mean     float64   `json:"mean"`
	Greatest float64   `json:"greatest"`
	KS       float64   `json:"ks"`     // p-value of an even share of a tick
	Took     float64   `json:"took_s"` // mean, in seconds
	Late     []float64 `json:"late,omitempty"`
}

// DeadPeer is the study.
var DeadPeer = declared.DefineRows(experiments.Spec[deadPlan, deadCell]{
	ID: "E14", Name: "deadpeer", Bed: "pair", Class: experiments.Exact, Folder: "outage/deadpeer", Files: files,
	Cells: deadCells,
}, deadRows)
