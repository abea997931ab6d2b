// Package shrew is study E20: short pulses against a flow, once in each retransmission timeout.
package shrew

import (
	"embed"
	"fmt"
	"slices"
	"time"

	"tcpwheel/experiments"
	"tcpwheel/experiments/internal/testbed"
)

//go:embed README.md plan.yaml
var files embed.FS

// Plan is the plan of the study.
type Plan struct {
	Rate      int           `plan:"rate" unit:"rate" min:"10000" max:"10000000000"`
	Buffer    int           `plan:"buffer" unit:"size" min:"1500" max:"100000000"`
	RoundTrip time.Duration `plan:"round_trip" min:"1ms" max:"1s"`

	Length    time.Duration   `plan:"length" min:"1ms" max:"10s"`
	Others    []time.Duration `plan:"other_lengths" min:"1ms" max:"10s" optional:"true"`
	PulseRate int             `plan:"pulse_rate" unit:"rate" min:"10000" max:"10000000000"`
	Packet    int             `plan:"packet" min:"40" max:"1500"`
	Periods   []time.Duration `plan:"periods" min:"10ms" max:"100s" order:"rising"`

	Published   testbed.Timers   `plan:"published"`
	Finer       testbed.Timers   `plan:"finer"`
	NoFloor     testbed.Timers   `plan:"no_floor"`
	OtherTimers []testbed.Timers `plan:"others" optional:"true"`
	BSD         testbed.Timers   `plan:"bsd"`

	Settle   time.Duration `plan:"settle" min:"1s" max:"10m"`
	Duration time.Duration `plan:"duration" min:"1s" max:"1h"`
	Seeds    int           `plan:"seeds" min:"1" max:"1000"`

	FlowTrips []time.Duration `plan:"flow_round_trips" min:"1ms" max:"1s" optional:"true"`
	FlowSeeds int             `plan:"flow_seeds" min:"1" max:"1000"`

	GVisorFloors []time.Duration `plan:"gvisor_floors" min:"1ms" max:"1m" optional:"true"`
	GVisorSeeds  int             `plan:"gvisor_seeds" min:"1" max:"1000"`

	Subjects []testbed.Subject `plan:"subjects" optional:"true"`
}

// Cell is a flow's share against pulses of a period under one seed.
type Cell struct {
	Timers string        `json:"timers"`    // the sender
	Pulse  time.Duration `json:"pulse_ns"`  // length of a pulse
	Period time.Duration `json:"period_ns"` // from one pulse to the next; 0s is no pulses
	Seed   int           `json:"seed"`      // it sets the phase of the pulses

	Share    float64 `json:"share"`    // of the bottleneck's rate, 0 to 1: data that arrived after the first pulse
	Timeouts uint64  `json:"timeouts"` // of the sender, after the first pulse

	Several bool      `json:"several,omitempty"` // whether the plan's flows of several round trips ran together
	Flows   []float64 `json:"flows,omitempty"`   // the share of each of several flows
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E20", Name: "shrew", Bed: "dumbbell", Class: experiments.Published, Files: files,
	Check: func(p *Plan) error {
		longest := max(p.Length, slices.Max(append(p.Others, 0)))
		if p.Periods[0] <= longest {
			return fmt.Errorf("periods: %v, want above the longest pulse, %v", p.Periods[0], longest)
		}
		return testbed.CheckStacks(p.stacks())
	},
	Words: func() experiments.Words { return words },
	Cells: cells, Judge: outcome,
})
