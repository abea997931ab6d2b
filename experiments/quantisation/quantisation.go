// Package quantisation is study E11: what the tick of a clock makes of a round trip, and of the timeout.
package quantisation

import (
	"embed"
	"fmt"
	"time"

	"tcpwheel/experiments"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Ticks       []time.Duration `plan:"ticks" min:"10us" max:"500ms"`
	Thousandths []int           `plan:"thousandths" min:"0" max:"10000000"`
	RTTs        []time.Duration `plan:"rtts" min:"1us" max:"10s"`
	Samples     int             `plan:"samples" min:"100" max:"1000000"`
	Seeds       int             `plan:"seeds" min:"1" max:"1000"`
}

// phases is how many phases of a tick there are: as many as a tick has of the units in which round trips and errors are whole.
const phases = 1000

// Cell is what was seen of one granularity: the errors of round trips, or the timeouts under one seed.
type Cell struct {
	Tick time.Duration `json:"tick"`

	Errors []Errors `json:"errors,omitempty"` // of the plan's Thousandths
	// Over all round trips from 0 to 999 thousandths of a tick, added up, in these: the errors of the clock that is read, of one
	// that rounds the difference up, and of the first average of 4.4BSD.
	Read, Up, BSD int `json:",omitempty"`
	Exact         int `json:"exact,omitempty"` // errors other than 0 of a clock without a tick

	Seed     int       `json:"seed,omitempty"`
	Timeouts []Timeout `json:"timeouts,omitempty"` // of the plan's RTTs
}

// Errors are those of one round trip over all phases, in thousandths of a tick, added up: as they are, and squared.
type Errors struct {
	Thousandths int `json:"thousandths"`
	Sum         int `json:"sum"`
	Squares     int `json:"squares"`
}

// Timeout is what estimators make of one round trip.
type Timeout struct {
	RTT   time.Duration `json:"rtt"`
	SRTT  float64       `json:"srtt"`  // by the round trip, in the mean over samples
	RTO   float64       `json:"rto"`   // the same
	Least time.Duration `json:"least"` // the least timeout
	BSD   float64       `json:"bsd"`   // 4.4BSD's timeout by the round trip
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E11", Name: "quantisation", Class: experiments.Exact, Files: files,
	Question: "What does a clock's tick make of a round trip, and of the timeout?",
	Check: func(p *Plan) error {
		for _, tick := range p.Ticks {
			if tick%phases != 0 {
				return fmt.Errorf("ticks: %v, want whole thousandths of a nanosecond in it: a multiple of 1µs", tick)
			}
		}
		return nil
	},
	Cells: cells,
	Judge: judge,
})
