package frontier

import (
	"fmt"
	"time"

	"tcpwheel/experiments"
)

// quantPlan is the plan of the study.
type quantPlan struct {
	Ticks       []time.Duration `plan:"ticks" min:"10us" max:"500ms"`
	Thousandths []int           `plan:"thousandths" min:"0" max:"10000000"`
	RTTs        []time.Duration `plan:"rtts" min:"1us" max:"10s"`
	Samples     int             `plan:"samples" min:"100" max:"1000000"`
	Seeds       int             `plan:"seeds" min:"1" max:"1000"`
}

// phases is the number of phases of a tick. Round trips and errors are whole thousandths of a tick.
const phases = 1000

// quantCell is the result for one granularity: the errors of round trips, or the timeouts under one
// seed.
type quantCell struct {
	Tick time.Duration `json:"tick_ns"`

	Errors []phaseErrors `json:"errors,omitempty"` // of the plan's Thousandths
	// Sums of errors over all round trips from 0 to 999 thousandths of a tick, in thousandths: of the
	// clock that is read, of one that rounds the difference up, and of 4.4BSD's first average.
	Read, Up, BSD int `json:",omitempty"`
	Exact         int `json:"exact,omitempty"` // errors of a clock without a tick

	Seed     int             `json:"seed,omitempty"`
	Timeouts []steadyTimeout `json:"timeouts,omitempty"` // of the plan's RTTs
}

// phaseErrors are the sums, over all phases, of the errors of one round trip and of their squares,
// in thousandths of a tick.
type phaseErrors struct {
	Thousandths int `json:"thousandths"`
	Sum         int `json:"sum"`
	Squares     int `json:"squares"`
}

// steadyTimeout is the result of the estimators for one round trip.
type steadyTimeout struct {
	RTT   time.Duration `json:"rtt_ns"`
	SRTT  float64       `json:"srtt"`     // mean over samples, divided by the round trip
	RTO   float64       `json:"rto"`      // the same
	Least time.Duration `json:"least_ns"` // the least timeout
	BSD   float64       `json:"bsd"`      // 4.4BSD's mean timeout, divided by the round trip
}

// Quantisation is the study.
var Quantisation = experiments.Define(experiments.Spec[quantPlan, quantCell]{
	ID: "E11", Name: "quantisation", Class: experiments.Exact, Folder: "frontier/quantisation", Files: files,
	Found: "A clock that is read has no bias and the variance G²·p·(1-p); 4.4BSD's first average is {from-one#} " +
		"tick too long. No timeout is below G.",
	Question: "How does a clock's tick change a measured round trip, and the timeout?",
	Check: func(p *quantPlan) error {
		for _, tick := range p.Ticks {
			if tick%phases != 0 {
				return fmt.Errorf("ticks: %v, want a multiple of 1µs, so that a thousandth of it is whole nanoseconds", tick)
			}
		}
		return nil
	},
	Cells: quantCells,
	Judge: quantJudge,
})
