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

	Pulses    []time.Duration `plan:"pulses" min:"1ms" max:"10s"`
	PulseRate int             `plan:"pulse_rate" unit:"rate" min:"10000" max:"10000000000"`
	Packet    int             `plan:"packet" min:"40" max:"1500"`
	Periods   []time.Duration `plan:"periods" min:"10ms" max:"100s"`

	Timers []testbed.Timers `plan:"timers"`
	BSD    testbed.Timers   `plan:"bsd"`

	Settle   time.Duration `plan:"settle" min:"1s" max:"10m"`
	Duration time.Duration `plan:"duration" min:"1s" max:"1h"`
	Seeds    int           `plan:"seeds" min:"1" max:"1000"`

	FlowTrips []time.Duration `plan:"flow_round_trips" min:"1ms" max:"1s" optional:"true"`
	FlowSeeds int             `plan:"flow_seeds" min:"1" max:"1000"`

	GVisorFloors []time.Duration `plan:"gvisor_floors" min:"1ms" max:"1m" optional:"true"`
	GVisorSeeds  int             `plan:"gvisor_seeds" min:"1" max:"1000"`
}

// Cell is a flow's share against pulses of a period under one seed.
type Cell struct {
	Timers string        `json:"timers"`
	Pulse  time.Duration `json:"pulse_ns"`
	Period time.Duration `json:"period_ns"` // 0: no pulses
	Seed   int           `json:"seed"`

	Share    float64 `json:"share"`    // of the bottleneck's rate, data that arrived
	Timeouts uint64  `json:"timeouts"` // of the sender

	Several bool      `json:"several,omitempty"` // the plan's flows of several round trips
	Flows   []float64 `json:"flows,omitempty"`   // the share of each
}

// Study is the study.
var Study = experiments.Define(experiments.Spec[Plan, Cell]{
	ID: "E20", Name: "shrew", Class: experiments.Published, Files: files,
	Found: "Pulses of 100 ms at a period of minRTO leave {null#} % of the rate, at half of it {null-half#} %. Pulses of 50 ms, shorter than the queued round trip of 100 ms, do not shut it out, nor flows with " +
		"longer round trips; fine timers without a floor have no null.",
	Question: "Do pulses at the period of the retransmission timeout shut a flow out?",
	Check: func(p *Plan) error {
		switch {
		case len(p.Timers) < 3:
			return fmt.Errorf("timers: %d, want 3 or more", len(p.Timers))
		case !slices.IsSorted(p.Periods) || p.Periods[0] <= slices.Max(p.Pulses):
			return fmt.Errorf("periods: %v, want rising values above the longest pulse", p.Periods)
		}
		if len(p.FlowTrips) > 0 && slices.Min(p.FlowTrips) < p.RoundTrip {
			return fmt.Errorf("flow_round_trips: %v, want none below round_trip, %v", p.FlowTrips, p.RoundTrip)
		}
		floor := p.Timers[0].Policy.Bounds.Min
		for _, period := range []time.Duration{floor, floor / 2} {
			if !slices.Contains(p.Periods, period) {
				return fmt.Errorf("periods: without %v, want the floor of the first timers, and half of it", period)
			}
		}
		return nil
	},
	Cells: cells,
	Judge: judge,
})
