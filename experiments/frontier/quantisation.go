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
	FirstSeed   int             `plan:"first_seed" min:"1" max:"1000000"`
	Seeds       int             `plan:"seeds" min:"1" max:"1000"`
}

// phases is the number of phases of a tick. Round trips and errors are whole thousandths of a tick.
const phases = 1000

// quantCell is the result for one granularity: the errors of round trips, or the timeouts under one
// seed.
type quantCell struct {
	Tick time.Duration `json:"tick_ns"`

	Errors []phaseErrors `json:"errors,omitempty"` // of the plan's Thousandths
	clockSums

	Seed     int             `json:"seed,omitempty"`
	Timeouts []steadyTimeout `json:"timeouts,omitempty"` // of the plan's RTTs
}

// phaseErrors are the sums, over all phases, of the errors of one round trip and of their squares,
// in thousandths of a tick.
type phaseErrors struct {
	Thousandths int `json:"thousandths"` // the round trip, in thousandths of the tick
	Sum         int `json:"sum"`         // sum of its errors over all phases, in thousandths of the tick
	Squares     int `json:"squares"`     // sum of the squares of these errors
}

// clockSums are sums of errors over all round trips from 0 to 999 thousandths of a tick, in
// thousandths: of the clock that is read, of one that rounds the difference up, and of 4.4BSD's
// first average.
type clockSums struct {
	Read  int `json:",omitempty"`      // sum of the errors of the clock that is read
	Up    int `json:",omitempty"`      // the same of a clock that rounds the difference up
	BSD   int `json:",omitempty"`      // the same of 4.4BSD's first average, which counts from 1
	Exact int `json:"exact,omitempty"` // measurements of a clock without a tick that are wrong
}

// steadyTimeout is the result of the estimators for one round trip.
type steadyTimeout struct {
	RTT   time.Duration `json:"rtt_ns"`   // the round trip, which does not vary
	SRTT  float64       `json:"srtt"`     // mean over samples, divided by the round trip
	RTO   float64       `json:"rto"`      // mean timeout of RFC 6298 without a floor, divided by the round trip
	Least time.Duration `json:"least_ns"` // the least timeout
	Old   float64       `json:"bsd"`      // 4.4BSD's mean timeout, divided by the round trip
}

// Quantisation is the study.
var Quantisation = experiments.Define(experiments.Spec[quantPlan, quantCell]{
	ID: "E11", Name: "quantisation", Bed: "estimators", Class: experiments.Exact,
	Folder: "frontier/quantisation", Files: files,
	Words: func() experiments.Words { return quantWords },
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
